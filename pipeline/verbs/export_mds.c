/* export --format mds: a folder that MosaicML Streaming reads (StreamingDataset), format version 2 of its MDSWriter:
 *
 *     DIR/index.json   {"by": "dsdata export", "shards": [{"raw_data": {"basename", "bytes", …}, "samples", "column_names", …}], "version": 2}
 *     DIR/shard.00000.mds
 *         u32 n │ u32 offsets[n + 1], from the file's begin │ the columns as JSON │ samples
 *     a sample   u32 sizes of the columns without a fixed size │ the columns in the order of their names
 *     an array   byte 4·dimensions + log2 of the bytes of its shape's numbers │ shape │ values
 *
 * Columns: input_ids (without padding); labels if there are masks (-100 elsewhere); for a dataset of pairs also
 * next_sentence_label and token_type_ids. Trainers that read this format pad, pack and, with --masks none, mask
 * themselves. */
#include "base/file.h"
#include "base/mem.h"
#include "pipeline/verbs/export_formats.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#define INDEX_NAME   "index.json"
#define FILE_BYTES   ((uint64_t)1 << 26) /* MDSWriter's own size_limit */
#define WRITE_BYTES  ((size_t)1 << 20)
#define NOT_A_LABEL  (-100)
#define ARRAY_PREFIX 3u /* bytes, at most: the kind of shape and one number */

static bool has_pairs(const struct export_work *work)
{
    return work->dataset->manifest.pairs != PAIRS_NONE;
}

static bool has_labels(const struct export_work *work)
{
    return work->masks != EXPORT_UNMASKED;
}

/* The arrays of a sample: input_ids, labels, token_type_ids, as far as they exist. */
static size_t array_count(const struct export_work *work)
{
    return 1u + has_labels(work) + has_pairs(work);
}

