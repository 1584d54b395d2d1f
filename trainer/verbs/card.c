/* Text from files goes only into table cells, where everything with a meaning in Markdown or HTML is escaped, because
 * records and result files come from anywhere. */
#include "trainer/verbs/card.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "trainer/model/config.h"
#include "trainer/model/head.h"
#include "base/json_write.h"
#include "trainer/keep/weights_missing.h"
#include "trainer/keep/metrics.h"
#include "trainer/run/run.h"
#include "trainer/verbs/export_files.h"

#define SCORES_NAME      "scores.json"
#define SCORES_BYTES_MAX (1u << 20)
#define SCORES_DEPTH     4
#define COMMONEST        "commonest" /* keys of scores.json: what guessing without a look at the text scores */

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

/* The same for a score; `commonest` is what always giving the commonest label scores. */
static void add_score(struct buf *card, const char *key, const json_t *value, const json_t *commonest)
{
    char text[96];
    if (!json_is_real(value) || !json_is_number(commonest)) {
        add_value(card, key, value);
        return;
    }
    snprintf(text, sizeof text, "%.4f (always the commonest label: %.4f)", json_real_value(value),
             json_number_value(commonest));
    add_row(card, key, text);
}

/* Adds a row for each value of an object. Objects in it are followed to `depth`; their keys are joined by blanks:
 * "by_paradigm agreement". */
