/* Pieces of any size, cut from a list of kept chunks. Chunks grow with what the arena holds, up to 1 MiB, so few jobs
 * need more than one. A request that does not fit uses the next kept chunk that is large enough, which is moved to
 * follow the current one: chunks before `current` are full, those after it are free. */
#include "base/arena.h"

#include "base/mem.h"

#include <assert.h>
#include <stdalign.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#elif __has_feature(memory_sanitizer)
#define ARENA_MSAN 1
#endif
#endif

#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(data, bytes)   ASAN_POISON_MEMORY_REGION(data, bytes)
#define UNPOISON(data, bytes) ASAN_UNPOISON_MEMORY_REGION(data, bytes)
#define RED_ZONE              16 /* between two pieces, so that an overrun is detected */
#elif defined(ARENA_MSAN)
#include <sanitizer/msan_interface.h>
#define POISON(data, bytes)   __msan_allocated_memory(data, bytes) /* what an earlier job wrote there counts no more */
#define UNPOISON(data, bytes) ((void)(data), (void)(bytes))
#define RED_ZONE              0
#else
#define POISON(data, bytes)   ((void)(data), (void)(bytes))
#define UNPOISON(data, bytes) ((void)(data), (void)(bytes))
#define RED_ZONE              0
#endif

#define CHUNK_BYTES_MIN ((size_t)64 << 10)
#define CHUNK_BYTES_MAX ((size_t)1 << 20) /* unless a single piece is larger */

struct arena_chunk {
    struct arena_chunk *next;
    size_t size; /* of data */
    alignas(16) char data[];
};

static struct arena_chunk *chunk_open(const struct arena *arena, size_t bytes)
{
    size_t size = arena_bytes(arena);
    if (size < CHUNK_BYTES_MIN)
        size = CHUNK_BYTES_MIN;
    if (size > CHUNK_BYTES_MAX)
        size = CHUNK_BYTES_MAX;
    if (size < bytes)
        size = bytes;
    struct arena_chunk *chunk = mem_alloc(sizeof(*chunk) + size);
    *chunk = (struct arena_chunk){.size = size};
    POISON(chunk->data, size);
    return chunk;
}

/* Makes a chunk with room for `bytes` the current one. */
static void advance(struct arena *arena, size_t bytes)
{
    assert(!arena->current || arena->used <= arena->current->size);
    struct arena_chunk **after = arena->current ? &arena->current->next : &arena->first;
    struct arena_chunk **link = after;
    while (*link && (*link)->size < bytes)
        link = &(*link)->next;
    struct arena_chunk *chunk = *link;
    if (chunk)
        *link = chunk->next;
    else
        chunk = chunk_open(arena, bytes);
    assert(chunk->size >= bytes);
    chunk->next = *after;
    *after = chunk;
    arena->current = chunk;
    arena->used = 0;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        mem_exhausted(1, bytes);
    const size_t room = (bytes + 15) / 16 * 16 + RED_ZONE;
    if (!arena->current || arena->current->size - arena->used < room)
        advance(arena, room);
    char *piece = arena->current->data + arena->used;
    arena->used += room;
    UNPOISON(piece, bytes);
    return piece;
}

void *arena_array(struct arena *arena, size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total))
        mem_exhausted(count, bytes);
    return arena_alloc(arena, total);
}

struct str arena_copy(struct arena *arena, struct str text)
{
    char *copy = arena_alloc(arena, text.size + 1);
    if (text.size)
        memcpy(copy, text.data, text.size);
    copy[text.size] = 0;
    return (struct str){copy, text.size};
}

void arena_reset(struct arena *arena)
{
    for (struct arena_chunk *chunk = arena->first; chunk; chunk = chunk->next)
        POISON(chunk->data, chunk->size);
    arena->current = NULL;
    arena->used = 0;
}

void arena_release(struct arena *arena)
{
    for (struct arena_chunk *chunk = arena->first, *next; chunk; chunk = next) {
        next = chunk->next;
        UNPOISON(chunk->data, chunk->size);
        mem_free(chunk);
    }
    *arena = (struct arena){0};
}

size_t arena_bytes(const struct arena *arena)
{
    size_t bytes = 0;
    for (const struct arena_chunk *chunk = arena->first; chunk; chunk = chunk->next)
        bytes += sizeof(*chunk) + chunk->size;
    return bytes;
}
