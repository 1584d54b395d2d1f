/* The backend makes the passes over flat memory and computes the numbers per tensor (ops.h, update_numbers.h), so that
 * the host only queues them and never waits. */
#include "trainer/optim/optimizer.h"

#include <assert.h>
#include <strings.h>

#include "base/mem.h"
#include "base/same_math.h"
#include "trainer/backend/copies.h"

/* Muon (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon/), for hidden matrices; formulas as in
 * torch/optim/_muon.py. With g the clipped gradient of a matrix P [A, B]
 *
 *     m = mu m + (1 - mu) g;  u = mu m + (1 - mu) g with Nesterov, else m
 *     X = u / max(|u|, 1e-7), then five times  S = X X^T;  X = 3.4445 X + (-4.7750 S + 2.0315 S^2) X
 *     P = (1 - rate decay) P - rate adjust X
 *
 * with X^T for X where A > B. Five steps bring singular values into about [0.7, 1.2]: X has the directions of u, all
 * with nearly the same length. adjust is sqrt(max(1, A / B)) ("original"), or 0.2 sqrt(max(A, B)) ("match_rms_adamw",
 * Liu et al. 2025, Muon is scalable for LLM training), with which an entry moves as far as under AdamW, so that one
 * rate serves all.
 *
 * X is in storage: bf16 under bf16, as it always is in torch, but float under fp32 and fp16 under fp16. Sums are
 * floats; each product and each combination is rounded. Products are the linear layers'; S and its square are
 * symmetric, so either side of a product may be transposed. */
#define STEPS   5
#define EPSILON 1e-7
#define ALIGN   64 /* numbers */

static size_t padded(int64_t numbers)
{
    return ((size_t)numbers + ALIGN - 1) / ALIGN * ALIGN;
}

/* Memory of X and the next X; of S, and of its square, which becomes the polynomial's other factor. */
static size_t numbers(int64_t rows, int64_t columns)
{
    const int64_t narrow = rows < columns ? rows : columns;
    return 2 * padded(rows * columns) + 2 * padded(narrow * narrow);
}

/* S, its square, and the product with X. */
static double flops(int64_t rows, int64_t columns)
{
    const double narrow = (double)(rows < columns ? rows : columns), wide = (double)(rows < columns ? columns : rows);
    return STEPS * 2 * narrow * narrow * (2 * wide + narrow);
}

static char *take(char **memory, const struct ops *ops, int64_t count)
{
    char *taken = *memory;
    *memory += padded(count) * ops->storage_size;
    return taken;
}

static void step(const struct ops *ops, void *next, const void *x, void *s, void *square, int32_t narrow, int32_t wide)
{
    const struct rows rows = {narrow, narrow};
    const size_t narrow_count = (size_t)narrow * (size_t)narrow, count = (size_t)narrow * (size_t)wide;
    CALL(ops, linear, .y = s, .x = x, .w = x, .rows = rows, .out = narrow, .in = wide);
    CALL(ops, linear, .y = square, .x = s, .w = s, .rows = rows, .out = narrow, .in = narrow);
    CALL(ops, combine, .y = square, .x = s, .count = narrow_count, .a = -4.7750, .b = 2.0315);
    CALL(ops, linear_backward_input, .dx = next, .dy = square, .w = x, .rows = rows, .out = narrow, .in = wide);
    CALL(ops, combine, .y = next, .x = x, .count = count, .a = 3.4445, .b = 1);
}

static void update(const struct optimizer *optimizer, const struct ops *ops, const struct update_memory *memory,
                   const struct update_work *work, const struct update *update, const struct update_matrix *matrix)
{
    const int32_t rows = matrix->rows, columns = matrix->columns;
    const int32_t narrow = rows < columns ? rows : columns, wide = rows < columns ? columns : rows;
    const double adjust = optimizer->match_rms ? 0.2 * sqrt(wide) : sqrt(fmax(1, (double)rows / columns));
    const struct momentum_args momentum = {memory, work, matrix, optimizer->momentum, optimizer->nesterov};
    char *lent = work->lent;
    char *x = take(&lent, ops, (int64_t)narrow * wide), *next = take(&lent, ops, (int64_t)narrow * wide);
    char *s = take(&lent, ops, (int64_t)narrow * narrow), *square = lent;
    ops->momentum(ops->device, &momentum);
    CALL(ops, direction, .momentum = momentum, .x = x, .epsilon = EPSILON);
    for (int i = 0; i < STEPS; i++) {
        char *before = x;
        step(ops, next, before, s, square, narrow, wide);
        x = next;
        next = before;
    }
    CALL(ops, shift, .memory = memory, .work = work, .matrix = matrix, .x = x,
         .keep = 1 - update->rate * optimizer->weight_decay, .scale = update->rate * adjust);
}

