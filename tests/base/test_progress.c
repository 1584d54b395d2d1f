/* The progress line on a terminal and elsewhere, and requests to stop. */
#include "tests/base/help.h"
#include "tests/needs_faults.h"

#include "base/log.h"
#include "base/progress.h"

#include <pty.h>
#include <signal.h>
#include <time.h>

static void nap(double seconds)
{
    nanosleep(&(struct timespec){(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)}, NULL);
}

static void show_to_a_file(void *argument)
{
    struct progress progress;
    const enum log_level level = *(enum log_level *)argument;
    log_open("prog", level, false);
    progress_open(&progress);
    if (progress_due(&progress))
        _exit(1);
    progress.shown -= 31; /* as if half a minute had passed */
    if (progress_due(&progress) != (level != LOG_QUIET))
        _exit(2);
    progress_show(&progress, 0.25, "%d pages", 7);
    if (progress_due(&progress))
        _exit(3);
    progress.first_time -= 20; /* as if the first progress line were 20 seconds old */
    progress_show(&progress, 0.75, "%d pages", 14);
    progress_show(&progress, -1, "%d pages", 15);
    progress_close(&progress);
}

static void show_as_json(void *argument)
{
    struct progress progress;
    (void)argument;
    log_open("prog", LOG_NORMAL, true);
    progress_open(&progress);
    progress_show(&progress, 0.25, "7 \"pages\"");
    progress.first_time -= 20;
    progress_show(&progress, 0.75, "14 pages");
    progress_show(&progress, -1, "15 pages");
    progress_close(&progress);
}

TEST(json_lines_hold_share_and_time)
{
    struct outcome seen;
    in_child(show_as_json, NULL, &seen);
    assert_int_equal(seen.code, 0);
    const char *second = strchr(seen.err, '\n') + 1;
    assert_ptr_equal(strstr(seen.err, "{\"level\":\"progress\",\"text\":\"7 \\\"pages\\\"\",\"share\":0.25}\n"),
                     seen.err);
    assert_ptr_equal(
        strstr(second, "{\"level\":\"progress\",\"text\":\"14 pages\",\"share\":0.75,\"seconds_left\":10.0"), second);
    assert_non_null(strstr(second, "{\"level\":\"progress\",\"text\":\"15 pages\"}\n"));
}

TEST(a_file_gets_lines_and_the_time_left)
{
    struct outcome seen;
    enum log_level level = LOG_NORMAL;
    in_child(show_to_a_file, &level, &seen);
    assert_int_equal(seen.code, 0);
    assert_string_equal(seen.out, "");
    assert_string_equal(seen.err, "7 pages\n14 pages │ 0:10 left\n15 pages\n");
    level = LOG_QUIET;
    in_child(show_to_a_file, &level, &seen);
    assert_int_equal(seen.code, 0);
    assert_string_equal(seen.err, "");
}

static void show_stages(void *argument)
{
    struct progress progress;
    (void)argument;
    log_open("prog", LOG_NORMAL, false);
    progress_open(&progress);
    progress.after = 5;
    progress_begin(&progress, 0.5); /* a stage that is resumed in its middle */
    progress_show(&progress, 0.6, "too early");
    progress.guess = 30;
    progress_show(&progress, 0.6, "guessed");
    progress.guess = 0;
    progress_show(&progress, 0.6, "guessed too little");
    progress.first_time -= 20;
    progress_show(&progress, 0.6, "known");
    progress_show(&progress, 1, "over");
    progress_close(&progress);
}

TEST(what_is_after_a_stage_counts)
{
    struct outcome seen;
    in_child(show_stages, NULL, &seen);
    assert_int_equal(seen.code, 0);
    assert_string_equal(seen.err, "too early\nguessed │ 0:35 left\nguessed too little │ 0:05 left\n"
                                  "known │ 1:25 left\nover │ 0:05 left\n");
}

TEST(lines_come_as_often_as_asked)
{
    struct progress progress;
    log_open("prog", LOG_NORMAL, true);
    progress_open(&progress);
    progress.shown -= 2;
    assert_false(progress_due(&progress));
    setenv("DS_PROGRESS_SECONDS", "1.5", 1);
    assert_true(progress_due(&progress));
    unsetenv("DS_PROGRESS_SECONDS");
}

