/* Finds the damaged ranges of a dataset. The manifest determines a shard's header to the byte, and a table of hashes
 * determines its footer. So a table is the true one if header and footer hash to the value in the manifest. There are
 * two tables: one computed from the blocks as they are, and the one stored in the file. Whichever is true shows what is
 * damaged. If neither is, the blocks that disagree with the stored table are damaged, or the file belongs to another
 * dataset. */
#include "shards/verify.h"

#include "base/hash.h"
#include "base/mem.h"
#include "shards/manifest.h"

#include <stdio.h>
#include <stdlib.h>

struct verifier {
    const char *directory;
    struct verify_progress progress;
    struct verify_report *report;
    uint64_t total; /* bytes to read */
    uint8_t *block; /* [SHARD_BLOCK_BYTES] */
    struct error *err;
};

/* ----------------------------------------------------------------------------------------------- findings */

static const char damaged_records[] = "records are damaged";

void verify_note(struct verify_report *report, const char *name, uint64_t from, uint64_t to, const char *what)
{
    struct damage *last = report->count ? &report->damaged[report->count - 1] : NULL;
    if (last && last->what == what && strcmp(last->file, name) == 0 && from == last->to) {
        last->to = to;
        return;
    }
    report->damaged = mem_grow(report->damaged, report->count + 1, sizeof(*report->damaged));
    report->damaged[report->count++] = (struct damage){mem_copy_text(name), from, to, what};
}

static int by_place(const void *a, const void *b)
{
    const struct damage *x = a, *y = b;
    const int order = strcmp(x->file, y->file);
    return order ? order : (x->from > y->from) - (x->from < y->from);
}

void verify_release(struct verify_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        mem_free(report->damaged[i].file);
    mem_free(report->damaged);
    path_list_release(&report->unnamed);
    *report = (struct verify_report){0};
}

/* ------------------------------------------------------------------------------------------------ reading */

static int add_bytes(struct verifier *v, uint64_t bytes)
{
    v->report->bytes += bytes;
    if (v->progress.report && v->progress.report(v->progress.context, v->report->bytes, v->total) < 0)
        return fail(v->err, ERR_STOPPED, "stopped; nothing was changed");
    return 0;
}

/* Reads exactly `bytes` at `offset` of a file whose size was checked. */
static int read_exact(struct verifier *v, const struct file *file, void *out, uint64_t bytes, uint64_t offset)
{
    const int64_t got = file_read_at(file, out, bytes, offset, v->err);
    if (got < 0)
        return -1;
    if ((uint64_t)got != bytes)
        return fail_at(v->err, ERR_RESOURCE, file->path, offset, "the file became shorter while it was read");
    return add_bytes(v, bytes);
}

/* Opens DIR/name in *file, which is closed, and notes if it is missing or its size is not `expected`. 1: opened; 0:
 * nothing left to check; < 0: error. The caller closes the file in any case. */
static int open_expected(struct verifier *v, const char *name, uint64_t expected, struct file *file)
{
    SCOPED(mem_free_at) char *path = path_join(v->directory, name);
    v->report->files++;
    if (!path_is_file(path)) {
        verify_note(v->report, name, 0, expected, path_exists(path) ? "not a regular file" : "the file is missing");
        return 0;
    }
    TRY(file_open_read(file, path, v->err));
    const int64_t size = file_size(file, v->err);
    TRY(size);
    if ((uint64_t)size > expected)
        verify_note(v->report, name, expected, (uint64_t)size, "bytes after the end of the file");
    if ((uint64_t)size >= expected)
        return 1;
    verify_note(v->report, name, (uint64_t)size, expected, "the end of the file is missing");
    return 0;
}

/* ------------------------------------------------------------------------------------------------- shards */

/* A shard: what is expected and what the file holds. */
struct inspection {
    const char *name;
    struct file file;
    struct shard_header header; /* expected */
    uint64_t area, blocks;
    uint64_t *table;  /* [blocks] hashes of the blocks as they are */
    uint64_t *stored; /* [blocks] hashes stored in the file */
};

static int hash_blocks(struct verifier *v, struct inspection *in)
{
    for (uint64_t i = 0; i < in->blocks; i++) {
        const uint64_t from = i * SHARD_BLOCK_BYTES;
        const uint64_t bytes = in->area - from < SHARD_BLOCK_BYTES ? in->area - from : SHARD_BLOCK_BYTES;
        TRY(read_exact(v, &in->file, v->block, bytes, SHARD_HEADER_BYTES + from));
        in->table[i] = hash64(v->block, bytes);
    }
    return read_exact(v, &in->file, in->stored, in->blocks * 8, SHARD_HEADER_BYTES + in->area);
}

