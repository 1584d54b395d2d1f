#include "trainer/verbs/export_files.h"

#include <inttypes.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/output.h"
#include "trainer/model/config.h"
#include "trainer/model/head.h"
#include "trainer/model/label_names.h"
#include "trainer/keep/weights_missing.h"
#include "trainer/keep/metrics.h"
#include "trainer/run/run.h"
#include "trainer/tune/tune_kinds.h"
#include "trainer/verbs/card_parts.h"
#include "trainer/verbs/proof.h"

#define DATA_CARD      "data-card"
#define DATA_CARD_MAX  (1u << 20)
#define DATA_CARD_SIZE 48

static void add_count(struct buf *card, const char *key, uint64_t count)
{
    char text[32];
    card_row(card, key, format_count(count, text));
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
            card_row(card, "source", base);
    }
}

/* The data card of a dataset (`dsdata report --card`), which names the dataset's hash; NULL: it has none. The caller
 * mem_free's it. */
static char *data_card(const json_t *dataset)
{
    struct buf mark = {0}, text = {0};
    struct error ignored = {0};
    const char *directory = json_string_value(json_object_get(dataset, "path"));
    const char *hash = json_string_value(json_object_get(json_object_get(dataset, "manifest"), "root_hash"));
    char *path = directory ? path_join(directory, CARD_NAME) : NULL;
    buf_addf(&mark, "root hash `%s`", hash ? hash : "");
    const bool found = path && path_is_file(path) && file_read_all(path, DATA_CARD_MAX, &text, &ignored) == 0 &&
                       str_find(buf_str(&text), buf_str(&mark)) != SIZE_MAX;
    buf_release(&mark);
    buf_release(&text);
    if (!found)
        mem_free(path);
    return found ? path : NULL;
}

/* Its name beside the model; from the second dataset on with a number. */
static char *data_card_name(size_t dataset, char out[DATA_CARD_SIZE])
{
    if (dataset == 0)
        snprintf(out, DATA_CARD_SIZE, DATA_CARD ".md");
    else
        snprintf(out, DATA_CARD_SIZE, DATA_CARD "-%zu.md", dataset + 1);
    return out;
}

static void add_data(struct buf *card, const json_t *identity, const json_t *there, const json_t *languages)
{
    const char *hash = json_string_value(json_object_get(identity, "dataset")), *code;
    const char *mixture = json_string_value(json_object_get(identity, "mixture"));
    json_t *ignored, *dataset;
    size_t i;
    card_table(card, "Data");
    if (mixture)
        card_row(card, "shares of datasets (root hashes of dsdata)", mixture);
    else if (hash)
        card_row(card, json_object_get(identity, "task") ? "samples (hash)" : "dataset (root hash of dsdata)", hash);
    json_array_foreach((json_t *)there, i, dataset)
    {
        const json_t *pages = json_object_get(json_object_get(json_object_get(dataset, "manifest"), "pages"), "kept");
        if (json_is_integer(pages))
            add_count(card, "pages", (uint64_t)json_integer_value(pages));
    }
    json_object_foreach((json_t *)languages, code, ignored) card_row(card, "language", code);
    json_array_foreach((json_t *)there, i, dataset) add_sources(card, json_object_get(dataset, "build"));
    json_array_foreach((json_t *)there, i, dataset)
    {
        char name[DATA_CARD_SIZE], *path = data_card(dataset);
        if (path)
            buf_addf(card, "| data card | [%s](%s) |\n", data_card_name(i, name), name);
        mem_free(path);
    }
}

/* The recipe as run.json has it, but with the precision that was computed in, and the model before under its name. */
static void add_training(struct buf *card, const struct export_job *job)
{
    static const char *const in_data[] = {"dataset", "mixture"};
    json_t *precision = json_object_get(job->about->record, "precision");
    json_t *recipe = run_identity(job->identity, precision), *value;
    const char *key;
    card_table(card, "Training");
    add_count(card, "steps done", job->state->step);
    add_count(card, "samples", job->state->samples);
    add_count(card, "tokens", job->state->tokens);
    if (job->about->base[0]) {
        struct buf base = {0};
        const char *hash = json_string_value(json_object_get(recipe, "initial_weights"));
        buf_addf(&base, "%s, weights %s", job->about->base, hash ? hash : "?");
        card_row(card, "started from", buf_text(&base));
        json_object_del(recipe, "initial_weights");
        buf_release(&base);
    }
    for (size_t i = 0; i < sizeof in_data / sizeof *in_data; i++)
        json_object_del(recipe, in_data[i]);
    json_object_foreach(recipe, key, value) card_value(card, key, value);
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
    card_row(card, key, text);
}

