/* fork, exec and wait, with the signals as system() of POSIX sets them. */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void become(const char *program, char *const words[])
{
    static const int standard[] = {SIGINT, SIGQUIT, SIGPIPE, SIGXFSZ};
    for (size_t i = 0; i < sizeof standard / sizeof *standard; i++)
        signal(standard[i], SIG_DFL);
    execvp(program, words);
    _exit(127);
}

static int wait_for(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int child_run(const char *program, char *const words[], struct error *err)
{
    if (access(program, X_OK) != 0)
        return fail_errno(err, program, "cannot be started");
    fflush(NULL);
    void (*interrupt)(int) = signal(SIGINT, SIG_IGN);
    void (*quit)(int) = signal(SIGQUIT, SIG_IGN);
    const pid_t pid = fork();
    if (pid == 0)
        become(program, words);
    const int failure = pid < 0 ? errno : 0, code = pid > 0 ? wait_for(pid) : 0;
    signal(SIGINT, interrupt);
    signal(SIGQUIT, quit);
    errno = failure;
    if (pid < 0)
        return fail_errno(err, program, "cannot be started");
    return code;
}

int child_open(struct child_output *child, char *const words[], int in, struct error *err)
{
    int ends[2];
    *child = CHILD_NONE;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return fail_errno(err, words[0], "cannot be started");
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        if (dup2(in, STDIN_FILENO) < 0 || dup2(ends[1], STDOUT_FILENO) < 0)
            _exit(127);
        become(words[0], words);
    }
    const int failure = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        errno = failure;
        return fail_errno(err, words[0], "cannot be started");
    }
    *child = (struct child_output){pid, ends[0]};
    return 0;
}

int child_close(struct child_output *child)
{
    if (child->pid == 0)
        return 0;
    close(child->out);
    const int code = wait_for(child->pid);
    *child = CHILD_NONE;
    return code;
}
