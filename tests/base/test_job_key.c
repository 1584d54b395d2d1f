/* Keys of jobs: which texts and files hold one. */
#include "base/job_key.h"
#include "help.h"

#include <sys/stat.h>

#define DIGITS "00112233445566778899aabbccddeeff"

TEST(random_keys_differ)
{
    struct job_key a = {0}, b = {0};
    job_key_random(&a);
    job_key_random(&b);
    assert_true(a.given && b.given);
    assert_memory_not_equal(a.bytes, b.bytes, sizeof a.bytes);
}

TEST(a_text_of_digits_is_a_key)
{
    static const char *const same[] = {DIGITS, "00112233445566778899AABBCCDDEEFF", DIGITS "\n", " \t" DIGITS "\r\n"};
    struct job_key key, first;
    struct error err;
    char hash[65];
    for (size_t i = 0; i < COUNT(same); i++) {
        assert_int_equal(job_key_parse(str_of(same[i]), &key, &err), 0);
        first = i == 0 ? key : first;
        assert_true(key.given);
        assert_memory_equal(key.bytes, first.bytes, sizeof key.bytes);
    }
    /* hashlib.sha256(b"dstrain job key\n" + bytes.fromhex(DIGITS)) */
    assert_string_equal(hex_write(key.bytes, sizeof key.bytes, hash),
                        "f1f5bb7cb0e29c55768b2aa4ecbf574a504dae9f8d91c14977329bb3589ed790");
    assert_int_equal(job_key_parse(STR(DIGITS DIGITS DIGITS DIGITS), &key, &err), 0);
    assert_memory_not_equal(key.bytes, first.bytes, sizeof key.bytes);
}

TEST(other_texts_are_refused_and_not_quoted)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "has 0"},
        {"\n", "has 0"},
        {"00112233445566778899aabbccddee", "has 30"},
        {DIGITS "f", "has 33"},
        {DIGITS DIGITS DIGITS DIGITS "ab", "has 130"},
        {"0x112233445566778899aabbccddeeff0", "character 2"},
        {DIGITS " " DIGITS, "character 33"},
        {"secretsecretsecretsecretsecretsecret", "character 1"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct job_key key;
        struct error err = {0};
        assert_int_equal(job_key_parse(str_of(bad[i].text), &key, &err), -1);
        assert_int_equal(err.kind, ERR_USAGE);
        assert_false(key.given);
        if (!strstr(err.text, bad[i].says))
            fail_msg("\"%s\" does not hold \"%s\"", err.text, bad[i].says);
        assert_null(strstr(err.text, "secret"));
        assert_null(strstr(err.text, "0011"));
    }
}

static int read_file(const char *name, struct error *err)
{
    struct job_key key = {0};
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    const int result = job_key_read(path, &key, err);
    assert_true(result < 0 || key.given);
    return result < 0 ? (int)err->kind : 0;
}

static void write_file(const char *name, const char *text, size_t size, mode_t mode)
{
    struct error err;
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    assert_int_equal(file_write_all(path, text, size, &err), 0);
    assert_int_equal(chmod(path, mode), 0);
}

TEST(a_file_of_the_owner_alone_is_read)
{
    static char huge[100000];
    static const mode_t modes[] = {0644, 0640, 0620, 0610, 0604, 0602, 0601, 0777};
    struct error err;
    memset(huge, '0', sizeof huge);
    write_file("good", DIGITS "\n", strlen(DIGITS) + 1, 0600);
    assert_int_equal(read_file("good", &err), 0);
    write_file("read-only", DIGITS, strlen(DIGITS), 0400);
    assert_int_equal(read_file("read-only", &err), 0);
    for (size_t i = 0; i < COUNT(modes); i++) {
        write_file("open", DIGITS, strlen(DIGITS), modes[i]);
        assert_int_equal(read_file("open", &err), ERR_MISMATCH);
        assert_non_null(strstr(err.hint, "600"));
    }
    write_file("empty", "", 0, 0600);
    assert_int_equal(read_file("empty", &err), ERR_MISMATCH);
    write_file("huge", huge, sizeof huge, 0600);
    assert_int_equal(read_file("huge", &err), ERR_MISMATCH);
    write_file("text", "secret\n", 7, 0600);
    assert_int_equal(read_file("text", &err), ERR_MISMATCH);
    assert_null(strstr(err.text, "secret"));
    assert_int_equal(read_file("absent", &err), ERR_USAGE);
}

TEST(what_is_no_file_is_refused)
{
    struct error err;
    char *path = path_join(directory, "pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(read_file("pipe", &err), ERR_UNSAFE);
    mem_free(path);
    path = path_join(directory, "folder");
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(read_file("folder", &err), ERR_USAGE);
    mem_free(path);
    path = path_join(directory, "link"); /* what it leads to counts */
    assert_int_equal(symlink("open", path), 0);
    assert_int_equal(read_file("link", &err), ERR_MISMATCH);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("good", path), 0);
    assert_int_equal(read_file("link", &err), 0);
    mem_free(path);
    if (geteuid() == 0) {
        path = path_join(directory, "foreign");
        write_file("foreign", DIGITS, strlen(DIGITS), 0600);
        assert_int_equal(chown(path, 65534, 65534), 0);
        assert_int_equal(read_file("foreign", &err), ERR_MISMATCH);
        mem_free(path);
    }
}

GROUP(directory_set_up, directory_tear_down)
