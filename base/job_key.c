#include "base/job_key.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/sha256.h"

#include <inttypes.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define LABEL      "dstrain job key\n"
#define FILE_BYTES 256 /* of a file that holds a key; a longer one is something else */

void job_key_random(struct job_key *key)
{
    if (getrandom(key->bytes, sizeof key->bytes, 0) != sizeof key->bytes)
        die(ERR_RESOURCE, "the system has no random numbers");
    key->given = true;
}

int job_key_parse(struct str digits, struct job_key *key, struct error *err)
{
    unsigned char bytes[JOB_KEY_DIGITS_MAX / 2];
    struct sha256 sha = sha256_begin();
    digits = str_trim(digits);
    *key = (struct job_key){0};
    for (size_t i = 0; i < digits.size; i++)
        if (hex_digit(digits.data[i]) < 0)
            return fail(err, ERR_USAGE, "a key consists of hexadecimal digits, but character %zu of this one is none",
                        i + 1);
    if (digits.size < JOB_KEY_DIGITS_MIN || digits.size > JOB_KEY_DIGITS_MAX || digits.size % 2 != 0)
        return fail(err, ERR_USAGE, "a key has an even number of %d to %d hexadecimal digits, but this one has %zu",
                    JOB_KEY_DIGITS_MIN, JOB_KEY_DIGITS_MAX, digits.size);
    hex_read(digits, bytes);
    sha256_add(&sha, LABEL, sizeof LABEL - 1);
    sha256_add(&sha, bytes, digits.size / 2);
    sha256_end(&sha, key->bytes);
    key->given = true;
    explicit_bzero(bytes, sizeof bytes);
    return 0;
}

/* Checks the open file, not its path, which could name another file a moment later. */
static int check_owner(const struct file *file, struct error *err)
{
    struct stat status;
    if (fstat(file->fd, &status) < 0)
        return fail_errno(err, file->path, "cannot be examined");
    if (status.st_uid != geteuid()) {
        fail_at(err, ERR_MISMATCH, file->path, ERROR_NO_OFFSET, "belongs to another user, who knows the key in it");
        return hint(err, "use a key file of your own, of mode 600");
    }
    if (status.st_mode & (S_IRWXG | S_IRWXO)) {
        fail_at(err, ERR_MISMATCH, file->path, ERROR_NO_OFFSET, "has mode %03o: others may know the key in it",
                (unsigned)(status.st_mode & 0777));
        return hint_command(err, "if nobody has read it: chmod 600 %s; else make another key in a new file",
                            file->path);
    }
    return 0;
}

int job_key_read(const char *path, struct job_key *key, struct error *err)
{
    SCOPED(file_close) struct file file = FILE_CLOSED;
    char text[FILE_BYTES + 1];
    struct error why;
    TRY(file_open_read(&file, path, err));
    int64_t size = check_owner(&file, err) < 0 ? -1 : file_read(&file, text, sizeof text, err);
    if (size > FILE_BYTES)
        size = fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET, "is longer than a key");
    else if (size >= 0 && job_key_parse((struct str){text, (size_t)size}, key, &why) < 0)
        size = fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET, "holds no key: %s", why.text);
    explicit_bzero(text, sizeof text);
    return size < 0 ? -1 : 0;
}
