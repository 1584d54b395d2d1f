/* The table of parameters holds today's names of transformers; this file translates the others. Sources: transformers
 * modeling_bert.py (gamma/beta of converted TensorFlow files), DeepSpeed's and NVIDIA's BERT (dense_act, module.). */
#include "trainer/keep/names.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static struct tensor tensor_of(const struct param *param, const float *flat)
{
    struct tensor tensor = {.name = param->name,
                            .type = TENSOR_F32,
                            .rank = (uint32_t)param->dimensions,
                            .data = flat ? flat + param->offset : NULL,
                            .bytes = param->count * sizeof(float)};
    assert(param->dimensions >= 1 && param->dimensions <= TENSOR_RANK_MAX);
    for (int32_t i = 0; i < param->dimensions; i++)
        tensor.shape[i] = (uint64_t)param->shape[i];
    return tensor;
}

void names_tensors(const struct params *params, const char *prefix, const float *flat, struct arena *names,
                   struct tensor *out)
{
    for (size_t i = 0; i < params->count; i++) {
        char name[128];
        out[i] = tensor_of(&params->items[i], flat);
        const int size = snprintf(name, sizeof name, "%s%s", prefix, params->items[i].name);
        assert(size > 0 && (size_t)size < sizeof name); /* two names that are cut off could be equal */
        out[i].name = arena_copy(names, str_of(name)).data;
    }
}

int names_write(const char *path, const struct params *params, const float *flat, const char *kind, uint64_t *hash,
                struct error *err)
{
    struct arena names = {0};
    struct tensor *tensors = mem_array(params->count, sizeof *tensors);
    names_tensors(params, "", flat, &names, tensors);
    const int result = safetensors_write_from(path, tensors, params->count, NULL, kind, hash, err);
    mem_free(tensors);
    arena_release(&names);
    return result;
}

static bool shape_is(const struct param *param, const struct tensor *tensor)
{
    bool same = tensor->rank == (uint32_t)param->dimensions;
    for (uint32_t i = 0; i < tensor->rank && same; i++)
        same = tensor->shape[i] == (uint64_t)param->shape[i];
    return same;
}

/* ---- foreign names ---- */

/* Replaces `from` by `to`: at the end of the text if `ends`, else at its first occurrence. */
static void replace(char *name, size_t size, const char *from, const char *to, bool ends)
{
    char *at = strstr(name, from);
    while (at && ends && at[strlen(from)] != '\0')
        at = strstr(at + 1, from);
    if (!at)
        return;
    char rest[256];
    snprintf(rest, sizeof rest, "%s", at + strlen(from));
    snprintf(at, size - (size_t)(at - name), "%s%s", to, rest);
}

/* transformers' RobertaPreLayerNorm is our pre-LN model under other names. The rows are applied in order, in either
 * direction. */
static const struct {
    const char *ours, *theirs;
} roberta[] = {
    {"bert.encoder.FinalLayerNorm", ROBERTA_PREFIX "LayerNorm"},
    {"PreAttentionLayerNorm", "attention.LayerNorm"},
    {"PostAttentionLayerNorm", "intermediate.LayerNorm"},
    {"cls.predictions.transform.dense", "lm_head.dense"},
    {"cls.predictions.transform.LayerNorm", "lm_head.layer_norm"},
    {"cls.predictions.decoder", "lm_head.decoder"},
    {"cls.predictions.bias", "lm_head.bias"},
    {"bert.pooler.dense", "classifier.dense"}, /* in its classification head */
    {"classifier.weight", "classifier.out_proj.weight"},
    {"classifier.bias", "classifier.out_proj.bias"},
    {"bert.", ROBERTA_PREFIX},
};

void names_to_roberta(const char *name, char *out, size_t size)
{
    snprintf(out, size, "%s", name);
    for (size_t i = 0; i < sizeof roberta / sizeof *roberta; i++)
        replace(out, size, roberta[i].ours, roberta[i].theirs, false);
}

