/* Makes the list of sums of a dataset, or compares a list with the dataset. No file named in a list is ever opened: the
 * names come from the manifest, and the list is only compared with them. */
#include "shards/sums.h"

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
    struct manifest manifest;
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
    manifest_release(&manifest);
    return 0;
}

static int sum_file(struct sums *sums, struct sum *sum, const char *directory, uint8_t *block,
                    struct verify_progress progress, struct error *err)
{
    struct sha256 sha = sha256_begin();
    struct file file;
    char *path = path_join(directory, sum->name);
    int result = file_open_read(&file, path, err);
    int64_t got = SHARD_BLOCK_BYTES;
    mem_free(path);
    TRY(result);
    while (result == 0 && got == SHARD_BLOCK_BYTES) {
        got = file_read(&file, block, SHARD_BLOCK_BYTES, err);
        if (got < 0)
            break;
        sha256_add(&sha, block, (size_t)got);
        sums->done += (uint64_t)got;
        if (progress.report && progress.report(progress.context, sums->done, sums->total) < 0)
            result = fail(err, ERR_STOPPED, "stopped; nothing was changed");
    }
    file_close(&file);
    sum->bytes = sha.bytes;
    sha256_text(&sha, sum->is);
    return got < 0 ? -1 : result;
}

static int sum_all(struct sums *sums, const char *directory, struct verify_progress progress, struct error *err)
{
    TRY(list_files(sums, directory, err));
    SCOPED(mem_free_at) uint8_t *block = mem_alloc(SHARD_BLOCK_BYTES);
    int result = 0;
    for (size_t i = 0; i < sums->count && result == 0; i++)
        result = sum_file(sums, &sums->items[i], directory, block, progress, err);
    return result;
}

int sums_write(const char *directory, const char *path, struct verify_progress progress, struct error *err)
{
    struct sums sums = {0};
    SCOPED(buf_release) struct buf text = {0};
    int result = sum_all(&sums, directory, progress, err);
    for (size_t i = 0; i < sums.count; i++)
        buf_addf(&text, "%s  %s\n", sums.items[i].is, sums.items[i].name);
    if (result == 0)
        result = file_write_all(path, text.data, text.size, err);
    mem_free(sums.items);
    return result;
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
    for (size_t number = 1; text.size > 0; number++) {
        const char *end = memchr(text.data, '\n', text.size);
        const struct str line = {text.data, end ? (size_t)(end - text.data) : text.size};
        struct sum listed, *found;
        if (!read_line(line, &listed))
            return refuse_line(path, number, "is not in the format of sha256sum", err);
        found = bsearch(&listed, sums->items, sums->count, sizeof *sums->items, by_name);
        snprintf(what, sizeof what, "names %s, which %s", listed.name,
                 found ? "was named before" : "is not a file of this dataset");
        if (!found || found->listed[0])
            return refuse_line(path, number, what, err);
        memcpy(found->listed, listed.listed, sizeof found->listed);
        text = str_range(text.data + line.size + (end != NULL), text.data + text.size);
    }
    return 0;
}

int sums_check(const char *directory, const char *path, struct verify_progress progress, struct verify_report *report,
               struct error *err)
{
    struct sums sums = {0};
    SCOPED(buf_release) struct buf text = {0};
    int result = sum_all(&sums, directory, progress, err);
    if (result == 0)
        result = file_read_all(path, (sums.count + 1) * LINE_BYTES_MAX, &text, err);
    if (result == 0)
        result = read_list(&sums, buf_str(&text), path, err);
    for (size_t i = 0; i < sums.count && result == 0; i++) {
        const struct sum *sum = &sums.items[i];
        if (strcmp(sum->is, sum->listed) != 0)
            verify_note(report, sum->name, 0, sum->bytes,
                        sum->listed[0] ? "its SHA-256 is not the listed one" : "the list of sums does not name it");
    }
    mem_free(sums.items);
    return result;
}
