/* Memory that a command with --restarts and its children share. A child leaves there what it was doing, so that the
 * parent knows it even after SIGKILL; the parent leaves there what a child should know of the starts before it.
 *
 *     parent: board_make → a start → board_step, board_saved → board_next → a start … → board_remove
 *     child:  board_take → board_move, board_save (no-ops in a process without a board)
 *
 * Calls for children may come from any thread. */
#pragma once

#include "base/error.h"

#define BOARD_AFTER 256

/* What a child knows of its start. */
struct board_start {
    char command[17];        /* hexadecimal digits that are the same for all starts of one command, and no other's */
    uint32_t number;         /* of starts before this one */
    double began;            /* clock_now() at the first start */
    char after[BOARD_AFTER]; /* why the start before it failed; "" for the first */
};

struct board {
    int fd; /* of the shared memory, for children */
    uint32_t children;
    struct board_page *page; /* NULL: there is no board */
};

/* ERR_RESOURCE: the system has no such memory. */
int board_make(struct board *board, uint32_t children, struct error *err);
void board_remove(struct board *board);
/* Before every start but the first: `after` is why the one before failed. */
void board_next(struct board *board, const char *after);
/* The step in which a child is, or was when it ended; 0: before the first. */
uint64_t board_step(const struct board *board, uint32_t child);
/* The step from which a start goes on; 0: from the beginning. */
uint64_t board_saved(const struct board *board);

/* For a child, once, before there are threads: takes over the descriptor. */
void board_take(int fd, uint32_t child);
/* NULL: this process was not started by a command with --restarts. */
const struct board_start *board_start(void);
void board_move(uint64_t step); /* this process is in this step */
void board_save(uint64_t step); /* rank 0: the run would go on from here */
