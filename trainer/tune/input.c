#include "trainer/tune/input.h"

#include <string.h>
#include <unistd.h>

#include "base/bz/stream.h"
#include "base/file.h"
#include "base/log.h"
#include "base/output.h"

#define STEP_BYTES (1u << 20)

/* Recognises a compressed file by its first bytes; unpacks bzip2. */
static int unpack(const char *path, size_t bytes_max, struct buf *text, size_t from, struct error *err)
{
    static const struct {
        struct str magic;
        const char *unpack;
    } kinds[] = {{{"\x1f\x8b", 2}, "zcat"},
                 {{"\x28\xb5\x2f\xfd", 4}, "zstdcat"},
                 {{"\xfd"
                   "7zXZ",
                   5},
                  "xzcat"}};
    const struct str head = {text->data + from, text->size - from};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_starts(head, kinds[i].magic)) {
            fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "is compressed");
            return hint_command(err, "%s %s | dstrain ... - reads it unpacked from standard input", kinds[i].unpack,
                                path);
        }
    if (!bzip2_begins(head))
        return 0;
    struct buf packed = {0};
    buf_add(&packed, head.data, head.size);
    text->size = from;
    const int result = bzip2_unpack(path, buf_str(&packed), bytes_max, text, err);
    buf_release(&packed);
    return result;
}

static int read_bytes(const char *path, size_t bytes_max, struct buf *out, struct error *err)
{
    struct file file;
    const size_t before = out->size;
    int64_t got;
    TRY(file_open_input(&file, path, err));
    if (strcmp(path, "-") == 0 && isatty(STDIN_FILENO))
        log_say("note       reads what is typed here; Ctrl-D at the start of a line ends it");
    do {
        buf_reserve(out, STEP_BYTES);
        got = file_read(&file, out->data + out->size, STEP_BYTES, err);
        out->size += got > 0 ? (size_t)got : 0;
    } while (got == STEP_BYTES && out->size - before <= bytes_max);
    file_close(&file);
    if (got < 0)
        return -1;
    if (out->size - before > bytes_max)
        return fail_at(err, ERR_UNSAFE, path, bytes_max, "is longer than %zu bytes", bytes_max);
    return 0;
}

void input_repair(const char *name, struct buf *text, size_t from)
{
    uint64_t dropped = 0;
    char bytes[56];
    if (text->size > from)
        text->size = from + utf8_repair(text->data + from, text->size - from, &dropped);
    if (dropped > 0)
        log_warn("%s: %s left out: not UTF-8", strcmp(name, "-") == 0 ? "standard input" : name,
                 format_counted(dropped, "byte", bytes));
}

int input_read(const char *path, size_t bytes_max, struct buf *out, struct error *err)
{
    const size_t before = out->size;
    TRY(read_bytes(path, bytes_max, out, err));
    TRY(unpack(path, bytes_max, out, before, err));
    input_repair(path, out, before);
    return 0;
}

bool input_line(struct str *rest, struct str *line)
{
    if (rest->size == 0)
        return false;
    const char *end = rest->data + rest->size, *mark = memchr(rest->data, '\n', rest->size);
    *line = str_range(rest->data, mark ? mark : end);
    *rest = str_range(mark ? mark + 1 : end, end);
    if (line->size > 0 && line->data[line->size - 1] == '\r')
        line->size--;
    return true;
}
