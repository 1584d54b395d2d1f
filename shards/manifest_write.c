/* Writes a struct manifest as text, formatted by hand with one line per source, length and shard, so that diff can
 * compare two manifests. */
#include "shards/manifest.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"

#include <inttypes.h>

/* The text starts with this, then the 16 digits and a quotation mark. */
#define ROOT_START "{\n\"root_hash\": \""
#define ROOT_AT    (sizeof(ROOT_START) - 1)
#define ROOT_END   (ROOT_AT + 16)

static uint64_t root_of(struct str text)
{
    struct hash *hash = hash_open();
    hash_add(hash, text.data, ROOT_AT);
    hash_add(hash, text.data + ROOT_END, text.size - ROOT_END);
    const uint64_t root = hash_value(hash);
    hash_close(hash);
    return root;
}

bool manifest_intact(struct str text)
{
    char digits[17];
    if (text.size < ROOT_END || memcmp(text.data, ROOT_START, ROOT_AT) != 0)
        return false;
    hash_text(root_of(text), digits);
    return memcmp(text.data + ROOT_AT, digits, 16) == 0;
}

/* A JSON string with its quotation marks. False where the text is not UTF-8. */
static bool add_string(struct buf *out, const char *text)
{
    const bool good = utf8_valid(str_of(text));
    if (good)
        buf_add_json(out, str_of(text));
    return good;
}

static void add_hash(struct buf *out, uint64_t hash)
{
    char digits[17];
    buf_addf(out, "\"%s\"", hash_text(hash, digits));
}

/* Before each entry of a list: a comma unless it is the first, and a newline. */
static void separate(struct buf *out, size_t index)
{
    buf_add_text(out, index ? ",\n" : "\n");
}

static int add_options(const struct manifest *m, struct buf *out, struct error *err)
{
    buf_add_text(out, "\"options\": {");
    for (size_t i = 0; i < m->option_count; i++) {
        separate(out, i);
        bool good = add_string(out, m->options[i].name);
        buf_add_text(out, ": ");
        good = good && add_string(out, m->options[i].value);
        if (!good)
            return fail(err, ERR_USAGE, "the value of --%s is not UTF-8", m->options[i].name);
    }
    buf_add_text(out, "\n},\n");
    return 0;
}

static int add_pages(const struct manifest *m, struct buf *out, struct error *err)
{
    buf_addf(out, "\"pages\": {\"kept\": %" PRIu64 ", \"dropped\": {", m->pages_kept);
    for (size_t i = 0; i < m->dropped_count; i++) {
        buf_add_text(out, i ? ", " : "");
        if (!add_string(out, m->dropped[i].name))
            return fail(err, ERR_USAGE, "the reason %s is not UTF-8", m->dropped[i].name);
        buf_addf(out, ": %" PRIu64, m->dropped[i].pages);
    }
    buf_add_text(out, "}},\n");
    return 0;
}

static int add_text(const struct manifest *m, struct buf *out, struct error *err)
{
    bool good = true;
    buf_addf(out, "\"text\": {\"bytes\": %" PRIu64, manifest_text_bytes(m));
    for (size_t i = 0; i < m->fate_count; i++) {
        buf_add_text(out, ", ");
        good = add_string(out, m->fates[i].name) && good;
        buf_addf(out, ": %" PRIu64, m->fates[i].bytes);
    }
    buf_add_text(out, ", \"dropped\": {");
    for (size_t i = 0; i < m->dropped_count; i++) {
        buf_add_text(out, i ? ", " : "");
        add_string(out, m->dropped[i].name); /* cannot fail: add_pages has checked the name */
        buf_addf(out, ": %" PRIu64, m->dropped[i].bytes);
    }
    const struct manifest_unknown *u = &m->unknown;
    buf_addf(out,
             "}},\n\"templates_unknown\": {\"count\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"characters\": %" PRIu64
             ", \"sentences\": %" PRIu64 "},\n",
             u->count, u->bytes, u->characters, u->sentences);
    buf_add_text(out, "\"languages\": {");
    for (size_t i = 0; i < m->language_count; i++) {
        buf_add_text(out, i ? ", " : "");
        good = add_string(out, m->languages[i].name) && good;
        buf_addf(out, ": {\"holes\": %" PRIu64 ", \"bytes\": %" PRIu64 "}", m->languages[i].holes,
                 m->languages[i].bytes);
    }
    buf_addf(out, "},\n\"repaired\": {\"documents\": %" PRIu64 ", \"reasons\": {", m->repaired_documents);
    for (size_t i = 0; i < m->repaired_count; i++) {
        buf_add_text(out, i ? ", " : "");
        good = add_string(out, m->repaired[i].name) && good;
        buf_addf(out, ": %" PRIu64, m->repaired[i].documents);
    }
    buf_addf(out, "}},\n\"leaks\": %" PRIu64 ",\n", m->leaks);
    return good ? 0 : fail(err, ERR_BUG, "a name in the table of the text is not UTF-8");
}

