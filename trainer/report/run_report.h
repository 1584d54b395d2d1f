/* One or several runs as one page of HTML: scores of fine-tuned models, the runs' curves in common plots, samples with
 * the model's guesses, settings, starts. The page is self-contained (base/html.h), the contents of a run's files are
 * always escaped, and its length is bounded. */
#pragma once

#include "base/str.h"
#include "trainer/run/health.h"

#define REPORT_NAME     "report.html"
#define REPORT_RUNS_MAX 8u /* more colours could not be told apart */

struct report_run {
    const char *directory; /* as the user named it; borrowed */
    json_t *record;        /* run.json */
    struct history history;
    struct health health;
    json_t *guesses;      /* trainer/tune/guesses.h, or NULL */
    char no_guesses[512]; /* the reason if NULL; untrusted text */
    json_t *scores;       /* scores.json of a fine-tuned run, or NULL */
};

struct report {
    struct report_run runs[REPORT_RUNS_MAX];
    size_t count;
    const char *note; /* a paragraph below the title, or NULL; untrusted text */
};

/* Reads run.json and metrics.jsonl. ERR_USAGE: no such directory, or not a run; ERR_VERIFY: a damaged file. */
int report_add(struct report *report, const char *directory, struct error *err);
bool report_has_scores(const struct report *report); /* of any run */
void report_make(struct buf *page, const struct report *report);
void report_release(struct report *report);