/* "6.90 % (commonest 6.10 %)" */
static void add_accuracy(struct buf *card, const json_t *line, const char *key, double accuracy)
{
    static const char *const baselines[] = {BASELINE_COMMONEST, BASELINE_MAJORITY};
    SCOPED(buf_release) struct buf text = {0};
    buf_addf(&text, "%.2f %%", 100 * accuracy);
    for (size_t i = 0; i < sizeof baselines / sizeof *baselines; i++) {
        char name[METRIC_KEY_BYTES];
        snprintf(name, sizeof name, "%.40s_%s", key, baselines[i]);
        const json_t *baseline = json_object_get(line, name);
        if (json_is_number(baseline))
            buf_addf(&text, " (%s %.2f %%)", baselines[i], 100 * json_number_value(baseline));
    }
    card_row(card, key, buf_text(&text));
}

static void add_result(struct buf *card, const json_t *line, const char *key, const json_t *value)
{
    if (json_is_real(value) && str_ends(str_of(key), STR("loss")))
        add_loss(card, key, json_real_value(value));
    else if (json_is_number(value) && str_ends(str_of(key), STR("accuracy")))
        add_accuracy(card, line, key, json_number_value(value));
    else
        card_value(card, key, value);
}

/* The loss of the only head is the loss. */
static bool is_repeated(const json_t *line, const char *key, const json_t *value)
{
    return str_ends(str_of(key), STR("_loss")) && json_equal(value, json_object_get(line, "loss"));
}

/* `scored`: the scores of a fine-tuned model follow, which have the accuracies on held-out samples. */
static void add_results(struct buf *card, const char *run, uint64_t step, bool scored)
{
    static const struct {
        const char *key, *title, *samples;
    } kinds[] = {{"train", "Loss of the last step", "samples"},
                 {"valid", "On samples held out from training", "valid_samples"}};
    json_auto_t *last = json_object();
    metrics_last(run, step, last);
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        json_t *line = json_object_get(last, kinds[kind].key), *value;
        const char *key;
        if (!line)
            continue;
        card_table(card, kinds[kind].title);
        json_object_foreach(line, key, value)
        {
            const bool is_score = scored && kind == 1 && str_ends(str_of(key), STR("accuracy"));
            if (is_result(key, kinds[kind].samples) && !is_repeated(line, key, value) && !is_score)
                add_result(card, line, key, value);
        }
    }
}

static void add_score_table(struct buf *card, const char *from, const char *began, const json_t *scores)
{
    buf_add_text(card, "\n## Results\n");
    if (from) {
        buf_add_text(card, "\n| | |\n|---|---|\n");
        card_row(card, "from", from);
    }
    if (began)
        card_row(card, "fine-tuned from", began);
    card_scores(card, scores);
}

/* The scores of a fine-tuned run itself, if this is its last step, for which they were made; else NULL. */
static json_t *own_scores(const struct export_job *job)
{
    const json_t *steps = json_object_get(job->identity, "steps");
    if (!json_object_get(job->identity, "task") || (uint64_t)json_integer_value(steps) != job->state->step)
        return NULL;
    return about_read(job->about->run, SCORES_NAME, SCORES_BYTES_MAX);
}

/* Whether --scores names the run itself, whose scores are in the card already. */
static bool is_own(const struct export_job *job, const char *named)
{
    SCOPED(mem_free_at) char *scores = path_join(job->about->run, SCORES_NAME);
    return path_same(named, job->about->run) || path_same(named, scores);
}

/* Whether the run in that directory started from the card's model, as text; NULL: not known. */
static const char *began_with(const char *directory, const char *hash)
{
    json_auto_t *record = about_read(directory, RUN_NAME, RUN_BYTES_MAX);
    const char *initial = json_string_value(json_object_get(json_object_get(record, "identity"), "initial_weights")),
               *answer = NULL;
    if (initial)
        answer = strncmp(initial, hash, strlen(hash)) == 0 ? "this model" : "another model";
    return answer;
}

