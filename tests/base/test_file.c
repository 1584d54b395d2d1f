/* A file is written completely or not at all, whichever system call fails. */
#include "tests/base/help.h"
#include "tests/needs_faults.h"

#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static char *path_of(const char *name)
{
    static char path[4][200];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof(path[0]), "%s/%s", directory, name);
    return path[next];
}

static void expect_content(const char *path, const char *content)
{
    struct error err;
    SCOPED(buf_release) struct buf text = {0};
    assert_int_equal(file_read_all(path, 1 << 20, &text, &err), 0);
    assert_string_equal(buf_text(&text), content);
}

TEST(what_is_written_is_read)
{
    struct error err;
    struct file file;
    struct mapping mapping;
    char bytes[16];
    const char *path = path_of("a");
    assert_int_equal(file_write_all(path, "0123456789", 10, &err), 0);
    expect_content(path, "0123456789");
    assert_int_equal(file_open_read(&file, path, &err), 0);
    assert_int_equal(file_size(&file, &err), 10);
    assert_int_equal(file_read_at(&file, bytes, 4, 3, &err), 4);
    assert_memory_equal(bytes, "3456", 4);
    assert_int_equal(file_read_at(&file, bytes, 16, 8, &err), 2);
    assert_int_equal(file_read_at(&file, bytes, 16, 100, &err), 0);
    assert_int_equal(file_read(&file, bytes, 7, &err), 7);
    assert_int_equal(file_read(&file, bytes, 7, &err), 3);
    assert_int_equal(file_read(&file, bytes, 7, &err), 0);
    file_close(&file);
    file_close(&file);
    assert_int_equal(file_map(&mapping, path, &err), 0);
    assert_int_equal(mapping.size, 10);
    assert_memory_equal(mapping.data, "0123456789", 10);
    file_unmap(&mapping);
    file_unmap(&mapping);
    assert_int_equal(file_write_all(path, NULL, 0, &err), 0);
    expect_content(path, "");
    assert_int_equal(file_map(&mapping, path, &err), 0);
    assert_null(mapping.data);
    assert_int_equal(mapping.size, 0);
    file_unmap(&mapping);
}

TEST(bytes_may_come_in_any_order)
{
    struct error err;
    struct file file;
    const char *path = path_of("a");
    assert_int_equal(file_create(&file, path, &err), 0);
    assert_int_equal(file_write_at(&file, "6789", 4, 6, &err), 0);
    assert_int_equal(file_write(&file, "01", 2, &err), 0); /* file_write_at did not move the write position */
    assert_int_equal(file_write_at(&file, "2345", 4, 2, &err), 0);
    file_fault_set((struct file_fault){.at = 1, .kind = FILE_FAULT_SHORT});
    assert_true(file_write_at(&file, "xx", 2, 10, &err) < 0);
    assert_int_equal(err.kind, ERR_RESOURCE);
    assert_int_equal(file_write_at(&file, "ab", 2, 10, &err), 0);
    assert_int_equal(file_commit(&file, &err), 0);
    expect_content(path, "0123456789ab");
}

TEST(a_file_that_is_not_committed_goes_away)
{
    struct error err;
    struct file file;
    const char *path = path_of("b");
    assert_int_equal(file_create(&file, path, &err), 0);
    assert_int_equal(file_write(&file, "x", 1, &err), 0);
    assert_int_equal(file.written, 1);
    assert_true(path_exists(path_of("b.tmp")));
    assert_false(path_exists(path));
    file_close(&file);
    assert_false(path_exists(path_of("b.tmp")));
    assert_false(path_exists(path));
    file = FILE_CLOSED;
    file_close(&file);
}

TEST(a_log_grows_and_is_cut)
{
    struct error err;
    struct file file;
    const char *path = path_of("log");
    assert_int_equal(file_append_open(&file, path, &err), 0);
    assert_int_equal(file_write(&file, "abc", 3, &err), 0);
    file_close(&file);
    assert_int_equal(file_append_open(&file, path, &err), 0);
    assert_int_equal(file.written, 0);
    assert_int_equal(file_write(&file, "def", 3, &err), 0);
    assert_int_equal(file_write(&file, "g", 1, &err), 0);
    assert_int_equal(file_truncate(&file, 5, &err), 0);
    assert_int_equal(file_write(&file, "h", 1, &err), 0);
    assert_int_equal(file_sync(&file, &err), 0);
    char bytes[4];
    assert_int_equal(file_read_at(&file, bytes, 4, 2, &err), 4);
    file_close(&file);
    expect_content(path, "abcdeh");
}

