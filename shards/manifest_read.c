/* Reads the text of a manifest, which is untrusted, into a struct manifest. Every number is checked to be in range, so
 * that sizes and names can be computed from it safely. */
#include "shards/manifest.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/random.h"
#include "shards/sample.h"

#include <inttypes.h>

#define COUNT_MAX   INT64_MAX /* the largest that JSON readers take as an integer */
#define NAMES_MAX   1024u     /* options; reasons */
#define SOURCES_MAX (1u << 20)
#define LENGTHS_MAX 1024u
#define SAMPLES_MAX ((uint64_t)1 << 40) /* times the longest sequence, this is far below 2^63 tokens */

/* State of reading; `path` is for messages. */
struct reading {
    const char *path;
    struct error *err;
};

static int refuse(struct reading *r, const char *key)
{
    return fail_at(r->err, ERR_VERIFY, r->path, ERROR_NO_OFFSET, "the manifest's \"%s\" is missing or out of range",
                   key);
}

static int read_count(struct reading *r, const json_t *object, const char *key, uint64_t max, uint64_t *out)
{
    const json_t *value = json_object_get(object, key);
    *out = 0;
    if (!json_is_integer(value) || json_integer_value(value) < 0 || (uint64_t)json_integer_value(value) > max)
        return refuse(r, key);
    *out = (uint64_t)json_integer_value(value);
    return 0;
}

static int read_count32(struct reading *r, const json_t *object, const char *key, uint32_t max, uint32_t *out)
{
    uint64_t value;
    TRY(read_count(r, object, key, max, &value));
    *out = (uint32_t)value;
    return 0;
}

static int read_hash(struct reading *r, const json_t *object, const char *key, uint64_t *out)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text && hash_parse(text, out) == 0 ? 0 : refuse(r, key);
}

/* The index of the value in `names`. */
static int read_choice(struct reading *r, const json_t *object, const char *key, const char *const *names, int count,
                       int *out)
{
    const char *text = json_string_value(json_object_get(object, key));
    *out = 0;
    for (int i = 0; text && i < count; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = i;
            return 0;
        }
    return refuse(r, key);
}

static int read_seed(struct reading *r, const json_t *object, uint64_t *out)
{
    const char *text = json_string_value(json_object_get(object, "seed"));
    uint64_t value = 0;
    if (!text || !*text || strlen(text) > 20)
        return refuse(r, "seed");
    for (; *text; text++)
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return refuse(r, "seed");
    *out = value;
    return 0;
}

static int read_special(struct reading *r, const json_t *root, struct manifest *m)
{
    const json_t *object = json_object_get(root, "special");
    const uint32_t max = m->vocab_size - 1;
    TRY(read_count32(r, object, "pad", max, &m->special.pad));
    TRY(read_count32(r, object, "unk", max, &m->special.unk));
    TRY(read_count32(r, object, "cls", max, &m->special.cls));
    TRY(read_count32(r, object, "sep", max, &m->special.sep));
    return read_count32(r, object, "mask", max, &m->special.mask);
}

static int read_facts(struct reading *r, const json_t *root, struct manifest *m)
{
    static const char *const accents[] = {"strip", "keep"};
    int kept, pairs, masking;
    TRY(read_count32(r, root, "text_version", UINT32_MAX, &m->text_version));
    TRY(read_count32(r, root, "vocab_size", SHARD_VOCAB_MAX, &m->vocab_size));
    if (m->vocab_size == 0)
        return refuse(r, "vocab_size");
    TRY(read_count(r, root, "vocab_bytes", COUNT_MAX, &m->vocab_bytes));
    TRY(read_hash(r, root, "vocab_hash", &m->vocab_hash));
    TRY(read_special(r, root, m));
    if (!json_is_boolean(json_object_get(root, "cased")))
        return refuse(r, "cased");
    m->cased = json_is_true(json_object_get(root, "cased"));
    TRY(read_choice(r, root, "accents", accents, 2, &kept));
    TRY(read_choice(r, root, "pairs", pair_names, PAIR_KINDS, &pairs));
    TRY(read_choice(r, root, "masking", mask_names, MASK_KINDS, &masking));
    m->accents_kept = kept;
    m->pairs = (enum pair_kind)pairs;
    m->masking = (enum mask_kind)masking;
    TRY(read_count32(r, root, "mask_millionths", MILLION, &m->mask_millionths));
    TRY(read_seed(r, root, &m->seed));
    return read_count(r, root, "documents", COUNT_MAX, &m->documents);
}