static bool is_truth(const struct inspection *in, const uint64_t *table, uint64_t hash)
{
    struct shard_footer footer;
    shard_footer_make(&in->header, table, &footer);
    return shard_hash(&in->header, &footer) == hash;
}

/* Notes the blocks whose hash differs from the table `truth`. */
static bool judge_records(struct verifier *v, const struct inspection *in, const uint64_t *truth)
{
    bool good = true;
    for (uint64_t i = 0; i < in->blocks; i++)
        if (in->table[i] != truth[i]) {
            const uint64_t from = i * SHARD_BLOCK_BYTES, to = from + SHARD_BLOCK_BYTES;
            verify_note(v->report, in->name, SHARD_HEADER_BYTES + from,
                        SHARD_HEADER_BYTES + (to < in->area ? to : in->area), damaged_records);
            good = false;
        }
    return good;
}

static int inspect(struct verifier *v, struct inspection *in, uint64_t hash)
{
    struct shard_header header;
    struct shard_footer footer, expected;
    const uint64_t table_at = SHARD_HEADER_BYTES + in->area, footer_at = table_at + in->blocks * 8;
    TRY(read_exact(v, &in->file, &header, sizeof(header), 0));
    TRY(hash_blocks(v, in));
    TRY(read_exact(v, &in->file, &footer, sizeof(footer), footer_at));
    const bool whole = is_truth(in, in->table, hash), table_whole = is_truth(in, in->stored, hash);
    const uint64_t *truth = whole ? in->table : in->stored;
    if (memcmp(&header, &in->header, sizeof(header)) != 0)
        verify_note(v->report, in->name, 0, sizeof(header), "the header is damaged");
    const bool good = judge_records(v, in, truth);
    if (!whole && !table_whole && good)
        verify_note(v->report, in->name, 0, shard_file_bytes(&in->header), "the shard is of another build");
    if (whole && !table_whole)
        verify_note(v->report, in->name, table_at, footer_at, "the table of hashes is damaged");
    shard_footer_make(&in->header, truth, &expected);
    if ((whole || table_whole) && memcmp(&footer, &expected, sizeof(footer)) != 0)
        verify_note(v->report, in->name, footer_at, footer_at + sizeof(footer), "the footer is damaged");
    return 0;
}

static void inspection_release(struct inspection *in)
{
    mem_free(in->table);
    mem_free(in->stored);
    file_close(&in->file);
}

static int verify_shard(struct verifier *v, const struct manifest *manifest, const struct manifest_length *length,
                        uint32_t shard)
{
    char name[SHARD_NAME_BYTES];
    SCOPED(inspection_release)
    struct inspection in = {.name = manifest_shard_name(length, shard, name), .file = FILE_CLOSED};
    manifest_shard_header(manifest, length, shard, &in.header);
    const int opened = open_expected(v, in.name, shard_file_bytes(&in.header), &in.file);
    if (opened < 1)
        return opened;
    in.area = shard_area_bytes(&in.header);
    in.blocks = shard_block_count(&in.header);
    in.table = mem_array(in.blocks, 8);
    in.stored = mem_array(in.blocks, 8);
    return inspect(v, &in, length->hashes[shard]);
}

/* -------------------------------------------------------------------------------------------- everything else */

/* Verifies a file whose size and hash are known. */
static int verify_whole(struct verifier *v, const char *name, uint64_t bytes, uint64_t wanted, const char *damage)
{
    SCOPED(file_close) struct file file = FILE_CLOSED;
    int result = open_expected(v, name, bytes, &file);
    if (result < 1)
        return result;
    struct hash *hash = hash_open();
    result = 0;
    for (uint64_t at = 0; at < bytes && result == 0;) {
        const uint64_t left = bytes - at, part = left < SHARD_BLOCK_BYTES ? left : SHARD_BLOCK_BYTES;
        result = read_exact(v, &file, v->block, part, at);
        if (result == 0)
            hash_add(hash, v->block, part);
        at += part;
    }
    if (result == 0 && hash_value(hash) != wanted)
        verify_note(v->report, name, 0, bytes, damage);
    hash_close(hash);
    return result;
}

static int verify_texts(struct verifier *v, const struct manifest *manifest)
{
    struct manifest_text texts[MANIFEST_TEXTS];
    for (size_t count = manifest_texts(manifest, texts), i = 0; i < count; i++)
        TRY(verify_whole(v, texts[i].name, texts[i].bytes, texts[i].hash,
                         !texts[i].cuts ? "the templates are damaged, or not those it was built with"
                         : i == 0       ? "the vocabulary is damaged, or not the one it was built with"
                                        : "the tokenizer is damaged, or not the one it was built with"));
    return 0;
}

