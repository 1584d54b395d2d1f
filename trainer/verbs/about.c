#include "trainer/verbs/about.h"

#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/output.h"
#include "trainer/data/datasets.h"
#include "trainer/run/run.h"
#include "trainer/tune/glue_tasks.h"

#define LANGUAGES_MAX 64
#define HASH_DIGITS   16
#define MODELS_BEFORE 4 /* fine-tuned from a model that was trained on from a model … */

json_t *about_read(const char *directory, const char *name, size_t bytes_max)
{
    struct error ignored = {0};
    json_t *json = NULL;
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    if (!path_exists(path) || json_read(path, bytes_max, ERR_INPUT, &json, &ignored) < 0)
        json = NULL;
    return json;
}

/* The length of the language code at the start of a dump's name, "en" in "enwiki"; 0: none. */
static size_t language_size(const char *wiki)
{
    const size_t size = wiki ? strlen(wiki) : 0, letters = wiki ? strspn(wiki, "abcdefghijklmnopqrstuvwxyz") : 0;
    return size > 4 && letters == size && strcmp(wiki + size - 4, "wiki") == 0 && size - 4 <= 3 ? size - 4 : 0;
}

/* Adds the languages in a dataset's build.json to a set. */
static void add_languages(json_t *languages, const json_t *build)
{
    const char *said =
        json_string_value(json_object_get(json_object_get(json_object_get(build, "identity"), "recipe"), "lang"));
    size_t i;
    json_t *source;
    if (said && *said) { /* the user knows better than the dumps */
        json_object_set_new(languages, said, json_true());
        return;
    }
    json_array_foreach(json_object_get(build, "sources"), i, source)
    {
        const char *wiki = json_string_value(json_object_get(source, "wiki"));
        const char *lang = json_string_value(json_object_get(source, "lang")); /* older datasets have none */
        char code[8] = "";
        if (lang && strcmp(lang, "und") != 0 && json_object_size(languages) < LANGUAGES_MAX)
            json_object_set_new(languages, lang, json_true());
        else if (language_size(wiki) > 0 && json_object_size(languages) < LANGUAGES_MAX) {
            memcpy(code, wiki, language_size(wiki));
            json_object_set_new(languages, code, json_true());
        }
    }
}

void about_languages(json_t *languages, const char *dataset)
{
    json_auto_t *build = about_read(dataset, BUILD_NAME, BUILD_BYTES_MAX);
    add_languages(languages, build);
}

char *about_sentence(const json_t *languages, const char *mask)
{
    const bool english = json_object_size(languages) == 1 && json_object_get(languages, "en");
    struct buf text = {0};
    buf_addf(&text, english ? "Paris is the %s of France." : "… %s …", mask);
    buf_text(&text);
    return text.data;
}

/* The run's datasets that still exist unchanged where the run found them. */
static json_t *datasets_there(const json_t *identity, const json_t *record)
{
    json_t *there = json_array();
    const char *mixture = json_string_value(json_object_get(identity, "mixture"));
    const char *hashes = mixture ? mixture : json_string_value(json_object_get(identity, "dataset"));
    struct opt_paths shards = shards_recorded(json_object_get(json_object_get(record, "settings"), "shards"));
    for (size_t i = 0; i < shards.count; i++) {
        char *path = shards_path(shards.items[i]);
        json_auto_t *manifest = about_read(path, MANIFEST_NAME, MANIFEST_BYTES_MAX);
        const char *hash = json_string_value(json_object_get(manifest, "root_hash"));
        if (hash && hashes && strlen(hash) == HASH_DIGITS && strstr(hashes, hash))
            json_array_append_new(there,
                                  json_pack("{s:O, s:o*, s:o}", "manifest", manifest, "build",
                                            about_read(path, BUILD_NAME, BUILD_BYTES_MAX), "path", json_name(path)));
        mem_free(path);
    }
    mem_free(shards.items);
    return there;
}

static const json_t *setting(const json_t *record, const char *name)
{
    return json_object_get(json_object_get(record, "settings"), name);
}

/* The model that a run started from, as its command named it; NULL: none. */
static const char *model_before(const json_t *record)
{
    const char *init = json_string_value(setting(record, "init"));
    return init ? init : json_string_value(setting(record, "resume"));
}

