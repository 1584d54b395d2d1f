/* The number of cores that threads may use, and binding threads to them. */
#include "tests/base/help.h"

#include "base/cores.h"

#include <sched.h>
#include <sys/stat.h>

/* Writes a number into a file of a group; false if the kernel refuses. */
static bool set_limit(const char *group, const char *name, const char *value)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", group, name);
    FILE *file = fopen(path, "we");
    const bool written = file && fputs(value, file) >= 0;
    return file && fclose(file) == 0 && written;
}

/* Moves this process into the group and prints what it may use. */
static void in_group(void *group)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    if (!set_limit(group, "cgroup.procs", pid))
        _exit(1);
    printf("%llu %u\n", (unsigned long long)memory_allowed(), cores_allowed());
}

/* Slurm and systemd limit a group above the process's own. Where no groups can be made, this is skipped. */
static void check_group(const char *controller, const char *name, const char *value, unsigned long long bytes,
                        unsigned cores)
{
    char above[300], group[320];
    snprintf(above, sizeof above, "/sys/fs/cgroup%s/dsdata-test-%d", controller, (int)getpid());
    snprintf(group, sizeof group, "%s/inner", above);
    if (mkdir(above, 0755) < 0)
        skip();
    struct outcome seen = {0};
    const bool can = mkdir(group, 0755) == 0 && set_limit(above, name, value);
    if (can)
        in_child(in_group, group, &seen);
    rmdir(group);
    rmdir(above);
    if (!can || seen.code != 0)
        skip();
    unsigned long long memory = 0;
    unsigned allowed = 0;
    assert_int_equal(sscanf(seen.out, "%llu %u", &memory, &allowed), 2);
    if (bytes > 0)
        assert_int_equal(memory, bytes);
    if (cores > 0)
        assert_int_equal(allowed, cores);
}

TEST(memory_is_bounded_by_a_group_above)
{
    const bool v1 = access("/sys/fs/cgroup/memory/memory.limit_in_bytes", F_OK) == 0;
    check_group(v1 ? "/memory" : "", v1 ? "memory.limit_in_bytes" : "memory.max", "409600000", 409600000, 0);
}

TEST(cores_are_bounded_by_a_group_above)
{
    const bool v1 = access("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", F_OK) == 0;
    check_group(v1 ? "/cpu" : "", v1 ? "cpu.cfs_quota_us" : "cpu.max", v1 ? "50000" : "50000 100000", 0, 1);
}

/* Leaves the process bound to one core. */
TEST(affinity_bounds_them)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    assert_true(cores_allowed() >= 1 && cores_allowed() <= 65536);
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(cores_allowed(), 1);
}

/* cores_keep binds the thread to one core; cores_are_ours is false for a thread that is bound already. */
TEST(a_thread_keeps_a_core)
{
    cpu_set_t before, after;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    const unsigned last = (unsigned)CPU_COUNT(&before) - 1;
    cores_keep(last + 1); /* no such core: nothing changes */
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    cores_keep(last);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_int_equal(CPU_COUNT(&after), 1);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &before) && !CPU_ISSET(i, &after))
            assert_true(last > 0);
    assert_false(cores_are_ours(1));
    assert_false(cores_are_ours(1u << 20));
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}
