#include "trainer/data/sequence.h"

#include "base/mem.h"

struct sequence sequence_make(const struct sequence_room *room)
{
    size_t count = room->length;
    for (int h = 0; h < HEAD_KINDS; h++)
        count += 2 * (size_t)room->marks[h];
    struct sequence sequence = {.ids = mem_clear(count, sizeof *sequence.ids)};
    uint32_t *at = sequence.ids + room->length;
    for (int h = 0; h < HEAD_KINDS; h++) {
        sequence.marks[h].tokens = at;
        sequence.marks[h].labels = at + room->marks[h];
        at += 2 * (size_t)room->marks[h];
    }
    return sequence;
}

void sequence_release(struct sequence *sequence)
{
    mem_free(sequence->ids);
    *sequence = (struct sequence){0};
}