static const struct matrix_method muon = {numbers, flops, update};

/* clang-format off */
#define COMMON .beta1 = 0.9, .beta2 = 0.999, .decoupled = true, .gradient_average = true
#define REAL(name, member, most) {name, FIELD_REAL, offsetof(struct optimizer, member), 0, most, 0}
#define FLAG(name, member)      {name, FIELD_FLAG, offsetof(struct optimizer, member), 0, 1, 0}
#define NOTE(name)              {.key = name, .type = FIELD_NOTE}
#define OFF(name)               {.key = name, .type = FIELD_OFF}

const struct optimizer_facts optimizer_kinds[] = {
    [OPTIMIZER_ADAM] = {"adam", "decoupled weight decay, as AdamW",
        .type = {"Adam", 1e-3, {COMMON, .kind = OPTIMIZER_ADAM, .epsilon = 1e-8, .bias_correction = true}},
        .params = {FLAG("adam_w_mode", decoupled), OFF("eps_inside_sqrt"), NOTE("torch_adam"), NOTE("fused")}},
    [OPTIMIZER_LAMB] = {"lamb", "as in DeepSpeed", .by_tensor = true,
        .type = {"Lamb", 1e-3, {COMMON, .kind = OPTIMIZER_LAMB, .epsilon = 1e-8, .bias_correction = true,
                                .ratio_min = 0.01, .ratio_max = 10}},
        .params = {REAL("min_coeff", ratio_min, 1e9), REAL("max_coeff", ratio_max, 1e9), OFF("eps_inside_sqrt")}},
    [OPTIMIZER_NVLAMB] = {"nvlamb", "as apex FusedLAMB", .by_tensor = true,
        .type = {"NVLAMB", 1e-3, {COMMON, .kind = OPTIMIZER_NVLAMB, .epsilon = 1e-6, .bias_correction = true,
                                  .weight_decay = 0.01, .norm_max = 1}},
        .params = {FLAG("use_nvlamb", ratio_always), FLAG("grad_averaging", gradient_average),
                   REAL("max_grad_norm", norm_max, 1e6)}},
    [OPTIMIZER_LANS] = {"lans", "LAMB with normalised gradients and Nesterov momentum", .by_tensor = true,
        .type = {"LANS", 1e-3, {COMMON, .kind = OPTIMIZER_LANS, .epsilon = 1e-6, .bias_correction = true,
                                .weight_decay = 0.01}},
        .params = {FLAG("grad_averaging", gradient_average), REAL("max_grad_norm", norm_max, 1e6)}},
    /* The defaults of torch.optim.Muon, except adjust_lr_fn, which is original there: here one rate serves Adam's part
     * too. Jordan's own settings are original, lr 0.02, other_lr 0.015. */
    [OPTIMIZER_MUON] = {"muon", "orthogonalised updates of hidden matrices, Adam for the rest", .matrices = &muon,
        .type = {"Muon", 1e-3, {COMMON, .kind = OPTIMIZER_MUON, .epsilon = 1e-8, .bias_correction = true,
                                .weight_decay = 0.1, .momentum = 0.95, .nesterov = true, .match_rms = true,
                                .other_rate = 1}},
        .params = {REAL("momentum", momentum, 0.9999), FLAG("nesterov", nesterov),
                   {"adjust_lr_fn", FIELD_ADJUST, offsetof(struct optimizer, match_rms), 0, 1, 0},
                   REAL("other_lr", other_rate, 1e3)}},
    /* DeepSpeed's OnebitAdam: no bias correction at all, whatever its configuration says. */
    [OPTIMIZER_ONEBIT] = {"onebit_adam", "1-bit Adam, which sends one bit per parameter after a warm-up",
        .compresses = true,
        .type = {"OneBitAdam", 1e-3, {COMMON, .kind = OPTIMIZER_ONEBIT, .epsilon = 1e-8, .freeze_step = 100000,
                                      .freeze_ratio = 0.96}},
        .params = {{"freeze_step", FIELD_COUNT, offsetof(struct optimizer, freeze_step), 1, 1e12, 0},
                   {"freeze_ratio", FIELD_REAL, offsetof(struct optimizer, freeze_ratio), 0, 1, 0},
                   {"scale", FIELD_SCALE, offsetof(struct optimizer, group), 0, 1, 0},
                   NOTE("comm_backend_name"), NOTE("cuda_aware"), NOTE("bias_correction"),
                   OFF("eps_inside_sqrt")}},
    /* ModernBERT's settings, where the class is DecoupledStableAdamW. */
    [OPTIMIZER_STABLEADAMW] = {"stableadamw", "AdamW that slows down tensors whose gradients grow", .by_tensor = true,
        .type = {"StableAdamW", 1e-3, {.beta1 = 0.9, .beta2 = 0.98, .decoupled = true, .gradient_average = true,
                                       .kind = OPTIMIZER_STABLEADAMW, .epsilon = 1e-6, .weight_decay = 1e-5,
                                       .bias_correction = true, .decouple_rate = true}},
        .params = {FLAG("decouple_lr", decouple_rate), REAL("max_lr", peak, 1e3), NOTE("kahan_sum"), NOTE("foreach"),
                   NOTE("triton"), OFF("gradient_release")}},
};
_Static_assert(sizeof optimizer_kinds / sizeof *optimizer_kinds == OPTIMIZER_KINDS, "a row for every kind");

