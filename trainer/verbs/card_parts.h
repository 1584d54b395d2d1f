/* Parts of a model card: Markdown tables, and scores. Text from files goes only into table cells, where everything with
 * a meaning in Markdown or HTML is escaped, because records and result files come from anywhere. */
#pragma once

#include "base/str.h"

#include <jansson.h>

void card_escaped(struct buf *card, const char *text);
/* A heading and the head of a table of two columns. */
void card_table(struct buf *card, const char *title);
void card_row(struct buf *card, const char *key, const char *value);
/* A row for a number, a string or a boolean; nothing for any other value. */
void card_value(struct buf *card, const char *key, const json_t *value);

/* Tables of the scores of a fine-tuned model (scores.json), each with its 95 % interval where it has a formula
 * (tune/confidence.h) and beside always giving the commonest label; of several seeds their means; of all tasks each; of
 * any other object its numbers as they are. */
void card_scores(struct buf *card, const json_t *scores);
