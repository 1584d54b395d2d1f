/* Places are cut in the order of the table, so that a range of flat memory is final once the layers above are done. */
#include "trainer/model/head.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/same_math.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define ALIGN 16 /* elements: 64 bytes of float */

int model_config_named(const char *name, struct model_config *config)
{
    static const struct {
        const char *name;
        int32_t layers, hidden, heads;
    } sizes[] = {
        {"tiny", 2, 128, 2},   {"mini", 4, 256, 4},     {"small", 4, 512, 8},   {"medium", 8, 512, 8},
        {"base", 12, 768, 12}, {"large", 24, 1024, 16}, {"1.5b", 48, 1600, 25},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (strcmp(name, sizes[i].name) != 0)
            continue;
        *config = (struct model_config){
            .layers = sizes[i].layers,
            .hidden = sizes[i].hidden,
            .heads = sizes[i].heads,
            .intermediate = 4 * sizes[i].hidden,
            .vocabulary = 30522,
            .positions = 512,
            .types = 2,
            .gelu = GELU_TANH,
            .task_heads = 1u << HEAD_MASKED | 1u << HEAD_NEXT,
            .norm_epsilon = 1e-12,
            .initializer_range = 0.02,
            .hidden_dropout = 0.1,
            .attention_dropout = 0.1,
        };
        return 0;
    }
    return modern_config_named(name, config);
}

void model_set_dropout(struct model_config *config, double share)
{
    config->hidden_dropout = config->attention_dropout = share;
    if (architecture_of(config)->drops_inside)
        config->embedding_dropout = config->inner_dropout = config->head_dropout = share;
}

#define AT(field) offsetof(struct model_config, field)

/* The key of config.json that has the field. */
static const char *key_of(const struct model_config *config, size_t field)
{
    for (const struct config_key *key = architecture_of(config)->layout->keys; key->name; key++)
        if (key->at == field && key->kind != CONFIG_FIXED)
            return key->name;
    return "a value";
}

static int check_count(const struct model_config *config, size_t field, int32_t most, struct error *err)
{
    int32_t value;
    memcpy(&value, (const char *)config + field, sizeof value);
    if (value < 1 || value > most)
        return fail(err, ERR_UNSAFE, "the model's %s is %d, but must be 1 to %d", key_of(config, field), value, most);
    return 0;
}

static int check_dropout(const struct model_config *config, size_t field, struct error *err)
{
    double value;
    memcpy(&value, (const char *)config + field, sizeof value);
    if (!(value >= 0 && value < 1))
        return fail(err, ERR_UNSAFE, "the model's %s %g is not at least 0 and below 1", key_of(config, field), value);
    return 0;
}

