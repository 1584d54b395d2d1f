/* Runs the fibers of one block one at a time, each until it waits for others. A fiber is first entered with setcontext,
 * which costs a system call for the signal mask, and later with _longjmp, which does not. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <map>
#include <vector>

#include "tests/cuda/emulator.h"
#include "tests/cuda/shadow.h"

#define THREADS_MAX      1024
#define STACK_BYTES      (64 << 10)
#define PLAIN_BYTES      (48 << 10)  /* bytes of shared memory without the attribute */
#define SHARED_BYTES_MAX (227 << 10) /* and with it, at compute capability 9.0 */

struct late_copy {
    void *to;
    const void *from;
    bool live;
};

struct fiber {
    ucontext_t first;
    jmp_buf turn;
    bool begun, done;
    size_t barriers, exchanges, warp_barriers; /* that the fiber has reached */
    std::vector<late_copy> copies;
};

struct warp {
    size_t complete, arrived; /* exchanges that all lanes have reached; lanes at the next one */
    const char *what;
    char slots[2][32 * EMULATED_SLOT];
};

struct emulated_index threadIdx, blockIdx, blockDim, gridDim;
int emulated_order;

static struct fiber fibers[THREADS_MAX];
static struct warp warps[THREADS_MAX / 32];
static jmp_buf scheduler;
static size_t barriers_complete, barrier_arrived, fibers_done;
static unsigned now; /* index of the running fiber */
static void (*running)(const void *);
static const void *running_arguments;
static char *shared; /* of the launch; exactly the bytes requested, so that a sanitizer finds accesses beyond */
static size_t shared_used;

static void yield()
{
    if (_setjmp(fibers[now].turn) == 0)
        _longjmp(scheduler, 1);
}

static void complete_barrier()
{
    if (barrier_arrived > 0 && barrier_arrived + fibers_done == blockDim.x) {
        barriers_complete++;
        barrier_arrived = 0;
    }
}

void emulate_barrier(void)
{
    struct fiber *self = &fibers[now];
    const size_t mine = ++self->barriers;
    barrier_arrived++;
    complete_barrier();
    while (barriers_complete < mine)
        yield();
    shadow_thread(now, self->barriers, self->warp_barriers);
}

void emulate_warp_barrier(void)
{
    emulate_exchange("syncwarp", "", 1);
    shadow_thread(now, fibers[now].barriers, ++fibers[now].warp_barriers);
}

const char *emulate_exchange(const char *what, const void *in, size_t bytes)
{
    struct fiber *self = &fibers[now];
    struct warp *warp = &warps[now / 32];
    const size_t mine = ++self->exchanges;
    char *slots = warp->slots[mine % 2];
    memcpy(slots + now % 32 * EMULATED_SLOT, in, bytes);
    if (warp->arrived == 0)
        warp->what = what;
    if (strcmp(warp->what, what) != 0) {
        fprintf(stderr, "block %u: lane %u comes to %s, others of its warp to %s\n", blockIdx.x, now, what, warp->what);
        abort();
    }
    if (++warp->arrived == 32) {
        warp->complete++;
        warp->arrived = 0;
    }
    while (warp->complete < mine)
        yield();
    return slots;
}

void emulate_copy(void *to, const void *from, bool live)
{
    if ((uintptr_t)to % 16 || (uintptr_t)from % 16) {
        fprintf(stderr, "block %u, thread %u: a copy from or to an unaligned place\n", blockIdx.x, now);
        abort();
    }
    shadow_copy(to, 16, false);
    fibers[now].copies.push_back({to, from, live});
}

void emulate_landed(void)
{
    for (const late_copy &copy : fibers[now].copies) {
        shadow_copy(copy.to, 16, true);
        if (copy.live)
            memcpy(copy.to, copy.from, 16);
        else
            memset(copy.to, 0, 16);
    }
    fibers[now].copies.clear();
}

char *emulate_shared(void)
{
    return shared;
}

/* Body of a fiber: runs the kernel for one block after another. */
static void live()
{
    for (;;) {
        running(running_arguments);
        fibers[now].done = true;
        fibers_done++;
        complete_barrier();
        yield();
    }
}

static void resume(struct fiber *fiber)
{
    if (_setjmp(scheduler) != 0)
        return;
    if (fiber->begun)
        _longjmp(fiber->turn, 1);
    fiber->begun = true;
    getcontext(&fiber->first);
    fiber->first.uc_stack.ss_sp = malloc(STACK_BYTES);
    fiber->first.uc_stack.ss_size = STACK_BYTES;
    fiber->first.uc_link = NULL;
    makecontext(&fiber->first, live, 0);
    setcontext(&fiber->first);
}

