/* Which tensor of a file belongs to which of the table is decided before a number is read. */
#include "trainer/keep/names.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "trainer/keep/foreign_names.h"

#define DECODER_BIAS   "cls.predictions.bias"
#define DECODER_WEIGHT "cls.predictions.decoder.weight"
#define HEAD_TRANSFORM "cls.predictions.transform.dense.weight"

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

size_t names_tensors(const struct params *params, const char *prefix, const float *flat, struct arena *names,
                     struct tensor *out)
{
    size_t count = 0;
    for (size_t i = 0; i < params->count; i += (size_t)params->items[i].parts) {
        const struct param *param = &params->items[i];
        char theirs[sizeof param->name], name[128];
        struct tensor *tensor = &out[count++];
        *tensor = tensor_of(param, flat);
        for (int32_t part = 1; part < param->parts; part++) {
            tensor->shape[0] += (uint64_t)param[part].shape[0];
            tensor->bytes += param[part].count * sizeof(float);
        }
        layout_name(params->layout, params->task_heads, param->name, theirs, sizeof theirs);
        const int size = snprintf(name, sizeof name, "%s%s", prefix, theirs);
        assert(size > 0 && (size_t)size < sizeof name); /* two names that are cut off could be equal */
        tensor->name = arena_copy(names, str_of(name)).data;
    }
    return count;
}

int names_write(const char *path, const struct params *params, const float *flat, const char *kind, uint64_t *hash,
                struct error *err)
{
    SCOPED(arena_release) struct arena names = {0};
    SCOPED(mem_free_at) struct tensor *tensors = mem_array(params->count, sizeof *tensors);
    const size_t count = names_tensors(params, "", flat, &names, tensors);
    return safetensors_write_from(path, tensors, count, NULL, kind, hash, err);
}

static bool same_shape(const struct tensor *a, const struct tensor *b)
{
    return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

static bool shape_is(const struct param *param, const struct tensor *tensor)
{
    const struct tensor ours = tensor_of(param, NULL);
    return same_shape(&ours, tensor);
}

static void list_add(struct buf *list, const char *name)
{
    buf_addf(list, "%s%s", list->size > 0 ? ", " : "", name);
}

/* Lists a tensor that has no place, those of a layer that the model lacks as "bert.encoder.layer.9.*". */
static void list_unused(struct names_report *report, const struct params *params, const struct tensor *tensor,
                        const char *name)
{
    long layer;
    char layers[48];
    const bool body = str_starts(str_of(name), STR("bert.")) && !foreign_is_head(name);
    if (sscanf(name, "bert.encoder.layer.%9ld.", &layer) != 1 || layer < params->layers) {
        list_add(&report->unused, tensor->name);
        if (body)
            list_add(&report->body, tensor->name);
        return;
    }
    snprintf(layers, sizeof layers, "bert.encoder.layer.%ld.*", layer);
    if (report->body.size > 0 && strstr(buf_text(&report->body), layers))
        return;
    list_add(&report->unused, layers);
    list_add(&report->body, layers);
}

/* The rows of a tensor of the file that fill one of the table. */
struct filling {
    const struct tensor *from; /* NULL: the file lacks it */
    bool some;                 /* from row `first` on as many as the table has; else all */
    uint64_t first;
};

struct reader {
    const char *path;
    const struct safetensors *file;
    const struct params *params;
    const struct param **sorted; /* [params->count] by name */
    struct filling *fillings;    /* [params->count] in the table's order */
    const struct growth *growth; /* NULL: the table does not grow */
    bool finite;                 /* numbers must be, in tensors that are kept */
    bool draws_head;             /* that of a task is not kept */
    struct names_report *report;
};

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct param *const *)a)->name, (*(const struct param *const *)b)->name);
}

static int compare_name(const void *name, const void *param)
{
    return strcmp(name, (*(const struct param *const *)param)->name);
}

/* The place of a name in the table; NULL: it is not there. */
static struct filling *place_of(const struct reader *r, const char *name)
{
    const struct param *const *found = bsearch(name, r->sorted, r->params->count, sizeof *r->sorted, compare_name);
    return found ? &r->fillings[*found - r->params->items] : NULL;
}

static const struct param *param_of(const struct reader *r, const struct filling *filling)
{
    return &r->params->items[filling - r->fillings];
}

static int refuse_pair(const struct reader *r, const struct tensor *one, const struct tensor *other, const char *why,
                       struct error *err)
{
    return fail_at(err, ERR_UNSAFE, r->path, ERROR_NO_OFFSET, "holds %.100s and %.100s, %s", one->name, other->name,
                   why);
}

