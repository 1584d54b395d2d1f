/* Kernels and host code with one fault each, for test_planted.c. */
#pragma once

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Name of each fault, and the emulator's message. */
#define PLANTED(WORD)                                                                                                  \
    WORD(host_reads, "the host touches device memory")                                                                 \
    WORD(kernel_leaves, "leaves a block of device memory")                                                             \
    WORD(too_many_threads, "of 128 threads (at most 64)")                                                              \
    WORD(beyond_1024_threads, "of 1056 threads (at most 1024)")                                                        \
    WORD(shared_not_permitted, "with 49168 bytes of shared memory (at most 49152)")                                    \
    WORD(shared_too_large, "with 232464 bytes of shared memory (at most")                                              \
    WORD(barrier_not_reached, "wait for one another")                                                                  \
    WORD(lanes_part, "others of its warp to")                                                                          \
    WORD(shared_left_over, "reads what no thread wrote")                                                               \
    WORD(two_write, "writes what another wrote")                                                                       \
    WORD(read_before_barrier, "with no barrier between")                                                               \
    WORD(write_before_barrier, "with no barrier between")                                                              \
    WORD(warp_not_in_step, "with no barrier between")                                                                  \
    WORD(copy_not_landed, "comes to where a copy has not landed")                                                      \
    WORD(vector_misaligned, "which is no multiple of 16")                                                              \
    WORD(copy_misaligned, "a copy from or to an unaligned place")                                                      \
    WORD(source_reused, "other numbers than it should be")                                                             \
    WORD(result_too_early, "other numbers than it should be")                                                          \
    WORD(write_not_awaited, "other numbers than it should be")                                                         \
    WORD(read_not_awaited, "other numbers than it should be")

/* planted_NAME(true) has the fault, planted_NAME(false) does the same work without it. */
#define PLANTED_DECLARE(name, message) void planted_##name(bool wrong);
PLANTED(PLANTED_DECLARE)
#undef PLANTED_DECLARE

#ifdef __cplusplus
}
#endif
