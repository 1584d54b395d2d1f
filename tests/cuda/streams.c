/* The CUDA runtime's streams, events, copies and memory on the host, as far as trainer/cuda uses them. Kernels, copies,
 * products (toolkit.c) and collectives (nccl.c) are queued in their stream and run when the host waits: then the items
 * of all streams run in a random order that streams and events allow, drawn from EMULATED_SCHEDULE=SEED (0). So host
 * code that reuses memory too early, and streams that share memory without an event, fail in some schedule as they
 * might on a GPU. Copies from pageable memory read the bytes at once, copies to it wait; cudaFree waits for all. The
 * head of toolkit.c lists the faults that can be injected. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "tests/cuda/memory.h"
#include "tests/cuda/toolkit.h"
#include "trainer/backend/update_numbers.h"

long toolkit_wish(const char *name)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : -1;
}

static bool broken; /* a kernel failed: every wait returns an error */
static bool sent;   /* the first step's record was sent: the ops before it are not counted, because the number of those
                     * that are timed varies */

static cudaError_t waited(void)
{
    return broken ? cudaErrorIllegalAddress : cudaSuccess;
}

cudaError_t cudaGetLastError(void) /* the backend calls it once after every op */
{
    static long ops;
    ops += sent;
    if (!sent || ops != toolkit_wish("TOOLKIT_FAIL"))
        return waited();
    if (strstr(getenv("TOOLKIT_FAIL"), ":now"))
        return cudaErrorInvalidConfiguration;
    broken = true;
    return cudaSuccess;
}

/* ---- streams ---- */

struct CUstream_st {
    struct item {
        bool (*call)(void *context);
        void *context;
    } * items; /* item n is at index n mod room */
    size_t room, asked, done;
    struct CUstream_st *next; /* list of all streams ever made: others may still wait for items of a closed one */
};

struct CUevent_st {
    cudaStream_t stream; /* the stream that recorded it last, or NULL */
    size_t asked;        /* items queued in that stream at the time */
    float at;            /* toolkit_clock when it was reached */
};

float toolkit_clock;
static struct CUstream_st *streams;

static unsigned drawn(unsigned below)
{
    static uint64_t state;
    if (state == 0)
        state = toolkit_wish("EMULATED_SCHEDULE") > 0 ? (uint64_t)toolkit_wish("EMULATED_SCHEDULE") << 1 : 1;
    state = state * 6364136223846793005 + 1442695040888963407; /* Knuth's MMIX */
    return (unsigned)((state >> 33) % below);
}

/* Runs the stream's next item if there is one that can run. */
static bool move(cudaStream_t stream)
{
    if (stream->done == stream->asked)
        return false;
    const struct item next = stream->items[stream->done % stream->room];
    if (!next.call(next.context))
        return false;
    stream->done++;
    return true;
}

/* Runs one item of some stream. It stays with one stream for a while, so that streams get far ahead of each other. */
static bool move_one(void)
{
    static cudaStream_t last;
    if (last && drawn(8) > 0 && move(last))
        return true;
    unsigned count = 0;
    for (cudaStream_t stream = streams; stream; stream = stream->next)
        count++;
    last = streams;
    for (unsigned skip = drawn(count); skip > 0; skip--)
        last = last->next;
    for (unsigned tried = 0; tried < count; tried++, last = last->next ? last->next : streams)
        if (move(last))
            return true;
    return false;
}

/* Runs items as far as possible. Returns whether the stream has reached item `until`. */
static bool settle_some(cudaStream_t stream, size_t until)
{
    device_enter();
    while (stream->done < until && move_one())
        ;
    const bool all = stream->done >= until;
    device_leave();
    return all;
}

