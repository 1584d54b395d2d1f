/* Mistakes in the command are found here, before anything is written. */
#include "trainer/run/setup.h"

#include <inttypes.h>

#include "base/target.h"
#include "trainer/model/config.h"
#include "trainer/recipe/grow.h"
#include "trainer/recipe/text.h"

#define VOCAB_BYTES_MAX (256u << 20) /* of a vocab.txt */

/* ---- vocabulary and model ---- */

/* Reads the dataset's vocab.txt, of which *path becomes the name, and how its texts were cut. The caller releases both,
 * on errors too. */
static int read_vocabulary(const struct setup *s, char **path, struct buf *vocab, struct tokenizer_words *words,
                           struct error *err)
{
    const struct manifest *manifest = &s->datasets.train[0].manifest;
    *words = (struct tokenizer_words){.cased = manifest->cased,
                                      .strip_accents = !manifest->accents_kept,
                                      .joined = manifest_option(manifest, "handle-chinese-chars")};
    *path = path_join(s->datasets.train[0].directory, VOCAB_NAME);
    return file_read_all(*path, VOCAB_BYTES_MAX, vocab, err);
}

static int make_tokenizer(struct setup *s, const struct origin *origin, int32_t positions, struct error *err)
{
    const struct tuning *tuning = s->settings->tuning;
    if (tuning)
        return text_files(tuning->text(tuning->context), (uint32_t)positions, s->longer, &s->tokenizer, err);
    if (manifest_is_bpe(&s->datasets.train[0].manifest))
        return text_bpe_files(&s->datasets.train[0], origin->files, s->recipe.config.spare > 0, (uint32_t)positions,
                              s->longer, &s->tokenizer, err);
    SCOPED(buf_release) struct buf vocab = {0};
    struct tokenizer_words words;
    SCOPED(mem_free_at) char *path;
    TRY(read_vocabulary(s, &path, &vocab, &words, err));
    if (origin->files && s->growth.pieces == 0)
        TRY(text_check(origin->files, buf_str(&vocab), &words, s->recipe.config.spare > 0, err));
    TRY(tokenizer_make(&s->tokenizer, path, buf_str(&vocab), &words, (uint32_t)positions, err));
    if (origin->files && s->growth.pieces == 0)
        return text_keep(origin->files, s->longer, &s->tokenizer, err);
    if (origin->files)
        text_warn_lost(origin->files);
    else if (manifest_option(&s->datasets.train[0].manifest, tokenizer_file_names[TOKENIZER_JSON]))
        return text_keep(s->datasets.train[0].directory, s->longer, &s->tokenizer, err);
    return 0;
}

static int grow(struct setup *s, const struct origin *origin, struct model_config *config, struct error *err)
{
    SCOPED(buf_release) struct buf vocab = {0};
    struct tokenizer_words words;
    SCOPED(mem_free_at) char *path;
    TRY(read_vocabulary(s, &path, &vocab, &words, err));
    return grow_plan(origin->files, buf_str(&vocab), &words, config, &s->growth, err);
}

static int refuse_more_pieces(const struct origin *origin, int32_t rows, uint32_t pieces, struct error *err)
{
    fail_at(err, ERR_MISMATCH, origin->files, ERROR_NO_OFFSET,
            "has embeddings of %" PRId32 " pieces, the dataset has %" PRIu32, rows, pieces);
    return hint(err, "training with --grow-vocab appends rows for the others, if the first pieces are the same");
}

/* --init --seq N: rotary positions need no table, so the trained model may have more of them. */
static void lengthen(struct setup *s, uint64_t seq, struct model_config *config)
{
    const bool rotary = config->theta_global > 0 && config->lacks >> OPTIONAL_POSITION_TABLE & 1;
    if (!rotary || !s->settings->init || !settings_given(s->settings, "seq") || seq <= (uint64_t)config->positions)
        return;
    s->longer = (uint32_t)seq;
    config->positions = (int32_t)seq;
}

static int config_of(struct setup *s, const struct origin *origin, struct model_config *config, struct error *err)
{
    const struct manifest *manifest = &s->datasets.train[0].manifest;
    const int32_t pieces = (int32_t)manifest->vocab_size;
    if (origin->files) {
        TRY(origin_config(origin, config, err));
        lengthen(s, s->material.seq, config);
        if (s->settings->grow_vocab)
            TRY(grow(s, origin, config, err));
        if (config->vocabulary < pieces)
            return refuse_more_pieces(origin, config->vocabulary, manifest->vocab_size, err);
        config->spare = config->vocabulary - pieces;
    } else {
        TRY(config_choose(s->settings->model ? s->settings->model : MODEL_DEFAULT, config, err));
        config->vocabulary = pieces;
    }
    return pretraining_heads(manifest, config, err);
}