/* A kind with the settings of others: DeepSpeed's Adam, whose decay is decoupled under both names
 * (ops/adam/fused_adam.py); pytorch_pretrained_bert's and NVIDIA's BertAdam; Google's optimization.py; NVIDIA's
 * fine-tuning with FusedAdam; HetSeq. */
static const struct optimizer_type variants[] = {
    {"AdamW", 1e-3, {COMMON, .kind = OPTIMIZER_ADAM, .epsilon = 1e-8, .bias_correction = true}},
    {"BertAdam", 5e-5, {COMMON, .kind = OPTIMIZER_ADAM, .epsilon = 1e-6, .weight_decay = 0.01, .tensor_norm = 1}},
    {"AdamWeightDecay", 5e-5, {COMMON, .kind = OPTIMIZER_ADAM, .epsilon = 1e-6, .weight_decay = 0.01}},
    {"FusedAdam", 1e-3, {COMMON, .kind = OPTIMIZER_ADAM, .epsilon = 1e-8}},
    {"HetSeqAdam", 0.25, {COMMON, .kind = OPTIMIZER_ADAM, .epsilon = 1e-8, .bias_correction = true,
                          .scaled_rate = true, .decay_all = true}},
};
/* clang-format on */
#define VARIANTS (sizeof variants / sizeof *variants)

const struct optimizer_type *optimizer_type_at(size_t i)
{
    if (i < OPTIMIZER_KINDS)
        return &optimizer_kinds[i].type;
    return i < OPTIMIZER_KINDS + VARIANTS ? &variants[i - OPTIMIZER_KINDS] : NULL;
}

const struct optimizer_type *optimizer_type(const char *name)
{
    const struct optimizer_type *type;
    for (size_t i = 0; (type = optimizer_type_at(i)); i++)
        if (strcasecmp(type->name, name) == 0)
            break;
    return type;
}

static bool lends(enum optimizer_kind kind, const struct param *param)
{
    return optimizer_kinds[kind].matrices && param->hidden;
}

size_t optimizer_lent_bytes(enum optimizer_kind kind, const struct ops *ops, const struct params *params)
{
    size_t most = 0;
    for (const struct param *param = params->items; param < params->items + params->count; param++)
        if (lends(kind, param)) {
            const size_t numbers = optimizer_kinds[kind].matrices->numbers(param->shape[0], param->shape[1]);
            most = numbers > most ? numbers : most;
        }
    return most * ops->storage_size;
}

