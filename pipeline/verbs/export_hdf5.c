/* export --format nvidia-hdf5: files named as DeepLearningExamples and bing_bert expect, each written by dsdata_hdf5.so
 * (hdf5.h), which is loaded for this. */
#include "base/module.h"
#include "pipeline/verbs/hdf5.h"

#include <inttypes.h>
#include <stdio.h>

/* Those programs recognise their files by "training" or "test" in the name. */
static void name_file(const struct export_work *work, uint64_t index, uint64_t count, char out[64])
{
    (void)count;
    snprintf(out, 64, "seq%u_%s_%05" PRIu64 ".hdf5", work->dataset->layout.seq,
             work->dataset->length->split == SPLIT_TRAIN ? "training" : "test", index);
}

static int write_file(struct export_file *file, struct error *err)
{
#ifdef DS_HDF5
    const struct hdf5_module *module =
        module_load("dsdata_hdf5.so", HDF5_SYMBOL, HDF5_INTERFACE, "what writes HDF5", err);
    return module ? module->write(file, export_each, err) : -1;
#else
    (void)file;
    fail(err, ERR_UNSAFE, "this dsdata was built without HDF5");
#ifdef DS_STATIC
    return hint(err, STATIC_HINT "; or --format mds, tfrecord, jsonl", "libhdf5-dev");
#else
    return hint(err, "apt-get install libhdf5-dev, then build again; or --format mds, tfrecord, jsonl");
#endif
#endif
}

static bool is_ours(const char *name)
{
    char split[9];
    unsigned seq, index;
    int end = 0;
    return sscanf(name, "seq%4u_%8[a-z]_%5u.hdf5%n", &seq, split, &index, &end) == 3 && end > 0 && !name[end];
}

static const char *const sets[] = {"input_ids", "input_mask", "segment_ids", "masked_lm_positions", NULL};
static const char *const endings[] = {".h5", ".hdf5", NULL};
const struct export_format export_hdf5 = {.endings = endings,
                                          .folder = true,
                                          .write = write_file,
                                          .name_file = name_file,
                                          .form = {.begins = "\x89HDF\r\n\x1a\n", .holds = sets},
                                          .ours = is_ours};
