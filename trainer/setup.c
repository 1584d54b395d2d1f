/* A command line and the files it names come in; what stands for the whole run goes out: recipe, datasets, tokenizer
 * files, identity. What is wrong with the command is found here, before anything is written. */
#include "trainer/setup.h"

#include <inttypes.h>

#include "base/file.h"
#include "base/mem.h"
#include "trainer/config.h"

/* ---- vocabulary and model ---- */

static int make_tokenizer(struct setup *s, const struct origin *origin, int32_t positions, struct error *err)
{
    struct buf vocab = {0};
    char *path = path_join(s->data.directory, VOCAB_NAME);
    int result = file_read_all(path, VOCAB_BYTES_MAX, &vocab, err);
    if (result == 0 && origin->files)
        result = origin_check_vocabulary(origin, buf_str(&vocab), err);
    const struct manifest *manifest = &s->data.manifest;
    const struct tokenizer_words words = {.cased = manifest->cased,
                                          .strip_accents = !manifest->accents_kept,
                                          .joined = manifest_option(manifest, "handle-chinese-chars")};
    if (result == 0)
        result = tokenizer_make(&s->tokenizer, path, buf_str(&vocab), &words, (uint32_t)positions, err);
    buf_release(&vocab);
    mem_free(path);
    return result;
}

static int config_of(const struct setup *s, const struct origin *origin, struct model_config *config, struct error *err)
{
    const struct manifest *manifest = &s->data.manifest;
    if (origin->files) {
        char *path = path_join(origin->files, "config.json");
        const int result = config_read(path, config, err);
        mem_free(path);
        TRY(result);
        if (config->vocabulary != (int32_t)manifest->vocab_size)
            return fail_at(err, ERR_MISMATCH, origin->files, ERROR_NO_OFFSET,
                           "has a vocabulary of %" PRId32 " pieces, the dataset's has %" PRIu32, config->vocabulary,
                           manifest->vocab_size);
    } else {
        TRY(config_choose(s->settings->model ? s->settings->model : "base", config, err));
    }
    config->vocabulary = (int32_t)manifest->vocab_size;
    return pretraining_heads(manifest, config, err);
}

static int data_open(struct setup *s, uint32_t seq, struct error *err)
{
    const struct settings *settings = s->settings;
    if (!settings->shards) {
        fail(err, ERR_USAGE, "--shards DIR is missing: the dataset to train on");
        return hint(err, "dsdata build makes one");
    }
    TRY(dataset_open(&s->data, settings->shards, seq, SPLIT_TRAIN, err));
    if (s->data.samples == 0)
        return fail_at(err, ERR_MISMATCH, settings->shards, ERROR_NO_OFFSET,
                       "has no training samples of length %" PRIu32, s->data.layout.seq);
    return dataset_open(&s->valid, settings->shards, s->data.layout.seq, SPLIT_VALID, err);
}

static void begin_task(struct setup *s)
{
    s->identity = recipe_identity(&s->recipe);
    s->task = pretraining_task(&s->pretraining, &s->data, &s->valid, &s->recipe);
}

int setup_open(struct setup *s, const struct settings *settings, struct origin *origin, struct error *err)
{
    struct model_config config;
    *s = (struct setup){.settings = settings};
    *origin = (struct origin){0};
    TRY(data_open(s, (uint32_t)settings->seq, err));
    TRY(origin_find(origin, settings, err));
    TRY(config_of(s, origin, &config, err));
    TRY(recipe_make(settings, &s->data, &config, origin, &s->recipe, err));
    TRY(model_config_check(&s->recipe.config, err));
    TRY(make_tokenizer(s, origin, config.positions, err));
    begin_task(s);
    return 0;
}

int setup_follow(struct setup *s, const struct settings *settings, const struct recipe *recipe, struct error *err)
{
    *s = (struct setup){.settings = settings};
    TRY(data_open(s, recipe->seq, err));
    s->recipe = *recipe;
    begin_task(s);
    return 0;
}

void setup_close(struct setup *s)
{
    json_decref(s->identity);
    tokenizer_release(&s->tokenizer);
    dataset_close(&s->valid);
    dataset_close(&s->data);
    *s = (struct setup){0};
}
