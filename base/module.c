#include "base/module.h"

#include <dlfcn.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

char *module_beside(const char *file, struct error *err)
{
    char program[4096];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0) {
        fail_errno(err, "/proc/self/exe", "cannot be read");
        return NULL;
    }
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    return path_join(program[0] ? program : "/", file);
}

#ifdef DS_STATIC

void module_hand_over(const char *pattern, char **argv)
{
    struct error ignored;
    glob_t found;
    char *path = module_beside(pattern, &ignored);
    if (path && glob(path, 0, NULL, &found) == 0) {
        execv(found.gl_pathv[0], argv);
        globfree(&found);
    }
    mem_free(path);
}

/* A static program loads no modules. Callers ask first; this is a safeguard. */
const void *module_load(const char *file, const char *symbol, int interface, const char *what, struct error *err)
{
    (void)symbol;
    (void)interface;
    fail(err, ERR_USAGE, "cannot load %s: this is a static program, which loads no modules (%s)", file, what);
    return NULL;
}

#else

void module_hand_over(const char *pattern, char **argv)
{
    (void)pattern;
    (void)argv;
}

static const void *module_open(const char *path, const char *symbol, int interface, const char *what, struct error *err)
{
    if (!path_exists(path)) {
        fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "is missing: %s, which belongs beside the program", what);
        return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fail(err, ERR_RESOURCE, "%s does not load: %s", what, dlerror());
        return NULL;
    }
    const int *found = dlsym(library, symbol);
    if (!found || *found != interface) {
        fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET, "belongs to another version of this program");
        return NULL;
    }
    return found;
}

const void *module_load(const char *file, const char *symbol, int interface, const char *what, struct error *err)
{
    SCOPED(mem_free_at) char *path = module_beside(file, err);
    if (!path)
        return NULL;
    const void *module = module_open(path, symbol, interface, what, err);
    return module;
}

#endif
