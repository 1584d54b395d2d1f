/* dsdata_hdf5.so: writes the files of export --format nvidia-hdf5, which DeepLearningExamples' BERT and DeepSpeed's
 * bing_bert read, with the HDF5 library. n samples, S tokens, P predictions:
 *
 *     input_ids [n, S] i32   input_mask, segment_ids [n, S] i8   masked_lm_positions, masked_lm_ids [n, P] i32
 *     next_sentence_labels [n] i8
 *
 * Padded with zeros, as those programs expect. */
#include "base/mem.h"
#include "pipeline/verbs/hdf5.h"

#include <hdf5.h>
#include <pthread.h>

#define BATCH 1024u /* samples written together */

/* The library has global state: one thread at a time. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

enum { IDS, MASK, SEGMENTS, POSITIONS, LABELS, NEXT, COLUMNS };

struct hdf5 {
    const struct shard_layout *layout;
    hid_t file, sets[COLUMNS];
    void *rows[COLUMNS]; /* [BATCH][columns] */
    uint64_t written;    /* samples in the file */
    uint64_t taken;      /* samples in rows */
};

static const struct {
    const char *name;
    bool wide;  /* i32, else i8 */
    int places; /* 0: S, 1: P, 2: one */
} columns[] = {
    [IDS] = {"input_ids", true, 0},         [MASK] = {"input_mask", false, 0},
    [SEGMENTS] = {"segment_ids", false, 0}, [POSITIONS] = {"masked_lm_positions", true, 1},
    [LABELS] = {"masked_lm_ids", true, 1},  [NEXT] = {"next_sentence_labels", false, 2},
};
_Static_assert(sizeof columns / sizeof *columns == COLUMNS, "a row for every column");

static hsize_t width(const struct shard_layout *layout, int column)
{
    return columns[column].places == 0 ? layout->seq : columns[column].places == 1 ? layout->predictions : 1;
}

static int open_sets(struct hdf5 *h, uint64_t count)
{
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    if (H5Pset_obj_track_times(properties, false) < 0) /* the same samples are to give the same bytes */
        return -1;
    for (int c = 0; c < COLUMNS; c++) {
        const hsize_t shape[2] = {count, width(h->layout, c)};
        const hid_t space = H5Screate_simple(columns[c].places == 2 ? 1 : 2, shape, NULL);
        h->sets[c] = H5Dcreate2(h->file, columns[c].name, columns[c].wide ? H5T_STD_I32LE : H5T_STD_I8LE, space,
                                H5P_DEFAULT, properties, H5P_DEFAULT);
        H5Sclose(space);
        if (h->sets[c] < 0)
            return -1;
        h->rows[c] = mem_array(BATCH * (size_t)shape[1], columns[c].wide ? 4 : 1);
    }
    H5Pclose(properties);
    return 0;
}

static int write_rows(struct hdf5 *h)
{
    int result = 0;
    for (int c = 0; c < COLUMNS && result == 0 && h->taken > 0; c++) {
        const int rank = columns[c].places == 2 ? 1 : 2;
        const hsize_t from[2] = {h->written, 0}, shape[2] = {h->taken, width(h->layout, c)};
        const hid_t there = H5Dget_space(h->sets[c]), here = H5Screate_simple(rank, shape, NULL);
        if (H5Sselect_hyperslab(there, H5S_SELECT_SET, from, NULL, shape, NULL) < 0 ||
            H5Dwrite(h->sets[c], columns[c].wide ? H5T_NATIVE_INT32 : H5T_NATIVE_INT8, here, there, H5P_DEFAULT,
                     h->rows[c]) < 0)
            result = -1;
        H5Sclose(here);
        H5Sclose(there);
    }
    h->written += h->taken;
    h->taken = 0;
    return result;
}

static int failed(struct error *err)
{
    return fail(err, ERR_RESOURCE, "the HDF5 library could not write; is the disk full?");
}

/* numbers[used], then zeros. */
static void put_row(int32_t *row, const uint32_t *numbers, uint32_t used, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        row[i] = i < used ? (int32_t)numbers[i] : 0;
}

static int take(void *context, const struct sample *sample, struct error *err)
{
    struct hdf5 *h = context;
    const uint32_t seq = h->layout->seq, places = h->layout->predictions;
    int8_t *mask = (int8_t *)h->rows[MASK] + h->taken * seq, *segments = (int8_t *)h->rows[SEGMENTS] + h->taken * seq;
    put_row((int32_t *)h->rows[IDS] + h->taken * seq, sample->ids, sample->length, seq);
    put_row((int32_t *)h->rows[POSITIONS] + h->taken * places, sample->positions, sample->masked, places);
    put_row((int32_t *)h->rows[LABELS] + h->taken * places, sample->labels, sample->masked, places);
    for (uint32_t i = 0; i < seq; i++) {
        mask[i] = i < sample->length;
        segments[i] = i >= sample->a_length && i < sample->length;
    }
    ((int8_t *)h->rows[NEXT])[h->taken] = (int8_t)sample->is_random_next;
    if (++h->taken < BATCH)
        return 0;
    pthread_mutex_lock(&lock);
    const int result = write_rows(h);
    pthread_mutex_unlock(&lock);
    return result < 0 ? failed(err) : 0;
}

static int close_all(struct hdf5 *h)
{
    int result = 0;
    for (int c = 0; c < COLUMNS; c++) {
        if (h->sets[c] > 0 && H5Dclose(h->sets[c]) < 0)
            result = -1;
        mem_free(h->rows[c]);
    }
    if (h->file >= 0 && H5Fclose(h->file) < 0)
        result = -1;
    return result;
}

/* The library opens files itself: under a temporary name, which is synced and renamed when everything is written. */
static int write_file(struct export_file *file, export_each_fn *each, struct error *err)
{
    struct hdf5 h = {.layout = &file->work->dataset->layout};
    SCOPED(file_close) struct file written = FILE_CLOSED;
    SCOPED(buf_release) struct buf name = {0};
    buf_addf(&name, "%s.tmp", file->path);
    pthread_mutex_lock(&lock);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* it would print */
    h.file = H5Fcreate(buf_text(&name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    int result = h.file < 0 || open_sets(&h, file->count) < 0 ? failed(err) : 0;
    pthread_mutex_unlock(&lock);
    if (result == 0)
        result = each(file, take, &h, err);
    pthread_mutex_lock(&lock);
    if (result == 0 && write_rows(&h) < 0)
        result = failed(err);
    if (close_all(&h) < 0 && result == 0)
        result = failed(err);
    pthread_mutex_unlock(&lock);
    if (result == 0 && file_append_open(&written, buf_text(&name), err) == 0 && file_sync(&written, err) == 0 &&
        path_rename(buf_text(&name), file->path, err) == 0)
        return 0;
    path_remove(buf_text(&name), &(struct error){0});
    return -1;
}

const struct hdf5_module dsdata_hdf5 = {.interface = HDF5_INTERFACE, .write = write_file};
