/* What the kernel lets this process use: memory, and threads that can really run at once. Containers, services and
 * Slurm limit both by a cgroup, which neither the affinity mask nor the machine's memory shows. */
#include "base/cores.h"

#include "base/log.h"
#include "base/str.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define KEEP_CORES 8         /* threads are pinned to cores from this many on */
#define CORES_MAX  (1 << 16) /* in an affinity mask */

/* Cores by affinity; 0 if the kernel does not say. */
static unsigned cores_by_affinity(void)
{
    unsigned cores = 0;
    for (int possible = 1024; possible <= CORES_MAX && !cores; possible *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)possible);
        const size_t size = CPU_ALLOC_SIZE((size_t)possible);
        if (set && sched_getaffinity(0, size, set) == 0)
            cores = (unsigned)CPU_COUNT_S(size, set);
        CPU_FREE(set);
    }
    return cores;
}

/* Reads up to two numbers at the start of a file; what is not there becomes 0. */
static void numbers_in(const char *directory, const char *name, double *first, double *second)
{
    char path[4300], line[128] = "", *end = line;
    *first = *second = 0;
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    if (!fgets(line, sizeof(line), file))
        line[0] = 0;
    fclose(file);
    *first = strtod(line, &end);
    *second = strtod(end, NULL);
}

/* Where a group sets a limit: a number, or a quota and its period, in one file or two. */
struct limit {
    const char *controller; /* "": version 2, which has one tree for all */
    const char *file, *period_file;
    bool is_quota;
};

/* The limit that one group sets; INFINITY if it sets none: the number is -1, "max" or missing then. */
static double limit_of(const char *directory, const struct limit *limit)
{
    double number, second, period = 1;
    numbers_in(directory, limit->file, &number, &second);
    if (limit->period_file)
        numbers_in(directory, limit->period_file, &period, &second);
    else if (limit->is_quota)
        period = second;
    return number > 0 && period > 0 ? number / period : (double)INFINITY;
}

/* The path in a line of /proc/self/cgroup, which is "0::/a/b" (v2) or "4:cpu,cpuacct:/a/b" (v1), if the line is that of
 * the controller ("": v2). Changes the line. */
static char *group_path(char *line, const char *controller)
{
    char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL, *rest;
    if (!path)
        return NULL;
    *path++ = 0;
    path[strcspn(path, "\n")] = 0;
    if (*controller == 0)
        return names[1] == 0 ? path : NULL;
    for (char *name = strtok_r(names + 1, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        if (strcmp(name, controller) == 0)
            return path;
    return NULL;
}

/* The least limit of our group and of every group above it. Inside a container our group is the root of the mount. */
static double group_limit(const struct limit *limit)
{
    char line[4096] = "", directory[4200];
    const char *controller = limit->controller, *slash = *controller ? "/" : "";
    snprintf(directory, sizeof(directory), "/sys/fs/cgroup%s%s", slash, controller);
    double least = limit_of(directory, limit);
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && fgets(line, sizeof(line), file))
        for (char *path = group_path(line, controller); path && strlen(path) > 1; *strrchr(path, '/') = 0) {
            snprintf(directory, sizeof(directory), "/sys/fs/cgroup%s%s%s", slash, controller, path);
            least = fmin(limit_of(directory, limit), least);
        }
    if (file)
        fclose(file);
    return least;
}

unsigned cores_allowed(void)
{
    static const struct limit v1 = {
        .controller = "cpu", .file = "cpu.cfs_quota_us", .period_file = "cpu.cfs_period_us"};
    static const struct limit v2 = {.controller = "", .file = "cpu.max", .is_quota = true};
    const unsigned there = cores_by_affinity();
    const double most = fmin(there > 0 ? (double)there : (double)INFINITY, fmin(group_limit(&v2), group_limit(&v1)));
    return isfinite(most) ? (unsigned)fmax(fmin(ceil(most), 1e6), 1) : 1;
}

bool cores_are_ours(unsigned threads)
{
    const long there = sysconf(_SC_NPROCESSORS_ONLN);
    return threads >= KEEP_CORES && threads == (unsigned)there && cores_allowed() == threads;
}

void cores_keep(unsigned which)
{
    cpu_set_t *set = CPU_ALLOC(CORES_MAX), *one = CPU_ALLOC(CORES_MAX);
    const size_t size = CPU_ALLOC_SIZE(CORES_MAX);
    int core = -1;
    if (set && one && sched_getaffinity(0, size, set) == 0)
        for (unsigned found = 0; found <= which && ++core < CORES_MAX;)
            found += CPU_ISSET_S((size_t)core, size, set) != 0;
    if (core >= 0 && core < CORES_MAX) {
        CPU_ZERO_S(size, one);
        CPU_SET_S((size_t)core, size, one);
        (void)sched_setaffinity(0, size, one); /* only a hint: nothing depends on it */
    }
    CPU_FREE(set);
    CPU_FREE(one);
}

void cores_warn(uint64_t threads)
{
    const unsigned cores = cores_allowed();
    if (threads > (uint64_t)4 * cores)
        log_warn("--threads %" PRIu64 " on %u cores: they will mostly wait for each other; as many as cores are best",
                 threads, cores);
}

uint64_t memory_allowed(void)
{
    static const struct limit v1 = {.controller = "memory", .file = "memory.limit_in_bytes"};
    static const struct limit v2 = {.controller = "", .file = "memory.max"};
    const double there = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    return (uint64_t)fmin(there, fmin(group_limit(&v2), group_limit(&v1)));
}
