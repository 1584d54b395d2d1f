/* Decodes the runs of the last column to the text. A block holds the last column of the sorted rotations of a text. The
 * row whose rotation begins one byte earlier than row i's is
 *
 *     back(i) = rows that begin with a smaller byte + rows above i that end with the same byte
 *
 * so the entries of a run of equal bytes are consecutive numbers, and the table of all entries (back(i), byte of i) is
 * written from top to bottom in vectors. Starting at row `origin`, the entries give the text from its last byte to the
 * first, but each step is a read from a distant cache that depends on the step before. So the text is followed from
 * 1,024 rows spread over the table, 20 at a time. Each of these rows is marked in the table. A stretch ends at a marked
 * row, which names the stretch that continues there. Finally the stretches are joined from `origin` until `origin` is
 * reached again. In a periodic text, that happens before all are used.
 *
 *     entry    byte 0…7 │ back(i), or the number of the stretch 8…30 │ mark 31 */
#pragma once

#include "base/bz/block.h"

#include <assert.h>

#define MARK  (1u << 31)
#define CAME  (MARK >> 8) /* MARK in a lane's row, which is an entry >> 8 */
#define WIDTH 16          /* rows written at once */

typedef uint32_t row_vector __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));

/* Fills the table; false if the runs cannot be a column of a block. */
static bool fill_rows(struct block_space *space, size_t size_max)
{
    const row_vector ascending = {0,      1 << 8, 2 << 8,  3 << 8,  4 << 8,  5 << 8,  6 << 8,  7 << 8,
                                  8 << 8, 9 << 8, 10 << 8, 11 << 8, 12 << 8, 13 << 8, 14 << 8, 15 << 8};
    uint64_t counts[256] = {0}, size = 0;
    uint32_t entry[256]; /* the next row's, by the byte that it ends with */
    for (size_t i = 0; i < space->run_count; i++)
        counts[space->runs[i] & 255] += space->runs[i] >> 8;
    for (uint32_t byte = 0; byte < 256; byte++) {
        entry[byte] = (uint32_t)size << 8 | byte;
        size += counts[byte];
    }
    if (size > size_max || space->origin >= size)
        return false;
    uint32_t *row = space->rows;
    for (size_t i = 0; i < space->run_count; i++) {
        const uint32_t run = space->runs[i], length = run >> 8, byte = run & 255;
        const row_vector from = ascending + entry[byte];
        entry[byte] += length << 8;
        *(row_vector *)row = from; /* may write beyond the run; the next run overwrites it */
        for (uint32_t done = WIDTH; RARE(done < length); done += WIDTH)
            *(row_vector *)(row + done) = from + (done << 8);
        row += length;
    }
    space->rows[size] = (uint32_t)size << 8; /* idle lanes loop here */
    space->size = size;
    return true;
}

/* Saves the row's entry and marks the row; 0 if it is marked already. */
static unsigned mark_row(struct block_space *space, uint32_t row, uint32_t stretch)
{
    if (space->rows[row] & MARK)
        return 0;
    space->stretches[stretch].entry = space->rows[row];
    space->rows[row] = MARK | stretch << 8;
    return 1;
}

static uint32_t mark_rows(struct block_space *space)
{
    const uint32_t size = (uint32_t)space->size, wanted = size / 64 < STARTS_MAX ? size / 64 : STARTS_MAX;
    uint32_t count = mark_row(space, space->origin, 0);
    for (uint32_t i = 0; i < wanted; i++)
        count += mark_row(space, (uint32_t)((uint64_t)i * size / wanted), count);
    return count;
}

struct lanes {
    uint32_t row[LANES];
    uint32_t stretch[LANES]; /* the stretch that is being written */
    size_t end[LANES];       /* where that stretch ends in the lane's bytes */
    uint32_t starts, started, busy;
};

/* Writes the first byte of the next stretch, or leaves the lane idle. */
static void begin_stretch(struct block_space *space, struct lanes *lanes, unsigned lane, size_t place)
{
    if (lanes->started == lanes->starts) {
        lanes->row[lane] = (uint32_t)space->size;
        lanes->busy--;
        return;
    }
    const uint32_t entry = space->stretches[lanes->started].entry;
    lanes->stretch[lane] = lanes->started++;
    lanes->end[lane] = place + 1;
    lanes->row[lane] = entry >> 8;
    space->lanes[lane][place] = (uint8_t)entry;
}

/* Records the stretch of a lane that has reached a marked row. */
static void end_stretch(struct block_space *space, struct lanes *lanes, unsigned lane, size_t place)
{
    struct bz_stretch *stretch = &space->stretches[lanes->stretch[lane]];
    stretch->bytes = space->lanes[lane] + place + 1;
    stretch->size = lanes->end[lane] - (place + 1);
    stretch->next = lanes->row[lane] & ~CAME;
}

/* Each lane writes one byte per step, downwards, until any lane reaches a mark. Unrolled so that most lanes' rows stay
 * in registers: the more steps fit into the processor's out-of-order window, the more reads are in flight. */
#define STEP(lane)                                                                                                     \
    entry = rows[row[lane]], any |= entry, bytes[place + (lane)*LANE_BYTES] = (uint8_t)entry, row[lane] = entry >> 8
#define STEPS(lane) STEP(lane), STEP(lane + 1), STEP(lane + 2), STEP(lane + 3)

static size_t follow_lanes(const uint32_t *rows, uint32_t lanes[LANES], uint8_t *bytes, size_t place)
{
    uint32_t any = 0, entry, row[LANES];
    memcpy(row, lanes, sizeof(row));
    while (place > 0 && !(any & MARK)) {
        place--;
        STEPS(0), STEPS(4), STEPS(8), STEPS(12), STEPS(16);
    }
    memcpy(lanes, row, sizeof(row));
    return place;
}

/* Follows all stretches; false if a few are so long that the lanes run out of room. */
static bool follow(struct block_space *space)
{
    struct lanes lanes = {.starts = mark_rows(space), .busy = LANES};
    size_t place = LANE_BYTES - 1;
    for (unsigned lane = 0; lane < LANES; lane++)
        begin_stretch(space, &lanes, lane, place);
    while (lanes.busy > 0 && place > 0) {
        place = follow_lanes(space->rows, lanes.row, space->lanes[0], place);
        for (unsigned lane = 0; lane < LANES; lane++) {
            if (lanes.row[lane] & CAME) {
                end_stretch(space, &lanes, lane, place);
                begin_stretch(space, &lanes, lane, place);
            }
        }
    }
    return lanes.busy == 0;
}

static enum bzip2_result decode_rows(struct block_space *space, size_t size_max)
{
    if (!fill_rows(space, size_max) || !follow(space))
        return BZIP2_DAMAGED;
    /* The rows form cycles, and origin's is the text, or one period of it. Stretch 0 begins at origin. */
    size_t period = 0;
    uint32_t i = 0;
    do {
        period += space->stretches[i].size;
        i = space->stretches[i].next;
    } while (i != 0);
    /* Each stretch was followed backwards from its row, so the first one is the end of the text. */
    for (size_t left = period; left > 0; i = space->stretches[i].next) {
        assert(space->stretches[i].size <= left);
        left -= space->stretches[i].size;
        memcpy(space->text + left, space->stretches[i].bytes, space->stretches[i].size);
    }
    for (size_t at = period; at < space->size; at++)
        space->text[at] = space->text[at - period];
    return BZIP2_DONE;
}
