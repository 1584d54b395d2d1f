/* Writes a synthetic dataset, which needs no dump, so that a training benchmark includes shards, loader and packing.
 *
 *     make_shards DIRECTORY SEQ SAMPLES [MEAN_LENGTH [VOCABULARY [none]]]        make_shards made 512 20000 254.5
 *
 * Each word determines the next by a rule, so a model can learn. With a mean of SEQ (the default), all samples have SEQ
 * tokens; otherwise half of them have, if the mean allows it, and the lengths of the others are uniform. With "none",
 * samples are single segments, as from `dsdata build --pairs none`. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/random.h"
#include "shards/manifest.h"
#include "shards/sample.h"
#include "shards/writer.h"

enum { PAD, UNK, CLS, SEP, MASK, WORDS };
#define SHARDS 4

struct wish {
    const char *directory;
    uint32_t seq, vocabulary;
    uint64_t samples;
    double mean;
    enum pair_kind pairs;
};

static uint32_t length_of(const struct wish *wish, const struct random_stream *stream, uint32_t n)
{
    const double full = 0.5, rest = (wish->mean - full * wish->seq) / (1 - full); /* mean length of the others */
    if (wish->mean >= wish->seq)
        return wish->seq;
    if (rest <= 8) /* a short mean: uniform, from 8 to at most SEQ */
        return 8 + random_below(random_at(stream, n, 1), (uint32_t)(2 * (wish->mean - 8)) + 1);
    if (random_at(stream, n, 0) & 1)
        return wish->seq;
    const double spread = rest - 8 < wish->seq - rest ? rest - 8 : wish->seq - rest;
    return (uint32_t)(rest - spread) + random_below(random_at(stream, n, 1), (uint32_t)(2 * spread) + 1);
}

static void make_sample(const struct wish *wish, const struct shard_layout *layout, uint32_t n, struct sample *sample)
{
    const struct random_stream stream = random_stream(7, RANDOM_PAIR, 0, 0, 0, 0, 0);
    const uint32_t words = wish->vocabulary - WORDS;
    uint32_t word = random_below(random_at(&stream, n, 2), words);
    sample->length = length_of(wish, &stream, n);
    sample->a_length = wish->pairs == PAIRS_NONE ? sample->length : sample->length / 2;
    sample->is_random_next = wish->pairs == PAIRS_NONE ? 0 : random_at(&stream, n, 3) & 1;
    sample->document_a = sample->document_b = n;
    for (uint32_t i = 0; i < sample->length; i++) {
        sample->ids[i] = WORDS + word;
        word = (word + (sample->is_random_next && i > sample->a_length ? 31 : 7)) % words;
    }
    sample->ids[0] = CLS;
    sample->ids[sample->a_length - 1] = sample->ids[sample->length - 1] = SEP;
    sample->masked = 0;
    for (uint32_t i = 1; i + 1 < sample->length && sample->masked < layout->predictions; i++) {
        if (i == sample->a_length - 1 || !random_chance(random_at(&stream, n, 100 + i), 150000))
            continue;
        sample->positions[sample->masked] = i;
        sample->labels[sample->masked++] = sample->ids[i];
        sample->ids[i] = MASK;
    }
}

static int write_shard(const struct wish *wish, const char *path, const struct shard_header *header, uint64_t first,
                       uint64_t *hash, struct error *err)
{
    const struct shard_layout layout = shard_layout_make(header->seq, header->predictions, header->vocab_size);
    SCOPED(sample_release) struct sample sample = sample_make(&layout);
    SCOPED(mem_free_at) uint8_t *record = mem_alloc(layout.record_bytes);
    struct shard_writer writer = WRITER_CLOSED;
    int result = writer_open(&writer, path, header, err);
    for (uint64_t i = 0; i < header->record_count && result == 0; i++) {
        make_sample(wish, &layout, (uint32_t)(first + i), &sample);
        record_encode(&layout, &sample, record);
        result = writer_add(&writer, record, layout.record_bytes, err);
    }
    if (result == 0)
        result = writer_commit(&writer, hash, NULL, err);
    writer_close(&writer);
    return result;
}

