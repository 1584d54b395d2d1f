#include "trainer/cuda/op_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SIZES 8 /* sizes of an op that are kept, at most */

static struct {
    const char *op; /* the one queued last */
    bool inside;    /* it is being queued */
    struct {
        const char *name;
        int64_t value;
    } sizes[SIZES];
    int count;
    uint64_t step; /* 0: none yet */
} trace = {.op = "opening the device", .inside = true};

/* DSTRAIN_CUDA_SYNC=1: wait for every op. */
static bool waits(void)
{
    static int answer = -1;
    if (answer < 0) {
        const char *wish = getenv("DSTRAIN_CUDA_SYNC");
        answer = wish && strcmp(wish, "") != 0 && strcmp(wish, "0") != 0;
    }
    return answer;
}

void op_trace_step(uint64_t step)
{
    trace.step = step;
}

/* "args->hidden" is reported as "hidden". */
static const char *field_of(const char *name)
{
    const char *arrow = strrchr(name, '>');
    return arrow ? arrow + 1 : name;
}

void op_trace_text(char *out, size_t size)
{
    char sizes[256] = "", step[32] = "";
    size_t used = 0;
    for (int i = 0; i < trace.count && used < sizeof sizes; i++)
        used += (size_t)snprintf(sizes + used, sizeof sizes - used, "%s%s %" PRId64, i == 0 ? " (" : ", ",
                                 field_of(trace.sizes[i].name), trace.sizes[i].value);
    if (trace.step > 0)
        snprintf(step, sizeof step, ", step %" PRIu64, trace.step);
    snprintf(out, size, "%s%s%s%s", trace.op, sizes, trace.count > 0 ? ")" : "", step);
}

void cuda_check(cudaError_t status, const char *call)
{
    char where[320];
    if (status == cudaSuccess)
        return;
    op_trace_text(where, sizeof where);
    if (!waits())
        die(ERR_RESOURCE,
            "CUDA: %s, in or before %s, seen by %s; DSTRAIN_CUDA_SYNC=1 in the environment waits after "
            "every operation and so names the one that fails",
            cudaGetErrorString(status), where, call);
    die(ERR_RESOURCE, "CUDA: %s, %s %s, seen by %s", cudaGetErrorString(status), trace.inside ? "in" : "after", where,
        call);
}

void op_begin(const char *name)
{
    trace.op = name;
    trace.inside = true;
    trace.count = 0;
}

void op_queued(cudaStream_t stream)
{
    CHECK(cudaGetLastError());
    if (waits())
        CHECK(cudaStreamSynchronize(stream));
    trace.inside = false;
}

void op_number(const char *name, int64_t value)
{
    if (trace.count == SIZES)
        return;
    trace.sizes[trace.count].name = name;
    trace.sizes[trace.count++].value = value;
}

void op_rows(const char *name, struct rows rows)
{
    op_number(name, rows.total);
}

void op_batch(const char *name, const struct batch *batch)
{
    (void)name;
    if (!batch)
        return;
    op_number("tokens", batch->tokens);
    op_number("sequences", batch->sequences);
    op_number("longest", cuda_batch_of(batch)->longest);
}

void op_shape(const char *name, const struct attention_shape *shape)
{
    (void)name;
    op_number("heads", shape->heads);
}

void op_work(const char *name, const struct update_work *work)
{
    (void)name;
    op_number("parameters", (int64_t)work->numbers);
}
