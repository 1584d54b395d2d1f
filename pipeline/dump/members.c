/* libarchive parses the archive; the bytes come from a byte_source, which decompresses them where they are a compressed
 * tar file. The beginning of the current member is kept, because an input is examined before it is read. */
#include "pipeline/dump/members.h"

#include "base/mem.h"
#include "base/module.h"
#include "base/progress.h"
#include "pipeline/dump/byte_source.h"
#include "pipeline/dump/sniff.h"
#include "pipeline/dump/structured.h"

#include <inttypes.h>
#include <string.h>

#define BEGIN_BYTES ((size_t)8 << 20)   /* of a member that are kept: more than dump_open reads */
#define SKIP_BYTES  ((size_t)256 << 10) /* at a time */

struct members {
    struct byte_source source;
    struct archive_input input;
    const struct archive_module *module;
    struct archive_walk *walk;
    struct unpack_options limits;
    bool zip;
    uint64_t number; /* of the current member; 0: before the first */
    struct member member;
    struct buf begin;                    /* the first bytes of its content */
    uint64_t at;                         /* bytes of its content that were read */
    uint64_t stated;                     /* of all members so far */
    uint64_t taken;                      /* bytes of the file that were read */
    uint64_t stretch_from, stretch_made; /* as in unpack.c: where a stretch of the file begins, what it gave so far */
    char path[];
};

static int64_t input_read(void *context, void *out, size_t bytes, uint64_t offset, struct error *err)
{
    struct members *members = context;
    struct byte_source *source = &members->source;
    SCOPED(buf_release) struct buf read = {0};
    if (byte_source_is_made(source))
        byte_source_forget(source, offset);
    const int result = byte_source_read(source, offset, bytes, &read, err);
    members->taken += read.size;
    TRY(result);
    if (read.size > 0)
        memcpy(out, read.data, read.size);
    return (int64_t)read.size;
}

/* ---------------------------------------------------------------------------------------------------------- open */

/* How to read the file without this module. */
static int hint_unpacking(const struct members *members, struct error *err)
{
    return sniff_hint(members->path, err, "%s && dsdata build TEXTS --out D",
                      members->zip ? "unzip -q FILE -d TEXTS" : "mkdir TEXTS && tar -xf FILE -C TEXTS");
}

/* What is wrong with a file is left to whoever opens it (0), but for what the system could not do now. */
static int unless_now(const struct error *err)
{
    return err->kind == ERR_RESOURCE ? -1 : 0;
}

/* Reads the first bytes: 1. */
static int read_start(struct byte_source *source, size_t bytes, struct buf *start, struct error *err)
{
    buf_reset(start);
    return byte_source_read(source, 0, bytes, start, err) == 0 ? 1 : unless_now(err);
}

/* Opens the file and reads the first bytes: 1. 0: it is a pipe. */
static int open_start(struct members *members, struct buf *start, struct error *err)
{
    if (byte_source_open(&members->source, members->path, err) < 0)
        return unless_now(err);
    return members->source.pipe ? 0 : read_start(&members->source, SNIFF_BYTES, start, err);
}

/* 1 if the file is an archive. */
static int recognise(struct members *members, struct error *err)
{
    struct byte_source *source = &members->source;
    struct error ignored = {0};
    SCOPED(buf_release) struct buf start = {0};
    enum container container = CONTAINER_NONE;
    enum sniffed_archive archive = SNIFFED_NO_ARCHIVE;
    int result = open_start(members, &start, err);
    if (result > 0)
        archive = sniff_archive(buf_str(&start));
    if (result > 0 && archive == SNIFFED_NO_ARCHIVE && start.size > 0 &&
        sniff_container(members->path, buf_str(&start), &container, &ignored) == 0 && container != CONTAINER_NONE) {
        members->limits.container = container;
        byte_source_unpack(source, &members->limits);
        result = read_start(source, TAR_BLOCK_BYTES, &start, err);
        if (result > 0 && sniff_archive(buf_str(&start)) == SNIFFED_TAR)
            archive = SNIFFED_TAR;
    }
    members->zip = archive == SNIFFED_ZIP;
    return result < 0 ? -1 : archive != SNIFFED_NO_ARCHIVE;
}

