/* The sections of the page in their order, each from its own file. They only add to the page. */
#ifndef TRAINER_REPORT_SECTIONS_H
#define TRAINER_REPORT_SECTIONS_H

#include "base/html.h"
#include "trainer/report/run_report.h"

extern const char report_style[]; /* CSS that only this page needs */

void section_headline(struct buf *page, const struct report *report);
void section_curves(struct buf *page, const struct report *report);
void section_guesses(struct buf *page, const struct report *report);
void section_settings(struct buf *page, const struct report *report);
void section_starts(struct buf *page, const struct report *report);

/* The run's name, after its colour where there are several. */
void section_run_name(struct buf *page, const struct report *report, size_t run);
/* "mlm" of "mlm_loss" and its like; "" of a key that is the ending alone. */
struct str section_part(const char *key, const char *end);
/* A number for people, "–" of none. */
char *section_number(double value, const char *format, char out[32]);

#endif
