/* In: a run's records and result files that the user names. Out: Markdown. Text from files goes only into table cells,
 * where everything with a meaning in Markdown or HTML is escaped. */
#include "trainer/verbs/card.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "shards/manifest.h"
#include "trainer/config.h"
#include "trainer/datasets.h"
#include "trainer/keep/json_write.h"
#include "trainer/keep/metrics.h"
#include "trainer/run.h"

#define SCORES_NAME      "scores.json"
#define SCORES_BYTES_MAX (1u << 20)
#define SCORES_DEPTH     4
#define LANGUAGES_MAX    64
#define HASH_DIGITS      16

/* ---- Markdown ---- */

static void add_escaped(struct buf *card, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *safe = mem_alloc(size);
    for (const char *at = log_safe(text, safe, size); *at; at++) {
        if (strchr("|<>`*_[]\\#&", *at))
            buf_add_byte(card, '\\');
        buf_add_byte(card, *at);
    }
    mem_free(safe);
}

static void add_row(struct buf *card, const char *key, const char *value)
{
    buf_add_text(card, "| ");
    add_escaped(card, key);
    buf_add_text(card, " | ");
    add_escaped(card, value);
    buf_add_text(card, " |\n");
}

static void add_count(struct buf *card, const char *key, uint64_t count)
{
    char text[32];
    add_row(card, key, format_count(count, text));
}

/* Adds a row for a number, a string or a boolean; nothing for any other value. */
static void add_value(struct buf *card, const char *key, const json_t *value)
{
    struct buf text = {0};
    if (json_is_string(value))
        buf_add_text(&text, json_string_value(value));
    else if (json_is_real(value))
        buf_addf(&text, "%.6g", json_real_value(value));
    else if (json_is_integer(value))
        buf_addf(&text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_boolean(value))
        buf_add_text(&text, json_is_true(value) ? "yes" : "no");
    if (text.size > 0)
        add_row(card, key, buf_text(&text));
    buf_release(&text);
}

/* Adds a row for each value of an object. Objects in it are followed to `depth`; their keys are joined by blanks:
 * "by_paradigm agreement". */
static void add_object(struct buf *card, const json_t *object, const char *before, int depth)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        struct buf name = {0};
        buf_addf(&name, "%s%s", before, key);
        add_value(card, buf_text(&name), value);
        if (json_is_object(value) && depth > 0) {
            buf_add_byte(&name, ' ');
            add_object(card, value, buf_text(&name), depth - 1);
        }
        buf_release(&name);
    }
}

static void begin_table(struct buf *card, const char *title)
{
    buf_addf(card, "\n## %s\n\n| | |\n|---|---|\n", title);
}

/* ---- the records ---- */

static json_t *read_quietly(const char *directory, const char *name, size_t bytes_max)
{
    struct error ignored = {0};
    json_t *json = NULL;
    char *path = path_join(directory, name);
    if (!path_exists(path) || json_read(path, bytes_max, ERR_INPUT, &json, &ignored) < 0)
        json = NULL;
    mem_free(path);
    return json;
}

/* The directory of the run; the caller mem_free's it. */
static char *run_of(const struct card_facts *facts)
{
    return facts->source == SOURCE_CHECKPOINT ? path_join(facts->files, "../..") : mem_copy_text(facts->from);
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
    if (said && *said)
        json_object_set_new(languages, said, json_true());
    json_array_foreach(json_object_get(build, "sources"), i, source)
    {
        const char *wiki = json_string_value(json_object_get(source, "wiki"));
        char code[8] = "";
        if (language_size(wiki) > 0 && json_object_size(languages) < LANGUAGES_MAX) {
            memcpy(code, wiki, language_size(wiki));
            json_object_set_new(languages, code, json_true());
        }
    }
}

static void add_sources(struct buf *card, const json_t *build)
{
    size_t i;
    json_t *source;
    json_array_foreach(json_object_get(build, "sources"), i, source)
    {
        const char *name = json_string_value(json_object_get(source, "name"));
        const char *base = name && strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
        if (base)
            add_row(card, "source", base);
    }
}

