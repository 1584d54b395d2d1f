/* --pairs none: cuts the documents of a split, in order, into segments that fill the length, as ranges of their ids. A
 * segment is cut wherever it is full, so nothing is lost. Draws are named by the document and the offset of the
 * segment's first piece. */
#include "pipeline/pairs/pairs.h"

#include "base/random.h"

#include <assert.h>

/* The tokens of a segment, without [CLS] and the last [SEP]. */
static size_t target_of(const struct pair_options *options, const struct random_stream *stream, uint32_t document,
                        size_t offset)
{
    uint32_t words[4];
    const uint32_t room = options->length - 2;
    random_at4(stream, document, (uint32_t)offset, words);
    return random_chance(words[0], options->short_seq_prob) ? 2 + random_below(words[1], room - 1) : room;
}

void pairs_of_split(const struct documents *documents, bool valid, const struct pair_options *options,
                    struct pairs *pairs)
{
    const struct random_stream stream = random_stream(options->seed, RANDOM_PAIR, options->file, options->window,
                                                      options->part, options->length, options->copy);
    const uint32_t *list = valid ? documents->held_out : documents->train;
    const size_t count = valid ? documents->held_out_count : documents->train_count;
    struct sample_pair pair = {0}; /* the segment being filled; a_size 0: none */
    size_t room = 0;               /* tokens that still fit */
    for (size_t i = 0; i < count; i++) {
        const size_t start = document_start(documents, list[i]), end = document_end(documents, list[i]);
        for (size_t at = start; at < end;) {
            if (pair.a_size == 0) {
                pair = (struct sample_pair){.a = at, .document_a = list[i]};
                room = target_of(options, &stream, list[i], at - start);
            } else {
                room--; /* the [SEP] between the documents */
            }
            const size_t taken = end - at < room ? end - at : room;
            assert(taken > 0); /* a segment without room for a piece was given before */
            pair.a_size += taken;
            pair.document_b = list[i];
            room -= taken;
            at += taken;
            /* A further document needs room for [SEP] and at least one piece. */
            if (room == 0 || (at == end && (room == 1 || !options->packed))) {
                pairs_add(pairs, &pair);
                pair.a_size = 0;
            }
        }
    }
    if (pair.a_size > 0)
        pairs_add(pairs, &pair);
}