int model_config_check(const struct model_config *config, struct error *err)
{
    TRY(check_count(config, AT(layers), LAYERS_MAX, err));
    TRY(check_count(config, AT(hidden), 65536, err));
    TRY(check_count(config, AT(heads), config->hidden, err));
    TRY(check_count(config, AT(intermediate), 262144, err));
    TRY(check_count(config, AT(vocabulary), 4194304, err));
    TRY(check_count(config, AT(positions), 65536, err));
    TRY(check_count(config, AT(types), 1024, err));
    const int32_t pieces = model_pieces(config), labels = config->labels;
    if (pieces < 1 || pieces > config->vocabulary)
        return fail(err, ERR_UNSAFE, "the model's number of pieces is %d, but must be 1 to %d", pieces,
                    config->vocabulary);
    if (model_names_labels(config) && (labels < 1 || labels > LABELS_MAX))
        return fail(err, ERR_UNSAFE, "the model's number of classes is %d, but must be 1 to %d", labels, LABELS_MAX);
    if (config->hidden % config->heads != 0)
        return fail(err, ERR_UNSAFE, "the model's %s %d is not a multiple of %s %d", key_of(config, AT(hidden)),
                    config->hidden, key_of(config, AT(heads)), config->heads);
    if (!(config->norm_epsilon > 0 && config->norm_epsilon < 1))
        return fail(err, ERR_UNSAFE, "the model's %s %g is not between 0 and 1", key_of(config, AT(norm_epsilon)),
                    config->norm_epsilon);
    if (!(config->initializer_range >= 0 && config->initializer_range <= 1))
        return fail(err, ERR_UNSAFE, "the model's %s %g is not between 0 and 1", key_of(config, AT(initializer_range)),
                    config->initializer_range);
    static const size_t dropouts[] = {AT(attention_dropout), AT(hidden_dropout), AT(embedding_dropout),
                                      AT(inner_dropout), AT(head_dropout)};
    for (size_t i = 0; i < sizeof dropouts / sizeof *dropouts; i++)
        TRY(check_dropout(config, dropouts[i], err));
    const struct layer_drop *drop = &config->layer_drop;
    if (!(drop->theta >= 0 && drop->theta <= 1 && drop->gamma >= 0))
        return fail(err, ERR_USAGE, "layer drop with theta %g and gamma %g: 0 < theta <= 1 and gamma >= 0 are needed",
                    drop->theta, drop->gamma);
    if (drop->theta > 0 && config->window > 0)
        return fail(err, ERR_USAGE, "layer drop would change which layers see whole sequences: not with windows");
    if (drop->theta > 0 && !architecture_of(config)->norms.pre_norm) {
        fail(err, ERR_USAGE, "layer drop needs a model with its norms before the branches");
        return hint(err, "give --model a config.json with \"pre_layer_norm\": true");
    }
    return 0;
}

int32_t vocabulary_padded(const struct model_config *config)
{
    return (config->vocabulary + MODEL_VOCABULARY_MULTIPLE - 1) / MODEL_VOCABULARY_MULTIPLE * MODEL_VOCABULARY_MULTIPLE;
}

/* DeepSpeed's initial values of the matrices that end the branches of N pre-LN layers are smaller by sqrt(2 N), so that
 * the variance of the sum does not grow with N. transformers draws ModernBERT's own decoder so too. */
static double deviation_of(const struct model_config *config, const struct tensor_row *row)
{
    return row->smaller && architecture_of(config)->norms.smaller
               ? config->initializer_range / sqrt(2.0 * config->layers)
               : config->initializer_range;
}

/* Adds a tensor to the growing table and returns it; the word embedding and the bias of its pieces are padded. */
static struct param *add(struct params *params, const struct model_config *config, const char *prefix,
                         const struct tensor_row *row)
{
    const int64_t rows = size_of(config, row->rows), columns = size_of(config, row->columns);
    const int64_t room = row->rows == OF_VOCABULARY ? vocabulary_padded(config) : rows, width = columns ? columns : 1;
    const struct architecture *architecture = architecture_of(config);
    const char *name = row->name_pre && architecture->norms.pre_norm ? row->name_pre : row->name;
    if (row->name_transformed && architecture->transforms)
        name = row->name_transformed;
    if (!row->adjacent)
        params->size = (params->size + ALIGN - 1) / ALIGN * ALIGN;
    struct param *param = &params->items[params->count++];
    *param = (struct param){
        .dimensions = columns ? 2 : 1,
        .shape = {rows, width},
        .count = (size_t)(rows * width),
        .trained = (size_t)((row->rows == OF_VOCABULARY ? model_pieces(config) : rows) * width),
        .offset = params->size,
        .init = row->init,
        .deviation = deviation_of(config, row),
        .decay = columns > 0,
    };
    const int length = snprintf(param->name, sizeof param->name, "%s%s", prefix, name);
    assert(length > 0 && (size_t)length < sizeof param->name);
    params->size += (size_t)(room * width);
    params->total += param->count;
    return param;
}

