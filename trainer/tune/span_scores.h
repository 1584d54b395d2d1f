/* How well predicted tags agree with the true ones: the share of words, and the spans that tags of IOB, IOBES and IO
 * mark, as seqeval's default finds them (seqeval 1.2, get_entities): a tag is a letter and a type, B-PER; a span ends
 * before another type, B, S or O; one without a B begins all the same. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* {"accuracy", "precision", "recall", "f1", "per_type": {type: {"precision", "recall", "f1", "support"}}} of tags
 * [count] in sentences that end before ends[0], ends[1], … ends[sentences - 1] == count. A score that is undefined
 * is 0. Without `spans` the accuracy alone. */
json_t *span_scores(const char *const *found, const char *const *truth, size_t count, const size_t *ends,
                    size_t sentences, bool spans);
/* Whether tags mark spans: each is O, or B, I, E, S, L or U, a hyphen and a type. */
bool span_tags(const char *const *tags, size_t count);
