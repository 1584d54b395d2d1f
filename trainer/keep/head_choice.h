/* Whether a model keeps the head of the model that it starts from. The shape of a head says nothing about what its rows
 * stand for, so whoever knows the task decides (tune/labels.h), and the weights follow here. */
#pragma once

#include "trainer/keep/names.h"

/* Zeroed: the head is kept as it is, if there is one of the model's shape. */
struct head_choice {
    bool drawn;     /* initialized from the seed, whatever the file has */
    bool moved;     /* row i of the head is row rows[i] of the file's */
    bool fits;      /* drawn, although the file's head has the shape of the model's */
    bool by_names;  /* drawn for the names of its labels alone */
    uint32_t *rows; /* [labels] if `moved`, else NULL */
    char why[320];  /* of a choice that is not zeroed: for the user */
};

void head_choice_release(struct head_choice *choice);
/* After names_read: draws the task's head in flat memory again, or moves its rows. */
void head_choice_apply(const struct head_choice *choice, const struct params *params, uint64_t seed, float *flat);
/* Whether the file has a head of a task that is not kept as it is, which head_choice_say then tells the user. Takes one
 * that is drawn anew out of the report's lists. */
bool head_choice_tells(const struct head_choice *choice, struct names_report *report);
void head_choice_say(const struct head_choice *choice, struct names_report *report);