static void show_to_a_terminal(void)
{
    struct progress progress;
    log_open("prog", LOG_NORMAL, false);
    progress_open(&progress);
    progress.shown += 1000; /* as if the last line were still in the future */
    if (progress_due(&progress))
        _exit(1);
    progress.shown -= 1000.1;
    if (!progress_due(&progress))
        _exit(2);
    progress_show(&progress, -1, "first");
    progress_show(&progress, -1, "a line that is wider than the terminal");
    progress_show(&progress, 0.25, "first share");
    progress.first_time -= 20;
    progress_show(&progress, 0.75, "cut for the time that is left");
    progress_show(&progress, -1, "whole │ fields │ only");
    progress_show(&progress, -1, "no part of 123,456");
    progress_show(&progress, -1, "no part of a 123,456");
    const struct progress_field fields[] = {{"step 1", 0}, {" (2)", 3}, {" │ 4.5", 1}, {" │ 6 %", 2}, {" │ 7", 4}};
    progress_show_fields(&progress, -1, fields, 5);
    progress_show_fields(&progress, 0.75, fields, 5);
    progress_show_fields(&progress, 0.75, (const struct progress_field[]){{"a", 0}, {" (22)", 2}, {" │ b", 1}}, 3);
    log_say("said");
    progress_show(&progress, -1, "last");
    progress_close(&progress);
    log_say("nothing stands");
    log_status_left();
    log_say("over it");
    fflush(NULL);
    _exit(0);
}

TEST(a_terminal_gets_one_line_rewritten)
{
    const struct winsize size = {.ws_row = 10, .ws_col = 20};
    char text[1000];
    size_t used = 0;
    int terminal, status;
    setenv("TERM", "xterm", 1);
    const pid_t pid = forkpty(&terminal, NULL, NULL, &size);
    if (pid < 0)
        skip();
    if (pid == 0)
        show_to_a_terminal();
    for (ssize_t got; used < sizeof(text) - 1 && (got = read(terminal, text + used, sizeof(text) - 1 - used)) > 0;)
        used += (size_t)got;
    text[used] = 0;
    close(terminal);
    waitpid(pid, &status, 0);
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_string_equal(
        text, "first\r\033[Ka line that is wide\r\033[Kfirst share\r\033[Kcut for │ 0:10 left\r\033[K"
              "whole │ fields\r\033[Kno part of 123,456\r\033[Kno part of a \r\033[K"
              "step 1 │ 4.5 │ 6 %\r\033[Kstep 1 │ 0:10 left\r\033[Ka │ b │ 0:10 left\r\033[Ksaid\r\nlast\r\033[K"
              "nothing stands\r\n\r\033[Kover it\r\n");
}

static void take_signals(void *argument)
{
    const int *signals = argument;
    signal(SIGINT, SIG_DFL); /* what runs in the background ignores it, and what is ignored stays so */
    signal(SIGHUP, SIG_DFL);
    stop_on_signals();
    if (stop_requested())
        _exit(1);
    for (; *signals; signals++) {
        raise(*signals);
        if (!stop_requested())
            _exit(2);
    }
}

TEST(one_signal_asks_and_a_second_one_leaves)
{
    struct outcome seen;
    int none[] = {0}, each[][2] = {{SIGINT, 0}, {SIGTERM, 0}, {SIGHUP, 0}, {SIGUSR1, 0}, {SIGUSR2, 0}, {SIGXCPU, 0}},
        two[] = {SIGTERM, SIGINT, 0};
    in_child(take_signals, none, &seen);
    assert_int_equal(seen.code, 0);
    for (size_t i = 0; i < COUNT(each); i++) {
        in_child(take_signals, each[i], &seen);
        assert_int_equal(seen.code, 0);
    }
    in_child(take_signals, two, &seen);
    assert_int_equal(seen.code, 75);
}

static void ask_then_signal(void *argument)
{
    (void)argument;
    stop_on_signals();
    stop_request();
    if (!stop_requested())
        _exit(1);
    raise(SIGINT); /* the first signal: the program still saves what was requested */
}

TEST(asking_is_not_a_signal)
{
    struct outcome seen;
    in_child(ask_then_signal, NULL, &seen);
    assert_int_equal(seen.code, 0);
}

TEST(the_clock_increases)
{
    const double before = clock_now();
    nap(0.01);
    assert_true(clock_now() - before >= 0.01 && clock_now() - before < 60);
}