static void add_lengths(const struct manifest *m, struct buf *out)
{
    buf_add_text(out, "\"lengths\": [");
    for (size_t i = 0; i < m->length_count; i++) {
        const struct manifest_length *l = &m->lengths[i];
        separate(out, i);
        buf_addf(out,
                 "{\"seq\": %" PRIu32 ", \"split\": \"%s\", \"predictions\": %" PRIu32 ", \"samples\": %" PRIu64
                 ", \"tokens\": %" PRIu64 ", \"filled\": %" PRIu32 ", \"shards\": %" PRIu32 ", \"bytes\": %" PRIu64 "}",
                 l->seq, split_names[l->split], l->predictions, l->samples, l->tokens, manifest_filled(l), l->shards,
                 manifest_length_bytes(m, l));
    }
    buf_add_text(out, "\n],\n");
}

static void add_shards(const struct manifest *m, struct buf *out)
{
    char name[SHARD_NAME_BYTES];
    struct shard_header header;
    size_t count = 0;
    buf_add_text(out, "\"shards\": [");
    for (size_t i = 0; i < m->length_count; i++)
        for (uint32_t s = 0; s < m->lengths[i].shards; s++) {
            manifest_shard_header(m, &m->lengths[i], s, &header);
            separate(out, count++);
            buf_addf(out, "{\"file\": \"%s\", \"samples\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"hash\": ",
                     manifest_shard_name(&m->lengths[i], s, name), header.record_count, shard_file_bytes(&header));
            add_hash(out, m->lengths[i].hashes[s]);
            buf_add_byte(out, '}');
        }
    buf_add_text(out, "\n]\n}\n");
}

int manifest_print(struct manifest *m, struct buf *out, struct error *err)
{
    const struct special_ids *s = &m->special;
    char digits[17];
    buf_reset(out);
    m->format_version = SHARD_FORMAT_VERSION;
    buf_addf(out, ROOT_START "%016d\",\n\"format_version\": %" PRIu32 ",\n\"text_version\": %" PRIu32 ",\n", 0,
             m->format_version, m->text_version);
    buf_addf(out, "\"vocab_size\": %" PRIu32 ",\n\"vocab_bytes\": %" PRIu64 ",\n\"vocab_hash\": ", m->vocab_size,
             m->vocab_bytes);
    add_hash(out, m->vocab_hash);
    buf_addf(out,
             ",\n\"special\": {\"pad\": %" PRIu32 ", \"unk\": %" PRIu32 ", \"cls\": %" PRIu32 ", \"sep\": %" PRIu32
             ", \"mask\": %" PRIu32 "},\n",
             s->pad, s->unk, s->cls, s->sep, s->mask);
    buf_addf(out, "\"cased\": %s,\n\"accents\": \"%s\",\n", m->cased ? "true" : "false",
             m->accents_kept ? "keep" : "strip");
    /* The seed is a string: it has 64 bits, and JSON readers keep only 53 or 63. */
    buf_addf(out,
             "\"pairs\": \"%s\",\n\"masking\": \"%s\",\n\"mask_millionths\": %" PRIu32 ",\n\"seed\": \"%" PRIu64
             "\",\n",
             pair_names[m->pairs], mask_names[m->masking], m->mask_millionths, m->seed);
    TRY(add_options(m, out, err));
    buf_addf(out, "\"documents\": %" PRIu64 ",\n", m->documents);
    if (*manifest_valid_by(m))
        buf_addf(out, "\"valid_by\": \"%s\",\n", manifest_valid_by(m));
    TRY(add_pages(m, out, err));
    TRY(add_text(m, out, err));
    buf_add_text(out, "\"sources\": [");
    for (size_t i = 0; i < m->source_count; i++) {
        separate(out, i);
        buf_addf(out, "{\"bytes\": %" PRIu64 ", \"hash\": ", m->sources[i].bytes);
        add_hash(out, m->sources[i].hash);
        if (m->sources[i].kind)
            buf_addf(out, ", \"kind\": \"%s\"", source_kinds[m->sources[i].kind]);
        if (m->sources[i].rule)
            buf_addf(out, ", \"valid_by\": \"%s\"", source_rules[m->sources[i].rule]);
        buf_add_byte(out, '}');
    }
    buf_add_text(out, "\n],\n");
    add_lengths(m, out);
    add_shards(m, out);
    m->root_hash = root_of(buf_str(out));
    memcpy(out->data + ROOT_AT, hash_text(m->root_hash, digits), 16);
    return 0;
}

int manifest_write(struct manifest *manifest, const char *directory, struct error *err)
{
    SCOPED(buf_release) struct buf text = {0};
    SCOPED(mem_free_at) char *path = path_join(directory, MANIFEST_NAME);
    TRY(manifest_print(manifest, &text, err));
    return file_write_all(path, text.data, text.size, err);
}
