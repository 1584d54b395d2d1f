/* A model in another layout than that of its checkpoints, because transformers knows it in that one only: a pre-LN
 * model as RobertaPreLayerNorm. Its tensors get the layout's names, and heads that the layout lacks are left out. */

#include <assert.h>

#include "base/mem.h"
#include "trainer/model/config.h"
#include "trainer/model/head.h"
#include "trainer/keep/foreign_names.h"
#include "base/json.h"
#include "trainer/keep/safetensors.h"
#include "trainer/keep/state.h"
#include "trainer/verbs/export_files.h"

/* The table with `rows` rows of zeros before it. */
static struct tensor shifted(const struct tensor *table, uint64_t rows, struct arena *memory)
{
    struct tensor result = *table;
    const uint64_t bytes = table->bytes / table->shape[0] * rows;
    char *data = arena_alloc(memory, bytes + table->bytes);
    memset(data, 0, bytes);
    memcpy(data + bytes, table->data, table->bytes);
    result.shape[0] += rows;
    result.data = data;
    result.bytes += bytes;
    return result;
}

static bool layout_has(const struct layout *layout, enum head_kind head)
{
    return !(layout->lacks >> head & 1);
}

static bool has_tensor(const struct head *head, const char *name)
{
    for (size_t i = 0; i < head->tensor_count; i++)
        if (strcmp(head->tensors[i].name, name) == 0)
            return true;
    return false;
}

/* Tensors that the layout's class does not have: of a head that it lacks and, as the pooler, of no other head of the
 * model. */
static bool is_dropped(const char *name, const struct layout *layout, const struct model_config *config)
{
    bool lacks = false;
    for (enum head_kind h = 0; h < HEAD_KINDS; h++) {
        const bool has = has_tensor(head_kinds[h], name);
        if (has && layout_has(layout, h) && model_has(config, h))
            return false;
        lacks |= has && !layout_has(layout, h);
    }
    return lacks;
}

/* transformers' class of the model: of its first head that has one. */
static const char *class_end_of(const struct layout *layout, const struct model_config *config)
{
    for (enum head_kind h = 0; h < HEAD_KINDS; h++)
        if (model_has(config, h) && layout_has(layout, h))
            return head_kinds[h]->class_end;
    return head_kinds[HEAD_MASKED]->class_end;
}

/* `padding`: rows before the first position. */
static int write_weights(const char *path, const struct safetensors *file, const struct layout *layout,
                         const struct model_config *config, uint64_t padding, struct error *err)
{
    SCOPED(arena_release) struct arena memory = {0};
    SCOPED(mem_free_at) struct tensor *tensors = mem_array(file->count, sizeof *tensors);
    size_t count = 0;
    for (size_t i = 0; i < file->count; i++) {
        const struct tensor *tensor = &file->tensors[i];
        char name[FOREIGN_NAME_BYTES];
        if (is_dropped(tensor->name, layout, config))
            continue;
        const int32_t parts = layout_name(layout, config->task_heads, tensor->name, name, sizeof name);
        assert(parts == 1);
        const bool padded = strcmp(tensor->name, embedding_tensors[PARAM_POSITION].name) == 0;
        tensors[count] = padded && padding > 0 && tensor->rank == 2 && tensor->shape[0] > 0
                             ? shifted(tensor, padding, &memory)
                             : *tensor;
        tensors[count++].name = arena_copy(&memory, str_of(name)).data;
    }
    return safetensors_write(path, tensors, count, NULL, err);
}

/* Turns the config.json that was read into the layout's. */
static int write_config(const char *path, json_t *json, const struct layout *layout, const struct model_config *config,
                        uint64_t padding, struct error *err)
{
    const char *flag = architecture_of(config)->flag;
    json_object_set_new(json, "architectures", json_pack("[s+]", layout->class_begin, class_end_of(layout, config)));
    json_object_set_new(json, "model_type", json_string(layout->model_type));
    if (padding > 0)
        json_object_set_new(json, "max_position_embeddings", json_integer(config->positions + (json_int_t)padding));
    if (flag)
        json_object_del(json, flag);
    return json_file_write(path, json, err);
}

/* Reads the config and the weights in `from`, which holds weights; writes into `to`. */
static int export_layout(const char *from, const char *to, const struct layout *layout, struct error *err)
{
    struct model_config config;
    SCOPED(safetensors_close) struct safetensors file = {0};
    json_auto_t *json = NULL;
    SCOPED(mem_free_at) char *config_from = config_locate(from), *config_to = path_join(to, CONFIG_NAME);
    SCOPED(mem_free_at)
    char *weights_from = safetensors_locate(from, WEIGHTS_NAME), *weights_to = path_join(to, WEIGHTS_NAME);
    TRY(config_read(config_from, &config, err));
    TRY(json_read_foreign(config_from, CONFIG_BYTES_MAX, ERR_UNSAFE, &json, err));
    const json_int_t pad = json_integer_value(json_object_get(json, "pad_token_id"));
    const uint64_t padding = layout->pads_positions ? (uint64_t)pad + 1 : 0;
    if (pad < 0 || pad >= config.vocabulary)
        return fail_at(err, ERR_UNSAFE, config_from, ERROR_NO_OFFSET, "pad_token_id is not a piece");
    TRY(safetensors_open(&file, weights_from, err));
    TRY(write_weights(weights_to, &file, layout, &config, padding, err));
    return write_config(config_to, json, layout, &config, padding, err);
}

static bool is_model(const char *name)
{
    return strcmp(name, CONFIG_NAME) == 0 || strcmp(name, WEIGHTS_NAME) == 0;
}

static int write_model(const struct export_job *job, const char *to, json_t *written, struct error *err)
{
    const struct layout *layout = architecture_of(job->config)->exported;
    TRY(layout ? export_layout(job->from, to, layout, err) : export_model(job->from, to, err));
    json_array_append_new(written, json_string(CONFIG_NAME));
    json_array_append_new(written, json_string(WEIGHTS_NAME));
    return 0;
}

const struct export_part export_part_model = {is_model, write_model};