double optimizer_flops(enum optimizer_kind kind, const struct params *params)
{
    double sum = 0;
    for (const struct param *param = params->items; param < params->items + params->count; param++)
        sum += lends(kind, param) ? optimizer_kinds[kind].matrices->flops(param->shape[0], param->shape[1]) : 0;
    return sum;
}

static void list_matrices(struct update_work *work, enum optimizer_kind kind, const struct params *params)
{
    work->matrices = mem_array(params->count, sizeof *work->matrices);
    for (size_t chunk = 0; chunk < params->chunk_count;) {
        const struct param *param = &params->items[params->chunks[chunk].tensor];
        const size_t end = chunk + (param->trained + PARAM_CHUNK - 1) / PARAM_CHUNK;
        if (lends(kind, param))
            work->matrices[work->matrix_count++] =
                (struct update_matrix){{chunk, end}, (int32_t)param->shape[0], (int32_t)param->shape[1]};
        chunk = end;
    }
}

void optimizer_work_init(struct update_work *work, enum optimizer_kind kind, const struct ops *ops,
                         const struct params *params)
{
    struct device *device = ops->device;
    const size_t chunks = params->chunk_count, tensors = params->count;
    const size_t chunk_bytes = chunks * sizeof *work->chunks, first_bytes = (tensors + 1) * sizeof *work->firsts;
    *work = (struct update_work){
        .numbers = params->total,
        .chunk_count = chunks,
        .tensors = tensors,
        .chunks = ops->allocate(device, chunk_bytes),
        .firsts = ops->allocate(device, first_bytes),
        .squares = ops->allocate(device, chunks * sizeof(double)),
        .sums = ops->allocate(device, 3 * chunks * sizeof(double)),
        .factors = ops->allocate(device, tensors * sizeof(double)),
        .shares = ops->allocate(device, 2 * tensors * sizeof(double)),
        .record = ops->allocate(device, sizeof *work->record),
    };
    if (optimizer_kinds[kind].matrices) {
        list_matrices(work, kind, params);
        work->lent = ops->allocate(device, optimizer_lent_bytes(kind, ops, params));
    }
    ops_write(ops, work->chunks, params->chunks, chunk_bytes);
    int32_t *firsts = ops->map(device, work->firsts, first_bytes, MAP_FILL);
    for (size_t chunk = 0, tensor = 0; tensor <= tensors; tensor++) {
        while (chunk < chunks && (size_t)params->chunks[chunk].tensor < tensor)
            chunk++;
        firsts[tensor] = (int32_t)chunk;
    }
    ops->unmap(device, work->firsts, firsts, first_bytes, MAP_FILL);
}

void optimizer_work_release(struct update_work *work, const struct ops *ops)
{
    void *const all[] = {work->chunks,  work->firsts, work->squares, work->sums,
                         work->factors, work->shares, work->record,  work->lent};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ops->release(ops->device, all[i]);
    mem_free(work->matrices);
    *work = (struct update_work){0};
}

/* The weight of the old average in one whose bias is corrected. */
static double debiased(double beta, double updates)
{
    return beta * (1 - same_pow(beta, updates - 1)) / (1 - same_pow(beta, updates));
}

