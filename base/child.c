/* fork, exec and wait, with the signals as system() of POSIX sets them. */
#include "base/child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void become(const char *program, char *const words[])
{
    static const int standard[] = {SIGINT, SIGQUIT, SIGPIPE, SIGXFSZ};
    for (size_t i = 0; i < sizeof standard / sizeof *standard; i++)
        signal(standard[i], SIG_DFL);
    execv(program, words);
    _exit(127);
}

int child_run(const char *program, char *const words[], struct error *err)
{
    int status = 0;
    if (access(program, X_OK) != 0)
        return fail_errno(err, program, "cannot be started");
    fflush(NULL);
    void (*interrupt)(int) = signal(SIGINT, SIG_IGN);
    void (*quit)(int) = signal(SIGQUIT, SIG_IGN);
    const pid_t pid = fork();
    if (pid == 0)
        become(program, words);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    const int failure = pid < 0 ? errno : 0;
    signal(SIGINT, interrupt);
    signal(SIGQUIT, quit);
    errno = failure;
    if (pid < 0)
        return fail_errno(err, program, "cannot be started");
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