/* The run's datasets that still exist unchanged where the run found them: [{"manifest", "build"}]. */
static json_t *datasets_there(const json_t *identity, const json_t *record)
{
    json_t *there = json_array();
    const char *mixture = json_string_value(json_object_get(identity, "mixture"));
    const char *hashes = mixture ? mixture : json_string_value(json_object_get(identity, "dataset"));
    struct opt_paths shards = shards_recorded(json_object_get(json_object_get(record, "settings"), "shards"));
    for (size_t i = 0; i < shards.count; i++) {
        char *path = shards_path(shards.items[i]);
        json_t *manifest = read_quietly(path, MANIFEST_NAME, MANIFEST_BYTES_MAX);
        const char *hash = json_string_value(json_object_get(manifest, "root_hash"));
        if (hash && hashes && strlen(hash) == HASH_DIGITS && strstr(hashes, hash))
            json_array_append_new(there, json_pack("{s:O, s:o*}", "manifest", manifest, "build",
                                                   read_quietly(path, BUILD_NAME, BUILD_BYTES_MAX)));
        json_decref(manifest);
        mem_free(path);
    }
    mem_free(shards.items);
    return there;
}

static void add_data(struct buf *card, const json_t *identity, const json_t *there, const json_t *languages)
{
    const char *hash = json_string_value(json_object_get(identity, "dataset")), *code;
    const char *mixture = json_string_value(json_object_get(identity, "mixture"));
    json_t *ignored, *dataset;
    size_t i;
    begin_table(card, "Data");
    if (mixture)
        add_row(card, "shares of datasets (root hashes of dsdata)", mixture);
    else if (hash)
        add_row(card, json_object_get(identity, "task") ? "samples (hash)" : "dataset (root hash of dsdata)", hash);
    json_array_foreach((json_t *)there, i, dataset)
    {
        const json_t *pages = json_object_get(json_object_get(json_object_get(dataset, "manifest"), "pages"), "kept");
        if (json_is_integer(pages))
            add_count(card, "pages", (uint64_t)json_integer_value(pages));
    }
    json_object_foreach((json_t *)languages, code, ignored) add_row(card, "language", code);
    json_array_foreach((json_t *)there, i, dataset) add_sources(card, json_object_get(dataset, "build"));
}

static void add_training(struct buf *card, const struct card_facts *facts)
{
    begin_table(card, "Training");
    add_count(card, "steps done", facts->state->step);
    add_count(card, "samples", facts->state->samples);
    add_count(card, "tokens", facts->state->tokens);
    add_object(card, facts->identity, "", 0);
}

/* Whether to show a key of a line of metrics: losses and accuracies of any head, and the samples that they are of. A
 * line of an evaluation also has "samples", those trained on. */
static bool is_result(const char *key, const char *samples)
{
    const struct str name = str_of(key);
    return strcmp(key, "step") == 0 || strcmp(key, samples) == 0 || str_ends(name, STR("loss")) ||
           str_ends(name, STR("accuracy"));
}

static void add_results(struct buf *card, const char *run, uint64_t step)
{
    static const struct {
        const char *key, *title, *samples;
    } kinds[] = {{"train", "Loss of the last step", "samples"},
                 {"valid", "On samples held out from training", "valid_samples"}};
    json_t *last = json_object();
    metrics_last(run, step, last);
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        json_t *line = json_object_get(last, kinds[kind].key), *value;
        const char *key;
        if (!line)
            continue;
        begin_table(card, kinds[kind].title);
        json_object_foreach(line, key, value)
        {
            if (is_result(key, kinds[kind].samples))
                add_value(card, key, value);
        }
    }
    json_decref(last);
}

/* ---- scores ---- */

static void add_score_table(struct buf *card, const char *from, const char *began, const json_t *scores)
{
    begin_table(card, "Results");
    if (from)
        add_row(card, "from", from);
    if (began)
        add_row(card, "fine-tuned from", began);
    add_object(card, scores, "", SCORES_DEPTH);
}

/* Adds the scores of a fine-tuned run itself, if this is its last step, for which they were made. */
static void add_own_scores(struct buf *card, const struct card_facts *facts, const char *run)
{
    const json_t *steps = json_object_get(facts->identity, "steps");
    json_t *scores = json_object_get(facts->identity, "task") ? read_quietly(run, SCORES_NAME, SCORES_BYTES_MAX) : NULL;
    if (scores && (uint64_t)json_integer_value(steps) == facts->state->step)
        add_score_table(card, NULL, NULL, scores);
    json_decref(scores);
}

/* Whether the run in that directory started from the card's model, as text; NULL: not known. */
static const char *began_with(const char *directory, const char *hash)
{
    json_t *record = read_quietly(directory, RUN_NAME, RUN_BYTES_MAX);
    const char *initial = json_string_value(json_object_get(json_object_get(record, "identity"), "initial_weights")),
               *answer = NULL;
    if (initial)
        answer = strncmp(initial, hash, strlen(hash)) == 0 ? "this model" : "another model";
    json_decref(record);
    return answer;
}