/* Fills the next places, of a layer or (-1) of none, and returns the one after them. */
static const struct param **add_rows(struct params *params, const struct param **places,
                                     const struct model_config *config, int32_t layer, const struct tensor_row *rows,
                                     size_t count)
{
    char prefix[40] = "";
    if (layer >= 0)
        snprintf(prefix, sizeof prefix, "bert.encoder.layer.%d.", layer);
    for (size_t i = 0; i < count; i++)
        *places++ = model_has_tensor(config, &rows[i], layer) ? add(params, config, prefix, &rows[i]) : NULL;
    return places;
}

static const struct param **add_all(struct params *params, const struct model_config *config)
{
    const struct param **places = add_rows(params, params->places, config, -1, embedding_tensors, PARAM_LAYER);
    for (int32_t layer = 0; layer < config->layers; layer++) {
        const size_t begin = params->count;
        places = add_rows(params, places, config, layer, layer_tensors, LAYER_PARAMS);
        for (size_t i = begin; i < params->count; i++)
            params->items[i].hidden = params->items[i].dimensions == 2;
    }
    places = add_rows(params, places, config, -1, final_tensors, (size_t)params->finals);
    for (enum head_kind h = 0; h < HEAD_KINDS; h++)
        if (model_has(config, h)) {
            params->heads[h] = (size_t)(places - params->places);
            places = add_rows(params, places, config, -1, head_kinds[h]->tensors, head_kinds[h]->tensor_count);
        }
    return places;
}

/* Tensors that are one in checkpoints lie one after another without a gap. */
static void join_parts(struct params *params)
{
    for (size_t i = 0; i < params->count;) {
        struct param *first = &params->items[i];
        char name[sizeof first->name];
        first->parts = layout_name(params->layout, params->task_heads, first->name, name, sizeof name);
        assert(first->parts >= 1 && i + (size_t)first->parts <= params->count);
        for (int32_t part = 1; part < first->parts; part++)
            assert(first[part].shape[1] == first->shape[1] && first[part].dimensions == first->dimensions &&
                   first[part].offset == first[part - 1].offset + first[part - 1].count);
        i += (size_t)first->parts;
    }
}

/* Vectors keep their order and the gaps after them, so that adjacent ones stay adjacent. */
static void place_vectors(struct params *params)
{
    for (size_t i = 0; i < params->count; i++) {
        struct param *param = &params->items[i];
        if (param->dimensions != 1)
            continue;
        param->vector = params->vector_size;
        params->vector_size += (i + 1 < params->count ? param[1].offset : params->size) - param->offset;
    }
}

static void cut_chunks(struct params *params)
{
    for (size_t i = 0; i < params->count; i++)
        params->chunk_count += (params->items[i].trained + PARAM_CHUNK - 1) / PARAM_CHUNK;
    params->chunks = mem_array(params->chunk_count, sizeof *params->chunks);
    struct param_chunk *chunk = params->chunks;
    for (size_t i = 0; i < params->count; i++)
        for (size_t at = 0; at < params->items[i].trained; at += PARAM_CHUNK, chunk++) {
            const size_t left = params->items[i].trained - at;
            *chunk = (struct param_chunk){
                .offset = params->items[i].offset + at,
                .count = (int32_t)(left < PARAM_CHUNK ? left : PARAM_CHUNK),
                .tensor = (int32_t)i,
                .decay = params->items[i].decay,
            };
        }
    assert(chunk == params->chunks + params->chunk_count);
}

void params_shapes(struct params *params, const struct model_config *config)
{
    const int32_t finals = architecture_of(config)->norms.pre_norm ? FINAL_PARAMS : 0;
    size_t count = PARAM_LAYER + (size_t)config->layers * LAYER_PARAMS + (size_t)finals;
    for (enum head_kind h = 0; h < HEAD_KINDS; h++)
        count += model_has(config, h) ? head_kinds[h]->tensor_count : 0;
    *params = (struct params){
        .items = mem_array(count, sizeof *params->items),
        .places = mem_array(count + 1, sizeof *params->places),
        .layers = config->layers,
        .finals = finals,
        .initializer = config->initializer,
        .layout = architecture_of(config)->layout,
        .task_heads = config->task_heads,
        .own_decoder = config->own_decoder,
        .untied = model_is_untied(config),
    };
    const struct param **end = add_all(params, config);
    assert(end == params->places + count);
    *end = NULL;
    params->size = (params->size + ALIGN - 1) / ALIGN * ALIGN;
    assert(params->count <= count && params->total <= params->size);
    join_parts(params);
    place_vectors(params);
    assert(params->vector_size <= params->size);
}

