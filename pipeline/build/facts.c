#include "pipeline/build/facts.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/random.h"
#include "pipeline/build/dataset_recipe.h"

#include <stdio.h>

json_t *build_memory(const char *directory)
{
    struct error ignored;
    SCOPED(mem_free_at) char *path = path_join(directory, BUILD_NAME);
    json_t *build = NULL;
    if (path_exists(path))
        json_read(path, BUILD_BYTES_MAX, ERR_VERIFY, &build, &ignored);
    return build;
}

const char *build_source_name(const json_t *build, size_t i)
{
    return json_string_value(json_object_get(json_array_get(json_object_get(build, "sources"), i), "name"));
}

bool build_template(const json_t *build, size_t i, struct build_template *out)
{
    json_t *rows = json_object_get(json_object_get(build, "templates"), "rows");
    json_int_t count, bytes;
    if (i >= BUILD_TEMPLATES_MAX ||
        json_unpack(json_array_get(rows, i), "{ss sI sI}", "name", &out->name, "count", &count, "bytes", &bytes) < 0 ||
        count < 0 || bytes < 0)
        return false;
    out->count = (uint64_t)count;
    out->bytes = (uint64_t)bytes;
    return true;
}

bool build_name(const json_t *build, const char *key, size_t i, struct build_template *out)
{
    json_int_t count;
    if (i >= BUILD_TEMPLATES_MAX ||
        json_unpack(json_array_get(json_object_get(build, key), i), "{ss sI}", "name", &out->name, "count", &count) <
            0 ||
        count < 0)
        return false;
    out->count = (uint64_t)count;
    out->bytes = 0;
    return true;
}

uint64_t build_templates_missed(const json_t *build)
{
    const json_int_t missed = json_integer_value(json_object_get(json_object_get(build, "templates"), "missed"));
    return missed > 0 ? (uint64_t)missed : 0;
}

json_t *build_words(const json_t *build)
{
    json_t *command = json_object_get(build, "command");
    size_t i;
    const json_t *word;
    json_array_foreach(command, i, word) if (!json_is_string(word)) return NULL;
    return json_array_size(command) > 0 ? command : NULL;
}

static json_t *hash_json(uint64_t hash)
{
    char digits[17];
    return json_string(hash_text(hash, digits));
}

static json_t *count_json(uint64_t count)
{
    return json_integer((json_int_t)count);
}

static json_t *sources_json(const struct manifest *manifest, const json_t *build)
{
    static const char *const origin[] = {"site", "base", "date", "licence"}; /* as origin.h has them */
    json_t *sources = json_array();
    for (size_t i = 0; i < manifest->source_count; i++) {
        const char *name = build_source_name(build, i);
        json_t *source = json_object();
        json_object_set_new(source, "name", name ? json_string(name) : json_null());
        json_object_set_new(source, "bytes", count_json(manifest->sources[i].bytes));
        json_object_set_new(source, "hash", hash_json(manifest->sources[i].hash));
        if (manifest->sources[i].kind)
            json_object_set_new(source, "kind", json_string(source_kinds[manifest->sources[i].kind]));
        if (manifest->sources[i].rule)
            json_object_set_new(source, "valid_by", json_string(source_rules[manifest->sources[i].rule]));
        for (size_t key = 0; key < sizeof origin / sizeof *origin; key++) {
            json_t *value = json_object_get(json_array_get(json_object_get(build, "sources"), i), origin[key]);
            if (json_is_string(value))
                json_object_set(source, origin[key], value);
        }
        json_array_append_new(sources, source);
    }
    return sources;
}

static json_t *pages_json(const struct manifest *manifest)
{
    json_t *pages = json_object(), *dropped = json_object();
    json_object_set_new(pages, "kept", count_json(manifest->pages_kept));
    json_object_set_new(pages, "dropped", dropped);
    for (size_t i = 0; i < manifest->dropped_count; i++)
        json_object_set_new(dropped, manifest->dropped[i].name, count_json(manifest->dropped[i].pages));
    return pages;
}

static json_t *text_json(const struct manifest *manifest)
{
    json_t *text = json_object(), *dropped = json_object();
    json_object_set_new(text, "bytes", count_json(manifest_text_bytes(manifest)));
    for (size_t i = 0; i < manifest->fate_count; i++)
        json_object_set_new(text, manifest->fates[i].name, count_json(manifest->fates[i].bytes));
    json_object_set_new(text, "dropped", dropped);
    for (size_t i = 0; i < manifest->dropped_count; i++)
        json_object_set_new(dropped, manifest->dropped[i].name, count_json(manifest->dropped[i].bytes));
    return text;
}

static json_t *templates_json(const json_t *build)
{
    json_t *templates = json_array();
    struct build_template row;
    for (size_t i = 0; build_template(build, i, &row); i++)
        json_array_append_new(templates, json_pack("{ss sI sI}", "name", row.name, "count", (json_int_t)row.count,
                                                   "bytes", (json_int_t)row.bytes));
    return templates;
}

static json_t *unknown_json(const struct manifest_unknown *unknown)
{
    return json_pack("{sI sI sI sI}", "count", (json_int_t)unknown->count, "bytes", (json_int_t)unknown->bytes,
                     "characters", (json_int_t)unknown->characters, "sentences", (json_int_t)unknown->sentences);
}