/* Runs a warp as far as it gets without the others: to its next barrier, or its end. */
static bool run_warp(unsigned number)
{
    for (bool any = false;; any = true) {
        bool moved = false;
        for (unsigned i = 0; i < 32; i++) {
            now = number * 32 + (emulated_order ? 31 - i : i);
            struct fiber *fiber = &fibers[now];
            if (fiber->done)
                continue;
            threadIdx.x = now;
            const size_t came = fiber->barriers + fiber->exchanges;
            shadow_thread(now, fiber->barriers, fiber->warp_barriers);
            resume(fiber);
            shadow_outside();
            moved |= fiber->done || fiber->barriers + fiber->exchanges != came;
        }
        if (!moved)
            return any;
    }
}

/* The __shared__ arrays of all kernels. */
extern char __start_emulated_shared[], __stop_emulated_shared[];

static void run_block()
{
    memset(shared, 0xff, shared_used); /* NaN in every type */
    const size_t fixed_bytes = (size_t)(__stop_emulated_shared - __start_emulated_shared);
    memset(__start_emulated_shared, 0xff, fixed_bytes);
    shadow_block(shared, shared_used, __start_emulated_shared, fixed_bytes);
    memset(warps, 0, sizeof warps);
    barriers_complete = barrier_arrived = fibers_done = 0;
    for (unsigned i = 0; i < blockDim.x; i++) {
        fibers[i].done = false;
        fibers[i].barriers = fibers[i].exchanges = fibers[i].warp_barriers = 0;
        fibers[i].copies.clear();
    }
    const unsigned count = blockDim.x / 32;
    while (fibers_done < blockDim.x) {
        bool moved = false;
        for (unsigned i = 0; i < count; i++)
            moved |= run_warp(emulated_order ? count - 1 - i : i);
        if (!moved) {
            fprintf(stderr, "block %u: its threads wait for one another\n", blockIdx.x);
            abort();
        }
    }
}

/* The maximal threads by __launch_bounds__; THREADS_MAX where it is missing. */
static int bound_of(const void *kernel)
{
    static const unsigned char landing[] = {0xf3, 0x0f, 0x1e, 0xfa}, nothing = 0x90; /* endbr64, nop */
    const unsigned char *code = (const unsigned char *)kernel;
    int warps = 0;
    if (memcmp(code, landing, sizeof landing) == 0)
        code += sizeof landing;
    while (code[warps] == nothing)
        warps++;
    return warps > 0 ? 32 * warps : THREADS_MAX;
}

/* Bytes of shared memory that each kernel may use by its attribute. */
static std::map<const void *, int> permitted;

extern "C" cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute attribute, int value)
{
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 || value > SHARED_BYTES_MAX)
        return cudaErrorInvalidValue;
    permitted[kernel] = value;
    return cudaSuccess;
}

/* Few multiprocessors, so that a block of a one-wave grid handles several items. */
extern "C" cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int)
{
    *value = 3;
    return attribute == cudaDevAttrMultiProcessorCount ? cudaSuccess : cudaErrorInvalidValue;
}

void emulate_check(const void *kernel, size_t blocks, int threads, size_t shared_bytes)
{
    const auto allowed = permitted.find(kernel);
    const int most = bound_of(kernel), shared_most = allowed == permitted.end() ? PLAIN_BYTES : allowed->second;
    if (blocks > 0 && blocks <= INT32_MAX && threads > 0 && threads % 32 == 0 && threads <= most &&
        shared_bytes <= (size_t)std::max(shared_most, PLAIN_BYTES))
        return;
    fprintf(stderr, "a launch of %zu blocks of %d threads (at most %d) with %zu bytes of shared memory (at most %d)\n",
            blocks, threads, most, shared_bytes, shared_most);
    abort();
}

void emulate_conflict(void)
{
    fprintf(stderr, "ldmatrix reads rows of one matrix from the same banks\n");
    abort();
}

void emulate_run(void (*body)(const void *), const void *arguments, size_t blocks, int threads, size_t shared_bytes)
{
    const char *order = getenv("EMULATED_ORDER");
    const int before = emulated_order;
    emulated_order |= order && strcmp(order, "1") == 0;
    shared_used = (shared_bytes + 127) / 128 * 128;
    shared = (char *)aligned_alloc(128, shared_used);
    running = body;
    running_arguments = arguments;
    gridDim.x = (unsigned)blocks;
    blockDim.x = (unsigned)threads;
    device_enter();
    for (size_t block = 0; block < blocks; block++) {
        blockIdx.x = (unsigned)(emulated_order ? blocks - 1 - block : block);
        run_block();
    }
    device_leave();
    free(shared);
    emulated_order = before;
}
