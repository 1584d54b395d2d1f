/* One process of a test of comm. Its numbers are a pure function of the rank, so that every process can compute the
 * expected result with a plain loop. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "trainer/comm/comm.h"

#define RANKS_MAX 8

struct rank {
    enum comm_kind kind;
    struct comm_options options;
    const char *directory; /* of the store; tests may put files there */
};

#define CHECK(truth, ...)                                                                                              \
    do {                                                                                                               \
        if (!(truth)) {                                                                                                \
            fprintf(stderr, "%s:%d: " #truth ": ", __FILE__, __LINE__);                                                \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Opens comm, or exits: with 77 if the kind was not built. */
struct comm *open_rank(const struct rank *rank);

/* Every operation against a plain loop, with counts up to `count_max`. */
void test_collectives(const struct rank *rank, size_t count_max);

/* Injects a fault and checks the error that each process gets. false: no such fault. */
bool test_fault(const struct rank *rank, const char *fault);
