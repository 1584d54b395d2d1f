#include "pipeline/text/trace.h"

#include "base/mem.h"

#include <assert.h>

static struct trace_step *add_step(struct trace *trace, uint32_t from, uint32_t to, enum fate fate)
{
    assert(from <= to);
    assert(trace->count == 0 || trace->steps[trace->count - 1].to == from); /* no byte is missing or stands twice */
    trace->steps = mem_room(trace->steps, trace->count + 1, &trace->capacity, sizeof trace->steps[0]);
    trace->steps[trace->count] = (struct trace_step){.from = from, .to = to, .fate = fate};
    return &trace->steps[trace->count++];
}

void trace_bytes(struct trace *trace, uint32_t from, uint32_t to, enum fate fate)
{
    struct trace_step *last = trace->count > 0 ? &trace->steps[trace->count - 1] : NULL;
    if (from == to)
        return;
    const bool goes_on = last && last->fate == fate && !last->is_shown_otherwise && !last->is_settled &&
                         (fate != FATE_KEPT || trace->count > trace->paragraph);
    if (goes_on)
        last->to = to;
    else
        add_step(trace, from, to, fate);
}

void trace_shown(struct trace *trace, uint32_t from, uint32_t to, struct str shown)
{
    struct trace_step *step = add_step(trace, from, to, FATE_KEPT);
    step->is_shown_otherwise = true;
    step->shown_at = trace->shown.size;
    step->shown_size = shown.size;
    buf_add_str(&trace->shown, shown);
}

void trace_caption_end(struct trace *trace, uint32_t from, enum fate fate)
{
    for (size_t i = trace->count; i > trace->paragraph && trace->steps[i - 1].from >= from; i--) {
        struct trace_step *step = &trace->steps[i - 1];
        if (step->fate == FATE_KEPT && !step->is_settled)
            step->fate = fate;
        step->is_settled = true;
    }
}

void trace_paragraph_end(struct trace *trace, enum fate fate)
{
    assert(trace->paragraph <= trace->count);
    for (size_t i = trace->paragraph; i < trace->count && fate != FATE_KEPT; i++)
        if (trace->steps[i].fate == FATE_KEPT && !trace->steps[i].is_settled)
            trace->steps[i].fate = fate;
    trace->paragraph = trace->count;
}

void trace_reset(struct trace *trace)
{
    trace->count = trace->paragraph = 0;
    buf_reset(&trace->shown);
}

void trace_release(struct trace *trace)
{
    mem_free(trace->steps);
    buf_release(&trace->shown);
    *trace = (struct trace){0};
}
