/* One line that tells how far a run is: rewritten in place on a terminal (at most 10 times a second), a line of its
 * own every 30 s otherwise, a JSON object per line under --json. The caller makes the text; the clock lives here.
 * Nothing is printed under -q. One thread at a time. */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>

struct progress {
    double started;     /* clock_now at progress_open */
    double shown;       /* clock_now of the last line */
    double first_share; /* the first share told, < 0 before: a resumed run does not start at 0 */
    double first_time;  /* and when */
};

void progress_open(struct progress *progress);
/* Is it time for a line? Cheap; ask before making the text. */
bool progress_due(struct progress *progress);
/* Shows `text` and the time left that `share` (done, 0 to 1) gives; a negative share leaves the time out. */
__attribute__((format(printf, 3, 4))) void progress_show(struct progress *progress, double share, const char *format,
                                                         ...);
void progress_close(struct progress *progress); /* clears the line */

double clock_now(void); /* monotonic seconds */

/* Requests to stop: SIGINT, SIGTERM and SIGUSR1 set a flag that long work polls; a second signal leaves at once with
 * exit code 75. */
void stop_on_signals(void);
bool stop_requested(void);
void stop_request(void); /* as a signal would; for tests and --stop-after */

#endif