static void settle_until(cudaStream_t stream, size_t until)
{
    while (!settle_some(stream, until))
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

static void settle_all(void)
{
    for (cudaStream_t stream = streams; stream; stream = stream->next)
        settle_until(stream, stream->asked);
}

void toolkit_queue(cudaStream_t stream, bool (*call)(void *context), void *context)
{
    device_lock();
    if (stream->asked - stream->done == stream->room) {
        struct item *items = mem_array(2 * stream->room + 64, sizeof *items);
        for (size_t n = stream->done; n < stream->asked; n++)
            items[n % (2 * stream->room + 64)] = stream->items[n % stream->room];
        mem_free(stream->items);
        stream->items = items;
        stream->room = 2 * stream->room + 64;
    }
    stream->items[stream->asked++ % stream->room] = (struct item){call, context};
    device_unlock();
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    assert(flags == cudaStreamNonBlocking);
    device_lock();
    *stream = mem_clear(1, sizeof **stream);
    (*stream)->next = streams;
    streams = *stream;
    device_unlock();
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    settle_until(stream, stream->asked);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    settle_until(stream, stream->asked);
    return waited();
}

/* ---- events ---- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    (void)flags;
    *event = mem_clear(1, sizeof **event);
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, 0);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    if (event->stream)
        settle_until(event->stream, event->asked);
    mem_free(event);
    return cudaSuccess;
}

static bool stamp(void *context)
{
    cudaEvent_t event = context;
    event->at = toolkit_clock;
    return true;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    device_lock();
    toolkit_queue(stream, stamp, event);
    event->stream = stream;
    event->asked = stream->asked;
    device_unlock();
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return !event->stream || settle_some(event->stream, event->asked) ? waited() : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    if (event->stream)
        settle_until(event->stream, event->asked);
    return waited();
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    *milliseconds = to->at - from->at;
    return cudaSuccess;
}

struct waiting {
    cudaStream_t stream;
    size_t until;
};

static bool came(void *context)
{
    const struct waiting *waiting = context;
    if (waiting->stream->done < waiting->until)
        return false;
    mem_free(context);
    return true;
}

/* Waits for what the event has recorded now, whatever it records later. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    if (!event->stream)
        return cudaSuccess;
    struct waiting *waiting = mem_alloc(sizeof *waiting);
    *waiting = (struct waiting){event->stream, event->asked};
    toolkit_queue(stream, came, waiting);
    return cudaSuccess;
}

/* ---- memory ---- */

#define PINNED_MAX 64

static struct {
    const char *memory;
    size_t bytes;
} pinned[PINNED_MAX];

static bool is_pinned(const void *host)
{
    for (int i = 0; i < PINNED_MAX; i++)
        if (pinned[i].memory && (const char *)host >= pinned[i].memory &&
            (const char *)host < pinned[i].memory + pinned[i].bytes)
            return true;
    return false;
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    *memory = device_take(bytes);
    return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void *memory)
{
    if (memory)
        settle_all();
    device_give(memory);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *rest, size_t *all)
{
    *rest = device_free_bytes();
    *all = EMULATED_MEMORY;
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    int i = 0;
    while (pinned[i].memory)
        i++;
    assert(i + 1 < PINNED_MAX);
    pinned[i].memory = *memory = mem_aligned(bytes);
    pinned[i].bytes = bytes;
    memset(*memory, 0xff, bytes);
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *memory)
{
    if (memory)
        settle_all();
    for (int i = 0; i < PINNED_MAX; i++)
        if (memory && pinned[i].memory == memory)
            pinned[i].memory = NULL;
    mem_free(memory);
    return cudaSuccess;
}

struct copy {
    char *to;
    const char *from;
    size_t bytes;
    char held[]; /* the bytes of pageable memory when it was called */
};

static bool do_copy(void *context)
{
    const struct copy *copy = context;
    memcpy(copy->to, copy->from, copy->bytes);
    mem_free(context);
    return true;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    const bool held = kind == cudaMemcpyHostToDevice && !is_pinned(from);
    struct copy *copy = mem_alloc(sizeof *copy + (held ? bytes : 0));
    *copy = (struct copy){to, held ? memcpy(copy->held, from, bytes) : from, bytes};
    toolkit_queue(stream, do_copy, copy);
    if (kind == cudaMemcpyDeviceToHost && !is_pinned(to))
        settle_until(stream, stream->asked);
    sent |= kind == cudaMemcpyDeviceToHost && is_pinned(to) && bytes == sizeof(struct step_record);
    return cudaSuccess;
}

struct clearing {
    char *to;
    size_t pitch, width, height;
    int value;
};

static bool clear(void *context)
{
    const struct clearing *c = context;
    for (size_t row = 0; row < c->height; row++)
        memset(c->to + row * c->pitch, c->value, c->width);
    mem_free(context);
    return true;
}

cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
    struct clearing *clearing = mem_alloc(sizeof *clearing);
    *clearing = (struct clearing){to, pitch, width, height, value};
    if (stream) {
        toolkit_queue(stream, clear, clearing);
        return cudaSuccess;
    }
    device_enter();
    clear(clearing);
    device_leave();
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream)
{
    return cudaMemset2DAsync(memory, 0, value, bytes, 1, stream);
}