void params_init(struct params *params, const struct model_config *config)
{
    params_shapes(params, config);
    cut_chunks(params);
}

void params_release(struct params *params)
{
    mem_free(params->items);
    mem_free(params->places);
    mem_free(params->chunks);
    *params = (struct params){0};
}

const struct param *params_find(const struct params *params, const char *name)
{
    for (size_t i = 0; i < params->count; i++)
        if (strcmp(params->items[i].name, name) == 0)
            return &params->items[i];
    return NULL;
}

/* Four normal numbers from one Philox block: Box and Muller (1958), in double. */
static void draw_block(const struct random_stream *stream, uint32_t block, uint32_t draw, double deviation,
                       float out[4])
{
    uint32_t words[4];
    random_at4(stream, block, draw, words);
    for (int i = 0; i < 4; i += 2) {
        const double radius = deviation * sqrt(-2 * same_log((words[i] + 0.5) * 0x1p-32));
        const double angle = 2 * M_PI * (words[i + 1] * 0x1p-32);
        out[i] = (float)(radius * same_cos(angle));
        out[i + 1] = (float)(radius * same_sin(angle));
    }
}

/* Values beyond two deviations are replaced by those of the block's next draw, and so on. */
static void truncate_block(const struct random_stream *stream, uint32_t block, double deviation, float values[4])
{
    const float most = (float)(2 * deviation);
    bool beyond = true;
    for (uint32_t draw = 1; beyond; draw++) {
        float next[4];
        draw_block(stream, block, draw, deviation, next);
        beyond = false;
        for (int i = 0; i < 4; i++) {
            if (fabsf(values[i]) > most)
                values[i] = next[i];
            beyond |= fabsf(values[i]) > most;
        }
    }
}

#define DRAW_BLOCKS 4096 /* blocks of a task */

struct draw {
    const struct random_stream *stream;
    const struct param *param;
    bool truncated;
    float *out;
};

static void draw_blocks(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct draw *draw = args;
    const size_t end = smaller((task + 1) * DRAW_BLOCKS, blocks_of(draw->param->count, 4));
    for (size_t block = task * DRAW_BLOCKS; block < end; block++) {
        float four[4];
        draw_block(draw->stream, (uint32_t)block, 0, draw->param->deviation, four);
        if (draw->truncated)
            truncate_block(draw->stream, (uint32_t)block, draw->param->deviation, four);
        memcpy(draw->out + block * 4, four, smaller(4, draw->param->count - block * 4) * sizeof *four);
    }
}

void params_draw(const struct params *params, const struct param *param, uint64_t seed, float *flat)
{
    float *out = flat + param->offset;
    const struct random_stream stream =
        random_stream(seed, RANDOM_INIT, hash64(param->name, strlen(param->name)), 0, 0, 0, 0);
    if (param->init != INIT_NORMAL) {
        for (size_t i = 0; i < param->count; i++)
            out[i] = param->init == INIT_ONE;
        return;
    }
    assert(param->count / 4 < UINT32_MAX);
    const struct draw draw = {&stream, param, params->initializer == INITIALIZER_TRUNCATED, out};
    parallel(blocks_of(param->count, 4 * DRAW_BLOCKS), draw_blocks, &draw);
}

void params_draw_all(const struct params *params, uint64_t seed, float *flat)
{
    for (size_t i = 0; i < params->count; i++)
        params_draw(params, &params->items[i], seed, flat);
}