/* Reads options and reasons, which are shown on screens and in reports. jansson has refused duplicate keys. */
static int read_lists(struct reading *r, json_t *root, struct manifest *m)
{
    json_t *options = json_object_get(root, "options"), *pages = json_object_get(root, "pages");
    json_t *sources = json_object_get(root, "sources"), *value;
    const char *key;
    size_t i;
    if (!json_is_object(options) || json_object_size(options) > NAMES_MAX)
        return refuse(r, "options");
    json_object_foreach(options, key, value)
    {
        if (!json_is_string(value))
            return refuse(r, "options");
        manifest_add_option(m, key, json_string_value(value));
    }
    TRY(read_count(r, pages, "kept", COUNT_MAX, &m->pages_kept));
    if (!json_is_array(sources) || json_array_size(sources) > SOURCES_MAX)
        return refuse(r, "sources");
    json_array_foreach(sources, i, value)
    {
        struct manifest_source source = {0};
        TRY(read_count(r, value, "bytes", COUNT_MAX, &source.bytes));
        TRY(read_hash(r, value, "hash", &source.hash));
        if (json_object_get(value, "kind"))
            TRY(read_choice(r, value, "kind", source_kinds, SOURCE_KINDS, &source.kind));
        if (json_object_get(value, "valid_by"))
            TRY(read_choice(r, value, "valid_by", source_rules, SOURCE_RULES, &source.rule));
        manifest_add_source(m, source);
    }
    return 0;
}

/* Reads one addend and subtracts it from what is left of its sum; a sum that does not add up is refused. */
static int read_addend(struct reading *r, const json_t *object, const char *key, uint64_t *left, uint64_t *out)
{
    TRY(read_count(r, object, key, *left, out));
    *left -= *out;
    return 0;
}

/* "text" repeats the reasons of "pages", with bytes. */
static int read_text(struct reading *r, json_t *root, struct manifest *m)
{
    json_t *text = json_object_get(root, "text"), *text_dropped = json_object_get(text, "dropped"), *value;
    json_t *dropped = json_object_get(json_object_get(root, "pages"), "dropped");
    const char *key;
    uint64_t left, bytes, pages;
    TRY(read_count(r, text, "bytes", COUNT_MAX, &left));
    if (json_object_size(text) > NAMES_MAX)
        return refuse(r, "text");
    json_object_foreach(text, key, value)
    {
        if (value == text_dropped || strcmp(key, "bytes") == 0)
            continue;
        TRY(read_addend(r, text, key, &left, &bytes));
        manifest_add_fate(m, key, bytes);
    }
    if (!json_is_object(dropped) || json_object_size(dropped) > NAMES_MAX ||
        json_object_size(dropped) != json_object_size(text_dropped))
        return refuse(r, "dropped");
    json_object_foreach(dropped, key, value)
    {
        TRY(read_count(r, dropped, key, COUNT_MAX, &pages));
        TRY(read_addend(r, text_dropped, key, &left, &bytes));
        manifest_add_dropped(m, key, pages, bytes);
    }
    return left == 0 ? 0 : refuse(r, "text");
}

static int read_templates(struct reading *r, json_t *root, struct manifest *m)
{
    const json_t *unknown = json_object_get(root, "templates_unknown");
    TRY(read_count(r, unknown, "count", COUNT_MAX, &m->unknown.count));
    TRY(read_count(r, unknown, "bytes", COUNT_MAX, &m->unknown.bytes));
    TRY(read_count(r, unknown, "characters", m->unknown.bytes, &m->unknown.characters));
    return json_object_get(unknown, "sentences") ? read_count(r, unknown, "sentences", COUNT_MAX, &m->unknown.sentences)
                                                 : 0;
}

static int read_languages(struct reading *r, json_t *root, struct manifest *m)
{
    json_t *languages = json_object_get(root, "languages"), *value;
    uint64_t left = COUNT_MAX, left_bytes = COUNT_MAX, holes, bytes;
    const char *name;
    if (!languages)
        return 0;
    if (!json_is_object(languages) || json_object_size(languages) > NAMES_MAX)
        return refuse(r, "languages");
    json_object_foreach(languages, name, value)
    {
        TRY(read_addend(r, value, "holes", &left, &holes));
        TRY(read_addend(r, value, "bytes", &left_bytes, &bytes));
        manifest_add_language(m, name, holes, bytes);
    }
    return 0;
}