static const struct archive_module *load(struct members *members, struct error *err)
{
    const struct archive_module *module =
        module_load("dsdata_archive.so", ARCHIVE_SYMBOL, ARCHIVE_INTERFACE, "what reads zip and tar files", err);
    if (!module)
        hint_unpacking(members, err);
    return module;
}

int members_open(struct members **opened, const char *path, const struct members_options *options, struct error *err)
{
#ifndef DS_ARCHIVE
    if (!options->module)
        return 0;
#endif
    if (!path_is_file(path))
        return 0;
    struct members *members = mem_clear(1, sizeof *members + strlen(path) + 1);
    strcpy(members->path, path);
    members->limits = (struct unpack_options){
        .name = members->path, .ratio_max = options->ratio_max, .ratio_text_min = options->ratio_text_min};
    int result = recognise(members, err);
    members->module = options->module ? options->module : result > 0 ? load(members, err) : NULL;
    if (result > 0 && !members->module)
        result = -1;
    if (result <= 0) {
        members_close(members);
        return result;
    }
    members->input = (struct archive_input){.context = members, .read = input_read};
    if (!byte_source_is_made(&members->source))
        members->input.file_bytes = members->source.stored;
    *opened = members;
    return 1;
}

void members_close(struct members *members)
{
    if (!members)
        return;
    if (members->module)
        members->module->close(members->walk);
    byte_source_close(&members->source);
    buf_release(&members->begin);
    mem_free(members);
}

const char *members_path(const struct members *members)
{
    return members->path;
}

size_t members_memory(const struct members *members)
{
    const size_t decoder = members->source.unpack ? unpack_memory(members->source.unpack) : 0;
    return decoder + members->begin.capacity + members->source.kept.capacity;
}

/* ---------------------------------------------------------------------------------------------------------- walk */

/* Of an error of libarchive, which names no file. The hint replaces one that proposes --salvage. */
static int name_error(const struct members *members, const char *name, struct error *err)
{
    char text[sizeof err->text];
    if (err->kind == ERR_INPUT && !err->file[0]) {
        snprintf(text, sizeof text, "%.400s",
                 members->zip && members->number == 0 ? "the list of its members, at its end, is missing" : err->text);
        fail_at(err, ERR_INPUT, name, ERROR_NO_OFFSET, "damaged: %s", text);
    }
    if (err->kind == ERR_INPUT)
        hint(err,
             "compare the archive with the checksum published beside it, or download it again; %s may unpack part "
             "of it to a folder",
             members->zip ? "unzip" : "tar");
    return -1;
}

/* Content was read, or is stated, as `made` bytes from `bytes` of the file. */
static int check_ratio(const struct members *members, uint64_t bytes, uint64_t made, struct error *err)
{
    return unpack_check_ratio(&members->limits, members->taken, bytes, made, err);
}

/* At the end and after an error: whatever is read next begins anew. */
static void end_walk(struct members *members)
{
    members->module->close(members->walk);
    members->walk = NULL;
    byte_source_rewind(&members->source);
}

static void restart(struct members *members)
{
    end_walk(members);
    members->walk = members->module->open(&members->input, members->zip);
    members->number = 0;
    members->taken = members->stretch_from = members->stretch_made = 0;
}

static int step(struct members *members, struct error *err)
{
    const int more = members->module->next(members->walk, &members->member, err);
    if (more < 0)
        name_error(members, members->path, err);
    if (more <= 0) {
        end_walk(members);
        return more;
    }
    members->number++;
    members->at = 0;
    buf_reset(&members->begin);
    return 1;
}

static bool leads_up(const char *name)
{
    for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return true;
    return false;
}

static int check_member(struct members *members, const struct member *member, struct error *err)
{
    const struct structured *document = members->zip ? structured_zip_member(str_of(member->name)) : NULL;
    if (document)
        return sniff_refuse_document(members->path, document, err);
    if (leads_up(member->name)) {
        fail_at(err, ERR_UNSAFE, members->path, ERROR_NO_OFFSET, "has a member with .. in its name: %s", member->name);
        return hint(err, "its folders are not to be trusted: unpack what you want of it to a folder, and name that");
    }
    if (!member->is_file || member->bytes == UINT64_MAX)
        return 0;
    members->stated += member->bytes < UINT64_MAX - members->stated ? member->bytes : UINT64_MAX - members->stated;
    return check_ratio(members, members->source.stored, members->stated, err);
}

