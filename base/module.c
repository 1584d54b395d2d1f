/* Loads a module by name and checks that it belongs to this program. */
#include "base/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#ifdef DS_STATIC

/* This build has no modules, so this is never called. */
const void *module_load(const char *file, const char *symbol, int interface, const char *what, struct error *err)
{
    (void)symbol;
    (void)interface;
    fail(err, ERR_USAGE, "%s does not load: this is a static program, which has no use for %s", file, what);
    return NULL;
}

#else

/* The path of a file in the program's directory. */
static int module_path(const char *file, char *out, size_t size, struct error *err)
{
    const ssize_t length = readlink("/proc/self/exe", out, size - 1);
    if (length < 0)
        return fail_errno(err, "/proc/self/exe", "cannot be read");
    out[length] = '\0';
    char *name = strrchr(out, '/') + 1;
    const size_t room = size - (size_t)(name - out);
    if ((size_t)snprintf(name, room, "%s", file) >= room)
        return fail_at(err, ERR_USAGE, out, ERROR_NO_OFFSET, "is too long a path");
    return 0;
}

const void *module_load(const char *file, const char *symbol, int interface, const char *what, struct error *err)
{
    char path[4096];
    if (module_path(file, path, sizeof path, err) < 0)
        return NULL;
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

#endif