/* Manifests of text_version 4 and before have neither. */
static int read_repairs(struct reading *r, json_t *root, struct manifest *m)
{
    json_t *repaired = json_object_get(root, "repaired"), *reasons = json_object_get(repaired, "reasons"), *value;
    const char *name;
    uint64_t documents;
    if (json_object_get(root, "leaks"))
        TRY(read_count(r, root, "leaks", COUNT_MAX, &m->leaks));
    if (!repaired)
        return 0;
    TRY(read_count(r, repaired, "documents", m->documents, &m->repaired_documents));
    if (!json_is_object(reasons) || json_object_size(reasons) > NAMES_MAX)
        return refuse(r, "repaired");
    json_object_foreach(reasons, name, value)
    {
        TRY(read_count(r, reasons, name, m->repaired_documents, &documents));
        manifest_add_repaired(m, name, documents);
    }
    return 0;
}

/* Reads the lengths: ascending, each with both splits. */
static int read_lengths(struct reading *r, json_t *root, struct manifest *m)
{
    json_t *lengths = json_object_get(root, "lengths"), *value;
    size_t i;
    if (!json_is_array(lengths) || json_array_size(lengths) > LENGTHS_MAX || json_array_size(lengths) % SPLITS != 0)
        return refuse(r, "lengths");
    json_array_foreach(lengths, i, value)
    {
        uint32_t seq, predictions, shards;
        uint64_t samples, tokens;
        int split;
        TRY(read_count32(r, value, "seq", SHARD_SEQ_MAX, &seq));
        TRY(read_count32(r, value, "predictions", seq, &predictions));
        TRY(read_choice(r, value, "split", split_names, SPLITS, &split));
        TRY(read_count(r, value, "samples", SAMPLES_MAX, &samples));
        TRY(read_count(r, value, "tokens", samples * seq, &tokens));
        TRY(read_count32(r, value, "shards", SHARD_COUNT_MAX, &shards));
        const struct manifest_length *last = m->length_count ? &m->lengths[m->length_count - 1] : NULL;
        const bool in_order =
            split == (int)(i % SPLITS) &&
            (i % SPLITS ? seq == last->seq && predictions == last->predictions : !last || seq > last->seq);
        if (seq < SHARD_SEQ_MIN || predictions < 1 || !in_order || shards > samples || (shards == 0) != (samples == 0))
            return refuse(r, "lengths");
        const struct shard_layout layout = shard_layout_make(seq, predictions, m->vocab_size);
        if (shards && shard_records(samples, shards, 0) > SHARD_AREA_MAX / layout.record_bytes)
            return refuse(r, "samples");
        /* Allocate memory for the hashes only if the list is long enough to hold them. */
        if (shards > json_array_size(json_object_get(root, "shards")))
            return refuse(r, "shards");
        manifest_add_length(m, seq, predictions, (enum split)split, samples, tokens, shards);
    }
    return 0;
}

/* Names, counts and sizes follow from the lengths, and any other value is refused. So no path ever comes from a
 * file. */
static int read_shards(struct reading *r, const json_t *root, struct manifest *m)
{
    const json_t *shards = json_object_get(root, "shards");
    char name[SHARD_NAME_BYTES];
    size_t at = 0;
    for (size_t i = 0; i < m->length_count; i++)
        for (uint32_t s = 0; s < m->lengths[i].shards; s++, at++) {
            const json_t *value = json_array_get(shards, at);
            const char *file = json_string_value(json_object_get(value, "file"));
            uint64_t samples, bytes;
            struct shard_header header;
            manifest_shard_header(m, &m->lengths[i], s, &header);
            if (!file || strcmp(file, manifest_shard_name(&m->lengths[i], s, name)) != 0)
                return refuse(r, "file");
            TRY(read_count(r, value, "samples", COUNT_MAX, &samples));
            TRY(read_count(r, value, "bytes", COUNT_MAX, &bytes));
            if (samples != header.record_count || bytes != shard_file_bytes(&header))
                return refuse(r, "shards");
            TRY(read_hash(r, value, "hash", &m->lengths[i].hashes[s]));
        }
    return at == json_array_size(shards) ? 0 : refuse(r, "shards");
}

