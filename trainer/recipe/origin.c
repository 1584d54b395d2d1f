/* Finds the weights of --init or --resume, and checks before anything is written that they can be read. Other published
 * formats get an error that says how to convert them. */
#include "trainer/recipe/origin.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/mem.h"
#include "trainer/keep/weights_missing.h"
#include "trainer/model/config.h"

void origin_release(struct origin *origin)
{
    mem_free(origin->files);
    mem_free(origin->weights);
    json_decref(origin->identity);
    *origin = (struct origin){0};
}

/* Refuses a file of weights given in place of a directory. */
static int check_directory(const struct origin *origin, struct error *err)
{
    static const char *const ends[] = {".bin", ".pt", ".pth", ".ckpt", ".index"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (path_is_file(origin->name) && str_ends(str_of(origin->name), str_of(ends[i]))) {
            fail_at(err, ERR_UNSAFE, origin->name, ERROR_NO_OFFSET, "is not a directory with a model.safetensors");
            return weights_hint_conversion(origin->name, "model", err);
        }
    return 0;
}

/* Appends the hash of weights or moments, 16 digits, to `text`. */
static int add_file_hash(const char *path, char *text, size_t text_size, struct error *err)
{
    uint64_t hash;
    char hex[17];
    TRY(safetensors_hash(path, &hash, err));
    hash_text(hash, hex);
    const size_t used = strlen(text);
    snprintf(text + used, text_size - used, "%s%s", used > 0 ? "+" : "", hex);
    return 0;
}

static int check_options(const struct settings *settings, struct error *err)
{
    const char *name = settings->resume ? "resume" : "init";
    if (settings->resume && settings->init)
        return fail(err, ERR_USAGE, "--resume and --init both say where the weights come from: give one of them");
    if (settings->init_moments && !settings->init)
        return fail(err, ERR_USAGE, "--init-moments takes a run's moments: name the run with --init");
    if (settings->grow_vocab && !settings->init)
        return fail(err, ERR_USAGE, "--grow-vocab appends rows to a model's word table: name the model with --init");
    if (settings->grow_vocab && settings->init_moments)
        return fail(err, ERR_USAGE, "--grow-vocab appends rows, for which --init-moments finds no moments");
    if ((settings->resume || settings->init) && settings_given(settings, "model"))
        return fail(err, ERR_USAGE, "--%s determines the model's shape: leave out --model", name);
    return 0;
}

/* The run in --out would be renamed before it is read. */
static int check_fresh(const struct origin *origin, const struct settings *settings, struct error *err)
{
    if (!settings->fresh || !settings->out)
        return 0;
    SCOPED(mem_free_at) char *files = path_full(origin->files), *out = path_full(settings->out);
    const size_t size = strlen(out);
    if (strncmp(files, out, size) == 0 && (files[size] == '\0' || files[size] == '/')) {
        fail_at(err, ERR_USAGE, origin->name, ERROR_NO_OFFSET, "is in --out %s, which --fresh would move away",
                settings->out);
        return hint(err, "give another --out");
    }
    return 0;
}

int origin_find(struct origin *origin, const struct settings *settings, struct error *err)
{
    *origin = (struct origin){
        .name = settings->resume ? settings->resume : settings->init,
        .moments = settings->init_moments || settings->resume,
        .goes_on = settings->resume != NULL,
        .hash = "random",
    };
    TRY(check_options(settings, err));
    if (!origin->name)
        return 0;
    TRY(check_directory(origin, err));
    if (checkpoint_locate(origin->name, &origin->source, &origin->files, err) < 0)
        return path_hint_download(origin->name, true, err);
    origin->weights = safetensors_locate(origin->files, WEIGHTS_NAME);
    if (!origin->weights)
        return weights_missing(origin->files, err);
    if (origin->moments && origin->source == SOURCE_HUGGING_FACE)
        return fail_at(err, ERR_USAGE, origin->name, ERROR_NO_OFFSET,
                       "is not a run or checkpoint of dstrain, so %s finds no moments",
                       origin->goes_on ? "--resume" : "--init-moments");
    TRY(check_fresh(origin, settings, err));
    if (origin->source != SOURCE_HUGGING_FACE)
        TRY(checkpoint_verify(origin->files, &origin->state, &origin->identity, err));
    const char *task = json_string_value(json_object_get(origin->identity, "task"));
    if (origin->moments && task) {
        fail_at(err, ERR_MISMATCH, origin->name, ERROR_NO_OFFSET,
                "was fine-tuned (%.40s): its moments are those of another head", task);
        return hint(err, "--init takes its weights alone");
    }
    return 0;
}

int origin_hash(struct origin *origin, struct error *err)
{
    if (!origin->weights)
        return 0;
    origin->hash[0] = '\0';
    TRY(add_file_hash(origin->weights, origin->hash, sizeof origin->hash, err));
    if (!origin->moments)
        return 0;
    SCOPED(mem_free_at) char *moments = path_join(origin->files, MOMENTS_NAME);
    return add_file_hash(moments, origin->hash, sizeof origin->hash, err);
}

int origin_config(const struct origin *origin, struct model_config *config, struct error *err)
{
    SCOPED(mem_free_at) char *path = config_locate(origin->files);
    const int result = config_read(path, config, err);
    return result < 0 ? -1 : names_check(origin->weights, config, err);
}
