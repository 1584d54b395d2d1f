/* dstrain export: a Hugging Face directory of a run's newest checkpoint, or of any other model. A checkpoint is such a
 * directory already, so its files are verified and copied, except those that only training needs. A model that
 * transformers knows in another layout only is rewritten (export_layout.c). */
#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/target.h"
#include "trainer/model/config.h"
#include "trainer/model/head.h"
#include "trainer/keep/weights_missing.h"
#include "trainer/recipe/settings.h"
#include "trainer/verbs/export_files.h"
#include "trainer/verbs/proof.h"

/* Opens the model's file before it is published, which detects an invalid header. */
static int check_weights(const char *directory, struct error *err)
{
    SCOPED(mem_free_at) char *path = safetensors_locate(directory, WEIGHTS_NAME);
    SCOPED(safetensors_close) struct safetensors file = {0};
    TRY(path ? safetensors_open(&file, path, err) : weights_missing(directory, err));
    for (size_t i = 0; i < file.count; i++)
        if (!tensor_is_finite(&file.tensors[i]))
            return fail_at(err, ERR_NUMERIC, path, ERROR_NO_OFFSET, "%.80s holds numbers that are not finite",
                           file.tensors[i].name);
    return 0;
}

/* "OUT.tmp". */
static char *unfinished_name(const char *out)
{
    struct buf name = {0};
    size_t size = strlen(out);
    while (size > 1 && out[size - 1] == '/')
        size--;
    buf_addf(&name, "%.*s.tmp", (int)size, out);
    buf_text(&name);
    return name.data;
}

/* Writes to a directory with a temporary name and renames it, so that --out is complete or does not exist. */
static int write_whole(const struct export_job *job, const char *out, json_t *written, struct error *err)
{
    SCOPED(mem_free_at) char *name = unfinished_name(out);
    struct target_folder folder = {.path = name, .ours = export_is_file}, whole = {.path = out, .ours = export_is_file};
    int result = target_folder_clear(&whole, err); /* renamed by a command that was killed then */
    if (result == 0)
        result = target_folder_open(&folder, err);
    const bool opened = result == 0;
    if (result == 0)
        result = export_parts(job, name, written, err);
    if (result == 0)
        result = path_rename(name, out, err);
    if (result < 0 && opened)
        target_folder_undo(&folder);
    if (result == 0)
        result = target_folder_done(&whole, err);
    return result;
}

/* Reads config.json. If it cannot be read, assumes a model that transformers knows: the user may export models that
 * dstrain cannot load. */
static struct model_config config_in(const char *directory)
{
    struct model_config config;
    struct error ignored = {0};
    SCOPED(mem_free_at) char *path = config_locate(directory);
    if (config_read(path, &config, &ignored) < 0)
        config = (struct model_config){.architecture = ARCHITECTURE_BERT};
    return config;
}

/* A command that tries the model, with a sentence of its language; NULL: there is no short one. The caller mem_free's
 * it. */
static char *trial_of(const struct use *use, const json_t *languages, const char *out)
{
    if (!use->trial)
        return NULL;
    if (strcmp(use->tag, "fill-mask") != 0)
        return command_text("python3 -c %s %s", use->trial, out);
    char *mask = export_mask_token(out), *sentence = about_sentence(languages, mask);
    char *command = command_text("python3 -c %s %s %s", use->trial, out, sentence);
    mem_free(sentence);
    mem_free(mask);
    return command;
}

static void tell(const struct settings *settings, const char *from, uint64_t step, const struct model_config *config,
                 const struct use *use, const json_t *languages, json_t *copied)
{
    const struct architecture *architecture = architecture_of(config);
    const struct layout *layout = architecture->exported;
    char *next = architecture->unpublished ? command_text("dstrain --shards DATASET --init %s", settings->out)
                                           : trial_of(use, languages, settings->out);
    if (step > 0)
        log_say("model      %s (step %" PRIu64 ")", from, step);
    if (architecture->unpublished)
        log_say("note       %s; dstrain --init loads it", architecture->unpublished);
    if (layout && model_tuned_head(config) < HEAD_KINDS)
        log_say("note       written as %s", layout->class_begin);
    else if (layout)
        log_say("note       written as %s%s%s", layout->class_begin,
                layout->lacks >> HEAD_NEXT & 1 ? ", without next-sentence head" : "",
                layout->erf_head && config->gelu == GELU_TANH
                    ? "; its masked-LM head has erf-GELU, the model's has tanh"
                    : "");
    log_say("done       %s", settings->out);
    if (settings->json) {
        json_t *facts = json_pack("{s:o, s:o, s:O, s:[]}", "from", json_name(from), "out", json_name(settings->out),
                                  "files", copied, "next");
        if (next)
            json_array_append_new(json_object_get(facts, "next"), json_string(next));
        if (step > 0)
            json_object_set_new(facts, "step", json_integer((json_int_t)step));
        output_json(facts, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    }
    if (next)
        say_next(next);
}

int dstrain_export(void *context, struct opt_paths bare, struct error *err)
{
    const struct settings *settings = context;
    struct checkpoint_state state = {0};
    enum model_source source;
    SCOPED(buf_release) struct buf card = {0};
    SCOPED(mem_free_at) char *files = NULL;
    json_auto_t *identity = NULL, *provenance = NULL, *copied = json_array();
    if (!settings->out)
        return fail(err, ERR_USAGE, "--out DIR is missing: where the model is written");
    TRY(checkpoint_locate(bare.items[0], &source, &files, err));
    if (source != SOURCE_HUGGING_FACE)
        TRY(checkpoint_verify(files, &state, &identity, err));
    TRY(target_folder_check(&(struct target_folder){.path = settings->out, .ours = export_is_file}, err));
    TRY(check_weights(files, err));
    const struct model_config config = config_in(files);
    const struct use use = use_of(files);
    SCOPED(about_close) struct about about = {0};
    about_open(&about, bare.items[0], source, files, identity, &config);
    TRY(proof_make(&about, &provenance, err));
    struct export_job job = {.settings = settings,
                             .from = files,
                             .config = &config,
                             .about = &about,
                             .use = &use,
                             .state = &state,
                             .identity = identity,
                             .provenance = provenance};
    TRY(card_make(&job, &card, err));
    job.card = buf_str(&card);
    TRY(write_whole(&job, settings->out, copied, err));
    tell(settings, files, state.step, &config, &use, about.languages, copied);
    return 0;
}
