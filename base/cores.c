/* In: what the kernel lets this process have. Out: how many threads can really run. Containers bound CPU time by a quota of
 * their cgroup, which the affinity mask does not show. */
#include "base/opts.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>

/* Cores by affinity; 0 where the kernel does not say. */
static unsigned cores_by_affinity(void)
{
    unsigned cores = 0;
    for (int possible = 1024; possible <= 1 << 16 && !cores; possible *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)possible);
        const size_t size = CPU_ALLOC_SIZE((size_t)possible);
        if (set && sched_getaffinity(0, size, set) == 0)
            cores = (unsigned)CPU_COUNT_S(size, set);
        CPU_FREE(set);
    }
    return cores;
}

/* Quota over period, rounded up; 0 where there is none. */
static unsigned cores_of(double quota, double period)
{
    return quota > 0 && period > 0 ? (unsigned)fmin(ceil(quota / period), 1e6) : 0;
}

static unsigned smaller(unsigned a, unsigned b)
{
    return a && (!b || a < b) ? a : b;
}

/* "max 100000" or "200000 100000" in cgroup v2. */
static unsigned quota_in(const char *directory)
{
    char path[4200];
    double quota = 0, period = 0;
    snprintf(path, sizeof(path), "%s/cpu.max", directory);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%lf %lf", &quota, &period) != 2)
        quota = 0;
    fclose(file);
    return cores_of(quota, period);
}

static double number_in(const char *path)
{
    double value = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%lf", &value) != 1)
        value = 0;
    fclose(file);
    return value;
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

/* Inside a container the group's own files stand at the root of the mount. */
static unsigned cores_by_cgroup1(void)
{
    return cores_of(number_in("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
                    number_in("/sys/fs/cgroup/cpu/cpu.cfs_period_us"));
}

unsigned cores_allowed(void)
{
    const unsigned cores = smaller(cores_by_affinity(), smaller(cores_by_cgroup2(), cores_by_cgroup1()));
    return cores ? cores : 1;
}
