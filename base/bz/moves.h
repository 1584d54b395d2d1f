/* The move-to-front list of bytes: its near places in registers and the far ones in memory. This part is the same for
 * every register width. */
#pragma once

#include <stdint.h>
#include <string.h>

/* For each of the first `count` bytes, where it comes from when the one at place symbol - 1 moves to the front. */
static inline void moves_of(unsigned symbol, unsigned count, uint8_t *from)
{
    const unsigned place = symbol < 2 ? 0 : symbol - 1;
    for (unsigned i = 0; i < count; i++)
        from[i] = (uint8_t)(i == 0 ? place : i <= place ? i - 1 : i);
}

/* Removes the byte at place symbol - 1 >= near; `last`, until now at place near - 1, moves to place near. */
__attribute__((noinline, cold)) static uint8_t moves_far(uint8_t *bytes, unsigned near, unsigned symbol, uint8_t last)
{
    const unsigned place = symbol - 1;
    const uint8_t front = bytes[place];
    memmove(bytes + near + 1, bytes + near, place - near);
    bytes[near] = last;
    return front;
}
