/* The sections of the page, in order. Each appends its part to the page. */
#pragma once

#include "base/html.h"
#include "trainer/report/run_report.h"

void section_headline(struct buf *page, const struct report *report);
void section_comparison(struct buf *page, const struct report *report); /* in the headline, of several runs */
void section_scores(struct buf *page, const struct report *report);     /* of fine-tuned runs */
void section_curves(struct buf *page, const struct report *report);
void section_guesses(struct buf *page, const struct report *report);
void section_settings(struct buf *page, const struct report *report);
void section_starts(struct buf *page, const struct report *report);

/* Appends the run's name, preceded by its colour if there are several runs. */
void section_run_name(struct buf *page, const struct report *report, size_t run);
/* `key` without the ending `end`: "mlm" for "mlm_loss" and "_loss"; "" if it does not have that ending. */
struct str section_part(const char *key, const char *end);
uint64_t section_steps(const struct report_run *run); /* of the recipe; 0: not known */
uint64_t section_last_step(const struct report_run *run);
double section_speed(const struct report_run *run); /* samples a second on average */
/* The first accuracy in the last line of a split, in %; NAN if there is none. */
double section_accuracy(const struct history *h, bool valid);
/* Formats a number for the page; "–" if it is not finite. */
char *section_number(double value, const char *format, char out[32]);
