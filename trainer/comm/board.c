#include "trainer/comm/board.h"

#include "base/hash.h"
#include "base/progress.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

struct board_page {
    struct board_start start; /* written by the parent, while no child runs */
    _Atomic uint64_t saved;
    _Atomic uint64_t steps[]; /* of each child */
};

static size_t bytes_for(uint32_t children)
{
    return offsetof(struct board_page, steps) + children * sizeof(uint64_t);
}

static struct board_page *map(int fd, size_t bytes)
{
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return page == MAP_FAILED ? NULL : page;
}

int board_make(struct board *board, uint32_t children, struct error *err)
{
    uint64_t number = 0;
    const double began = clock_now();
    *board = (struct board){.children = children, .fd = memfd_create("dstrain", MFD_CLOEXEC)};
    if (board->fd >= 0 && ftruncate(board->fd, (off_t)bytes_for(children)) == 0)
        board->page = map(board->fd, bytes_for(children));
    if (!board->page || getrandom(&number, sizeof number, 0) != sizeof number) {
        fail_errno(err, "", "there is no memory to share with the processes");
        err->kind = ERR_RESOURCE;
        board_remove(board);
        return -1;
    }
    hash_text(number, board->page->start.command);
    board->page->start.began = began;
    return 0;
}

void board_remove(struct board *board)
{
    if (board->page)
        munmap(board->page, bytes_for(board->children));
    if (board->fd >= 0)
        close(board->fd);
    *board = (struct board){.fd = -1};
}

void board_next(struct board *board, const char *after)
{
    struct board_page *page = board->page;
    page->start.number++;
    snprintf(page->start.after, sizeof page->start.after, "%s", after);
    for (uint32_t i = 0; i < board->children; i++)
        atomic_store(&page->steps[i], 0);
}

uint64_t board_step(const struct board *board, uint32_t child)
{
    assert(child < board->children);
    return atomic_load(&board->page->steps[child]);
}

uint64_t board_saved(const struct board *board)
{
    return atomic_load(&board->page->saved);
}

static struct board_page *mine; /* set before there are threads */
static uint32_t place;

void board_take(int fd, uint32_t child)
{
    struct stat facts;
    if (fstat(fd, &facts) == 0 && (size_t)facts.st_size >= bytes_for(child + 1))
        mine = map(fd, (size_t)facts.st_size);
    place = child;
    close(fd);
}

const struct board_start *board_start(void)
{
    return mine ? &mine->start : NULL;
}

void board_move(uint64_t step)
{
    if (mine)
        atomic_store_explicit(&mine->steps[place], step, memory_order_relaxed);
}

void board_save(uint64_t step)
{
    if (mine)
        atomic_store(&mine->saved, step);
}
