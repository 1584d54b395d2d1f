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

/* A row {"name", "count"}, or {"name", "count", "bytes"}. */
static bool read_row(const json_t *rows, size_t i, bool has_bytes, struct build_template *out)
{
    json_int_t count, bytes = 0;
    if (i >= BUILD_TEMPLATES_MAX ||
        json_unpack(json_array_get(rows, i), has_bytes ? "{ss sI sI}" : "{ss sI}", "name", &out->name, "count", &count,
                    "bytes", &bytes) < 0 ||
        count < 0 || bytes < 0)
        return false;
    out->count = (uint64_t)count;
    out->bytes = (uint64_t)bytes;
    return true;
}

bool build_template(const json_t *build, size_t i, struct build_template *out)
{
    return read_row(json_object_get(json_object_get(build, "templates"), "rows"), i, true, out);
}

bool build_name(const json_t *build, const char *key, size_t i, struct build_template *out)
{
    return read_row(json_object_get(build, key), i, false, out);
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

static json_t *sources_json(const struct manifest *manifest, const json_t *build)
{
    static const char *const origin[] = {"site", "base", "date", "licence"}; /* as build.json has them (summary.c) */
    json_t *sources = json_array();
    for (size_t i = 0; i < manifest->source_count; i++) {
        const struct manifest_source *of = &manifest->sources[i];
        char hash[17];
        json_t *source =
            json_pack("{ss? sI ss ss* ss*}", "name", build_source_name(build, i), "bytes", (json_int_t)of->bytes,
                      "hash", hash_text(of->hash, hash), "kind", of->kind ? source_kinds[of->kind] : NULL, "valid_by",
                      of->rule ? source_rules[of->rule] : NULL);
        for (size_t key = 0; key < sizeof origin / sizeof *origin; key++) {
            json_t *value = json_object_get(json_array_get(json_object_get(build, "sources"), i), origin[key]);
            if (json_is_string(value))
                json_object_set(source, origin[key], value);
        }
        json_array_append_new(sources, source);
    }
    return sources;
}

/* {reason: documents, or bytes of their text}, of all reasons or of those that occurred. */
static json_t *dropped_json(const struct manifest *manifest, bool of_bytes, bool all)
{
    json_t *dropped = json_object();
    for (size_t i = 0; i < manifest->dropped_count; i++) {
        const struct manifest_dropped *row = &manifest->dropped[i];
        if (all || row->pages > 0)
            json_object_set_new(dropped, row->name, json_integer((json_int_t)(of_bytes ? row->bytes : row->pages)));
    }
    return dropped;
}

static json_t *text_json(const struct manifest *manifest)
{
    json_t *text = json_pack("{sI}", "bytes", (json_int_t)manifest_text_bytes(manifest));
    for (size_t i = 0; i < manifest->fate_count; i++)
        json_object_set_new(text, manifest->fates[i].name, json_integer((json_int_t)manifest->fates[i].bytes));
    json_object_set_new(text, "dropped", dropped_json(manifest, true, true));
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

/* [{"name", "count"}, …] */
static json_t *worst_json(const json_t *build, const char *key)
{
    json_t *worst = json_array();
    struct build_template row;
    for (size_t i = 0; build_name(build, key, i, &row); i++)
        json_array_append_new(worst, json_pack("{ss sI}", "name", row.name, "count", (json_int_t)row.count));
    return worst;
}

/* {"count", "per_mb", "worst": [{"name", "count"}, …], "languages": {"fi": {"count", "per_mb"}, …}} */
static json_t *holes_json(const struct manifest *manifest, const json_t *build)
{
    const struct manifest_language all = manifest_holes(manifest);
    json_t *languages = json_object();
    for (size_t i = 0; i < manifest->language_count; i++) {
        const struct manifest_language *language = &manifest->languages[i];
        json_object_set_new(
            languages, language->name,
            json_pack("{sI sf}", "count", (json_int_t)language->holes, "per_mb", manifest_holes_per_mb(language)));
    }
    return json_pack("{sI sf so so}", "count", (json_int_t)all.holes, "per_mb", manifest_holes_per_mb(&all), "worst",
                     worst_json(build, "holes"), "languages", languages);
}

static json_t *repaired_json(const struct manifest *manifest)
{
    json_t *repaired = json_object();
    for (size_t i = 0; i < manifest->repaired_count; i++)
        json_object_set_new(repaired, manifest->repaired[i].name,
                            json_integer((json_int_t)manifest->repaired[i].documents));
    return repaired;
}

static json_t *lengths_json(const struct manifest *manifest)
{
    json_t *lengths = json_array();
    for (size_t i = 0; i < manifest->length_count; i++) {
        const struct manifest_length *l = &manifest->lengths[i];
        json_array_append_new(
            lengths, json_pack("{sI ss sI sI sI sf sI sI}", "seq", (json_int_t)l->seq, "split", split_names[l->split],
                               "predictions", (json_int_t)l->predictions, "samples", (json_int_t)l->samples, "tokens",
                               (json_int_t)l->tokens, "filled", manifest_filled(l) / (double)MILLION, "shards",
                               (json_int_t)l->shards, "bytes", (json_int_t)manifest_length_bytes(manifest, l)));
    }
    return lengths;
}

/* In the spelling of the command line, not of the manifest. */
static json_t *options_json(const struct manifest *manifest)
{
    json_t *options = json_object();
    for (size_t i = 0; i < manifest->option_count; i++) {
        const struct manifest_option *option = &manifest->options[i];
        SCOPED(buf_release) struct buf text = {0};
        json_auto_t *value = json_string(option->value);
        dataset_recipe_value_text(option->name, value, &text);
        json_object_set_new(options, option->name, json_string(buf_text(&text)));
    }
    return options;
}

json_t *facts_json(const struct manifest *m, const json_t *build)
{
    char root[17], vocab[17], seed[24];
    const char *valid_by = manifest_valid_by(m);
    const struct manifest_unknown *unknown = &m->unknown;
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)m->seed); /* 64 bits: too many for a JSON number */
    return json_pack(
        "{ss sI sI sI ss sb ss ss ss sf ss so sI ss* so s{sI so} so so sI s{sI so} sI so so s{sI sI sI sI} so so}",
        "root_hash", hash_text(m->root_hash, root), "format_version", (json_int_t)m->format_version, "text_version",
        (json_int_t)m->text_version, "vocab_size", (json_int_t)m->vocab_size, "vocab_hash",
        hash_text(m->vocab_hash, vocab), "cased", (int)m->cased, "accents", m->accents_kept ? "keep" : "strip", "pairs",
        pair_names[m->pairs], "masking", mask_names[m->masking], "mask_prob", m->mask_millionths / (double)MILLION,
        "seed", seed, "options", options_json(m), "documents", (json_int_t)m->documents, "valid_by",
        *valid_by ? valid_by : NULL, "sources", sources_json(m, build), "pages", "kept", (json_int_t)m->pages_kept,
        "dropped", dropped_json(m, false, true), "dropped", dropped_json(m, false, false), "repaired", repaired_json(m),
        "repaired_documents", (json_int_t)m->repaired_documents, "leaks", "count", (json_int_t)m->leaks, "worst",
        worst_json(build, "leaks"), "duplicates", json_integer_value(json_object_get(build, "duplicates")), "text",
        text_json(m), "templates", templates_json(build), "templates_unknown", "count", (json_int_t)unknown->count,
        "bytes", (json_int_t)unknown->bytes, "characters", (json_int_t)unknown->characters, "sentences",
        (json_int_t)unknown->sentences, "holes", holes_json(m, build), "lengths", lengths_json(m));
}

int facts_print(json_t *object, struct error *err)
{
    output_json(object, JSON_REAL_PRECISION(9));
    return ferror(stdout) ? output_failed(err) : 0;
}
