// room: pipeline PkgConfig::LIBARCHIVE
// bytes: 4096
/* In: how many bytes are read at a time, then a zip or tar file, which may be compressed by gzip (other decoders may
 * take 128 MiB). Held: the members, their content and the error, if there is one, are the same when they are read in
 * other pieces and a second time. */
#include "tests/fuzz/fuzz.h"

#include "base/hash.h"
#include "pipeline/dump/members.h"
#include "pipeline/dump/sniff.h"

#include "pipeline/dump/libarchive.c"

#define MEMBERS_MAX 64
#define BYTES_MAX   ((uint64_t)4 << 20) /* of all contents */

struct seen {
    size_t count;
    uint64_t numbers[MEMBERS_MAX], hashes[MEMBERS_MAX], bytes[MEMBERS_MAX];
    bool whole[MEMBERS_MAX];
    struct error err;
};

/* Reads a member from its beginning, at most BYTES_MAX; false: an error. */
static bool read_whole(struct members *members, uint64_t number, size_t step, uint64_t *hash, uint64_t *bytes,
                       struct error *err)
{
    static char part[1 << 16];
    SCOPED(buf_release) struct buf content = {0};
    int64_t got = (int64_t)step;
    while (got == (int64_t)step && content.size < BYTES_MAX) {
        got = members_read(members, number, "member", part, step, content.size, err);
        assert(got <= (int64_t)step);
        buf_add(&content, part, got > 0 ? (size_t)got : 0);
    }
    *hash = content.size ? hash64(content.data, content.size) : 0;
    *bytes = content.size;
    return got >= 0 && *bytes < BYTES_MAX;
}

static struct members *open_members(const char *path)
{
    const struct members_options options = {.ratio_max = 100, .ratio_text_min = 1 << 20, .module = &dsdata_archive};
    struct members *members = NULL;
    struct error err = {0};
    const int opened = members_open(&members, path, &options, &err);
    assert(opened >= 0);
    return opened ? members : NULL;
}

static void walk(struct members *members, size_t step, struct seen *seen)
{
    struct member member;
    uint64_t number, all = 0;
    int more = 1;
    while (seen->count < MEMBERS_MAX && all < BYTES_MAX && seen->err.kind == ERR_NONE &&
           (more = members_next(members, &member, &number, &seen->err)) > 0) {
        const size_t i = seen->count++;
        assert(member.name && (i == 0 || number == seen->numbers[i - 1] + 1));
        seen->numbers[i] = number;
        seen->whole[i] =
            member.is_file && read_whole(members, number, step, &seen->hashes[i], &seen->bytes[i], &seen->err);
        all += seen->bytes[i];
    }
    assert(more >= 0 || seen->err.kind != ERR_NONE);
}

int fuzz_input(const uint8_t *data, size_t size)
{
    static struct seen first, second;
    const size_t step = (size_t)take_byte(&data, &size) * 97 + 1;
    const char *path = fuzz_file(as_str(data, size));
    enum container container;
    struct error ignored;
    if (sniff_container("x", as_str(data, size), &container, &ignored) == 0 && container > CONTAINER_GZIP)
        return 0;
    struct members *members = open_members(path);
    first = second = (struct seen){0};
    if (!members)
        return 0;
    walk(members, 1 << 16, &first);
    for (size_t i = first.count; i-- > 0;) { /* backwards */
        uint64_t hash, bytes;
        struct error err = {0};
        if (!first.whole[i])
            continue;
        const bool again = read_whole(members, first.numbers[i], step, &hash, &bytes, &err);
        assert(again && hash == first.hashes[i] && bytes == first.bytes[i]);
    }
    members_close(members);
    members = open_members(path);
    walk(members, step, &second);
    assert(first.count == second.count && first.err.kind == second.err.kind);
    for (size_t i = 0; i < first.count; i++)
        assert(first.whole[i] == second.whole[i] && (!first.whole[i] || first.hashes[i] == second.hashes[i]));
    members_close(members);
    return 0;
}