TEST(errors_name_the_path_and_the_kind)
{
    struct error err;
    struct file file;
    struct mapping mapping;
    SCOPED(buf_release) struct buf text = {0};
    assert_int_equal(file_open_read(&file, path_of("absent"), &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_string_equal(err.file, path_of("absent"));
    assert_non_null(strstr(err.text, "No such file"));
    file_close(&file);
    assert_int_equal(file_open_read(&file, directory, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_non_null(strstr(err.text, "directory"));
    assert_int_equal(file_map(&mapping, path_of("absent"), &err), -1);
    assert_int_equal(file_create(&file, path_of("no/where"), &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_int_equal(file_create(&file, directory, &err), -1);
    assert_int_equal(file_create(&file, "/dev/null", &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_int_equal(file_write_all(path_of("ten"), "0123456789", 10, &err), 0);
    assert_int_equal(file_read_all(path_of("ten"), 9, &text, &err), -1);
    assert_int_equal(err.kind, ERR_UNSAFE);
    buf_reset(&text);
    assert_int_equal(file_read_all(path_of("ten"), 10, &text, &err), 0);
    assert_int_equal(text.size, 10);
}

TEST(links_are_not_followed_when_we_create)
{
    struct error err;
    struct file file;
    assert_int_equal(file_write_all(path_of("victim"), "safe", 4, &err), 0);
    char *target = realpath(path_of("victim"), NULL);
    assert_non_null(target);
    assert_int_equal(symlink(target, path_of("trap")), 0);
    assert_int_equal(file_append_open(&file, path_of("trap"), &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_int_equal(symlink(target, path_of("new.tmp")), 0);
    free(target);
    assert_int_equal(file_write_all(path_of("new"), "mine", 4, &err), 0);
    expect_content(path_of("victim"), "safe");
    expect_content(path_of("new"), "mine");
    assert_false(path_exists(path_of("new.tmp")));

    /* as /dev/stdout >FILE */
    char open[40];
    assert_int_equal(file_open_read(&file, path_of("victim"), &err), 0);
    snprintf(open, sizeof open, "/proc/self/fd/%d", file.fd);
    assert_int_equal(symlink(open, path_of("stdout")), 0);
    assert_int_equal(file_write_all(path_of("stdout"), "mine", 4, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    expect_content(path_of("stdout"), "safe");
    file_close(&file);
}

TEST(only_inputs_may_be_pipes)
{
    struct error err;
    struct file file;
    struct mapping mapping;
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    assert_int_equal(file_open_read(&file, path_of("pipe"), &err), -1); /* and it does not wait for a writer */
    assert_int_equal(err.kind, ERR_UNSAFE);
    assert_non_null(strstr(err.text, "a named pipe"));
    assert_int_equal(file_map(&mapping, "/dev/zero", &err), -1);
    assert_int_equal(err.kind, ERR_UNSAFE);
    assert_int_equal(file_append_open(&file, path_of("pipe"), &err), -1);
    assert_int_equal(file_open_input(&file, path_of("pipe"), &err), 0);
    file_close(&file);
    assert_false(path_is_file(path_of("pipe")));
}

TEST(a_leftover_of_a_killed_process_is_taken_over)
{
    struct error err;
    FILE *left = fopen(path_of("over.tmp"), "w");
    fputs("a long text of somebody who was killed", left);
    fclose(left);
    assert_int_equal(file_write_all(path_of("over"), "new", 3, &err), 0);
    expect_content(path_of("over"), "new");
}

TEST(a_hash_is_that_of_the_whole_file)
{
    static const size_t sizes[] = {0, 1, (1u << 20) - 1, 1u << 20, (1u << 20) + 1, 3u << 20};
    SCOPED(mem_free_at) char *bytes = mem_alloc(3u << 20);
    struct error err = {0};
    uint64_t hash;
    for (size_t i = 0; i < 3u << 20; i++)
        bytes[i] = (char)(i * 2654435761u >> 13);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(file_write_all("hash.tmp.bin", bytes, sizes[i], &err), 0);
        assert_int_equal(file_hash("hash.tmp.bin", &hash, &err), 0);
        assert_true(hash == hash64(bytes, sizes[i]));
    }
    unlink("hash.tmp.bin");
    assert_int_equal(file_hash("hash.tmp.bin", &hash, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
}

/* What git leaves where Git LFS did not fetch a file is not taken for the file. */
TEST(a_pointer_of_git_lfs_is_refused)
{
    static const char start[] = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 440473133\n";
    char text[1100] = "";
    static const struct {
        size_t size, skip;
        bool refused;
    } cases[] = {{sizeof start - 1, 0, true}, {1023, 0, true}, {1024, 0, false}, {300, 1, false}, {20, 0, false}};
    memset(text, 'x', sizeof text);
    memcpy(text, start, sizeof start - 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = {0};
        struct mapping mapping;
        struct buf out = {0};
        const int expected = cases[i].refused ? -1 : 0;
        assert_int_equal(file_write_all("pointer.tmp.bin", text + cases[i].skip, cases[i].size, &err), 0);
        buf_add_text(&out, "before");
        assert_int_equal(file_read_all("pointer.tmp.bin", 2000, &out, &err), expected);
        buf_release(&out);
        assert_int_equal(file_map(&mapping, "pointer.tmp.bin", &err), expected);
        file_unmap(&mapping);
        assert_int_equal(err.kind, cases[i].refused ? ERR_INPUT : ERR_NONE);
        assert_true(!cases[i].refused || strstr(err.hint, "git lfs pull"));
    }
    unlink("pointer.tmp.bin");
}

static void pipe_through_stdin(void *argument)
{
    (void)argument;
    struct error err;
    struct file file;
    char bytes[8];
    int ends[2];
    if (pipe(ends) < 0 || write(ends[1], "abcdef", 6) != 6)
        _exit(90);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    if (file_open_input(&file, "-", &err) < 0 || file_size(&file, &err) >= 0 || strcmp(err.file, "standard input") != 0)
        _exit(91);
    if (file_read(&file, bytes, 4, &err) != 4 || memcmp(bytes, "abcd", 4) != 0)
        _exit(92);
    file_close(&file);
    if (read(STDIN_FILENO, bytes, 8) != 2) /* file_close left stdin open */
        _exit(93);
}

TEST(dash_is_standard_input)
{
    struct outcome seen;
    in_child(pipe_through_stdin, NULL, &seen);
    assert_int_equal(seen.code, 0);
}

TEST(descriptors_do_not_reach_other_programs)
{
    struct error err;
    struct file file;
    assert_int_equal(file_create(&file, path_of("cloexec"), &err), 0);
    assert_true(fcntl(file.fd, F_GETFD) & FD_CLOEXEC);
    file_close(&file);
    assert_int_equal(file_open_read(&file, path_of("a"), &err), 0);
    assert_true(fcntl(file.fd, F_GETFD) & FD_CLOEXEC);
    file_close(&file);
}

struct attempt {
    struct file_fault fault;
    const char *path;
};

static void write_all_under_fault(void *argument)
{
    const struct attempt *attempt = argument;
    struct error err;
    file_fault_set(attempt->fault);
    if (file_write_all(attempt->path, "new content", 11, &err) < 0)
        _exit(err.file[0] && err.text[0] ? (int)err.kind : 99);
}

/* Every state-changing call of file_write_all fails once in every way, with and without an existing file of that
 * name. */
TEST(whichever_call_fails_a_file_is_whole)
{
    static const enum file_fault_kind kinds[] = {FILE_FAULT_KILL, FILE_FAULT_SHORT, FILE_FAULT_ERRNO};
    struct error err;
    int points = 0;
    for (size_t kind = 0; kind < COUNT(kinds); kind++)
        for (int old = 0; old < 2; old++)
            for (uint64_t at = 1;; at++) {
                struct attempt attempt = {{.at = at, .kind = kinds[kind], .number = EIO}, path_of("whole")};
                struct outcome seen;
                assert_int_equal(path_remove(attempt.path, &err), 0);
                assert_int_equal(path_remove(path_of("whole.tmp"), &err), 0);
                if (old)
                    assert_int_equal(file_write_all(attempt.path, "old", 3, &err), 0);
                in_child(write_all_under_fault, &attempt, &seen);
                struct buf text = {0};
                if (path_exists(attempt.path))
                    assert_int_equal(file_read_all(attempt.path, 100, &text, &err), 0);
                else
                    assert_false(old);
                const bool is_new = strcmp(buf_text(&text), "new content") == 0;
                assert_true(is_new || strcmp(buf_text(&text), old ? "old" : "") == 0);
                buf_release(&text);
                if (seen.code == 0) {
                    assert_true(is_new);
                    assert_true(at > 5); /* create, write, sync, rename, sync of the directory */
                    break;
                }
                points++;
                assert_int_equal(seen.code, kinds[kind] == FILE_FAULT_KILL ? 137 : ERR_RESOURCE);
                if (kinds[kind] != FILE_FAULT_KILL)
                    assert_false(path_exists(path_of("whole.tmp")));
            }
    assert_int_equal(points, 2 * 3 * 5);
}

TEST(a_short_write_leaves_half_then_no_space)
{
    struct error err;
    struct file file;
    assert_int_equal(file_append_open(&file, path_of("half"), &err), 0);
    const uint64_t before = file_calls(FILE_CHANGES);
    file_fault_set((struct file_fault){.at = 2, .kind = FILE_FAULT_SHORT});
    assert_int_equal(file_write(&file, "0123456789", 10, &err), 0);
    assert_int_equal(file_write(&file, "0123456789", 10, &err), -1);
    assert_int_equal(err.kind, ERR_RESOURCE);
    assert_non_null(strstr(err.text, strerror(ENOSPC)));
    assert_int_equal(file_write(&file, "!", 1, &err), 0); /* the fault hits one call only */
    assert_int_equal(file_calls(FILE_CHANGES), before + 3);
    file_close(&file);
    expect_content(path_of("half"), "012345678901234!");
    file_fault_set((struct file_fault){0});
}

TEST(a_full_disk_stays_full_until_the_fault_ends)
{
    struct error err;
    struct file file;
    assert_int_equal(file_append_open(&file, path_of("full"), &err), 0);
    file_fault_set((struct file_fault){.at = 2, .kind = FILE_FAULT_FULL});
    assert_int_equal(file_write(&file, "01234", 5, &err), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(file_write(&file, "56789", 5, &err), -1);
        assert_int_equal(err.kind, ERR_RESOURCE);
        assert_non_null(strstr(err.text, strerror(ENOSPC)));
        assert_int_equal(path_make_directory(path_of("full.d"), &err), -1);
        assert_int_equal(file_sync(&file, &err), 0); /* needs no space */
    }
    file_fault_set((struct file_fault){0});
    assert_int_equal(file_write(&file, "!", 1, &err), 0);
    file_close(&file);
    expect_content(path_of("full"), "01234!");
}

TEST(an_interrupted_call_is_made_again)
{
    for (uint64_t at = 1; at <= 5; at++) {
        struct error err;
        file_fault_set((struct file_fault){.at = at, .kind = FILE_FAULT_ERRNO, .number = EINTR});
        assert_int_equal(file_write_all(path_of("interrupted"), "whole", 5, &err), 0);
        expect_content(path_of("interrupted"), "whole");
        file_fault_set((struct file_fault){.call = FILE_READS, .at = at, .kind = FILE_FAULT_ERRNO, .number = EINTR});
        expect_content(path_of("interrupted"), "whole");
        file_fault_set((struct file_fault){.call = FILE_READS});
    }
}

TEST(a_failing_read_is_an_error_and_a_short_one_is_none)
{
    struct error err;
    struct buf text = {0};
    assert_int_equal(file_write_all(path_of("read"), "0123456789", 10, &err), 0);
    for (uint64_t at = 1; at <= 2; at++) { /* open, read */
        file_fault_set((struct file_fault){.call = FILE_READS, .at = at, .kind = FILE_FAULT_ERRNO, .number = EIO});
        assert_int_equal(file_read_all(path_of("read"), 100, &text, &err), -1);
        assert_int_equal(err.kind, ERR_RESOURCE);
        assert_string_equal(err.file, path_of("read"));
    }
    buf_release(&text);
    file_fault_set((struct file_fault){.call = FILE_READS, .at = 2, .kind = FILE_FAULT_SHORT});
    expect_content(path_of("read"), "0123456789");

    struct file file;
    char out[10];
    file_fault_set((struct file_fault){.call = FILE_READS, .at = 2, .kind = FILE_FAULT_SHORT});
    assert_int_equal(file_open_read(&file, path_of("read"), &err), 0);
    assert_int_equal(file_read_at(&file, out, sizeof out, 0, &err), sizeof out);
    assert_memory_equal(out, "0123456789", sizeof out);
    file_close(&file);
    file_fault_set((struct file_fault){.call = FILE_READS});
}

static void traced(void *argument)
{
    struct error err;
    struct file file;
    setenv("DS_TRACE_FILE", argument, 1);
    faults_open();
    if (file_write_all(path_of("t"), "xy", 2, &err) < 0 || file_append_open(&file, path_of("t"), &err) < 0 ||
        file_truncate(&file, 1, &err) < 0 || path_remove(path_of("t"), &err) < 0 ||
        path_make_directory(path_of("m"), &err) < 0)
        _exit((int)err.kind);
    file_close(&file);
}

TEST(a_trace_has_every_change_in_order)
{
    struct outcome seen;
    struct error err;
    SCOPED(buf_release) struct buf text = {0};
    char expected[500];
    in_child(traced, path_of("trace"), &seen);
    assert_int_equal(seen.code, 0);
    assert_int_equal(file_read_all(path_of("trace"), 10000, &text, &err), 0);
    char *where = realpath(directory, NULL);
    assert_non_null(where);
    unsigned long long number = 0;
    assert_int_equal(sscanf(buf_text(&text), "create %llu", &number), 1);
    snprintf(expected, sizeof expected,
             "create %llu %s/t.tmp\nwrite %llu 0 2\nxysync %llu\nrename %s/t.tmp %s/t\nsyncdir %s\n"
             "create %llu %s/t\ntruncate %llu 1\nremove %s/t\nmkdir %s/m\nsyncdir %s\n",
             number, directory, number, number, directory, directory, where, number, directory, number, directory,
             directory, where);
    assert_string_equal(buf_text(&text), expected);
    free(where);
}

static void counted(void *argument)
{
    struct error err;
    mem_free(mem_alloc(1));
    if (file_write_all(path_of("c"), "xy", 2, &err) < 0)
        _exit((int)err.kind);
    faults_close(); /* nothing is wanted */
    setenv("DS_COUNT_CALLS", argument, 1);
    faults_close();
    printf("%llu %llu %llu\n", (unsigned long long)file_calls(FILE_CHANGES), (unsigned long long)file_calls(FILE_READS),
           (unsigned long long)mem_calls());
}

TEST(calls_are_counted_as_faults_count_them)
{
    struct outcome seen;
    struct error err;
    SCOPED(buf_release) struct buf text = {0};
    in_child(counted, path_of("counts"), &seen);
    assert_int_equal(seen.code, 0);
    assert_int_equal(file_read_all(path_of("counts"), 100, &text, &err), 0);
    assert_string_equal(buf_text(&text), seen.out);
    assert_int_equal(strspn(seen.out, "0 "), 0); /* there were changes */
}

static void set_from_environment(void *argument)
{
    struct error err;
    setenv("DS_FAIL_FILE", argument, 1);
    setenv("DS_FAIL_ALLOC", "1000000", 1);
    faults_open();
    if (file_write_all(path_of("environment"), "x", 1, &err) < 0)
        _exit((int)err.kind);
}

TEST(the_environment_sets_faults)
{
    static const struct {
        const char *text;
        int code;
    } cases[] = {{"1:kill", 137}, {"2:short", 7}, {"1:full", 7}, {"1:13", 2},  {"9999:kill", 0}, {"x", 2},
                 {"1", 2},        {"1:", 2},      {"0:kill", 2}, {"1:28x", 2}, {"", 0},          {"1:dead", 2}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct outcome seen;
        in_child(set_from_environment, (void *)(uintptr_t)cases[i].text, &seen);
        assert_int_equal(seen.code, cases[i].code);
        if (cases[i].text[0])
            assert_non_null(strstr(seen.err, "DS_FAIL_FILE="));
    }
}

GROUP(directory_set_up, directory_tear_down)