static int data_open(struct setup *s, uint32_t seq, struct error *err)
{
    TRY(datasets_open(&s->datasets, &s->settings->shards, seq, err));
    s->material = (struct material){.hash = datasets_hash(&s->datasets), .seq = s->datasets.train[0].layout.seq};
    datasets_identity(&s->datasets, s->material.mixture);
    for (uint32_t d = 0; d < s->datasets.count; d++)
        s->material.samples += s->datasets.train[d].samples;
    const struct special_ids *special = &s->datasets.train[0].manifest.special;
    s->pad_id = special->pad;
    s->cls_id = special->cls;
    s->sep_id = special->sep;
    return 0;
}

static int texts_open(struct setup *s, const struct origin *origin, struct model_config *config, struct error *err)
{
    const struct tuning *tuning = s->settings->tuning;
    if (!origin->files) {
        fail(err, ERR_USAGE, "--init DIR is missing: the model to start from");
        return hint(err, "a run of dstrain, one of its checkpoints, or a Hugging Face directory");
    }
    TRY(origin_config(origin, config, err));
    lengthen(s, s->settings->seq, config);
    TRY(tuning->open(tuning->context, s->settings, origin, config, &s->material, err));
    const struct vocab *vocab = tuning->text(tuning->context)->vocab;
    s->pad_id = vocab->pad;
    s->cls_id = vocab->cls;
    s->sep_id = vocab->sep;
    return 0;
}

static void begin_task(struct setup *s)
{
    s->identity = recipe_identity(&s->recipe);
    const struct tuning *tuning = s->settings->tuning;
    s->task = tuning ? tuning->task(tuning->context, &s->recipe)
                     : pretraining_task(&s->pretraining, &s->datasets, &s->recipe, s->settings->eval_samples);
}

static int check_dump(const struct settings *settings, struct error *err)
{
    static const char *const begins[] = {"{\"__metadata__\":{\"format\":\"pt\",\"kind\":\"gradients\"}", NULL};
    static const struct target_form form = {.holds = begins}; /* names_write in engine.c */
    const char *const reads[] = {settings->config, settings->train, settings->dev, settings->logits, settings->tune};
    const struct target target = {.option = "dump-gradients",
                                  .path = settings->dump_gradients,
                                  .force = settings->force,
                                  .forms = &form,
                                  .form_count = 1,
                                  .reads = reads,
                                  .read_count = sizeof reads / sizeof *reads};
    return target_check(&target, err);
}

int setup_open(struct setup *s, const struct settings *settings, struct origin *origin, struct error *err)
{
    struct model_config config;
    *s = (struct setup){.settings = settings};
    *origin = (struct origin){0};
    if (settings->patience > 0 && settings->eval_every == 0)
        return fail(err, ERR_USAGE,
                    "--patience counts evaluations, but there is only one, at the end: --eval-every N is missing");
    if ((settings->patience > 0 || settings->keep_best) && settings->eval_samples == 0 &&
        settings_given(settings, "eval-samples")) /* a replay evaluates nothing either */
        return fail(err, ERR_USAGE, "--%s needs evaluations, but --eval-samples is 0",
                    settings->keep_best ? "keep-best" : "patience");
    TRY(check_dump(settings, err));
    if (!settings->tuning)
        TRY(data_open(s, (uint32_t)settings->seq, err));
    TRY(origin_find(origin, settings, err));
    TRY(settings->tuning ? texts_open(s, origin, &config, err) : config_of(s, origin, &config, err));
    TRY(origin_hash(origin, err));
    TRY(recipe_make(settings, &s->material, &config, origin, &s->recipe, err));
    TRY(model_config_check(&s->recipe.config, err));
    s->recipe.grown_from = s->growth.pieces;
    TRY(make_tokenizer(s, origin, config.positions, err));
    text_say_spare(&config);
    begin_task(s);
    return 0;
}

static int follow_texts(struct setup *s, struct model_config *config, struct error *err)
{
    SCOPED(origin_release) struct origin origin;
    TRY(origin_find(&origin, s->settings, err));
    return texts_open(s, &origin, config, err);
}

int setup_follow(struct setup *s, const struct settings *settings, const struct recipe *recipe, struct error *err)
{
    struct model_config config = {0};
    *s = (struct setup){.settings = settings};
    TRY(settings->tuning ? follow_texts(s, &config, err) : data_open(s, recipe->seq, err));
    s->recipe = *recipe;
    s->recipe.head.rows = s->material.head.rows; /* memory of this process */
    s->recipe.config.label_names = config.label_names;
    s->recipe.config.label_weights = config.label_weights;
    begin_task(s);
    return 0;
}

double setup_epochs(const struct setup *s)
{
    const uint64_t samples = recipe_samples(&s->recipe, s->recipe.schedule.steps);
    return s->datasets.count > 0 ? datasets_epochs(&s->datasets, samples)
                                 : (double)samples / (double)s->task.samples.samples;
}

void setup_close(struct setup *s)
{
    json_decref(s->identity);
    head_choice_release(&s->material.head);
    tokenizer_release(&s->tokenizer);
    growth_release(&s->growth);
    pretraining_release(&s->pretraining);
    datasets_close(&s->datasets);
    *s = (struct setup){0};
}
