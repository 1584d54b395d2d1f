/* Makes the list of sums of a dataset, or compares a list with the dataset. No file named in a list is ever opened: the
 * names come from the manifest, and the list is only compared with them. */
#include "shards/sums.h"

#include "base/text_lines.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "shards/manifest.h"

#include <stdio.h>
#include <stdlib.h>

#define LINE_BYTES_MAX (SHA256_DIGITS + 2 + SHARD_NAME_BYTES + 2)

struct sum {
    char name[SHARD_NAME_BYTES];
    uint64_t bytes;
    char is[SHA256_DIGITS + 1], listed[SHA256_DIGITS + 1]; /* "": not known */
};

struct sums {
    struct sum *items; /* [count] sorted by name */
    size_t count;
    uint64_t done, total; /* bytes */
};

static void sums_release(struct sums *sums)
{
    mem_free(sums->items);
}

static void add(struct sums *sums, const char *name)
{
    sums->items = mem_grow(sums->items, sums->count + 1, sizeof *sums->items);
    struct sum *sum = &sums->items[sums->count++];
    *sum = (struct sum){0};
    memcpy(sum->name, name, strlen(name) + 1);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct sum *)a)->name, ((const struct sum *)b)->name);
}

static int list_files(struct sums *sums, const char *directory, struct error *err)
{
    SCOPED(manifest_release) struct manifest manifest = {0};
    char name[SHARD_NAME_BYTES];
    TRY(manifest_read(&manifest, directory, err));
    add(sums, MANIFEST_NAME);
    struct manifest_text texts[MANIFEST_TEXTS];
    for (size_t count = manifest_texts(&manifest, texts), i = 0; i < count; i++) {
        add(sums, texts[i].name);
        sums->total += texts[i].bytes;
    }
    for (size_t i = 0; i < manifest.length_count; i++) {
        sums->total += manifest_length_bytes(&manifest, &manifest.lengths[i]);
        for (uint32_t shard = 0; shard < manifest.lengths[i].shards; shard++)
            add(sums, manifest_shard_name(&manifest.lengths[i], shard, name));
    }
    qsort(sums->items, sums->count, sizeof *sums->items, by_name);
    return 0;
}

static int sum_file(struct sums *sums, struct sum *sum, const char *directory, uint8_t *block,
                    struct verify_progress progress, struct error *err)
{
    struct sha256 sha = sha256_begin();
    SCOPED(file_close) struct file file = FILE_CLOSED;
    SCOPED(mem_free_at) char *path = path_join(directory, sum->name);
    TRY(file_open_read(&file, path, err));
    for (int64_t got = SHARD_BLOCK_BYTES; got == SHARD_BLOCK_BYTES;) {
        got = file_read(&file, block, SHARD_BLOCK_BYTES, err);
        TRY(got);
        sha256_add(&sha, block, (size_t)got);
        sums->done += (uint64_t)got;
        if (progress.report && progress.report(progress.context, sums->done, sums->total) < 0)
            return fail(err, ERR_STOPPED, "stopped; nothing was changed");
    }
    sum->bytes = sha.bytes;
    sha256_text(&sha, sum->is);
    return 0;
}

static int sum_all(struct sums *sums, const char *directory, struct verify_progress progress, struct error *err)
{
    TRY(list_files(sums, directory, err));
    SCOPED(mem_free_at) uint8_t *block = mem_alloc(SHARD_BLOCK_BYTES);
    for (size_t i = 0; i < sums->count; i++)
        TRY(sum_file(sums, &sums->items[i], directory, block, progress, err));
    return 0;
}

int sums_write(const char *directory, const char *path, struct verify_progress progress, struct error *err)
{
    SCOPED(sums_release) struct sums sums = {0};
    SCOPED(buf_release) struct buf text = {0};
    TRY(sum_all(&sums, directory, progress, err));
    for (size_t i = 0; i < sums.count; i++)
        buf_addf(&text, "%s  %s\n", sums.items[i].is, sums.items[i].name);
    return file_write_all(path, text.data, text.size, err);
}

static bool read_line(struct str line, struct sum *out)
{
    struct str name;
    *out = (struct sum){0};
    if (!sha256_line(line, out->listed, &name))
        return false;
    /* All names in a dataset are shorter than this, so a truncated name matches none of them. */
    memcpy(out->name, name.data, name.size < SHARD_NAME_BYTES ? name.size : SHARD_NAME_BYTES - 1);
    return true;
}

static int refuse_line(const char *path, size_t number, const char *what, struct error *err)
{
    fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "line %zu %s", number, what);
    return hint(err,
                "this is not the list of this dataset; to write the present sums, name a FILE that does not exist");
}

static int read_list(struct sums *sums, struct str text, const char *path, struct error *err)
{
    char what[128];
    struct str line;
    for (size_t number = 1; str_line(&text, &line); number++) {
        struct sum listed, *found;
        if (!read_line(line, &listed))
            return refuse_line(path, number, "is not in the format of sha256sum", err);
        found = bsearch(&listed, sums->items, sums->count, sizeof *sums->items, by_name);
        snprintf(what, sizeof what, "names %s, which %s", listed.name,
                 found ? "was named before" : "is not a file of this dataset");
        if (!found || found->listed[0])
            return refuse_line(path, number, what, err);
        memcpy(found->listed, listed.listed, sizeof found->listed);
    }
    return 0;
}

int sums_check(const char *directory, const char *path, struct verify_progress progress, struct verify_report *report,
               struct error *err)
{
    SCOPED(sums_release) struct sums sums = {0};
    SCOPED(buf_release) struct buf text = {0};
    TRY(sum_all(&sums, directory, progress, err));
    TRY(file_read_all(path, (sums.count + 1) * LINE_BYTES_MAX, &text, err));
    TRY(read_list(&sums, buf_str(&text), path, err));
    for (size_t i = 0; i < sums.count; i++) {
        const struct sum *sum = &sums.items[i];
        if (strcmp(sum->is, sum->listed) != 0)
            verify_note(report, sum->name, 0, sum->bytes,
                        sum->listed[0] ? "its SHA-256 is not the listed one" : "the list of sums does not name it");
    }
    return 0;
}
