/* What the fuzz targets share. A target is one fuzz_X.c: a function that takes any bytes and asserts what must hold of
 * what the product makes of them. Its head says what the bytes are and what is held. */
#pragma once

#include "base/mem.h"
#include "base/str.h"

#include <assert.h>
#include <ftw.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))

/* The target: takes one input. Returns 0. */
int fuzz_input(const uint8_t *data, size_t size);
/* fuzz.c: the same under the name that libFuzzer and replay.c call, with its memory bounded. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Takes a choice off the front of the input; 0 where it has ended. */
static inline unsigned take_byte(const uint8_t **data, size_t *size)
{
    if (*size == 0)
        return 0;
    (*size)--;
    return *(*data)++;
}

static inline struct str as_str(const uint8_t *data, size_t size)
{
    return (struct str){(const char *)data, size};
}

/* Takes what stands before the next byte `mark`, and the mark; all of it where there is none. */
static inline struct str take_until(uint8_t mark, const uint8_t **data, size_t *size)
{
    const struct str all = as_str(*data, *size);
    const char *at = all.size ? memchr(all.data, mark, all.size) : NULL;
    const struct str taken = at ? str_range(all.data, at) : all;
    const size_t used = taken.size + (at != NULL);
    *data += used;
    *size -= used;
    return taken;
}

/* Bytes after a path, in memory: for readers that open files. The path holds until the next call. */
static inline const char *fuzz_file(struct str bytes)
{
    static int fd = -1;
    static char path[32];
    if (fd < 0)
        fd = memfd_create("fuzz", MFD_CLOEXEC);
    assert(fd >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const int cut = ftruncate(fd, 0);
    assert(cut == 0);
    const ssize_t written = bytes.size ? pwrite(fd, bytes.data, bytes.size, 0) : 0;
    assert(written == (ssize_t)bytes.size);
    return path;
}

static char fuzz_folder[256];

static int fuzz_remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    return remove(path);
}

static void fuzz_remove(void)
{
    nftw(fuzz_folder, fuzz_remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* A directory of this process, which goes away with it. */
static UNUSED const char *fuzz_directory(void)
{
    const char *temporary = getenv("TMPDIR");
    if (fuzz_folder[0])
        return fuzz_folder;
    snprintf(fuzz_folder, sizeof fuzz_folder, "%.200s/fuzz-XXXXXX", temporary ? temporary : "/tmp");
    const char *made = mkdtemp(fuzz_folder);
    assert(made);
    atexit(fuzz_remove);
    return fuzz_folder;
}

/* The file of fuzz_file under a name, for readers that go by names. */
static UNUSED const char *fuzz_named_file(const char *name, struct str bytes)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", fuzz_directory(), name);
    const char *file = fuzz_file(bytes);
    const int linked = access(path, F_OK) == 0 ? 0 : symlink(file, path);
    assert(linked == 0);
    return path;
}

/* Writes a file of fuzz_directory(), for what opens its files to change them. */
static UNUSED void fuzz_write(const char *name, struct str bytes)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", fuzz_directory(), name);
    FILE *file = fopen(path, "wb");
    assert(file);
    const size_t written = bytes.size ? fwrite(bytes.data, 1, bytes.size, file) : 0;
    assert(written == bytes.size);
    const int closed = fclose(file);
    assert(closed == 0);
}

/* For verbs: what they print goes nowhere. */
static UNUSED void fuzz_hush(void)
{
    const FILE *nowhere = freopen("/dev/null", "w", stdout);
    assert(nowhere);
}