static struct update_step step_of(const struct optimizer *o, const struct update *update)
{
    const double bias_correction1 = o->bias_correction ? 1 - same_pow(o->beta1, (double)update->number) : 1;
    const double bias_correction2 = o->bias_correction ? 1 - same_pow(o->beta2, (double)update->number) : 1;
    struct update_step step = {
        .kind = o->kind,
        .loss_scale = update->loss_scale,
        .norm_max = update->norm_max,
        .own_norm_max = o->norm_max,
        .tensor_norm = o->tensor_norm,
        .halts = update->halts,
        .rate = update->rate,
        .beta1 = o->beta1,
        .beta2 = o->beta2,
        .weight1 = o->gradient_average ? 1 - o->beta1 : 1,
        .correction1 = 1 / bias_correction1,
        .correction2 = 1 / sqrt(bias_correction2),
        .epsilon = o->epsilon,
        .weight_decay = o->weight_decay,
        .vector_decay = o->decay_all ? o->weight_decay : 0,
        .decoupled = o->decoupled,
        .ratio_min = o->ratio_min,
        .ratio_max = o->ratio_max,
        .ratio_always = o->ratio_always,
    };
    switch (o->kind) { /* no default: the compiler asks for each new kind */
    case OPTIMIZER_LAMB:
        step.rate = update->rate * sqrt(bias_correction2) /
                    bias_correction1; /* the correction scales the whole step, decay included */
        step.correction1 = step.correction2 = 1;
        break;
    case OPTIMIZER_ADAM:
        if (!o->scaled_rate)
            break;
        step.correction1 = sqrt(bias_correction2) / bias_correction1; /* scales Adam's part only */
        step.correction2 = 1;
        break;
    case OPTIMIZER_MUON:
        step.rate = update->rate * o->other_rate;
        break;
    case OPTIMIZER_STABLEADAMW:
        if (o->bias_correction) {
            step.beta1 = debiased(o->beta1, (double)update->number);
            step.beta2 = debiased(o->beta2, (double)update->number);
        }
        step.weight1 = 1 - step.beta1;
        step.correction1 = step.correction2 = 1;
        if (o->decouple_rate)
            step.weight_decay = o->peak > 0 ? o->weight_decay / o->peak : 0;
        break;
    case OPTIMIZER_NVLAMB:
    case OPTIMIZER_LANS:
    case OPTIMIZER_ONEBIT:
    case OPTIMIZER_KINDS:
        break;
    }
    return step;
}

void optimizer_squares(const struct ops *ops, const struct update_memory *memory, const struct update_work *work,
                       struct chunk_range range)
{
    CALL(ops, squares, .work = work, .range = range, .values = memory->gradients, .from = memory->gradients_from);
}

void optimizer_factors(const struct optimizer *optimizer, const struct ops *ops, const struct update_work *work,
                       const struct update *update)
{
    assert(update->number >= 1 && update->loss_scale > 0);
    const struct update_step step = step_of(optimizer, update);
    CALL(ops, factors, .work = work, .step = &step, .sums = update->sums);
}

void optimizer_moments(const struct optimizer *optimizer, const struct ops *ops, const struct update_memory *memory,
                       const struct update_work *work, const struct update *update, struct chunk_range range)
{
    const struct update_step step = step_of(optimizer, update);
    if (optimizer_kinds[optimizer->kind].by_tensor)
        CALL(ops, moments, .memory = memory, .work = work, .step = &step, .range = range);
}

/* Updates whole matrices by their method, and what lies between them in one pass each: the whole range, where there are
 * no matrices. */
static void apply_adam(const struct optimizer *optimizer, const struct ops *ops, const struct update_memory *memory,
                       const struct update_work *work, const struct update *update, struct chunk_range range)
{
    const struct update_step step = step_of(optimizer, update);
    for (const struct update_matrix *matrix = work->matrices; matrix < work->matrices + work->matrix_count; matrix++) {
        const struct chunk_range chunks = matrix->chunks;
        if (chunks.to <= range.from || chunks.from >= range.to)
            continue;
        assert(chunks.from >= range.from && chunks.to <= range.to);
        if (chunks.from > range.from)
            CALL(ops, adam, memory, work, &step, {range.from, chunks.from});
        optimizer_kinds[optimizer->kind].matrices->update(optimizer, ops, memory, work, update, matrix);
        range.from = chunks.to;
    }
    if (range.to > range.from)
        CALL(ops, adam, memory, work, &step, range);
}

void optimizer_apply(const struct optimizer *optimizer, const struct ops *ops, const struct update_memory *memory,
                     const struct update_work *work, const struct update *update, struct chunk_range range)
{
    if (!optimizer_kinds[optimizer->kind].by_tensor) {
        apply_adam(optimizer, ops, memory, work, update, range);
        return;
    }
    const struct update_step step = step_of(optimizer, update);
    CALL(ops, shares, .work = work, .step = &step, .range = range);
    CALL(ops, apply, .memory = memory, .work = work, .step = &step, .range = range);
}

void optimizer_update(const struct optimizer *optimizer, const struct ops *ops, const struct update_memory *memory,
                      const struct update_work *work, const struct update *update)
{
    const struct chunk_range all = all_chunks(work);
    optimizer_squares(ops, memory, work, all);
    optimizer_factors(optimizer, ops, work, update);
    optimizer_moments(optimizer, ops, memory, work, update, all);
    optimizer_apply(optimizer, ops, memory, work, update, all);
}