/* {"count", "per_mb", "worst": [{"name", "count"}, …], "languages": {"fi": {"count", "per_mb"}, …}} */
static json_t *holes_json(const struct manifest *manifest, const json_t *build)
{
    const struct manifest_language all = manifest_holes(manifest);
    json_t *worst = json_array(), *languages = json_object();
    struct build_template row;
    for (size_t i = 0; build_name(build, "holes", i, &row); i++)
        json_array_append_new(worst, json_pack("{ss sI}", "name", row.name, "count", (json_int_t)row.count));
    for (size_t i = 0; i < manifest->language_count; i++) {
        const struct manifest_language *language = &manifest->languages[i];
        json_object_set_new(
            languages, language->name,
            json_pack("{sI sf}", "count", (json_int_t)language->holes, "per_mb", manifest_holes_per_mb(language)));
    }
    return json_pack("{sI sf so so}", "count", (json_int_t)all.holes, "per_mb", manifest_holes_per_mb(&all), "worst",
                     worst, "languages", languages);
}

/* {reason: count}, of the reasons that occurred. */
static json_t *dropped_json(const struct manifest *manifest)
{
    json_t *dropped = json_object();
    for (size_t i = 0; i < manifest->dropped_count; i++)
        if (manifest->dropped[i].pages > 0)
            json_object_set_new(dropped, manifest->dropped[i].name, count_json(manifest->dropped[i].pages));
    return dropped;
}

static json_t *repaired_json(const struct manifest *manifest)
{
    json_t *repaired = json_object();
    for (size_t i = 0; i < manifest->repaired_count; i++)
        json_object_set_new(repaired, manifest->repaired[i].name, count_json(manifest->repaired[i].documents));
    return repaired;
}

/* {"count", "worst": [{"name", "count"}, …]} */
static json_t *leaks_json(const struct manifest *manifest, const json_t *build)
{
    json_t *worst = json_array();
    struct build_template row;
    for (size_t i = 0; build_name(build, "leaks", i, &row); i++)
        json_array_append_new(worst, json_pack("{ss sI}", "name", row.name, "count", (json_int_t)row.count));
    return json_pack("{sI so}", "count", (json_int_t)manifest->leaks, "worst", worst);
}

static json_t *lengths_json(const struct manifest *manifest)
{
    json_t *lengths = json_array();
    for (size_t i = 0; i < manifest->length_count; i++) {
        const struct manifest_length *l = &manifest->lengths[i];
        json_t *length = json_object();
        json_object_set_new(length, "seq", count_json(l->seq));
        json_object_set_new(length, "split", json_string(split_names[l->split]));
        json_object_set_new(length, "predictions", count_json(l->predictions));
        json_object_set_new(length, "samples", count_json(l->samples));
        json_object_set_new(length, "tokens", count_json(l->tokens));
        json_object_set_new(length, "filled", json_real(manifest_filled(l) / (double)MILLION));
        json_object_set_new(length, "shards", count_json(l->shards));
        json_object_set_new(length, "bytes", count_json(manifest_length_bytes(manifest, l)));
        json_array_append_new(lengths, length);
    }
    return lengths;
}

/* In the spelling of the command line, not of the manifest. */
static void add_option(json_t *options, const struct manifest_option *option)
{
    struct buf text = {0};
    json_t *value = json_string(option->value);
    dataset_recipe_value_text(option->name, value, &text);
    json_object_set_new(options, option->name, json_string(buf_text(&text)));
    json_decref(value);
    buf_release(&text);
}

json_t *facts_json(const struct manifest *manifest, const json_t *build)
{
    json_t *facts = json_object(), *options = json_object();
    char seed[24];
    snprintf(seed, sizeof(seed), "%llu", (unsigned long long)manifest->seed);
    for (size_t i = 0; i < manifest->option_count; i++)
        add_option(options, &manifest->options[i]);
    json_object_set_new(facts, "root_hash", hash_json(manifest->root_hash));
    json_object_set_new(facts, "format_version", count_json(manifest->format_version));
    json_object_set_new(facts, "text_version", count_json(manifest->text_version));
    json_object_set_new(facts, "vocab_size", count_json(manifest->vocab_size));
    json_object_set_new(facts, "vocab_hash", hash_json(manifest->vocab_hash));
    json_object_set_new(facts, "cased", json_boolean(manifest->cased));
    json_object_set_new(facts, "accents", json_string(manifest->accents_kept ? "keep" : "strip"));
    json_object_set_new(facts, "pairs", json_string(pair_names[manifest->pairs]));
    json_object_set_new(facts, "masking", json_string(mask_names[manifest->masking]));
    json_object_set_new(facts, "mask_prob", json_real(manifest->mask_millionths / (double)MILLION));
    json_object_set_new(facts, "seed", json_string(seed)); /* 64 bits: too many for a JSON number */
    json_object_set_new(facts, "options", options);
    json_object_set_new(facts, "documents", count_json(manifest->documents));
    if (*manifest_valid_by(manifest))
        json_object_set_new(facts, "valid_by", json_string(manifest_valid_by(manifest)));
    json_object_set_new(facts, "sources", sources_json(manifest, build));
    json_object_set_new(facts, "pages", pages_json(manifest));
    json_object_set_new(facts, "dropped", dropped_json(manifest));
    json_object_set_new(facts, "repaired", repaired_json(manifest));
    json_object_set_new(facts, "repaired_documents", count_json(manifest->repaired_documents));
    json_object_set_new(facts, "leaks", leaks_json(manifest, build));
    json_object_set_new(facts, "duplicates", json_integer(json_integer_value(json_object_get(build, "duplicates"))));
    json_object_set_new(facts, "text", text_json(manifest));
    json_object_set_new(facts, "templates", templates_json(build));
    json_object_set_new(facts, "templates_unknown", unknown_json(&manifest->unknown));
    json_object_set_new(facts, "holes", holes_json(manifest, build));
    json_object_set_new(facts, "lengths", lengths_json(manifest));
    return facts;
}

int facts_print(json_t *object, struct error *err)
{
    output_json(object, JSON_REAL_PRECISION(9));
    if (ferror(stdout))
        return output_failed(err);
    return 0;
}
