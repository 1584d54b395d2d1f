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

/* Reads up to two numbers at the start of a file; returns how many there are. */
static int numbers_in(const char *directory, const char *name, double *first, double *second)
{
    char path[4300], line[128] = "", *end = line, *after;
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    if (!fgets(line, sizeof(line), file))
        line[0] = 0;
    fclose(file);
    *first = strtod(line, &end);
    *second = strtod(end, &after);
    return (end > line) + (after > end);
}

/* Each of these is the limit that one group sets; INFINITY if it sets none. A quota is -1 or "max" then. */
static double quota_of(double quota, double period)
{
    return quota > 0 && period > 0 ? quota / period : INFINITY;
}

static double cores_v2(const char *directory)
{
    double quota, period;
    return numbers_in(directory, "cpu.max", &quota, &period) == 2 ? quota_of(quota, period) : INFINITY;
}

static double cores_v1(const char *directory)
{
    double quota, period, none;
    return numbers_in(directory, "cpu.cfs_quota_us", &quota, &none) > 0 &&
                   numbers_in(directory, "cpu.cfs_period_us", &period, &none) > 0
               ? quota_of(quota, period)
               : INFINITY;
}

static double memory_v2(const char *directory)
{
    double bytes, none;
    return numbers_in(directory, "memory.max", &bytes, &none) > 0 && bytes > 0 ? bytes : INFINITY;
}

static double memory_v1(const char *directory)
{
    double bytes, none;
    return numbers_in(directory, "memory.limit_in_bytes", &bytes, &none) > 0 && bytes > 0 ? bytes : INFINITY;
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
static double group_limit(const char *controller, double (*limit_of)(const char *directory))
{
    char line[4096] = "", directory[4200];
    const char *slash = *controller ? "/" : "";
    snprintf(directory, sizeof(directory), "/sys/fs/cgroup%s%s", slash, controller);
    double least = limit_of(directory);
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && fgets(line, sizeof(line), file))
        for (char *path = group_path(line, controller); path && strlen(path) > 1; *strrchr(path, '/') = 0) {
            snprintf(directory, sizeof(directory), "/sys/fs/cgroup%s%s%s", slash, controller, path);
            least = fmin(limit_of(directory), least);
        }
    if (file)
        fclose(file);
    return least;
}

unsigned cores_allowed(void)
{
    const unsigned there = cores_by_affinity();
    const double most = fmin(there > 0 ? (double)there : (double)INFINITY,
                             fmin(group_limit("", cores_v2), group_limit("cpu", cores_v1)));
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
    const double there = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    return (uint64_t)fmin(there, fmin(group_limit("", memory_v2), group_limit("memory", memory_v1)));
}
