/* What a training reaches: the recipe that docs/RECORDS.md found, and a rule for its held-out loss, by which dstrain
 * plan --best goes. Arithmetic alone.
 *
 * The recipe is --recipe fast: samples of 64 tokens, 16 a step, with the rate of rule_rate. With W weights in the
 * matrices of a model's layers and D tokens, of which repeated ones count as choice.h says, its held-out loss per
 * masked piece is
 *
 *     L = E + A (W / 10^6)^-0.34 + B (D / 10^6)^-0.28
 *
 * Form and exponents are those of Hoffmann et al. 2022 (Training Compute-Optimal Large Language Models, equation 10).
 * tests/bench/record_rule.py fits E, A and B to rows of docs/RECORDS.md, which says how far the rule is off on rows
 * that it has not seen. They hold for the books of that page with a vocabulary of 8,192. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RULE_SEQ   64
#define RULE_RANGE 0.07 /* of the loss, both ways: the error at ten times the FLOP of the fitted rows */

/* The learning rate for a number of steps: 0.45 / sqrt(steps), at least and at most what rows have. */
double rule_rate(uint64_t steps);
double rule_loss(double weights, double tokens);
/* Whether rows are as large as the model and read their data as often. */
bool rule_knows(double weights, double epochs);
/* The same, and whether they have as many FLOP. */
bool rule_covers(double weights, double epochs, double flop);