static void add_object(struct buf *card, const json_t *object, const char *before, int depth)
{
    const json_t *commonest = json_object_get(object, COMMONEST);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        struct buf name = {0};
        buf_addf(&name, "%s%s", before, key);
        add_score(card, buf_text(&name), value, json_object_get(commonest, key));
        if (json_is_object(value) && value != commonest && depth > 0) {
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

/* The recipe as run.json has it, but with the precision that was computed in, and the model before under its name. */
static void add_training(struct buf *card, const struct card_facts *facts)
{
    const char *precision = facts->about->precision;
    json_t *recipe = json_copy((json_t *)facts->identity);
    begin_table(card, "Training");
    add_count(card, "steps done", facts->state->step);
    add_count(card, "samples", facts->state->samples);
    add_count(card, "tokens", facts->state->tokens);
    if (facts->about->base[0])
        add_row(card, "started from", facts->about->base);
    if (precision)
        json_object_set_new(recipe, "precision", json_string(precision));
    add_object(card, recipe, "", 0);
    json_decref(recipe);
}

/* Whether to show a key of a line of metrics: losses and accuracies of any head, and the samples that they are of. A
 * line of an evaluation also has "samples", those trained on. */
static bool is_result(const char *key, const char *samples)
{
    const struct str name = str_of(key);
    return strcmp(key, "step") == 0 || strcmp(key, samples) == 0 || str_ends(name, STR("loss")) ||
           str_ends(name, STR("accuracy"));
}

static void add_loss(struct buf *card, const char *key, double loss)
{
    char text[32];
    snprintf(text, sizeof text, "%.4f", loss);
    add_row(card, key, text);
}

/* "6.90 % (commonest 6.10 %)" */
static void add_accuracy(struct buf *card, const json_t *line, const char *key, double accuracy)
{
    static const char *const baselines[] = {BASELINE_COMMONEST, BASELINE_MAJORITY};
    struct buf text = {0};
    buf_addf(&text, "%.2f %%", 100 * accuracy);
    for (size_t i = 0; i < sizeof baselines / sizeof *baselines; i++) {
        char name[METRIC_KEY_BYTES];
        snprintf(name, sizeof name, "%.40s_%s", key, baselines[i]);
        const json_t *baseline = json_object_get(line, name);
        if (json_is_number(baseline))
            buf_addf(&text, " (%s %.2f %%)", baselines[i], 100 * json_number_value(baseline));
    }
    add_row(card, key, buf_text(&text));
    buf_release(&text);
}

static void add_result(struct buf *card, const json_t *line, const char *key, const json_t *value)
{
    if (json_is_real(value) && str_ends(str_of(key), STR("loss")))
        add_loss(card, key, json_real_value(value));
    else if (json_is_number(value) && str_ends(str_of(key), STR("accuracy")))
        add_accuracy(card, line, key, json_number_value(value));
    else
        add_value(card, key, value);
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
                add_result(card, line, key, value);
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

/* Adds the scores of a fine-tuned run itself, if this is its last step, for which they were made. Returns whether. */
static bool add_own_scores(struct buf *card, const struct card_facts *facts)
{
    const json_t *steps = json_object_get(facts->identity, "steps");
    json_t *scores =
        json_object_get(facts->identity, "task") ? about_read(facts->about->run, SCORES_NAME, SCORES_BYTES_MAX) : NULL;
    const bool last = scores && (uint64_t)json_integer_value(steps) == facts->state->step;
    if (last)
        add_score_table(card, NULL, NULL, scores);
    json_decref(scores);
    return last;
}

/* Whether --scores names the run itself, whose scores are in the card already. */
static bool is_own(const struct card_facts *facts, const char *named)
{
    char *scores = path_join(facts->about->run, SCORES_NAME);
    const bool own = path_same(named, facts->about->run) || path_same(named, scores);
    mem_free(scores);
    return own;
}

/* Whether the run in that directory started from the card's model, as text; NULL: not known. */
static const char *began_with(const char *directory, const char *hash)
{
    json_t *record = about_read(directory, RUN_NAME, RUN_BYTES_MAX);
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
    const int result = path ? safetensors_hash(path, &number, err) : weights_missing(files, err);
    hash_text(number, hash);
    mem_free(path);
    return result;
}

/* `own`: the run's own scores are in the card. */
static int add_scores(struct buf *card, const struct card_facts *facts, bool own, struct error *err)
{
    char hash[17];
    if (facts->scores->count > 0)
        TRY(hash_weights(facts->files, hash, err));
    for (size_t i = 0; i < facts->scores->count; i++) {
        const char *named = facts->scores->items[i];
        const bool is_directory = path_is_directory(named);
        if (own && is_own(facts, named))
            continue;
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

static void add_shape(struct buf *card, const struct card_facts *facts)
{
    const struct model_config *config = facts->config;
    char model[32], parameters[32];
    buf_addf(card, "\n\nA %s (%s, %s parameters, vocabulary of %" PRId32 "), written by dstrain " DS_VERSION ".",
             architecture_of(config)->layout->noun, config_name(config, model),
             format_count(facts->use->parameters, parameters), config->vocabulary);
    if (facts->about->tokenizer[0])
        buf_addf(card, " Its tokenizer: %s.", facts->about->tokenizer);
}

/* The names of the classes, in the order of the model's outputs. */
static void add_labels(struct buf *card, const struct model_config *config)
{
    if (!model_names_labels(config) || config->hidden == 0)
        return;
    begin_table(card, "Labels");
    if (config->labels == 1)
        add_row(card, "output", "a number");
    for (int32_t i = 0; i < config->labels && config->labels > 1; i++) {
        char number[12], name[LABEL_NAME_SIZE], text[ABOUT_LABEL_SIZE];
        snprintf(number, sizeof number, "%" PRId32, i);
        add_row(card, number, about_label_text(config->tuned_for, i, about_label(config, i, name), text));
    }
}

/* Names in front matter are of letters that mean nothing in YAML. */
static bool is_plain(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return *name && *name != '-' && *name != '.' && name[strspn(name, letters)] == '\0';
}

static void add_head(struct buf *card, const struct card_facts *facts)
{
    const json_t *languages = facts->about->languages;
    const char *unpublished = architecture_of(facts->config)->unpublished;
    const char *code;
    json_t *ignored;
    const struct use *use = facts->use;
    buf_add_text(card, "---\nlibrary_name: transformers\n");
    if (use->tag)
        buf_addf(card, "pipeline_tag: %s\n", use->tag);
    if (is_plain(facts->about->base))
        buf_addf(card, "base_model: \"%s\"\n", facts->about->base);
    if (json_object_size(languages) > 0)
        buf_add_text(card, "language:\n");
    json_object_foreach((json_t *)languages, code, ignored)
    {
        if (code[strspn(code, "abcdefghijklmnopqrstuvwxyz-")] == '\0')
            buf_addf(card, "- \"%s\"\n", code);
    }
    const size_t before = card->size;
    export_licence(facts->files, card);
    if (card->size == before)
        buf_add_text(card, "# license: say here which one; text of Wikipedia is CC BY-SA\n");
    buf_add_text(card, "---\n\n# ");
    const char *name =
        strrchr(facts->out, '/') && strrchr(facts->out, '/')[1] ? strrchr(facts->out, '/') + 1 : facts->out;
    add_escaped(card, name);
    if (facts->config->hidden > 0) /* 0: config.json could not be read */
        add_shape(card, facts);
    if (unpublished)
        buf_addf(card, "\n\n%s; `dstrain --init` loads it.\n", unpublished);
    else
        buf_addf(card,
                 "\n\n```python\nfrom transformers import %s, AutoTokenizer\n"
                 "model = %s.from_pretrained(\".\")  # this directory\n"
                 "tokenizer = AutoTokenizer.from_pretrained(\".\")\n```\n",
                 use->class, use->class);
}

int card_make(const struct card_facts *facts, struct buf *card, struct error *err)
{
    const struct about *about = facts->about;
    bool own = false;
    add_head(card, facts);
    add_labels(card, facts->config);
    if (facts->identity) {
        add_data(card, facts->identity, about->datasets, about->languages);
        add_training(card, facts);
        add_results(card, about->run, facts->state->step);
        own = add_own_scores(card, facts);
    }
    return add_scores(card, facts, own, err);
}

/* ---- the part of an export ---- */

static bool is_card(const char *name)
{
    return strcmp(name, CARD_NAME) == 0;
}

static int write_card(const struct export_job *job, const char *to, json_t *written, struct error *err)
{
    char *path = path_join(to, CARD_NAME);
    const int result = file_write_all(path, job->card.data, job->card.size, err);
    json_array_append_new(written, json_string(CARD_NAME));
    mem_free(path);
    return result;
}

const struct export_part export_part_card = {is_card, write_card};