/* Whether two tensors of floating-point numbers have the same ones, in whatever types. */
static bool equal_values(const struct tensor *a, const struct tensor *b)
{
    enum { BLOCK = 4096 };
    float x[BLOCK], y[BLOCK];
    const uint64_t count = tensor_elements(a);
    bool equal = same_shape(a, b);
    for (uint64_t at = 0; at < count && equal; at += BLOCK) {
        const uint64_t size = count - at < BLOCK ? count - at : BLOCK;
        const struct tensor parts[] = {tensor_range(a, at, size), tensor_range(b, at, size)};
        equal = tensor_to_f32(&parts[0], x) == 0 && tensor_to_f32(&parts[1], y) == 0;
        for (uint64_t i = 0; i < size && equal; i++)
            equal = x[i] == y[i] || (isnan(x[i]) && isnan(y[i]));
    }
    return equal;
}

static bool decodes(const struct reader *r)
{
    return r->params->task_heads >> HEAD_MASKED & 1;
}

/* A tied copy fills the place of its original where the file lacks that; else it must be equal to it, because
 * transformers computes with the copy. A model without the head of masked tokens never reads it. */
static int match_tied(const struct reader *r, const struct tensor *copy, struct filling *original, struct error *err)
{
    if (!original || (original->from && !decodes(r)))
        return 0;
    if (original->from && !equal_values(copy, original->from)) {
        refuse_pair(r, original->from, copy, "which differ", err);
        return r->params->layout->unties
                   ? hint(err, "a model that decodes with the second one has tie_word_embeddings false in config.json")
                   : hint(err, "models of this kind decode with their word embeddings here, as BERT was published");
    }
    if (!original->from)
        original->from = copy;
    return 0;
}

/* "qa_outputs.weight is [3, 32], not [2, 32]" for the matrix of a head of another shape. */
static void tell_shape(const struct reader *r, const struct param *param, const struct tensor *tensor)
{
    char shape[128], expected[64];
    const struct tensor ours = tensor_of(param, NULL);
    if (param->dimensions > 1)
        buf_addf(&r->report->misshapen, "%s is %s, not %s", param->name, tensor_shape_text(tensor, shape, sizeof shape),
                 tensor_shape_text(&ours, expected, sizeof expected));
}

/* Fills a place, or those of all parts that the tensor holds. A tensor of other than all their rows fills each place
 * whole, and has the wrong shape there. */
static int fill(const struct reader *r, struct filling *filling, const struct tensor *tensor, struct foreign foreign,
                struct error *err)
{
    const struct param *param = param_of(r, filling);
    const size_t room = r->params->count - (size_t)(filling - r->fillings);
    const size_t parts = smaller((size_t)foreign.parts, room);
    uint64_t rows = 0, first = 0;
    for (size_t part = 0; part < parts; part++)
        rows += (uint64_t)param[part].shape[0];
    const bool padded = foreign.layout && foreign.layout->pads_positions &&
                        param == params_embedding(r->params, PARAM_POSITION) && tensor->shape[0] > rows;
    if (padded)
        first = tensor->shape[0] - rows;
    const bool some =
        tensor->rank == (uint32_t)param->dimensions && (padded || (parts > 1 && tensor->shape[0] == rows));
    for (size_t part = 0; part < parts; first += (uint64_t)param[part++].shape[0]) {
        if (filling[part].from)
            return refuse_pair(r, filling[part].from, tensor, "two names of the same tensor", err);
        filling[part] = (struct filling){tensor, some, first};
    }
    return 0;
}

/* Matches the tensors themselves, or with `tied` the tied copies, once the originals are known. */
static int match_all(const struct reader *r, bool tied, struct error *err)
{
    for (size_t i = 0; i < r->file->count; i++) {
        const struct tensor *tensor = &r->file->tensors[i];
        char name[FOREIGN_NAME_BYTES];
        const struct foreign foreign = foreign_name(r->params->layout, tensor->name, name, sizeof name);
        const char *original = place_of(r, name) ? NULL : foreign_tied(name); /* of a copy: the table has no place */
        if (tied != (original != NULL))
            continue;
        struct filling *filling = place_of(r, original ? original : name);
        if (tied) {
            TRY(match_tied(r, tensor, filling, err));
        } else if (filling && foreign_is_task_head(name) && !shape_is(param_of(r, filling), tensor)) {
            list_add(&r->report->unused, tensor->name);
            tell_shape(r, param_of(r, filling), tensor);
        } else if (filling) {
            TRY(fill(r, filling, tensor, foreign, err));
        } else if (!strstr(name, "position_ids")) {
            list_unused(r->report, r->params, tensor, name);
        }
    }
    return 0;
}

/* Where config.json does not tie the decoder, transformers draws one that the file lacks; without a trained head there
 * is none to decode with. */
