/* What the kernel lets this process use: memory, and threads that can really run at once. Containers limit CPU time by
 * a quota of their cgroup, which the affinity mask does not show. */
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

/* Quota over period, rounded up; 0 if there is none. */
static unsigned cores_of(double quota, double period)
{
    return quota > 0 && period > 0 ? (unsigned)fmin(ceil(quota / period), 1e6) : 0;
}

static unsigned smaller(unsigned a, unsigned b)
{
    return a && (!b || a < b) ? a : b;
}

/* Reads up to two numbers at the start of a file; returns how many there are. */
static int numbers_in(const char *path, double *first, double *second)
{
    char line[128] = "", *end = line, *after;
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

/* "max 100000" or "200000 100000" in cgroup v2. */
static unsigned quota_in(const char *directory)
{
    char path[4200];
    double quota, period;
    snprintf(path, sizeof(path), "%s/cpu.max", directory);
    return numbers_in(path, &quota, &period) == 2 ? cores_of(quota, period) : 0;
}

/* Our group's line in /proc/self/cgroup is "0::/a/b"; every group above may set a lower quota. */
static unsigned cores_by_cgroup2(void)
{
    char line[4096] = "", directory[4160];
    unsigned cores = quota_in("/sys/fs/cgroup");
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && fgets(line, sizeof(line), file)) {
        if (!str_starts(str_of(line), STR("0::/")))
            continue;
        line[strcspn(line, "\n")] = 0;
        while (strlen(line) > 4) {
            snprintf(directory, sizeof(directory), "/sys/fs/cgroup%s", line + 3);
            cores = smaller(quota_in(directory), cores);
            *strrchr(line, '/') = 0;
        }
    }
    if (file)
        fclose(file);
    return cores;
}

/* Inside a container, the group's own files are at the root of the mount. The quota is -1 if there is none. */
static unsigned cores_by_cgroup1(void)
{
    double quota, period, none;
    if (numbers_in("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", &quota, &none) < 1 ||
        numbers_in("/sys/fs/cgroup/cpu/cpu.cfs_period_us", &period, &none) < 1)
        return 0;
    return cores_of(quota, period);
}

unsigned cores_allowed(void)
{
    const unsigned cores = smaller(cores_by_affinity(), smaller(cores_by_cgroup2(), cores_by_cgroup1()));
    return cores ? cores : 1;
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

/* The number in a small file, or UINT64_MAX if there is none ("max"). */
static uint64_t number_in(const char *path)
{
    char line[64] = "", *end;
    FILE *file = fopen(path, "re");
    if (!file)
        return UINT64_MAX;
    const char *read = fgets(line, sizeof line, file);
    fclose(file);
    const uint64_t value = read ? strtoull(line, &end, 10) : 0;
    return read && end > line && value > 0 ? value : UINT64_MAX;
}

uint64_t memory_allowed(void)
{
    uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    static const char *const limits[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (number_in(limits[i]) < bytes)
            bytes = number_in(limits[i]);
    return bytes;
}
