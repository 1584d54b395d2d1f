/* One line that shows how far a run is: rewritten in place on a terminal (at most 10 times a second), otherwise a line
 * of its own every 30 s (the environment variable DS_PROGRESS_SECONDS changes that), one JSON object per line under
 * --json. The caller makes the text; the timing is here. Nothing is printed under -q. One thread at a time.
 *
 * Shares are of one stage of a run; the time left is of the whole run, as far as the caller knows it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct progress {
    double started;     /* clock_now at progress_open */
    double shown;       /* clock_now of the last line */
    double first_share; /* where the stage begins, < 0: not known yet */
    double first_time;  /* and when it began */
    double guess;       /* seconds of the stage while its speed is unknown; < 0: none. Set by the caller */
    double after;       /* seconds of the stages after it. Set by the caller */
};

void progress_open(struct progress *progress);
/* The stage begins now, at this share of its work; a resumed stage begins above 0. Without this call it begins at the
 * first share that is reported. */
void progress_begin(struct progress *progress, double share);
/* True if it is time for a line. Cheap; ask before making the text. */
bool progress_due(struct progress *progress);
/* Shows `text` and the time left computed from `share` (of the stage, 0 to 1); a negative share omits the time. */
__attribute__((format(printf, 3, 4))) void progress_show(struct progress *progress, double share, const char *format,
                                                         ...);
/* The same for a text of fields, joined as they stand. Where a terminal is too narrow for all of them, those of the
 * highest rank are left out whole, one after the other; rank 0 stays. */
struct progress_field {
    const char *text; /* with the separator before it: " │ 12.3 seq/s" */
    int rank;
};
void progress_show_fields(struct progress *progress, double share, const struct progress_field *fields, size_t count);
void progress_close(struct progress *progress); /* clears the line */

double clock_now(void); /* monotonic seconds */

/* Requests to stop: the signals of stop_signals (SIGHUP unless it is ignored, as under nohup) set a flag that long work
 * polls; a second signal exits at once with code 75. A signal that a parent passes on by sigqueue, with the number of
 * signals it got as value, does not add to those received directly. */
void stop_on_signals(void);
/* SIGINT and SIGTERM; SIGHUP; SIGUSR1, SIGUSR2 and SIGXCPU, by which batch systems warn that time is nearly up. */
extern const int stop_signals[];
#define STOP_SIGNALS 6u
bool stop_is_ignored(int number); /* it is SIGHUP under nohup */
bool stop_requested(void);
void stop_request(void); /* as a signal would, for a stop that the program itself asks for */