static int check_own_decoder(const struct reader *r, struct error *err)
{
    const struct filling *transform = place_of(r, HEAD_TRANSFORM);
    char name[FOREIGN_NAME_BYTES];
    if (!r->params->own_decoder || !decodes(r) || !transform->from)
        return 0;
    for (size_t i = 0; i < r->file->count; i++) {
        foreign_name(r->params->layout, r->file->tensors[i].name, name, sizeof name);
        if (strcmp(name, DECODER_WEIGHT) == 0)
            return 0;
    }
    fail_at(err, ERR_UNSAFE, r->path, ERROR_NO_OFFSET,
            "has no tensor " DECODER_WEIGHT ", and tie_word_embeddings in config.json is false");
    return hint(err, "if the model decodes with its word embeddings, tie_word_embeddings is true");
}

static bool grows(const struct reader *r, const struct param *param)
{
    return r->growth && r->growth->pieces > 0 &&
           (param == params_embedding(r->params, PARAM_WORD) || strcmp(param->name, DECODER_BIAS) == 0 ||
            strcmp(param->name, DECODER_WEIGHT) == 0);
}

/* Makes the rows of new pieces from those that were read. */
static void grow(const struct growth *growth, const struct param *param, float *rows)
{
    const size_t width = (size_t)param->shape[1];
    for (uint32_t i = 0; i < growth->count; i++) {
        const size_t begin = i > 0 ? growth->ends[i - 1] : 0, count = growth->ends[i] - begin;
        assert(count > 0 && growth->pieces + i < (uint64_t)param->shape[0]);
        for (size_t column = 0; column < width; column++) {
            double sum = 0;
            for (size_t part = begin; part < growth->ends[i]; part++)
                sum += (double)rows[growth->parts[part] * width + column];
            rows[(growth->pieces + i) * width + column] = (float)(sum / (double)count);
        }
    }
}

void growth_release(struct growth *growth)
{
    mem_free(growth->ends);
    mem_free(growth->parts);
    *growth = (struct growth){0};
}

static int refuse_missing(const struct reader *r, const struct param *param, struct error *err)
{
    enum { SHOWN = 4 };
    SCOPED(buf_release) struct buf names = {0};
    fail_at(err, ERR_MISMATCH, r->path, ERROR_NO_OFFSET, "has no tensor %.80s", param->name);
    for (size_t i = 0; i < r->file->count && i < SHOWN; i++)
        buf_addf(&names, "%s%.80s", i > 0 ? ", " : "", r->file->tensors[i].name);
    hint(err, "it has %zu tensor%s%s%s%s", r->file->count, r->file->count == 1 ? "" : "s", names.size > 0 ? ": " : "",
         buf_text(&names), r->file->count > SHOWN ? ", …" : "");
    return -1;
}

static int refuse_infinite(const char *path, const char *name, struct error *err)
{
    fail_at(err, ERR_NUMERIC, path, ERROR_NO_OFFSET, "%.80s holds numbers that are not finite", name);
    return hint(err, "the training that wrote it had diverged, or the file is damaged: no result of it means anything");
}

static struct tensor rows_of(const struct tensor *tensor, uint64_t first, uint64_t count)
{
    struct tensor rows = *tensor;
    const uint64_t row = tensor->bytes / tensor->shape[0];
    assert(first + count <= tensor->shape[0]);
    rows.shape[0] = count;
    rows.data = (const char *)tensor->data + first * row;
    rows.bytes = count * row;
    return rows;
}

/* Checks one tensor of the file, and reads it if `flat` is not NULL. */
static int take(const struct reader *r, const struct filling *filling, float *flat, struct error *err)
{
    const struct param *param = param_of(r, filling);
    const struct tensor tensor =
        filling->some ? rows_of(filling->from, filling->first, (uint64_t)param->shape[0]) : *filling->from;
    struct param expects = *param; /* of the file */
    if (grows(r, param))
        expects.shape[0] = r->growth->rows;
    if (!shape_is(&expects, &tensor)) {
        char shape[128], expected[64];
        const struct tensor ours = tensor_of(&expects, NULL);
        tensor_shape_text(&tensor, shape, sizeof shape);
        tensor_shape_text(&ours, expected, sizeof expected);
        return fail_at(err, ERR_MISMATCH, r->path, ERROR_NO_OFFSET, "%.80s is %s, the model's is %s", param->name,
                       shape, expected);
    }
    if (!tensor_type_floats(tensor.type))
        return fail_at(err, ERR_UNSAFE, r->path, ERROR_NO_OFFSET, "%.80s holds %s, not floating-point numbers",
                       param->name, tensor_type_name(tensor.type));
    if (r->finite && !(r->draws_head && foreign_is_task_head(param->name)) && !tensor_is_finite(&tensor))
        return refuse_infinite(r->path, param->name, err);
    assert(!flat || tensor_elements(&tensor) <= param->count);
    if (flat)
        tensor_to_f32(&tensor, flat + param->offset);
    if (flat && grows(r, param))
        grow(r->growth, param, flat + param->offset);
    return 0;
}

