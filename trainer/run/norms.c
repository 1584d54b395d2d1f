/* The chunks of the table are added in order, so no bit depends on the number of threads. */
#include "trainer/run/norms.h"

#include "base/mem.h"
#include "base/parallel.h"

void norms_open(struct norms *n, struct engine *engine)
{
    const struct params *params = model_table(engine->model);
    *n = (struct norms){
        .engine = engine,
        .before = mem_array(params->size, sizeof *n->before),
        .squares = mem_array(3 * params->chunk_count, sizeof *n->squares),
        .tensors = mem_array(3 * params->count, sizeof *n->tensors),
    };
}

void norms_close(struct norms *n)
{
    mem_free(n->before);
    mem_free(n->squares);
    mem_free(n->tensors);
    *n = (struct norms){0};
}

void norms_before(struct norms *n)
{
    const struct ops *ops = n->engine->ops;
    const size_t bytes = model_table(n->engine->model)->size * sizeof(float);
    float *weights = model_params(n->engine->model);
    const float *now = ops->map(ops->device, weights, bytes, MAP_READ);
    memcpy(n->before, now, bytes);
    ops->unmap(ops->device, weights, (float *)now, bytes, MAP_READ);
}

struct chunk_work {
    const struct norms *norms;
    const float *now;
    const double *gradients; /* [chunk_count] */
};

static void add_chunk(const void *args, size_t at, int thread)
{
    const struct chunk_work *work = args;
    const struct param_chunk *chunk = &model_table(work->norms->engine->model)->chunks[at];
    const float *now = work->now + chunk->offset, *before = work->norms->before + chunk->offset;
    double weights = 0, changes = 0;
    (void)thread;
    for (int32_t i = 0; i < chunk->count; i++) {
        const double weight = (double)now[i], change = weight - (double)before[i];
        weights += weight * weight;
        changes += change * change;
    }
    double *out = work->norms->squares + 3 * at;
    out[0] = work->gradients[at];
    out[1] = weights;
    out[2] = changes;
}

void norms_after(struct norms *n, double loss_scale)
{
    const struct ops *ops = n->engine->ops;
    const struct params *params = model_table(n->engine->model);
    const size_t bytes = params->size * sizeof(float), chunk_bytes = params->chunk_count * sizeof(double);
    float *weights = model_params(n->engine->model);
    struct chunk_work work = {
        .norms = n,
        .now = ops->map(ops->device, weights, bytes, MAP_READ),
        .gradients = ops->map(ops->device, n->engine->work.squares, chunk_bytes, MAP_READ),
    };
    parallel(params->chunk_count, add_chunk, &work);
    ops->unmap(ops->device, weights, (float *)work.now, bytes, MAP_READ);
    ops->unmap(ops->device, n->engine->work.squares, (double *)work.gradients, chunk_bytes, MAP_READ);
    memset(n->tensors, 0, 3 * params->count * sizeof *n->tensors);
    for (size_t chunk = 0; chunk < params->chunk_count; chunk++)
        for (size_t i = 0; i < 3; i++)
            n->tensors[3 * (size_t)params->chunks[chunk].tensor + i] += n->squares[3 * chunk + i];
    for (size_t i = 0; i < 3 * params->count; i++)
        n->tensors[i] = sqrt(n->tensors[i]) / (i % 3 == 0 ? loss_scale : 1);
}
