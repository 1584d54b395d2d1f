/* A dataset of three samples in fuzz_directory(), with whatever pieces and names a manifest has. */
#include "tests/fuzz/fuzz.h"

#include "base/file.h"
#include "base/hash.h"
#include "shards/manifest.h"
#include "shards/sample.h"
#include "shards/writer.h"

#define SEQ     16u
#define SAMPLES 3u

#define SPECIAL_PIECES "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"
/* What a manifest begins with, whose vocabulary is the special pieces. */
#define MANIFEST_PLAIN                                                                                                 \
    ((struct manifest){                                                                                                \
        .text_version = 1, .special = {0, 1, 2, 3, 4}, .vocab_size = 5, .mask_millionths = 150000, .documents = 3})

static void must(int result, const struct error *err)
{
    if (result < 0)
        error_print(err, "fuzz", 0);
    assert(result >= 0);
}

/* Samples of whatever pieces there are. */
static void write_shard(const struct manifest *manifest, struct manifest_length *length)
{
    struct shard_header header;
    struct shard_writer writer;
    struct error err;
    char name[SHARD_NAME_BYTES];
    manifest_shard_header(manifest, length, 0, &header);
    const struct shard_layout layout = shard_layout_make(header.seq, header.predictions, header.vocab_size);
    SCOPED(sample_release) struct sample sample = sample_make(&layout);
    SCOPED(mem_free_at) uint8_t *record = mem_alloc(layout.record_bytes);
    SCOPED(mem_free_at) char *path = path_join(fuzz_directory(), manifest_shard_name(length, 0, name));
    must(writer_open(&writer, path, &header, &err), &err);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        sample.length = SEQ - i;
        sample.a_length = 6;
        sample.masked = 2;
        for (uint32_t at = 0; at < SEQ; at++)
            sample.ids[at] = (i * SEQ + at) % manifest->vocab_size;
        for (uint32_t at = 0; at < sample.masked; at++) {
            sample.positions[at] = 3 + at;
            sample.labels[at] = (7 + at) % manifest->vocab_size;
        }
        record_encode(&layout, &sample, record);
        must(writer_add(&writer, record, layout.record_bytes, &err), &err);
    }
    must(writer_commit(&writer, &length->hashes[0], NULL, &err), &err);
}

/* Adds the lengths to the manifest and writes all but build.json. */
static void dataset_write(struct manifest *m, struct str vocab)
{
    struct error err;
    char *seq = path_join(fuzz_directory(), "seq16");
    must(path_make_directory(seq, &err), &err);
    mem_free(seq);
    struct manifest_length *length = manifest_add_length(m, SEQ, 4, SPLIT_TRAIN, SAMPLES, 45, 1);
    m->vocab_bytes = vocab.size;
    m->vocab_hash = hash64(vocab.data, vocab.size);
    write_shard(m, length);
    manifest_add_length(m, SEQ, 4, SPLIT_VALID, 0, 0, 0);
    must(manifest_write(m, fuzz_directory(), &err), &err);
    fuzz_write(VOCAB_NAME, vocab);
}
