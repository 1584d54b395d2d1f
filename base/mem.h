/* The only layer that allocates memory. If there is none, it ends the program with exit code 7, so no caller has an
 * out-of-memory path; what is on disk stays resumable. Every size that comes from a file is checked against a named
 * limit before it gets here. All calls may be made from any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

void *mem_alloc(size_t bytes);                            /* not cleared; 0 bytes gives a valid pointer */
void *mem_clear(size_t count, size_t bytes);              /* cleared; dies where count * bytes overflows */
void *mem_array(size_t count, size_t bytes);              /* not cleared; dies where count * bytes overflows */
void *mem_grow(void *memory, size_t count, size_t bytes); /* realloc of an array */
/* Cleared, 64-byte aligned (a cache line, a vector register); from 2 MiB on in huge pages, if the system has them. */
void *mem_aligned(size_t bytes);
void *mem_aligned_new(size_t bytes);   /* not cleared, so the first thread to write a page decides its NUMA node */
char *mem_copy_text(const char *text); /* strdup */
void mem_free(void *memory);           /* for all of the above; NULL is fine */

/* An array that grows while items are added: room for `need` of them. *room, at first 0, is how many there is memory
 * for; it at least doubles. */
static inline void *mem_room(void *array, size_t need, size_t *room, size_t bytes)
{
    if (need <= *room)
        return array;
    *room = need > 2 * *room ? need : 2 * *room;
    *room = *room > 64 ? *room : 64;
    return mem_grow(array, *room, bytes);
}

/* Ends the program with exit code 7, as every call here does when `count` times `bytes` cannot be allocated. */
_Noreturn void mem_exhausted(size_t count, size_t bytes);

/* Largest resident size of this process so far, in bytes, as the kernel counts it (getrusage). */
uint64_t mem_peak_bytes(void);

/* Variables that are released when their scope ends, on every way out of it:
 *
 *     SCOPED(buf_release) struct buf text = {0};
 *     SCOPED(mem_free_at) char *path = path_join(directory, name);
 *
 * A value that is returned is computed before. jansson's json_auto_t is the same for its objects. */
#define SCOPED(release) __attribute__((cleanup(release)))

/* Frees the memory that the pointer variable at `variable` points to. */
static inline void mem_free_at(void *variable)
{
    void *memory;
    memcpy(&memory, variable, sizeof memory);
    mem_free(memory);
}
