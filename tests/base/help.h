/* Helpers for tests: runs code in a child process and captures its exit code and output; makes temporary
 * directories. */
#pragma once

#include <sys/wait.h>

#include "base/file.h"
#include "tests/unit.h"

#define UNUSED       __attribute__((unused))
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct outcome {
    int code;        /* exit code, or 128 + signal */
    char out[20000]; /* what it wrote to stdout */
    char err[20000]; /* what it wrote to stderr */
};

UNUSED static void slurp(FILE *file, char *text, size_t size)
{
    rewind(file);
    text[fread(text, 1, size - 1, file)] = 0;
    fclose(file);
}

/* Runs body(argument) in a child process; the child exits with code 0 when body returns. */
UNUSED static void in_child(void (*body)(void *), void *argument, struct outcome *outcome)
{
    FILE *out = tmpfile(), *err = tmpfile();
    int status;
    assert_non_null(out);
    assert_non_null(err);
    fflush(NULL);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(fileno(out), STDOUT_FILENO);
        dup2(fileno(err), STDERR_FILENO);
        body(argument);
        fflush(NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    outcome->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    slurp(out, outcome->out, sizeof(outcome->out));
    slurp(err, outcome->err, sizeof(outcome->err));
}

/* Makes a new directory in the working directory. The returned name is in a static buffer. */
UNUSED static const char *directory_make(void)
{
    static char name[64];
    snprintf(name, sizeof(name), "base_test.XXXXXX");
    assert_non_null(mkdtemp(name));
    return name;
}

/* Removes a directory with its content. */
UNUSED static void directory_remove(const char *name)
{
    struct error err;
    struct path_list list;
    assert_int_equal(path_list(&list, name, &err), 0);
    for (size_t i = 0; i < list.count; i++) {
        SCOPED(mem_free_at) char *path = path_join(name, list.names[i]);
        if (path_is_directory(path))
            directory_remove(path);
        else
            assert_int_equal(path_remove(path, &err), 0);
    }
    path_list_release(&list);
    assert_int_equal(path_remove(name, &err), 0);
}

/* A directory for a whole test program. */
UNUSED static const char *directory;

UNUSED static int directory_set_up(void **state)
{
    (void)state;
    directory = directory_make();
    return 0;
}

UNUSED static int directory_tear_down(void **state)
{
    (void)state;
    directory_remove(directory);
    return 0;
}
