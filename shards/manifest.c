/* Fills a struct manifest and derives what follows from it: sorted entries, headers and names of shards, sizes. Its
 * text is written by manifest_write.c and read by manifest_read.c. */
#include "shards/manifest.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/random.h"
#include "shards/sample.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <stdio.h>

#define NAME_OF(NAME, name) #name,
const char *const source_kinds[SOURCE_KINDS] = {"", SOURCE_KIND_LIST(NAME_OF)};
const char *const source_rules[SOURCE_RULES] = {"", "id", "text"};

const char *manifest_valid_by(const struct manifest *manifest)
{
    for (size_t i = 1; i < manifest->source_count; i++)
        if (manifest->sources[i].rule != manifest->sources[0].rule)
            return "mixed";
    return manifest->source_count > 0 ? source_rules[manifest->sources[0].rule] : "";
}

bool manifest_of_pages(const struct manifest *manifest)
{
    bool pages = manifest->source_count > 0;
    for (size_t i = 0; i < manifest->source_count; i++)
        pages &= manifest->sources[i].kind == SOURCE_WIKI ||
                 (manifest->sources[i].kind == SOURCE_UNKNOWN && manifest->language_count > 0); /* an older manifest */
    return pages;
}

void manifest_add_source(struct manifest *manifest, struct manifest_source source)
{
    manifest->sources = mem_grow(manifest->sources, manifest->source_count + 1, sizeof(*manifest->sources));
    manifest->sources[manifest->source_count++] = source;
}

void manifest_add_option(struct manifest *manifest, const char *name, const char *value)
{
    struct manifest_option *options =
        mem_grow(manifest->options, manifest->option_count + 1, sizeof(*manifest->options));
    size_t at = manifest->option_count++;
    for (; at > 0 && strcmp(options[at - 1].name, name) > 0; at--)
        options[at] = options[at - 1];
    assert(at == 0 || strcmp(options[at - 1].name, name) != 0);
    options[at] = (struct manifest_option){mem_copy_text(name), mem_copy_text(value)};
    manifest->options = options;
}

void manifest_add_dropped(struct manifest *manifest, const char *reason, uint64_t pages, uint64_t bytes)
{
    struct manifest_dropped *dropped =
        mem_grow(manifest->dropped, manifest->dropped_count + 1, sizeof(*manifest->dropped));
    size_t at = manifest->dropped_count++;
    for (; at > 0 && strcmp(dropped[at - 1].name, reason) > 0; at--)
        dropped[at] = dropped[at - 1];
    assert(at == 0 || strcmp(dropped[at - 1].name, reason) != 0);
    dropped[at] = (struct manifest_dropped){mem_copy_text(reason), pages, bytes};
    manifest->dropped = dropped;
}

void manifest_add_repaired(struct manifest *manifest, const char *reason, uint64_t documents)
{
    struct manifest_repaired *repaired =
        mem_grow(manifest->repaired, manifest->repaired_count + 1, sizeof(*manifest->repaired));
    size_t at = manifest->repaired_count++;
    for (; at > 0 && strcmp(repaired[at - 1].name, reason) > 0; at--)
        repaired[at] = repaired[at - 1];
    assert(at == 0 || strcmp(repaired[at - 1].name, reason) != 0);
    repaired[at] = (struct manifest_repaired){mem_copy_text(reason), documents};
    manifest->repaired = repaired;
}

void manifest_add_language(struct manifest *manifest, const char *name, uint64_t holes, uint64_t bytes)
{
    struct manifest_language *languages =
        mem_grow(manifest->languages, manifest->language_count + 1, sizeof(*manifest->languages));
    size_t at = manifest->language_count++;
    for (; at > 0 && strcmp(languages[at - 1].name, name) > 0; at--)
        languages[at] = languages[at - 1];
    languages[at] = (struct manifest_language){mem_copy_text(name), holes, bytes};
    manifest->languages = languages;
}

static bool templates_of(const struct manifest *manifest, struct manifest_text *text)
{
    const char *size = manifest_option(manifest, "templates-bytes"), *digits = manifest_option(manifest, "templates");
    char *end;
    *text = (struct manifest_text){.name = TEMPLATES_NAME};
    if (!size || !digits || hash_parse(digits, &text->hash) < 0)
        return false;
    text->bytes = strtoull(size, &end, 10);
    return *end == '\0' && text->bytes > 0 && text->bytes <= INT64_MAX;
}

/* "0123456789abcdef 3583228": hash and bytes. */
static bool read_option(const struct manifest *manifest, struct manifest_text *text)
{
    const char *value = manifest_option(manifest, text->name);
    int end = 0;
    return value && sscanf(value, "%16" SCNx64 " %" SCNu64 "%n", &text->hash, &text->bytes, &end) == 2 &&
           value[end] == '\0';
}

size_t manifest_texts(const struct manifest *manifest, struct manifest_text texts[MANIFEST_TEXTS])
{
    size_t count = 0;
    texts[count++] = (struct manifest_text){VOCAB_NAME, manifest->vocab_bytes, manifest->vocab_hash, true};
    if (templates_of(manifest, &texts[count]))
        count++;
    for (int i = 1; i < TOKENIZER_FILES; i++) {
        texts[count] = (struct manifest_text){.name = tokenizer_file_names[i], .cuts = true};
        count += read_option(manifest, &texts[count]);
    }
    return count;
}

void manifest_add_tokenizer(struct manifest *manifest, const struct tokenizer_files *files)
{
    char value[48];
    for (int i = 1; i < TOKENIZER_FILES; i++)
        if (files->all[i].size > 0) {
            snprintf(value, sizeof value, "%016" PRIx64 " %zu", hash64(files->all[i].data, files->all[i].size),
                     files->all[i].size);
            manifest_add_option(manifest, tokenizer_file_names[i], value);
        }
}

