/* Tests the emulator itself. The correct form of each fault in planted.h must pass in every schedule of the streams;
 * the wrong form must end the process in at least one schedule, with the message that names the fault. README.md has
 * the table. */
#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/cuda/planted.h"

#define SCHEDULES 20

struct planted {
    const char *name, *message;
    void (*run)(bool wrong);
};

/* Runs it in another process. Returns its status; said = what it wrote to stderr. */
static int status_of(void (*run)(bool wrong), bool wrong, int schedule, char said[static 1000])
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", schedule);
        setenv("EMULATED_SCHEDULE", number, 1);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        dup2(ends[1], STDERR_FILENO);
        run(wrong);
        _exit(0);
    }
    close(ends[1]);
    ssize_t bytes;
    for (size_t at = 0; memset(said + at, 0, 1000 - at), (bytes = read(ends[0], said + at, 999 - at)) > 0;)
        at += (size_t)bytes;
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void fault_is_found(void **state)
{
    const struct planted *planted = *state;
    char said[1000];
    for (int schedule = 1; schedule <= SCHEDULES; schedule++) {
        const int status = status_of(planted->run, false, schedule, said);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("done right, it ends in schedule %d with status %x: %s", schedule, (unsigned)status, said);
    }
    for (int schedule = 1; schedule <= SCHEDULES; schedule++) {
        const int status = status_of(planted->run, true, schedule, said);
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(said, planted->message))
            return;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("done wrong, it ends with status %x, and says '%s', not '%s'", (unsigned)status, said,
                     planted->message);
    }
    fail_msg("done wrong, it is right in %d schedules", SCHEDULES);
}

int main(void)
{
    static struct planted all[] = {
#define ENTRY(name, message) {#name, message, planted_##name},
        PLANTED(ENTRY)
#undef ENTRY
    };
    struct CMUnitTest tests[sizeof all / sizeof *all];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tests[i] = (struct CMUnitTest){all[i].name, fault_is_found, NULL, NULL, &all[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
