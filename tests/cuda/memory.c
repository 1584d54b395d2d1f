/* Every block has its own pages and ends at a page that is never accessible. */
#include "tests/cuda/memory.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"

#define ALIGN      256 /* bytes, as cudaMalloc has it */
#define LARGE_PAGE ((size_t)2 << 20)

static struct block {
    char *pages, *memory;
    size_t open_bytes, bytes; /* of the pages, without the last one; of the memory, rounded up */
} * blocks;
static size_t count, taken;
static int inside;
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void protect(const struct block *block, bool open)
{
    const int status = mprotect(block->pages, block->open_bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE);
    assert(status == 0);
}

static void touched(int number, siginfo_t *info, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++) {
        const ptrdiff_t at = (char *)info->si_addr - blocks[i].memory;
        if ((char *)info->si_addr < blocks[i].pages || at >= (ptrdiff_t)(blocks[i].bytes + page_bytes()))
            continue;
        fprintf(stderr, "%s device memory: byte %td of %zu\n",
                inside ? "a kernel, copy or product leaves a block of" : "the host touches", at, blocks[i].bytes);
        abort();
    }
    signal(number, SIG_DFL); /* not device memory: returning repeats the fault, which ends the process */
}

void device_lock(void)
{
    pthread_mutex_lock(&lock);
}

void device_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

bool device_holds(const void *memory, size_t bytes)
{
    bool holds = false;
    device_lock();
    for (size_t i = 0; i < count; i++) {
        const char *from = blocks[i].memory;
        holds |= (const char *)memory >= from && (const char *)memory + bytes <= from + blocks[i].bytes;
    }
    device_unlock();
    return holds;
}

size_t device_free_bytes(void)
{
    const char *text = getenv("EMULATED_FREE");
    const size_t all = text ? (size_t)strtoull(text, NULL, 10) : EMULATED_MEMORY;
    return all > taken ? all - taken : 0;
}

/* Aligned for huge pages, so that mprotect has few pages to change. */
static char *pages_at_large_page(size_t bytes)
{
    char *all = mmap(NULL, bytes + LARGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert(all != MAP_FAILED);
    char *pages = all + (LARGE_PAGE - (uintptr_t)all % LARGE_PAGE) % LARGE_PAGE;
    if (pages > all)
        munmap(all, (size_t)(pages - all));
    if (pages < all + LARGE_PAGE)
        munmap(pages + bytes, (size_t)(all + LARGE_PAGE - pages));
    (void)madvise(pages, bytes, MADV_HUGEPAGE); /* only a hint */
    return pages;
}

static void *take(size_t bytes)
{
    const size_t page = page_bytes();
    struct block block = {.bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN};
    block.open_bytes = (block.bytes + page - 1) / page * page;
    if (block.bytes > device_free_bytes())
        return NULL;
    if (!blocks) {
        struct sigaction action = {.sa_sigaction = touched, .sa_flags = SA_SIGINFO};
        sigaction(SIGSEGV, &action, NULL);
    }
    block.pages = pages_at_large_page(block.open_bytes + page);
    block.memory = block.pages + block.open_bytes - block.bytes;
    protect(&block, true);
    memset(block.memory, 0xff, block.bytes);
    protect(&block, inside > 0);
    blocks = mem_grow(blocks, count + 1, sizeof *blocks);
    blocks[count++] = block;
    taken += block.bytes;
    return block.memory;
}

void *device_take(size_t bytes)
{
    device_lock();
    void *memory = take(bytes);
    device_unlock();
    return memory;
}

void device_give(void *memory)
{
    size_t i = 0;
    device_lock();
    while (i < count && blocks[i].memory != memory)
        i++;
    assert(i < count || !memory);
    if (i < count) {
        munmap(blocks[i].pages, blocks[i].open_bytes + page_bytes());
        taken -= blocks[i].bytes;
        blocks[i] = blocks[--count];
    }
    device_unlock();
}

void device_enter(void)
{
    device_lock();
    for (size_t i = 0; inside == 0 && i < count; i++)
        protect(&blocks[i], true);
    inside++;
}

void device_leave(void)
{
    assert(inside > 0);
    inside--;
    for (size_t i = 0; inside == 0 && i < count; i++)
        protect(&blocks[i], false);
    device_unlock();
}