/* 1: read, 0: damaged and noted, < 0: error. */
static int verify_manifest(struct verifier *v, struct manifest *manifest)
{
    SCOPED(buf_release) struct buf text = {0};
    SCOPED(mem_free_at) char *path = path_join(v->directory, MANIFEST_NAME);
    TRY(file_read_all(path, MANIFEST_BYTES_MAX, &text, v->err));
    v->report->files++;
    v->report->bytes += text.size;
    /* root_hash has the same meaning in all versions, so a newer version with a wrong root hash is damage. */
    const bool intact = manifest_intact(buf_str(&text));
    if (intact && manifest_parse(manifest, buf_str(&text), path, v->err) == 0)
        return 1;
    if (intact && v->err->kind != ERR_VERIFY)
        return -1;
    verify_note(v->report, MANIFEST_NAME, 0, text.size, "the manifest is damaged");
    return 0;
}

/* ------------------------------------------------------------------------------------------------ what is more */

/* seq128 → 128; 0: not such a name. */
static uint32_t length_of(const char *folder)
{
    unsigned seq = 0;
    int end = 0;
    return sscanf(folder, "seq%9u%n", &seq, &end) == 1 && folder[end] == '\0' ? seq : 0;
}

static bool is_named(const struct manifest *manifest, const char *name)
{
    const uint32_t seq = (uint32_t)strtoul(name + strlen("seq"), NULL, 10);
    const char *number = strchr(name, '-');
    char shard[SHARD_NAME_BYTES];
    for (int split = 0; split < SPLITS && number; split++) {
        const struct manifest_length *length = manifest_find(manifest, seq, (enum split)split);
        const unsigned long i = strtoul(number + 1, NULL, 10);
        if (length && i < length->shards && strcmp(name, manifest_shard_name(length, (uint32_t)i, shard)) == 0)
            return true;
    }
    return false;
}

static void note_unnamed(struct verify_report *report, const char *name)
{
    struct path_list *list = &report->unnamed;
    list->names = mem_grow(list->names, list->count + 1, sizeof(*list->names));
    list->names[list->count++] = mem_copy_text(name);
}

static int look_into(struct verifier *v, const struct manifest *manifest, const char *folder)
{
    SCOPED(path_list_release) struct path_list list = {0};
    SCOPED(mem_free_at) char *path = path_join(v->directory, folder);
    TRY(path_list(&list, path, v->err));
    for (size_t i = 0; i < list.count; i++) {
        SCOPED(mem_free_at) char *name = path_join(folder, list.names[i]);
        if (!is_named(manifest, name))
            note_unnamed(v->report, name);
    }
    return 0;
}

/* Finds files among the shards that the manifest does not name. Other files in the directory are the user's: notes, a
 * report, sums. */
static int find_unnamed(struct verifier *v, const struct manifest *manifest)
{
    SCOPED(path_list_release) struct path_list list = {0};
    TRY(path_list(&list, v->directory, v->err));
    for (size_t i = 0; i < list.count; i++) {
        const uint32_t seq = length_of(list.names[i]);
        SCOPED(mem_free_at) char *path = path_join(v->directory, list.names[i]);
        if (seq && !manifest_find(manifest, seq, SPLIT_TRAIN))
            note_unnamed(v->report, list.names[i]);
        else if (seq && path_is_directory(path))
            TRY(look_into(v, manifest, list.names[i]));
    }
    return 0;
}

static int verify_all(struct verifier *v, const struct manifest *manifest)
{
    struct manifest_text texts[MANIFEST_TEXTS];
    v->total = v->report->bytes;
    for (size_t count = manifest_texts(manifest, texts), i = 0; i < count; i++)
        v->total += texts[i].bytes;
    for (size_t i = 0; i < manifest->length_count; i++)
        v->total += manifest_length_bytes(manifest, &manifest->lengths[i]);
    TRY(verify_texts(v, manifest));
    for (size_t i = 0; i < manifest->length_count; i++)
        for (uint32_t s = 0; s < manifest->lengths[i].shards; s++)
            TRY(verify_shard(v, manifest, &manifest->lengths[i], s));
    return find_unnamed(v, manifest);
}

int dataset_verify(const char *directory, struct verify_progress progress, struct verify_report *report,
                   struct error *err)
{
    SCOPED(manifest_release) struct manifest manifest = {0};
    TRY(manifest_present(directory, err));
    SCOPED(mem_free_at) uint8_t *block = mem_alloc(SHARD_BLOCK_BYTES);
    struct verifier v = {.directory = directory, .progress = progress, .report = report, .block = block, .err = err};
    int result = verify_manifest(&v, &manifest);
    if (result == 1)
        result = verify_all(&v, &manifest);
    if (report->count)
        qsort(report->damaged, report->count, sizeof(*report->damaged), by_place);
    return result;
}