bool manifest_is_bpe(const struct manifest *manifest)
{
    return manifest_option(manifest, "vocab-kind") != NULL;
}

struct manifest_language manifest_holes(const struct manifest *manifest)
{
    struct manifest_language sum = {0};
    for (size_t i = 0; i < manifest->language_count; i++) {
        sum.holes += manifest->languages[i].holes;
        sum.bytes += manifest->languages[i].bytes;
    }
    return sum;
}

double manifest_holes_per_mb(const struct manifest_language *language)
{
    return language->bytes > 0 ? 1e6 * (double)language->holes / (double)language->bytes : 0.0;
}

void manifest_add_fate(struct manifest *manifest, const char *name, uint64_t bytes)
{
    manifest->fates = mem_grow(manifest->fates, manifest->fate_count + 1, sizeof(*manifest->fates));
    manifest->fates[manifest->fate_count++] = (struct manifest_fate){mem_copy_text(name), bytes};
}

struct manifest_length *manifest_add_length(struct manifest *manifest, uint32_t seq, uint32_t predictions,
                                            enum split split, uint64_t samples, uint64_t tokens, uint32_t shards)
{
    struct manifest_length *lengths =
        mem_grow(manifest->lengths, manifest->length_count + 1, sizeof(*manifest->lengths));
    size_t at = manifest->length_count++;
    for (; at > 0 && (lengths[at - 1].seq > seq || (lengths[at - 1].seq == seq && lengths[at - 1].split > split)); at--)
        lengths[at] = lengths[at - 1];
    lengths[at] = (struct manifest_length){
        .seq = seq,
        .predictions = predictions,
        .split = split,
        .shards = shards,
        .samples = samples,
        .tokens = tokens,
        .hashes = mem_clear(shards, sizeof(*lengths->hashes)),
    };
    manifest->lengths = lengths;
    return &lengths[at];
}

void manifest_release(struct manifest *manifest)
{
    for (size_t i = 0; i < manifest->option_count; i++) {
        mem_free(manifest->options[i].name);
        mem_free(manifest->options[i].value);
    }
    for (size_t i = 0; i < manifest->dropped_count; i++)
        mem_free(manifest->dropped[i].name);
    for (size_t i = 0; i < manifest->repaired_count; i++)
        mem_free(manifest->repaired[i].name);
    for (size_t i = 0; i < manifest->fate_count; i++)
        mem_free(manifest->fates[i].name);
    for (size_t i = 0; i < manifest->language_count; i++)
        mem_free(manifest->languages[i].name);
    for (size_t i = 0; i < manifest->length_count; i++)
        mem_free(manifest->lengths[i].hashes);
    mem_free(manifest->sources);
    mem_free(manifest->options);
    mem_free(manifest->dropped);
    mem_free(manifest->repaired);
    mem_free(manifest->fates);
    mem_free(manifest->languages);
    mem_free(manifest->lengths);
    *manifest = (struct manifest){0};
}

const char *manifest_option(const struct manifest *manifest, const char *name)
{
    for (size_t i = 0; i < manifest->option_count; i++)
        if (strcmp(manifest->options[i].name, name) == 0)
            return manifest->options[i].value;
    return NULL;
}

uint64_t manifest_text_bytes(const struct manifest *manifest)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < manifest->fate_count; i++)
        bytes += manifest->fates[i].bytes;
    for (size_t i = 0; i < manifest->dropped_count; i++)
        bytes += manifest->dropped[i].bytes;
    return bytes;
}

const struct manifest_length *manifest_find(const struct manifest *manifest, uint32_t seq, enum split split)
{
    for (size_t i = 0; i < manifest->length_count; i++)
        if (manifest->lengths[i].seq == seq && manifest->lengths[i].split == split)
            return &manifest->lengths[i];
    return NULL;
}

uint32_t manifest_shortest(const struct manifest *manifest)
{
    return manifest->length_count ? manifest->lengths[0].seq : 0;
}

void manifest_shard_header(const struct manifest *manifest, const struct manifest_length *length, uint32_t shard,
                           struct shard_header *header)
{
    *header = (struct shard_header){
        .text_version = manifest->text_version,
        .seq = length->seq,
        .predictions = length->predictions,
        .vocab_size = manifest->vocab_size,
        .vocab_hash = manifest->vocab_hash,
        .special = manifest->special,
        .pairs = manifest->pairs,
        .mask_millionths = manifest->mask_millionths,
        .masking = manifest->masking,
        .seed = manifest->seed,
        .split = length->split,
        .shard = shard,
        .shard_count = length->shards,
        .record_count = shard_records(length->samples, length->shards, shard),
    };
    shard_header_finish(header);
}

char *manifest_shard_name(const struct manifest_length *length, uint32_t shard, char out[SHARD_NAME_BYTES])
{
    snprintf(out, SHARD_NAME_BYTES, "seq%u/%s-%05u-of-%05u.dss", length->seq, split_names[length->split], shard,
             length->shards);
    return out;
}

uint64_t manifest_length_bytes(const struct manifest *manifest, const struct manifest_length *length)
{
    uint64_t bytes = 0;
    struct shard_header header;
    for (uint32_t i = 0; i < length->shards; i++) {
        manifest_shard_header(manifest, length, i, &header);
        bytes += shard_file_bytes(&header);
    }
    return bytes;
}

uint32_t manifest_filled(const struct manifest_length *length)
{
    const uint64_t places = length->samples * length->seq;
    /* Cannot overflow: the limits of a shard's bytes and of the number of shards keep the tokens below 2^63. */
    return places ? (uint32_t)((unsigned __int128)length->tokens * MILLION / places) : 0;
}
