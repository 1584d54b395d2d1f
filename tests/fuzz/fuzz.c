/* The entry point of every target, which libFuzzer or replay.c calls: it bounds memory. One input may allocate 64 times
 * its size and 64 MiB, counted in the sanitizer's allocator from where the input begins; the allocation that
 * exceeds the bound aborts, so its stack is that of the fault. Without a sanitizer nothing is counted. */
#include "tests/fuzz/fuzz.h"

#include <stdatomic.h>

#define PER_BYTE 64
#define AT_LEAST ((int64_t)64 << 20)

typedef void malloc_hook(const volatile void *memory, size_t bytes);
typedef void free_hook(const volatile void *memory);
/* From sanitizer/allocator_interface.h, which gcc does not install; absent without a sanitizer. */
__attribute__((weak)) int __sanitizer_install_malloc_and_free_hooks(malloc_hook *taken, free_hook *freed);
__attribute__((weak)) size_t __sanitizer_get_allocated_size(const volatile void *memory);

static _Atomic int64_t held, bound = INT64_MAX; /* bytes: more than at the beginning of the input, and at most */

static void on_malloc(const volatile void *memory, size_t bytes)
{
    if (!memory)
        return;
    const int64_t now = atomic_fetch_add(&held, (int64_t)bytes) + (int64_t)bytes;
    const int64_t most = atomic_load(&bound);
    if (now <= most)
        return;
    atomic_store(&bound, INT64_MAX); /* reporting may allocate */
    fprintf(stderr, "memory: an input holds %lld bytes, its bound is %lld\n", (long long)now, (long long)most);
    abort();
}

static void on_free(const volatile void *memory)
{
    if (memory)
        atomic_fetch_sub(&held, (int64_t)__sanitizer_get_allocated_size(memory));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool counts;
    if (!counts && __sanitizer_install_malloc_and_free_hooks)
        __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
    counts = true;
    atomic_store(&held, 0);
    atomic_store(&bound, AT_LEAST + PER_BYTE * (int64_t)size);
    const int result = fuzz_input(data, size);
    atomic_store(&bound, INT64_MAX);
    return result;
}
