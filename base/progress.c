#include "base/progress.h"

#include "base/faults.h"
#include "base/log.h"
#include "base/str.h"

#include <assert.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define TERMINAL_SECONDS 0.1
#define LINE_SECONDS     30.0
#define GUESS_SECONDS    2.0 /* before that, an estimate of the time left would be too inaccurate */

#define EXIT_STOPPED 75

double clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool rewrites(void)
{
    return log_terminal() && !log_is_json();
}

void progress_open(struct progress *progress)
{
    const double now = clock_now();
    *progress = (struct progress){.started = now, .shown = now, .first_share = -1, .guess = -1};
}

void progress_begin(struct progress *progress, double share)
{
    progress->first_share = share;
    progress->first_time = clock_now();
}

bool progress_due(struct progress *progress)
{
    if (log_level_now() == LOG_QUIET)
        return false;
    return clock_now() - progress->shown >= (rewrites() ? TERMINAL_SECONDS : fault_progress_seconds(LINE_SECONDS));
}

/* Seconds left, by the speed since the stage began; -1 while that is unknown. */
static double time_left(struct progress *progress, double share)
{
    if (share < 0)
        return -1;
    if (progress->first_share < 0)
        progress_begin(progress, share);
    const double spent = progress->shown - progress->first_time, gained = share - progress->first_share;
    if (spent >= GUESS_SECONDS && gained > 0)
        return spent * (share < 1 ? 1 - share : 0) / gained + progress->after;
    if (progress->guess < 0)
        return -1;
    const double left = progress->started + progress->guess - progress->shown;
    return (left > 0 ? left : 0) + progress->after;
}

#define TEXT_BYTES 512

/* Joins the fields whose rank is at most `rank`. */
static char *join(const struct progress_field *fields, size_t count, int rank, char out[TEXT_BYTES])
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < count; i++)
        if (fields[i].rank <= rank && used < TEXT_BYTES)
            used += (size_t)snprintf(out + used, TEXT_BYTES - used, "%s", fields[i].text);
    return out;
}

/* Joins as many fields as fit in `columns`. */
static void join_fitting(const struct progress_field *fields, size_t count, size_t columns, char out[TEXT_BYTES])
{
    int rank = 0;
    for (size_t i = 0; i < count; i++)
        rank = fields[i].rank > rank ? fields[i].rank : rank;
    while (log_columns_of(join(fields, count, rank, out)) > columns && rank > 0)
        rank--;
}

void progress_show_fields(struct progress *progress, double share, const struct progress_field *fields, size_t count)
{
    char text[TEXT_BYTES], clock[32], end[64] = "";
    if (log_level_now() == LOG_QUIET)
        return;
    progress->shown = clock_now();
    const double left = time_left(progress, share);
    if (left >= 0)
        snprintf(end, sizeof end, " │ %s left", format_seconds(left, clock));
    join(fields, count, INT_MAX, text);
    if (log_is_json()) {
        log_progress_json(text, share, left);
    } else if (rewrites()) {
        const size_t columns = log_columns(), taken = log_columns_of(end);
        join_fitting(fields, count, columns > taken ? columns - taken : 0, text);
        log_status(text, end);
    } else {
        log_say("%s%s", text, end);
    }
}

void progress_show(struct progress *progress, double share, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    progress_show_fields(progress, share, &(struct progress_field){.text = text}, 1);
}

void progress_close(struct progress *progress)
{
    (void)progress;
    log_status(NULL, "");
}

static atomic_bool asked;  /* by stop_request */
static atomic_int signals; /* how many have arrived */
static atomic_int handed;  /* how many our parent received, as passed on with the signal */

/* A signal to all processes of a terminal or a Slurm step reaches us twice if our parent passes it on, so signals
 * received directly and signals passed on are counted separately. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    const int count = info->si_value.sival_int;
    const bool is_handed = info->si_code == SI_QUEUE && info->si_pid == getppid() && count > 0;
    if (is_handed && count > handed)
        handed = count;
    if ((is_handed ? handed : atomic_fetch_add(&signals, 1) + 1) > 1)
        _exit(EXIT_STOPPED);
}

const int stop_signals[STOP_SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};

bool stop_is_ignored(int number)
{
    struct sigaction now;
    return number == SIGHUP && sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

void stop_on_signals(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_RESTART | SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < STOP_SIGNALS; i++) {
        if (stop_is_ignored(stop_signals[i]))
            continue; /* the run outlives its terminal */
        const int failed = sigaction(stop_signals[i], &action, NULL);
        assert(!failed);
    }
}

bool stop_requested(void)
{
    return atomic_load_explicit(&asked, memory_order_relaxed) || atomic_load_explicit(&signals, memory_order_relaxed) ||
           atomic_load_explicit(&handed, memory_order_relaxed);
}

void stop_request(void)
{
    atomic_store(&asked, true);
}