/* "column_names": …, and the other members that describe a file. */
static json_t *config_json(const struct export_work *work)
{
    json_t *names = json_array(), *encodings = json_array(), *sizes = json_array();
    const struct {
        bool there;
        const char *name, *encoding;
        int size; /* 0: not fixed */
    } columns[] = {{true, "input_ids", "ndarray:int32", 0},
                   {has_labels(work), "labels", "ndarray:int32", 0},
                   {has_pairs(work), "next_sentence_label", "int64", 8},
                   {has_pairs(work), "token_type_ids", "ndarray:int32", 0}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (columns[i].there) {
            json_array_append_new(names, json_string(columns[i].name));
            json_array_append_new(encodings, json_string(columns[i].encoding));
            json_array_append_new(sizes, columns[i].size ? json_integer(columns[i].size) : json_null());
        }
    return json_pack("{s:o, s:o, s:o, s:n, s:s, s:[], s:I, s:i}", "column_names", names, "column_encodings", encodings,
                     "column_sizes", sizes, "compression", "format", "mds", "hashes", "size_limit",
                     (json_int_t)FILE_BYTES, "version", 2);
}

/* ---- a file ---- */

struct mds {
    const struct export_work *work;
    struct file file;
    struct buf buf;
    uint32_t *offsets; /* [n + 1] */
    uint64_t taken, at;
};

static void add_u32(struct buf *buf, uint32_t value)
{
    buf_add(buf, &value, sizeof value);
}

static uint32_t array_bytes(uint32_t length)
{
    return 1u + (length < 256 ? 1 : 2) + 4 * length;
}

static void add_shape(struct buf *buf, uint32_t length)
{
    buf_add_byte(buf, (char)(1 << 2 | (length >= 256)));
    buf_add(buf, &length, length < 256 ? 1 : 2); /* little-endian */
}

static void add_labels(struct buf *buf, const struct sample *sample)
{
    add_shape(buf, sample->length);
    for (uint32_t i = 0, next = 0; i < sample->length; i++) {
        const bool masked = next < sample->masked && sample->positions[next] == i;
        add_u32(buf, masked ? sample->labels[next++] : (uint32_t)NOT_A_LABEL);
    }
}

static int flush(struct mds *mds, struct error *err)
{
    const int result = file_write(&mds->file, mds->buf.data, mds->buf.size, err);
    buf_reset(&mds->buf);
    return result;
}

static int take(void *context, const struct sample *sample, struct error *err)
{
    struct mds *mds = context;
    struct buf *buf = &mds->buf;
    const size_t before = buf->size, arrays = array_count(mds->work);
    for (size_t i = 0; i < arrays; i++)
        add_u32(buf, array_bytes(sample->length));
    add_shape(buf, sample->length);
    buf_add(buf, sample->ids, 4 * (size_t)sample->length);
    if (has_labels(mds->work))
        add_labels(buf, sample);
    if (has_pairs(mds->work)) {
        const int64_t next = sample->is_random_next;
        buf_add(buf, &next, sizeof next);
        add_shape(buf, sample->length);
        for (uint32_t i = 0; i < sample->length; i++)
            add_u32(buf, i >= sample->a_length);
    }
    mds->at += buf->size - before;
    if (mds->at > UINT32_MAX)
        return fail(err, ERR_USAGE, "a file of this format ends below 4 GiB: --files must be more");
    mds->offsets[++mds->taken] = (uint32_t)mds->at;
    return buf->size < WRITE_BYTES ? 0 : flush(mds, err);
}

/* The front is written last, because it has the offsets. */
static int write_all(struct mds *mds, struct export_file *file, struct error *err)
{
    SCOPED(buf_release) struct buf front = {0};
    json_auto_t *config = config_json(file->work);
    SCOPED(mem_free_at) char *text = json_dumps(config, JSON_SORT_KEYS);
    mds->at = 4 + 4 * (file->count + 1) + strlen(text);
    mds->offsets[0] = (uint32_t)mds->at;
    TRY(file_truncate(&mds->file, mds->at, err));
    TRY(export_each(file, take, mds, err));
    TRY(flush(mds, err));
    add_u32(&front, (uint32_t)file->count);
    buf_add(&front, mds->offsets, 4 * (file->count + 1));
    buf_add_text(&front, text);
    TRY(file_write_at(&mds->file, front.data, front.size, 0, err));
    file->bytes = mds->at;
    return file_commit(&mds->file, err);
}

static int write_file(struct export_file *file, struct error *err)
{
    struct mds mds = {.work = file->work, .file = FILE_CLOSED};
    if (file->count >= UINT32_MAX / 4)
        return fail(err, ERR_USAGE, "a file of this format holds below 2^30 samples: --files must be more");
    mds.offsets = mem_array(file->count + 1, sizeof *mds.offsets);
    int result = file_create(&mds.file, file->path, err);
    if (result == 0)
        result = write_all(&mds, file, err);
    file_close(&mds.file);
    buf_release(&mds.buf);
    mem_free(mds.offsets);
    return result;
}

/* ---- the folder ---- */

static uint64_t files(const struct export_work *work)
{
    const struct manifest_length *length = work->dataset->length;
    const uint64_t arrays = array_count(work);
    const uint64_t bytes = length->tokens * 4 * arrays + length->samples * (4 + 8 + arrays * (4 + ARRAY_PREFIX));
    return bytes / FILE_BYTES + 1;
}

static void name_file(const struct export_work *work, uint64_t index, uint64_t count, char out[64])
{
    (void)work;
    (void)count;
    snprintf(out, 64, "shard.%05" PRIu64 ".mds", index);
}

/* index.json is written last: without it a folder is not a dataset. */
static int finish(const char *folder, const struct export_file *files, uint64_t count, struct error *err)
{
    json_t *shards = json_array();
    char name[64];
    for (uint64_t i = 0; i < count; i++) {
        json_t *shard = config_json(files[i].work);
        name_file(files[i].work, i, count, name);
        json_object_update_new(shard, json_pack("{s:I, s:n, s:{s:s, s:I, s:{}}}", "samples", (json_int_t)files[i].count,
                                                "zip_data", "raw_data", "basename", name, "bytes",
                                                (json_int_t)files[i].bytes, "hashes"));
        json_array_append_new(shards, shard);
    }
    json_auto_t *index = json_pack("{s:s, s:o, s:i}", "by", "dsdata export", "shards", shards, "version", 2);
    SCOPED(mem_free_at) char *text = json_dumps(index, JSON_SORT_KEYS), *path = path_join(folder, INDEX_NAME);
    return file_write_all(path, text, strlen(text), err);
}

static bool is_ours(const char *name)
{
    unsigned index;
    int end = 0;
    return strcmp(name, INDEX_NAME) == 0 ||
           (sscanf(name, "shard.%5u.mds%n", &index, &end) == 1 && end > 0 && !name[end]);
}

static const char *const endings[] = {".mds", NULL};
const struct export_format export_mds = {.endings = endings,
                                         .unmasked = true,
                                         .folder = true,
                                         .write = write_file,
                                         .files = files,
                                         .name_file = name_file,
                                         .finish = finish,
                                         .form = {.begins = "{\"by\": \"dsdata export\", "},
                                         .key = INDEX_NAME,
                                         .ours = is_ours};