static bool is_roberta(const char *name)
{
    static const char *const starts[] = {ROBERTA_PREFIX, "lm_head.", "classifier.dense.", "classifier.out_proj."};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

/* Translates a tensor's name to the one that our table uses. */
static void modern_name(const char *name, char *out, size_t size)
{
    const bool wrapped = strncmp(name, "module.", 7) == 0;
    const char *bare = wrapped ? name + 7 : name;
    const bool body =
        strncmp(bare, "embeddings.", 11) == 0 || strncmp(bare, "encoder.", 8) == 0 || strncmp(bare, "pooler.", 7) == 0;
    snprintf(out, size, "%s%s", body ? "bert." : "", bare);
    replace(out, size, "LayerNorm.gamma", "LayerNorm.weight", true);
    replace(out, size, "LayerNorm.beta", "LayerNorm.bias", true);
    replace(out, size, ".dense_act.", ".dense.", false);
    for (size_t i = 0; i < sizeof roberta / sizeof *roberta && is_roberta(bare); i++)
        replace(out, size, roberta[i].theirs, roberta[i].ours, false);
}

/* RobertaPreLayerNorm's position table without its first rows, which are for padding and never read. */
static struct tensor without_padding(const struct tensor *table, const struct param *param)
{
    struct tensor rest = *table;
    const uint64_t rows = (uint64_t)param->shape[0];
    if (table->rank == 2 && table->shape[0] > rows) {
        const uint64_t bytes = table->bytes / table->shape[0] * rows;
        rest.data = (const char *)table->data + (table->bytes - bytes);
        rest.shape[0] = rows;
        rest.bytes = bytes;
    }
    return rest;
}

/* The name of the tensor that transformers ties this one to, or NULL. */
static const char *tied_to(const char *name)
{
    if (strcmp(name, "cls.predictions.decoder.weight") == 0)
        return "bert.embeddings.word_embeddings.weight";
    if (strcmp(name, "cls.predictions.decoder.bias") == 0)
        return "cls.predictions.bias";
    return NULL;
}

/* Heads of fine-tuned models: one of another task is ignored. */
static bool is_task_head(const char *name)
{
    return strncmp(name, "classifier.", 11) == 0 || strncmp(name, "qa_outputs.", 11) == 0;
}

static bool is_head(const char *name)
{
    return strncmp(name, "cls.", 4) == 0 || strncmp(name, "bert.pooler.", 12) == 0 || is_task_head(name);
}

static void list_add(struct buf *list, const char *name)
{
    buf_addf(list, "%s%s", list->size > 0 ? ", " : "", name);
}

/* ---- reading ---- */

static int take(const char *path, const struct tensor *tensor, const struct params *params, const struct param *param,
                bool *filled, float *flat, struct error *err)
{
    if (filled[param - params->items])
        return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "holds %.80s twice, under an old and a new name",
                       param->name);
    if (!shape_is(param, tensor)) {
        char shape[128], expected[64];
        const struct tensor ours = tensor_of(param, flat);
        tensor_shape_text(tensor, shape, sizeof shape);
        tensor_shape_text(&ours, expected, sizeof expected);
        return fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET, "%.80s is %s, the model's is %s", param->name, shape,
                       expected);
    }
    if (tensor_to_f32(tensor, flat + param->offset) < 0)
        return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "%.80s holds %s, not floating-point numbers",
                       param->name, tensor_type_name(tensor->type));
    filled[param - params->items] = true;
    return 0;
}

/* One pass over the file: takes the tensors themselves, or with `tied` the tied copies of those that it lacks. */
static int take_all(const char *path, const struct safetensors *file, const struct params *params, bool tied,
                    bool *filled, float *flat, struct buf *unused, struct error *err)
{
    for (size_t i = 0; i < file->count; i++) {
        char name[256];
        modern_name(file->tensors[i].name, name, sizeof name);
        const char *original = tied_to(name);
        const struct param *param = params_find(params, original ? original : name);
        if (tied != (original != NULL) || (tied && param && filled[param - params->items]))
            continue;
        if (param && param == params_embedding(params, PARAM_POSITION) && is_roberta(file->tensors[i].name)) {
            const struct tensor positions = without_padding(&file->tensors[i], param);
            TRY(take(path, &positions, params, param, filled, flat, err));
        } else if (param && is_task_head(name) && !shape_is(param, &file->tensors[i]))
            list_add(unused, file->tensors[i].name);
        else if (param)
            TRY(take(path, &file->tensors[i], params, param, filled, flat, err));
        else if (!strstr(name, "position_ids"))
            list_add(unused, file->tensors[i].name);
    }
    return 0;
}

int names_read(const char *path, const struct params *params, uint64_t seed, float *flat, struct names_report *report,
               struct error *err)
{
    struct safetensors file;
    *report = (struct names_report){0};
    TRY(safetensors_open(&file, path, err));
    bool *filled = mem_clear(params->count, sizeof *filled);
    int result = take_all(path, &file, params, false, filled, flat, &report->unused, err);
    if (result == 0)
        result = take_all(path, &file, params, true, filled, flat, &report->unused, err);
    for (size_t i = 0; i < params->count && result == 0; i++) {
        const struct param *param = &params->items[i];
        if (filled[i])
            continue;
        if (!is_head(param->name)) {
            result = fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET, "has no tensor %.80s", param->name);
            break;
        }
        params_draw(params, param, seed, flat);
        list_add(&report->drawn, param->name);
    }
    mem_free(filled);
    safetensors_close(&file);
    return result;
}

int names_check_finite(const char *path, const struct params *params, const float *flat, struct error *err)
{
    for (size_t i = 0; i < params->count; i++) {
        const struct param *param = &params->items[i];
        const struct tensor tensor = tensor_of(param, flat);
        if (tensor_is_finite(&tensor))
            continue;
        fail_at(err, ERR_NUMERIC, path, ERROR_NO_OFFSET, "%.80s holds numbers that are not finite", param->name);
        return hint(err,
                    "the training that wrote it had diverged, or the file is damaged: no result of it means anything");
    }
    return 0;
}

void names_report_release(struct names_report *report)
{
    buf_release(&report->drawn);
    buf_release(&report->unused);
}

int names_read_own(const struct safetensors *file, const char *path, const char *prefix, const struct params *params,
                   float *flat, struct error *err)
{
    for (size_t i = 0; i < params->count; i++) {
        const struct param *param = &params->items[i];
        char name[128];
        snprintf(name, sizeof name, "%s%s", prefix, param->name);
        const struct tensor *tensor = safetensors_find(file, name);
        if (!tensor || tensor->type != TENSOR_F32 || !shape_is(param, tensor))
            return fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "has no tensor %.100s of the model's shape", name);
        tensor_to_f32(tensor, flat + param->offset);
    }
    return 0;
}