static int take_all(const struct reader *r, uint64_t seed, float *flat, struct error *err)
{
    for (size_t i = 0; i < r->params->count; i++) {
        const struct param *param = &r->params->items[i];
        if (r->fillings[i].from) {
            TRY(take(r, &r->fillings[i], flat, err));
            continue;
        }
        if (!foreign_is_head(param->name))
            return refuse_missing(r, param, err);
        if (flat)
            params_draw(r->params, param, seed, flat);
        list_add(&r->report->drawn, param->name);
    }
    return 0;
}

/* Opens the file of a reader that has what its caller wants, and matches and reads its tensors. */
static int read_file(struct reader *r, uint64_t seed, float *flat, struct error *err)
{
    struct safetensors file;
    *r->report = (struct names_report){0};
    TRY(safetensors_open(&file, r->path, err));
    r->file = &file;
    r->sorted = mem_array(r->params->count, sizeof *r->sorted);
    r->fillings = mem_clear(r->params->count, sizeof *r->fillings);
    for (size_t i = 0; i < r->params->count; i++)
        r->sorted[i] = &r->params->items[i];
    qsort(r->sorted, r->params->count, sizeof *r->sorted, by_name);
    int result = match_all(r, false, err);
    if (result == 0)
        result = match_all(r, true, err);
    if (result == 0)
        result = check_own_decoder(r, err);
    if (result == 0)
        result = take_all(r, seed, flat, err);
    mem_free(r->sorted);
    mem_free(r->fillings);
    safetensors_close(&file);
    return result;
}

int names_read_grown(const char *path, const struct params *params, const struct growth *growth, uint64_t seed,
                     float *flat, struct names_report *report, struct error *err)
{
    struct reader reader = {.path = path, .params = params, .growth = growth, .report = report};
    return read_file(&reader, seed, flat, err);
}

int names_check_kept(const char *path, const struct model_config *config, const struct growth *growth, bool draws_head,
                     struct error *err)
{
    SCOPED(names_report_release) struct names_report report = {0};
    SCOPED(params_release) struct params params;
    params_shapes(&params, config);
    struct reader reader = {
        .path = path, .params = &params, .growth = growth, .finite = true, .draws_head = draws_head, .report = &report};
    return read_file(&reader, 0, NULL, err);
}

int names_read(const char *path, const struct params *params, uint64_t seed, float *flat, struct names_report *report,
               struct error *err)
{
    return names_read_grown(path, params, NULL, seed, flat, report, err);
}

/* Checks the tensors of a model's body, without reading numbers. */
static int check_body(const char *path, const struct model_config *config, struct names_report *report,
                      struct error *err)
{
    struct model_config body = *config;
    SCOPED(params_release) struct params params;
    body.task_heads = 0;
    params_shapes(&params, &body);
    return names_read(path, &params, 0, NULL, report, err);
}

int names_check(const char *path, const struct model_config *config, struct error *err)
{
    SCOPED(names_report_release) struct names_report report = {0};
    const int result = check_body(path, config, &report, err);
    if (result < 0 && err->kind == ERR_MISMATCH && !err->hint[0])
        return hint(err, "the config.json beside it says so: they are not of one model");
    return result;
}

int names_check_finite(const char *path, const struct params *params, const float *flat, struct error *err)
{
    for (size_t i = 0; i < params->count; i++) {
        const struct tensor tensor = tensor_of(&params->items[i], flat);
        if (!tensor_is_finite(&tensor))
            return refuse_infinite(path, tensor.name, err);
    }
    return 0;
}

void names_body_unused(const char *path, const struct model_config *config, struct buf *out)
{
    struct error ignored = {0};
    SCOPED(names_report_release) struct names_report report = {0};
    if (check_body(path, config, &report, &ignored) == 0)
        buf_add_text(out, buf_text(&report.body));
}

void names_report_release(struct names_report *report)
{
    buf_release(&report->drawn);
    buf_release(&report->unused);
    buf_release(&report->body);
    buf_release(&report->misshapen);
}

int names_read_own(const struct safetensors *file, const char *path, const char *prefix, const struct params *params,
                   float *flat, struct error *err)
{
    SCOPED(arena_release) struct arena names = {0};
    SCOPED(mem_free_at) struct tensor *tensors = mem_array(params->count, sizeof *tensors);
    const size_t count = names_tensors(params, prefix, flat, &names, tensors);
    for (size_t i = 0; i < count; i++) {
        const struct tensor *ours = &tensors[i], *tensor = safetensors_find(file, ours->name);
        if (!tensor || tensor->type != TENSOR_F32 || !same_shape(tensor, ours))
            return fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "has no tensor %.100s of the model's shape",
                           ours->name);
        tensor_to_f32(tensor, flat + ((const float *)ours->data - flat));
    }
    return 0;
}