int members_next(struct members *members, struct member *member, uint64_t *number, struct error *err)
{
    if (!members->walk)
        restart(members);
    if (stop_requested())
        return fail(err, ERR_STOPPED, "stopped on request");
    const int more = step(members, err);
    if (more <= 0)
        return more;
    *member = members->member;
    while (strncmp(member->name, "./", 2) == 0)
        member->name += 2;
    *number = members->number;
    return check_member(members, member, err) < 0 ? -1 : 1;
}

/* Reads the next bytes of the current member. */
static int64_t read_on(struct members *members, const char *name, void *out, size_t bytes, struct error *err)
{
    const int64_t got = members->module->read(members->walk, out, bytes, err);
    if (got < 0) {
        end_walk(members);
        return name_error(members, name, err);
    }
    const size_t kept = members->at < BEGIN_BYTES ? BEGIN_BYTES - (size_t)members->at : 0;
    if (got > 0 && kept > 0)
        buf_add(&members->begin, out, (size_t)got < kept ? (size_t)got : kept);
    members->at += (uint64_t)got;
    if (members->taken - members->stretch_from >= RATIO_STRETCH) {
        members->stretch_from = members->taken;
        members->stretch_made = 0;
    }
    members->stretch_made += (uint64_t)got;
    TRY(check_ratio(members, members->taken - members->stretch_from + 1, members->stretch_made, err));
    const uint64_t stated = members->member.bytes;
    if ((size_t)got < bytes && stated != UINT64_MAX && members->at != stated)
        return fail_at(err, ERR_INPUT, name, members->at, "damaged: the archive states %" PRIu64 " bytes", stated);
    return got;
}

/* Makes `number` the current member; what of the bytes from `offset` to `end` is not kept is still to be read. */
static int go_to(struct members *members, uint64_t number, const char *name, uint64_t offset, uint64_t end,
                 struct error *err)
{
    const bool passed = offset < members->at && end > members->begin.size && members->at > members->begin.size;
    if (!members->walk || number < members->number || (number == members->number && passed))
        restart(members);
    while (members->number < number) {
        if (stop_requested())
            return fail(err, ERR_STOPPED, "stopped on request");
        const int more = step(members, err);
        TRY(more);
        if (more == 0)
            return fail_at(err, ERR_INPUT, name, ERROR_NO_OFFSET, "the archive was changed while it was read");
    }
    if (!members->member.is_encrypted && members->member.is_bounded)
        return 0;
    fail_at(err, ERR_UNSAFE, name, ERROR_NO_OFFSET, "%s",
            members->member.is_encrypted
                ? "is encrypted"
                : "is compressed in a way that may need any amount of memory (lzma, xz, ppmd)");
    return sniff_hint(members->path, err, "unpack it with 7-Zip: 7z x -oTEXTS FILE && dsdata build TEXTS --out D");
}

static int skip_to(struct members *members, const char *name, uint64_t offset, struct error *err)
{
    if (members->at >= offset)
        return 0;
    SCOPED(mem_free_at) void *skipped = mem_alloc(SKIP_BYTES);
    int64_t got = 1;
    while (got > 0 && members->at < offset) {
        const uint64_t left = offset - members->at;
        got = stop_requested() ? fail(err, ERR_STOPPED, "stopped on request")
                               : read_on(members, name, skipped, left < SKIP_BYTES ? (size_t)left : SKIP_BYTES, err);
    }
    return got < 0 ? -1 : 0;
}

int64_t members_read(struct members *members, uint64_t number, const char *name, void *out, size_t bytes,
                     uint64_t offset, struct error *err)
{
    size_t given = 0;
    TRY(go_to(members, number, name, offset, offset + bytes, err));
    if (offset < members->begin.size) {
        given = members->begin.size - (size_t)offset < bytes ? members->begin.size - (size_t)offset : bytes;
        memcpy(out, members->begin.data + offset, given);
    }
    if (given == bytes)
        return (int64_t)given;
    TRY(skip_to(members, name, offset + given, err));
    if (members->at < offset + given)
        return (int64_t)given;
    const int64_t got = read_on(members, name, (char *)out + given, bytes - given, err);
    return got < 0 ? -1 : (int64_t)given + got;
}