static int write_vocabulary(const struct wish *wish, struct manifest *manifest, struct error *err)
{
    SCOPED(buf_release) struct buf text = {0};
    SCOPED(mem_free_at) char *path = path_join(wish->directory, VOCAB_NAME);
    buf_add_text(&text, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
    for (uint32_t i = WORDS; i < wish->vocabulary; i++)
        buf_addf(&text, "w%" PRIu32 "\n", i);
    manifest->vocab_bytes = text.size;
    manifest->vocab_hash = hash64(text.data, text.size);
    const int result = file_write_all(path, text.data, text.size, err);
    return result;
}

/* Adds a set. Walks over all samples to count its tokens. */
static void add_set(const struct wish *wish, struct manifest *manifest, enum split split, uint64_t samples)
{
    const struct random_stream stream = random_stream(7, RANDOM_PAIR, 0, 0, 0, 0, 0);
    const uint32_t predictions = (wish->seq * 15 + 399) / 400 * 4;
    uint64_t tokens = 0;
    for (uint64_t i = 0; i < samples; i++)
        tokens += length_of(wish, &stream, (uint32_t)i);
    manifest_add_length(manifest, wish->seq, predictions, split, samples, tokens, samples > 0 ? SHARDS : 0);
}

static int write_sets(const struct wish *wish, struct manifest *manifest, struct error *err)
{
    char name[SHARD_NAME_BYTES];
    struct shard_header header;
    for (size_t l = 0; l < manifest->length_count; l++) {
        const struct manifest_length *length = &manifest->lengths[l];
        for (uint32_t s = 0; s < length->shards; s++) {
            char *path = path_join(wish->directory, manifest_shard_name(length, s, name));
            manifest_shard_header(manifest, length, s, &header);
            const int result = write_shard(wish, path, &header, shard_first(length->samples, length->shards, s),
                                           &length->hashes[s], err);
            mem_free(path);
            TRY(result);
        }
    }
    return 0;
}

static int make(const struct wish *wish, struct error *err)
{
    struct manifest manifest = {
        .text_version = 1,
        .vocab_size = wish->vocabulary,
        .special = {PAD, UNK, CLS, SEP, MASK},
        .pairs = wish->pairs,
        .masking = MASKS_TOKEN,
        .mask_millionths = 150000,
        .seed = 7,
        .documents = wish->samples,
        .pages_kept = wish->samples,
    };
    char name[32];
    snprintf(name, sizeof name, "seq%" PRIu32, wish->seq);
    SCOPED(mem_free_at) char *folder = path_join(wish->directory, name);
    manifest_add_source(&manifest, (struct manifest_source){0});
    add_set(wish, &manifest, SPLIT_TRAIN, wish->samples);
    add_set(wish, &manifest, SPLIT_VALID, 0);
    int result = path_make_directory(wish->directory, err);
    if (result == 0)
        result = path_make_directory(folder, err);
    if (result == 0)
        result = write_vocabulary(wish, &manifest, err);
    if (result == 0)
        result = write_sets(wish, &manifest, err);
    if (result == 0)
        result = manifest_write(&manifest, wish->directory, err);
    manifest_release(&manifest);
    return result;
}

int main(int argc, char **argv)
{
    struct error err;
    if (argc < 4) {
        fprintf(stderr, "make_shards DIRECTORY SEQ SAMPLES [MEAN_LENGTH [VOCABULARY [none]]]\n");
        return ERR_USAGE;
    }
    const struct wish wish = {
        .directory = argv[1],
        .seq = (uint32_t)strtoul(argv[2], NULL, 10),
        .samples = strtoull(argv[3], NULL, 10),
        .mean = argc > 4 ? strtod(argv[4], NULL) : HUGE_VAL,
        .vocabulary = argc > 5 ? (uint32_t)strtoul(argv[5], NULL, 10) : 30522,
        .pairs = argc > 6 ? PAIRS_NONE : PAIRS_NSP,
    };
    return make(&wish, &err) < 0 ? error_print(&err, "make_shards", 0) : 0;
}
