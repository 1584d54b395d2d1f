/* Path names, directories and the lock. */
#include "tests/base/help.h"
#include "tests/needs_faults.h"

#include <signal.h>
#include <sys/stat.h>

static void expect_join(const char *a, const char *b, const char *joined)
{
    SCOPED(mem_free_at) char *path = path_join(a, b);
    assert_string_equal(path, joined);
}

TEST(names_join_with_one_slash)
{
    expect_join("a", "b", "a/b");
    expect_join("a/", "b", "a/b");
    expect_join("/", "b", "/b");
    expect_join("", "b", "b");
}

static void expect_parent(const char *path, const char *parent)
{
    SCOPED(mem_free_at) char *found = path_parent(path);
    assert_string_equal(found, parent);
}

TEST(a_parent_is_the_name_before_the_last)
{
    expect_parent("a/b", "a");
    expect_parent("a//b//", "a");
    expect_parent("a/", ".");
    expect_parent("a", ".");
    expect_parent("/a", "/");
    expect_parent("/", "/");
    expect_parent("", ".");
}

TEST(directories_are_made_with_parents_and_listed)
{
    struct error err;
    struct path_list list;
    SCOPED(mem_free_at) char *deep = path_join(directory, "x/y//z/");
    SCOPED(mem_free_at)
    char *x = path_join(directory, "x"), *file = path_join(directory, "x/file"), *under = path_join(file, "no/more");
    assert_int_equal(path_make_directory(deep, &err), 0);
    assert_int_equal(path_make_directory(deep, &err), 0);
    assert_true(path_is_directory(deep));
    assert_int_equal(file_write_all(file, "1", 1, &err), 0);
    assert_false(path_is_directory(file));
    assert_int_equal(path_make_directory(under, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_int_equal(path_make_directory(file, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_int_equal(path_list(&list, x, &err), 0);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.names[0], "file");
    assert_string_equal(list.names[1], "y");
    path_list_release(&list);
    assert_int_equal(path_remove(x, &err), -1); /* not empty */
    assert_int_equal(path_list(&list, deep, &err), 0);
    assert_int_equal(list.count, 0);
    path_list_release(&list);
    assert_int_equal(path_list(&list, under, &err), -1);
    assert_int_equal(path_remove(deep, &err), 0);
    assert_false(path_exists(deep));
    assert_int_equal(path_remove(deep, &err), 0);
}

TEST(many_names_come_sorted)
{
    struct error err;
    struct path_list list;
    SCOPED(mem_free_at) char *many = path_join(directory, "many");
    assert_int_equal(path_make_directory(many, &err), 0);
    for (int i = 99; i >= 0; i--) {
        char name[16];
        snprintf(name, sizeof(name), "n%02d", i * 37 % 100);
        SCOPED(mem_free_at) char *path = path_join(many, name);
        fclose(fopen(path, "w"));
    }
    assert_int_equal(path_list(&list, many, &err), 0);
    assert_int_equal(list.count, 100);
    for (size_t i = 1; i < 100; i++)
        assert_true(strcmp(list.names[i - 1], list.names[i]) < 0);
    path_list_release(&list);
}

TEST(a_rename_moves)
{
    struct error err;
    SCOPED(mem_free_at)
    char *from = path_join(directory, "from"), *sub = path_join(directory, "sub"), *to = path_join(sub, "to");
    assert_int_equal(file_write_all(from, "1", 1, &err), 0);
    assert_int_equal(path_rename(from, to, &err), -1);
    assert_string_equal(err.file, from);
    assert_int_equal(path_make_directory(sub, &err), 0);
    const uint64_t before = file_calls(FILE_CHANGES);
    assert_int_equal(path_rename(from, to, &err), 0);
    assert_int_equal(file_calls(FILE_CHANGES), before + 3); /* rename, and the sync of both directories */
    assert_true(path_exists(to) && !path_exists(from));
}

TEST(path_kind_does_not_follow_links)
{
    struct error err;
    SCOPED(mem_free_at)
    char *folder = path_join(directory, "kinds"), *file = path_join(folder, "file"), *link = path_join(folder, "link");
    assert_int_equal(path_kind(folder), PATH_ABSENT);
    assert_int_equal(path_make_directory(folder, &err), 0);
    assert_int_equal(file_write_all(file, "1", 1, &err), 0);
    assert_int_equal(symlink("file", link), 0);
    assert_int_equal(path_kind(folder), PATH_FOLDER);
    assert_int_equal(path_kind(file), PATH_FILE);
    assert_int_equal(path_kind(link), PATH_OTHER);
    assert_true(path_same(link, file) && !path_same(file, folder) && !path_same("not/there", "not/there"));

    assert_int_equal(path_remove_empty(folder, &err), 0);
    assert_int_equal(path_remove_empty(file, &err), 0);
    assert_true(path_exists(file)); /* neither was removed: the folder is not empty, and the file is not a folder */
    assert_int_equal(path_remove(file, &err), 0);
    assert_int_equal(path_remove(link, &err), 0);
    assert_int_equal(path_remove_empty(folder, &err), 0);
    assert_int_equal(path_remove_empty(folder, &err), 0);
    assert_false(path_exists(folder));
}

TEST(free_space_of_a_path_to_come)
{
    struct error err;
    assert_true(path_free_bytes(".", &err) > 0);
    assert_true(path_free_bytes("not/yet/there", &err) > 0);
    assert_true(path_free_bytes("/", &err) >= 0);
}

/* Starts a process that takes the lock, reports it through a pipe, and holds the lock until it is killed. */
static pid_t holder_start(int *said)
{
    int ends[2];
    char byte = 0;
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        struct error err;
        struct lock lock;
        byte = lock_take(&lock, directory, &err) == 0 ? 'y' : 'n';
        if (write(ends[1], &byte, 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    *said = byte;
    return pid;
}

TEST(one_process_holds_a_directory)
{
    struct error err;
    struct lock lock;
    char *name = path_join(directory, ".lock"), text[32];
    int said;
    const pid_t holder = holder_start(&said);
    assert_int_equal(said, 'y');
    assert_int_equal(lock_take(&lock, directory, &err), -1);
    assert_int_equal(err.kind, ERR_LOCKED);
    snprintf(text, sizeof(text), "process %ld on ", (long)holder);
    assert_non_null(strstr(err.text, text));
    lock_release(&lock);
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    assert_true(path_exists(name)); /* the file stays, the lock is free */
    assert_int_equal(lock_take(&lock, directory, &err), 0);
    struct lock second;
    assert_int_equal(lock_take(&second, directory, &err), -1);
    lock_release(&lock);
    assert_false(path_exists(name));
    lock_release(&lock);
    mem_free(name);
}

/* Takes and releases the lock many times. The directory is made and removed under the lock, so mkdir must never find
 * it. */
static void contend(const char *inside)
{
    struct error err;
    struct lock lock;
    for (int done = 0; done < 50;) {
        if (lock_take(&lock, directory, &err) < 0) {
            if (err.kind != ERR_LOCKED)
                _exit(2);
            continue;
        }
        if (mkdir(inside, 0777) < 0 || rmdir(inside) < 0)
            _exit(3);
        lock_release(&lock);
        done++;
    }
    _exit(0);
}

TEST(a_lock_taken_repeatedly_excludes_others)
{
    SCOPED(mem_free_at) char *inside = path_join(directory, "inside");
    pid_t pids[3];
    for (size_t i = 0; i < COUNT(pids); i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            contend(inside);
    }
    for (size_t i = 0; i < COUNT(pids); i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

/* Starts a process that enters a job and holds bytes of its lock until it is killed. */
static pid_t member_start(const uint32_t bytes[2])
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        struct error err;
        struct lock lock;
        const bool good = lock_enter(&lock, directory, &err) == 0 && lock_hold(&lock, bytes[0], &err) == 0 &&
                          lock_hold(&lock, bytes[1], &err) == 0;
        if (write(ends[1], good ? "y" : "n", 1) == 1)
            pause();
        _exit(0);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    close(ends[0]);
    close(ends[1]);
    return pid;
}

TEST(a_job_of_several_keeps_others_out_until_the_last_is_gone)
{
    static const uint32_t of_one[2] = {1, 1u << 20}, of_two[2] = {2, 3};
    struct error err;
    struct lock first, other;
    assert_true(lock_enter(&other, "not/there", &err) < 0);
    assert_int_equal(lock_take(&first, directory, &err), 0);
    assert_int_equal(lock_enter(&other, directory, &err), 0);
    assert_true(lock_hold(&other, 1, &err) < 0); /* no other process is admitted yet */
    assert_int_equal(err.kind, ERR_LOCKED);
    lock_release(&other);
    assert_int_equal(lock_admit(&first, &err), 0);
    const pid_t one = member_start(of_one), two = member_start(of_two);
    assert_true(lock_is_held(&first, 1) && lock_is_held(&first, 1u << 20) && lock_is_held(&first, 3));
    assert_false(lock_is_held(&first, 4) || lock_is_held(&first, 0)); /* byte 0 is held by this process */
    assert_true(lock_hold(&first, 2, &err) < 0);
    assert_int_equal(err.kind, ERR_LOCKED);
    assert_int_equal(lock_hold(&first, 5, &err), 0);
    lock_let_go(&first, 5);

    kill(one, SIGKILL);
    waitpid(one, NULL, 0);
    assert_false(lock_is_held(&first, 1) || lock_is_held(&first, 1u << 20));
    assert_true(lock_is_held(&first, 2));
    mem_free(first.path); /* as if the first process died: its lock file stays */
    first.path = NULL;
    lock_release(&first);
    assert_true(lock_take(&other, directory, &err) < 0); /* process `two` still lives */
    assert_int_equal(err.kind, ERR_LOCKED);
    kill(two, SIGKILL);
    waitpid(two, NULL, 0);
    assert_int_equal(lock_take(&other, directory, &err), 0);
    lock_release(&other);
}

TEST(a_lock_needs_a_directory)
{
    struct error err;
    struct lock lock;
    assert_int_equal(lock_take(&lock, "not/there", &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    lock_release(&lock);
}

GROUP(directory_set_up, directory_tear_down)
