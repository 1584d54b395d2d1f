/* Opens a dataset and reads its samples of one length and split by number. The manifest is authoritative: a shard that
 * disagrees with it does not belong to the dataset. */
#include "shards/dataset.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/output.h"
#include "tokenizer/tokenizer_files.h"

#include <inttypes.h>
#include <stdio.h>

/* The lengths as text: "128, 512". */
static void list_lengths(const struct manifest *manifest, char *out, size_t out_size)
{
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < manifest->length_count && used + 16 < out_size; i += SPLITS)
        used += (size_t)snprintf(out + used, out_size - used, "%s%u", i ? ", " : "", manifest->lengths[i].seq);
}

static int find_length(struct dataset *dataset, uint32_t seq, enum split split, struct error *err)
{
    const struct manifest *manifest = &dataset->manifest;
    char lengths[256];
    dataset->length = manifest_find(manifest, seq ? seq : manifest_shortest(manifest), split);
    if (dataset->length)
        return 0;
    if (manifest->length_count == 0)
        return fail_at(err, ERR_MISMATCH, dataset->directory, ERROR_NO_OFFSET, "the dataset holds no sequence length");
    list_lengths(manifest, lengths, sizeof(lengths));
    fail_at(err, ERR_MISMATCH, dataset->directory, ERROR_NO_OFFSET, "the dataset has no samples of length %u", seq);
    return hint(err, "it holds these lengths: %s; dsdata build --seq makes others", lengths);
}

/* Compares a file that cuts text with the manifest. */
static int check_text(const char *directory, const struct manifest_text *text, struct error *err)
{
    struct mapping map;
    SCOPED(mem_free_at) char *path = path_join(directory, text->name);
    if (!path_exists(path))
        return fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "the dataset's vocabulary is missing");
    TRY(file_map(&map, path, err));
    const bool same = map.size == text->bytes && hash64(map.data, map.size) == text->hash;
    file_unmap(&map);
    if (same)
        return 0;
    fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET, "not the vocabulary that the shards were made with");
    return hint_command(err, "dsdata verify %s names what is damaged", directory);
}

static int check_texts(const char *directory, const struct manifest *manifest, struct error *err)
{
    struct manifest_text texts[MANIFEST_TEXTS];
    for (size_t count = manifest_texts(manifest, texts), i = 0; i < count; i++)
        if (texts[i].cuts)
            TRY(check_text(directory, &texts[i], err));
    return 0;
}

int dataset_vocab(struct vocab **vocab, const char *directory, const struct manifest *manifest, struct error *err)
{
    struct tokenizer_facts facts;
    SCOPED(mem_free_at) char *path = path_join(directory, VOCAB_NAME);
    *vocab = NULL;
    TRY(check_texts(directory, manifest, err));
    if (!manifest_is_bpe(manifest) && !manifest_option(manifest, "tokenizer.json"))
        return vocab_read(vocab, path, VOCAB_OWN, err);
    TRY(tokenizer_read(&facts, directory, PROFILE_HF, err));
    *vocab = facts.vocab;
    return 0;
}

static int open_vocabulary(struct dataset *dataset, struct error *err)
{
    struct vocab *vocab;
    if (dataset->manifest.masking != MASKS_WHOLE_WORD)
        return check_texts(dataset->directory, &dataset->manifest, err);
    TRY(dataset_vocab(&vocab, dataset->directory, &dataset->manifest, err));
    dataset->words = word_starts_open(vocab);
    vocab_close(vocab);
    return 0;
}

static int open_shard(const struct dataset *dataset, uint32_t index, struct shard *shard, struct error *err)
{
    char name[SHARD_NAME_BYTES];
    struct shard_header expected;
    SCOPED(mem_free_at) char *path = path_join(dataset->directory, manifest_shard_name(dataset->length, index, name));
    manifest_shard_header(&dataset->manifest, dataset->length, index, &expected);
    if (!path_exists(path))
        return fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "a shard of the dataset is missing");
    TRY(shard_open(shard, path, err));
    if (memcmp(&shard->header, &expected, sizeof(expected)) == 0 && shard->hash == dataset->length->hashes[index])
        return 0;
    return fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET, "not the shard that the manifest names: %s",
                   shard_header_difference(&shard->header, &expected));
}

static int open_shards(struct dataset *dataset, struct error *err)
{
    const uint32_t count = dataset->length->shards;
    dataset->shards = mem_clear(count, sizeof(*dataset->shards));
    for (uint32_t i = 0; i < count; i++)
        if (open_shard(dataset, i, &dataset->shards[i], err) < 0)
            return err->hint[0] ? -1 : hint_command(err, "dsdata verify %s names what is damaged", dataset->directory);
    return 0;
}

int dataset_open(struct dataset *dataset, const char *directory, uint32_t seq, enum split split, struct error *err)
{
    *dataset = (struct dataset){0};
    TRY(manifest_read(&dataset->manifest, directory, err));
    dataset->directory = mem_copy_text(directory);
    if (find_length(dataset, seq, split, err) < 0 || open_vocabulary(dataset, err) < 0 ||
        open_shards(dataset, err) < 0) {
        dataset_close(dataset);
        return -1;
    }
    const struct manifest_length *length = dataset->length;
    dataset->layout = shard_layout_make(length->seq, length->predictions, dataset->manifest.vocab_size);
    dataset->samples = length->samples;
    return 0;
}

void dataset_close(struct dataset *dataset)
{
    for (uint32_t i = 0; dataset->shards && i < dataset->length->shards; i++)
        shard_close(&dataset->shards[i]);
    mem_free(dataset->shards);
    word_starts_close(dataset->words);
    mem_free(dataset->directory);
    manifest_release(&dataset->manifest);
    *dataset = (struct dataset){0};
}

static const struct shard *shard_with(const struct dataset *dataset, uint64_t i, uint64_t *record)
{
    const uint64_t samples = dataset->samples, shards = dataset->length->shards;
    assert(i < samples);
    const uint64_t shard = shard_of(samples, shards, i);
    *record = i - shard_first(samples, shards, shard);
    return &dataset->shards[shard];
}

int dataset_sample(const struct dataset *dataset, uint64_t i, struct sample *sample, struct error *err)
{
    uint64_t record;
    const struct shard *shard = shard_with(dataset, i, &record);
    return shard_sample(shard, record, sample, err);
}

void dataset_prefetch(const struct dataset *dataset, uint64_t i)
{
    uint64_t record;
    shard_prefetch(shard_with(dataset, i, &record));
}