/* The hash by which a run's identity names the weights that it started from. */
static int hash_weights(const char *files, char hash[17], struct error *err)
{
    uint64_t number = 0;
    SCOPED(mem_free_at) char *path = safetensors_locate(files, WEIGHTS_NAME);
    const int result = path ? safetensors_hash(path, &number, err) : weights_missing(files, err);
    hash_text(number, hash);
    return result;
}

/* `own`: the run's own scores are in the card. */
static int add_scores(struct buf *card, const struct export_job *job, bool own, struct error *err)
{
    char hash[17];
    if (job->settings->scores.count > 0)
        TRY(hash_weights(job->from, hash, err));
    for (size_t i = 0; i < job->settings->scores.count; i++) {
        const char *named = job->settings->scores.items[i];
        const bool is_directory = path_is_directory(named);
        if (own && is_own(job, named))
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

/* The command that built the only dataset, with names instead of paths, into DATASET; nothing if it is not known. */
static void add_build(struct buf *card, const struct export_job *job)
{
    const json_t *dataset = json_array_get(job->about->datasets, 0), *word;
    const json_t *command = json_object_get(json_object_get(dataset, "build"), "command");
    size_t i;
    bool out = false;
    if (json_array_size(job->about->datasets) != 1 || json_array_size(command) < 2)
        return;
    buf_add_text(card, "dsdata");
    json_array_foreach(command, i, word)
    {
        const char *text = json_string_value(word);
        if (!text || i == 0 || out || str_starts(str_of(text), STR("--out="))) {
            out = false;
            continue;
        }
        out = strcmp(text, "--out") == 0;
        if (!out)
            command_add(card, *text == '/' && strrchr(text, '/')[1] ? strrchr(text, '/') + 1 : text);
    }
    buf_addf(card, " --out DATASET    # root hash %s\n",
             json_string_value(json_object_get(json_object_get(dataset, "manifest"), "root_hash")));
}

/* For a run whose bits do not depend on the machine or the processes. */
static void add_proof(struct buf *card, const struct export_job *job)
{
    const bool tuned = json_object_get(job->identity, "task");
    if (!job->provenance || !json_is_true(json_object_get(job->identity, "same_bits")))
        return;
    const bool everywhere =
        strcmp(json_string_value(json_object_get(job->provenance, "bits")), PROVENANCE_EVERYWHERE) == 0;
    buf_addf(card,
             "\n## Prove it\n\nThis training can be computed again and gives the same bytes on %s (`--same-bits`). It "
             "needs %s, and two of the checkpoints that `" PROVENANCE_NAME
             "` lists, as `RUN/checkpoints/step-…`; or the last one and `--from 0`, which computes all of it.\n\n```\n",
             everywhere ? "every CPU" : "devices like the one in `" PROVENANCE_NAME "`",
             tuned                                       ? "the files that its command names"
             : json_array_size(job->about->datasets) > 1 ? "the datasets whose root hashes are above"
                                                         : "the dataset");
    if (!tuned)
        add_build(card, job);
    buf_addf(card, "dstrain verify RUN --replay --provenance " PROVENANCE_NAME "%s\n```\n",
             tuned                                       ? ""
             : json_array_size(job->about->datasets) > 1 ? " --shards DIR=WEIGHT…"
                                                         : " --shards DATASET");
}

static void add_shape(struct buf *card, const struct export_job *job)
{
    const struct model_config *config = job->config;
    char model[32], parameters[32];
    buf_addf(card, "\n\nA %s (%s, %s parameters, vocabulary of %" PRId32 "), written by dstrain " DS_VERSION ".",
             architecture_of(config)->layout->noun, config_name(config, model),
             format_count(job->use->parameters, parameters), config->vocabulary);
    if (job->about->tokenizer[0])
        buf_addf(card, " Its tokenizer: %s.", job->about->tokenizer);
}

/* The names of the classes, in the order of the model's outputs. */
static void add_labels(struct buf *card, const struct model_config *config)
{
    if (!model_names_labels(config) || config->hidden == 0)
        return;
    card_table(card, "Labels");
    if (config->labels == 1)
        card_row(card, "output", "a number");
    for (int32_t i = 0; i < config->labels && config->labels > 1; i++) {
        char number[12], name[LABEL_NAME_SIZE], text[ABOUT_LABEL_SIZE];
        snprintf(number, sizeof number, "%" PRId32, i);
        card_row(card, number, about_label_text(config->tuned_for, i, label_name(config, i, name), text));
    }
}

/* Names in front matter are of letters that mean nothing in YAML. */
static bool is_plain(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return *name && *name != '-' && *name != '.' && name[strspn(name, letters)] == '\0';
}

static void add_head(struct buf *card, const struct export_job *job)
{
    const json_t *languages = job->about->languages;
    const char *unpublished = architecture_of(job->config)->unpublished;
    const char *code;
    json_t *ignored;
    const struct use *use = job->use;
    buf_add_text(card, "---\nlibrary_name: transformers\n");
    if (use->tag)
        buf_addf(card, "pipeline_tag: %s\n", use->tag);
    if (is_plain(job->about->base))
        buf_addf(card, "base_model: \"%s\"\n", job->about->base);
    if (json_object_size(languages) > 0)
        buf_add_text(card, "language:\n");
    json_object_foreach((json_t *)languages, code, ignored)
    {
        if (code[strspn(code, "abcdefghijklmnopqrstuvwxyz-")] == '\0')
            buf_addf(card, "- \"%s\"\n", code);
    }
    const size_t before = card->size;
    export_licence(job->from, card);
    if (card->size == before)
        buf_add_text(card, "# license: say here which one; text of Wikipedia is CC BY-SA\n");
    buf_add_text(card, "---\n\n# ");
    const char *name = strrchr(job->settings->out, '/') && strrchr(job->settings->out, '/')[1]
                           ? strrchr(job->settings->out, '/') + 1
                           : job->settings->out;
    card_escaped(card, name);
    if (job->config->hidden > 0) /* 0: config.json could not be read */
        add_shape(card, job);
    if (unpublished)
        buf_addf(card, "\n\n%s; `dstrain --init` loads it.\n", unpublished);
    else
        buf_addf(card,
                 "\n\n```python\nfrom transformers import %s, AutoTokenizer\n"
                 "model = %s.from_pretrained(\".\")  # this directory\n"
                 "tokenizer = AutoTokenizer.from_pretrained(\".\")\n```\n",
                 use->class, use->class);
}

int card_make(const struct export_job *job, struct buf *card, struct error *err)
{
    const struct about *about = job->about;
    json_auto_t *own = job->identity ? own_scores(job) : NULL;
    add_head(card, job);
    add_labels(card, job->config);
    if (job->identity) {
        add_data(card, job->identity, about->datasets, about->languages);
        add_training(card, job);
        add_results(card, about->run, job->state->step, own);
        if (own)
            add_score_table(card, NULL, NULL, own);
    }
    const int result = add_scores(card, job, own, err);
    add_proof(card, job);
    return result;
}

static bool is_card(const char *name)
{
    return strcmp(name, CARD_NAME) == 0 ||
           (str_starts(str_of(name), STR(DATA_CARD)) && str_ends(str_of(name), STR(".md")) && !strchr(name, '/'));
}

static int write_data_cards(const json_t *datasets, const char *to, json_t *written, struct error *err)
{
    size_t i;
    const json_t *dataset;
    int result = 0;
    json_array_foreach(datasets, i, dataset)
    {
        struct buf text = {0};
        char name[DATA_CARD_SIZE], *from = result == 0 ? data_card(dataset) : NULL;
        char *path = path_join(to, data_card_name(i, name));
        if (from)
            result = file_read_all(from, DATA_CARD_MAX, &text, err);
        if (from && result == 0)
            result = file_write_all(path, text.data, text.size, err);
        if (from)
            json_array_append_new(written, json_string(name));
        buf_release(&text);
        mem_free(path);
        mem_free(from);
    }
    return result;
}

static int write_card(const struct export_job *job, const char *to, json_t *written, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(to, CARD_NAME);
    const int result = file_write_all(path, job->card.data, job->card.size, err);
    json_array_append_new(written, json_string(CARD_NAME));
    return result < 0 ? result : write_data_cards(job->about->datasets, to, written, err);
}

const struct export_part export_part_card = {is_card, write_card};