static int read_all(struct reading *r, struct str text, json_t *root, struct manifest *m)
{
    const json_t *version = json_object_get(root, "format_version");
    if (json_is_integer(version) && json_integer_value(version) > SHARD_FORMAT_VERSION) {
        fail_at(r->err, ERR_MISMATCH, r->path, ERROR_NO_OFFSET,
                "the dataset has format version %" JSON_INTEGER_FORMAT "; this program reads up to version %d",
                json_integer_value(version), SHARD_FORMAT_VERSION);
        return hint(r->err, "update this program, or build the dataset with this version");
    }
    if (!manifest_intact(text)) {
        fail_at(r->err, ERR_VERIFY, r->path, ERROR_NO_OFFSET, "the manifest is damaged: its root_hash does not match");
        return hint(r->err, "copy it again from its source, or build the dataset anew in another directory");
    }
    TRY(read_count32(r, root, "format_version", SHARD_FORMAT_VERSION, &m->format_version));
    TRY(read_hash(r, root, "root_hash", &m->root_hash));
    if (m->format_version == 0)
        return refuse(r, "format_version");
    TRY(read_facts(r, root, m));
    TRY(read_lists(r, root, m));
    TRY(read_text(r, root, m));
    TRY(read_templates(r, root, m));
    TRY(read_languages(r, root, m));
    TRY(read_repairs(r, root, m));
    TRY(read_lengths(r, root, m));
    return read_shards(r, root, m);
}

int manifest_parse(struct manifest *manifest, struct str text, const char *path, struct error *err)
{
    struct reading reading = {path, err};
    json_error_t where;
    *manifest = (struct manifest){0};
    json_auto_t *root = json_parse(text, MANIFEST_BYTES_MAX, &where);
    if (!json_is_object(root)) {
        fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "the manifest is damaged: line %d: %.200s",
                root ? 1 : where.line, root ? "not a JSON object" : where.text);
        return hint(err, "copy it again from its source, or build the dataset anew in another directory");
    }
    const int result = read_all(&reading, text, root, manifest);
    if (result < 0)
        manifest_release(manifest);
    return result;
}

static bool holds(const char *directory, const char *name)
{
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    return path_exists(path);
}

/* Names the dataset that a shard, a manifest or a folder seqN is part of. */
static int refuse_part(const char *path, const char *what, struct error *err)
{
    SCOPED(mem_free_at) char *folder = path_parent(path), *above = path_parent(folder);
    fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "%s", what);
    if (holds(folder, MANIFEST_NAME) || holds(above, MANIFEST_NAME))
        return hint(err, "it is part of the dataset %s", holds(folder, MANIFEST_NAME) ? folder : above);
    return hint(err, "dsdata build makes one from a Wikipedia dump or from text");
}

int manifest_present(const char *directory, struct error *err)
{
    if (holds(directory, MANIFEST_NAME))
        return 0;
    if (!path_exists(directory))
        return fail_at(err, ERR_USAGE, directory, ERROR_NO_OFFSET, "no such directory");
    if (!path_is_directory(directory))
        return refuse_part(directory, "a file: a dataset is a directory that holds " MANIFEST_NAME, err);
    const bool unfinished = holds(directory, JOURNAL_NAME), replacing = holds(directory, FRESH_NAME);
    char who[LOCK_WHO_BYTES];
    if (lock_look(directory, who)) {
        fail_at(err, ERR_LOCKED, directory, ERROR_NO_OFFSET, "%s by %s, and is not finished",
                unfinished || replacing ? "is being built" : "is in use", who);
        return hint(err, "wait until that process ends");
    }
    if (replacing) {
        fail_at(err, ERR_USAGE, directory, ERROR_NO_OFFSET,
                "the dataset is not finished: its build with --fresh was interrupted");
        return hint(err, "run the same dsdata build --fresh command again; it goes on where it stopped");
    }
    if (unfinished) {
        fail_at(err, ERR_USAGE, directory, ERROR_NO_OFFSET, "the dataset is not finished: its build was interrupted");
        return hint(err, "run the same dsdata build command again; it goes on where it stopped");
    }
    return refuse_part(directory, "not a dataset: it holds no " MANIFEST_NAME, err);
}

int manifest_read(struct manifest *manifest, const char *directory, struct error *err)
{
    SCOPED(buf_release) struct buf text = {0};
    *manifest = (struct manifest){0};
    TRY(manifest_present(directory, err));
    SCOPED(mem_free_at) char *path = path_join(directory, MANIFEST_NAME);
    TRY(file_read_all(path, MANIFEST_BYTES_MAX, &text, err));
    return manifest_parse(manifest, buf_str(&text), path, err);
}