/* The hash by which a run's identity names the weights that it started from. */
static int hash_weights(const char *files, char hash[17], struct error *err)
{
    uint64_t number = 0;
    char *path = safetensors_locate(files, WEIGHTS_NAME);
    const int result =
        path ? safetensors_hash(path, &number, err) : checkpoint_refuse(files, "holds no model.safetensors", err);
    hash_text(number, hash);
    mem_free(path);
    return result;
}

static int add_scores(struct buf *card, const struct card_facts *facts, struct error *err)
{
    char hash[17];
    if (facts->scores->count > 0)
        TRY(hash_weights(facts->files, hash, err));
    for (size_t i = 0; i < facts->scores->count; i++) {
        const char *named = facts->scores->items[i];
        const bool is_directory = path_is_directory(named);
        json_t *json = NULL;
        char *path = is_directory ? path_join(named, SCORES_NAME) : mem_copy_text(named);
        const int result = json_read(path, SCORES_BYTES_MAX, ERR_INPUT, &json, err);
        mem_free(path);
        TRY(result);
        add_score_table(card, named, is_directory ? began_with(named, hash) : NULL, json);
        json_decref(json);
    }
    return 0;
}

/* ---- the card ---- */

static void add_shape(struct buf *card, const struct model_config *config)
{
    char model[32], parameters[32];
    struct params params;
    params_shapes(&params, config);
    buf_addf(card, "\n\nA BERT (%s, %s parameters, vocabulary of %" PRId32 "), written by dstrain " DS_VERSION ".",
             config_name(config, model), format_count(params.total, parameters), config->vocabulary);
    params_release(&params);
}

/* The use of the model, which depends on its head. */
struct use {
    const char *tag, *class;
};

static const struct use *use_of(const struct model_config *config)
{
    static const struct use words = {"fill-mask", "AutoModelForMaskedLM"},
                            answers = {"question-answering", "AutoModelForQuestionAnswering"},
                            labels = {"text-classification", "AutoModelForSequenceClassification"};
    return model_has(config, HEAD_SPAN) ? &answers : model_has(config, HEAD_CLASS) ? &labels : &words;
}

static void add_head(struct buf *card, const struct card_facts *facts, const json_t *languages)
{
    static const char own[] =
        "\n\ntransformers has no model with this placement of layer norms; `dstrain --init` loads it.\n";
    const char *code;
    json_t *ignored;
    const struct use *use = use_of(facts->config);
    buf_addf(card, "---\nlibrary_name: transformers\npipeline_tag: %s\n", use->tag);
    if (json_object_size(languages) > 0)
        buf_add_text(card, "language:\n");
    json_object_foreach((json_t *)languages, code, ignored)
    {
        if (code[strspn(code, "abcdefghijklmnopqrstuvwxyz-")] == '\0')
            buf_addf(card, "- \"%s\"\n", code);
    }
    buf_add_text(card, "# license: say here which one; text of Wikipedia is CC BY-SA\n---\n\n# ");
    const char *name =
        strrchr(facts->out, '/') && strrchr(facts->out, '/')[1] ? strrchr(facts->out, '/') + 1 : facts->out;
    add_escaped(card, name);
    if (facts->config->hidden > 0) /* 0: config.json could not be read */
        add_shape(card, facts->config);
    if (facts->foreign)
        buf_add_text(card, own);
    else
        buf_addf(card,
                 "\n\n```python\nfrom transformers import %s, AutoTokenizer\n"
                 "model = %s.from_pretrained(\".\")  # this directory\n"
                 "tokenizer = AutoTokenizer.from_pretrained(\".\")\n```\n",
                 use->class, use->class);
}

int card_make(const struct card_facts *facts, struct buf *card, struct error *err)
{
    char *run = run_of(facts);
    json_t *record = facts->identity ? read_quietly(run, RUN_NAME, RUN_BYTES_MAX) : NULL;
    json_t *there = datasets_there(facts->identity, record), *languages = json_object(), *dataset;
    size_t i;
    json_array_foreach(there, i, dataset) add_languages(languages, json_object_get(dataset, "build"));
    add_head(card, facts, languages);
    if (facts->identity) {
        add_data(card, facts->identity, there, languages);
        add_training(card, facts);
        add_results(card, run, facts->state->step);
        add_own_scores(card, facts, run);
    }
    const int result = add_scores(card, facts, err);
    json_decref(languages);
    json_decref(there);
    json_decref(record);
    mem_free(run);
    return result;
}