/* Adds the languages of what a run was trained on; of a fine-tuned one, and of one without datasets, those of the model
 * before it. */
static void add_history(json_t *languages, const json_t *record, const json_t *datasets)
{
    size_t i;
    const json_t *dataset;
    json_array_foreach(datasets, i, dataset) add_languages(languages, json_object_get(dataset, "build"));
    json_t *run = json_incref((json_t *)record);
    for (int n = 0; n < MODELS_BEFORE && json_object_size(languages) == 0 && model_before(run); n++) {
        json_t *before = about_read(model_before(run), RUN_NAME, RUN_BYTES_MAX);
        json_t *there = datasets_there(json_object_get(before, "identity"), before);
        json_array_foreach(there, i, dataset) add_languages(languages, json_object_get(dataset, "build"));
        json_decref(there);
        json_decref(run);
        run = before;
    }
    json_decref(run);
}

/* The last part of a path that names something: of a checkpoint in a run, the run. */
static void name_of(const char *path, char *out, size_t size)
{
    const char *inside = strstr(path, "/" CHECKPOINTS_NAME "/");
    char *whole = path_full(path);
    if (inside && strchr(inside + 1 + strlen(CHECKPOINTS_NAME) + 1, '/') == NULL) {
        mem_free(whole);
        SCOPED(mem_free_at) char *run = mem_copy_text(path);
        run[inside - path] = '\0';
        whole = path_full(run);
    }
    const char *slash = strrchr(whole, '/');
    snprintf(out, size, "%s", slash ? slash + 1 : whole);
    mem_free(whole);
}

static void describe_tokenizer(struct about *about, const char *files, const struct model_config *config)
{
    struct error ignored = {0};
    struct model_config model = *config;
    SCOPED(text_close) struct text text = {0};
    char pieces[32];
    const bool known = config->vocabulary > 0 && text_open(&text, files, &model, &ignored) == 0;
    if (known && text.vocab->kind != VOCAB_WORDPIECE)
        snprintf(about->tokenizer, sizeof about->tokenizer, "byte-level BPE, %s pieces",
                 format_count(text.vocab->count, pieces));
    else if (known)
        snprintf(about->tokenizer, sizeof about->tokenizer, "WordPiece, %s pieces, %s, accents %s",
                 format_count(text.vocab->count, pieces), text.words.cased ? "cased" : "uncased",
                 text.words.strip_accents ? "stripped" : "kept");
}

json_t *about_record(const char *directory, enum model_source source, const char *files)
{
    SCOPED(mem_free_at) char *run = source == SOURCE_CHECKPOINT ? path_join(files, "../..") : mem_copy_text(directory);
    return source == SOURCE_HUGGING_FACE ? NULL : about_read(run, RUN_NAME, RUN_BYTES_MAX);
}

char *about_label_text(const char *task, int32_t label, const char *name, char out[ABOUT_LABEL_SIZE])
{
    const struct glue_task *glue = task ? glue_task_named(task) : NULL;
    const bool known = glue && (uint32_t)label < glue->labels && glue->other_names[label] &&
                       strcmp(name, glue->label_names[label]) == 0;
    snprintf(out, ABOUT_LABEL_SIZE, known ? "%.63s (%.60s)" : "%.63s", name, known ? glue->other_names[label] : "");
    return out;
}

void about_open(struct about *about, const char *from, enum model_source source, const char *files,
                const json_t *identity, const struct model_config *config)
{
    *about = (struct about){.languages = json_object()};
    if (source != SOURCE_HUGGING_FACE) {
        about->run = source == SOURCE_CHECKPOINT ? path_join(files, "../..") : mem_copy_text(from);
        about->record = about_read(about->run, RUN_NAME, RUN_BYTES_MAX);
    }
    about->datasets = datasets_there(identity ? identity : json_object_get(about->record, "identity"), about->record);
    add_history(about->languages, about->record, about->datasets);
    if (model_before(about->record))
        name_of(model_before(about->record), about->base, sizeof about->base);
    about->precision = json_string_value(json_object_get(about->record, "precision"));
    describe_tokenizer(about, files, config);
}

void about_close(struct about *about)
{
    json_decref(about->languages);
    json_decref(about->datasets);
    json_decref(about->record);
    mem_free(about->run);
}
