/* Memory, or the end of the program with exit code 7. Everything comes from malloc, so one mem_free fits all, and
 * sanitizers see every allocation. */
#include "base/mem.h"

#include "base/error.h"
#include "base/faults.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define LARGE_PAGE ((size_t)2 << 20) /* on most machines */

void mem_exhausted(size_t count, size_t bytes)
{
    die(ERR_RESOURCE,
        "out of memory (asked for %zu times %zu bytes); what is on disk is safe: the same command continues", count,
        bytes);
}

static void *checked(void *memory, size_t bytes)
{
    if (fault_hits_alloc() || !memory)
        mem_exhausted(1, bytes);
    return memory;
}

static size_t product(size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total))
        mem_exhausted(count, bytes);
    return total ? total : 1;
}

void *mem_alloc(size_t bytes)
{
    return checked(malloc(bytes ? bytes : 1), bytes);
}

void *mem_clear(size_t count, size_t bytes)
{
    const size_t total = product(count, bytes);
    return checked(calloc(1, total), total);
}

void *mem_array(size_t count, size_t bytes)
{
    return mem_alloc(product(count, bytes));
}

void *mem_grow(void *memory, size_t count, size_t bytes)
{
    const size_t total = product(count, bytes);
    return checked(realloc(memory, total), total);
}

void *mem_aligned_new(size_t bytes)
{
    if (bytes > SIZE_MAX - 2 * LARGE_PAGE)
        mem_exhausted(1, bytes);
    const size_t unit = bytes < LARGE_PAGE ? 64 : LARGE_PAGE;
    const size_t total = bytes ? (bytes + unit - 1) / unit * unit : unit; /* aligned_alloc requires whole multiples */
    assert(total >= bytes && total % unit == 0);
    void *memory = checked(aligned_alloc(unit, total), bytes);
    if (unit == LARGE_PAGE)
        (void)madvise(memory, total, MADV_HUGEPAGE); /* only a hint: nothing depends on it */
    return memory;
}

void *mem_aligned(size_t bytes)
{
    return memset(mem_aligned_new(bytes), 0, bytes);
}

char *mem_copy_text(const char *text)
{
    const size_t bytes = strlen(text) + 1;
    return memcpy(mem_alloc(bytes), text, bytes);
}

void mem_free(void *memory)
{
    free(memory);
}

uint64_t mem_peak_bytes(void)
{
    struct rusage usage;
    const int failed = getrusage(RUSAGE_SELF, &usage);
    assert(!failed);
    return (uint64_t)usage.ru_maxrss * 1024; /* Linux counts in KiB */
}
