#include "trainer/data/input.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/output.h"
#include "base/progress.h"

#define STEP_BYTES (1u << 20)

static const struct packing {
    struct str magic;
    const char *tool, *cat;
} packings[] = {{{"\x1f\x8b", 2}, "gzip", "zcat"},
                {{"\x28\xb5\x2f\xfd", 4}, "zstd", "zstdcat"},
                {{"\xfd"
                  "7zXZ",
                  5},
                 "xz",
                 "xzcat"}};

/* The file's own program decompresses it, from the beginning. */
static int unpack(struct input *in, const struct packing *packing, struct error *err)
{
    char tool[8], flags[] = "-dc";
    char *const words[] = {tool, flags, NULL};
    if (lseek(in->file.fd, 0, SEEK_SET) != 0) {
        fail_at(err, ERR_UNSAFE, in->path, ERROR_NO_OFFSET, "is compressed, and no file");
        return hint_command(err, "%s FILE | dstrain ... - reads it unpacked from standard input", packing->cat);
    }
    snprintf(tool, sizeof tool, "%s", packing->tool);
    in->tool = packing->tool;
    in->ended = false;
    buf_reset(&in->text);
    return child_open(&in->child, words, in->file.fd, err);
}

/* The end of the child's output. */
static int unpacked(struct input *in, struct error *err)
{
    const int code = child_close(&in->child);
    if (code == 127) {
        fail_at(err, ERR_UNSAFE, in->path, ERROR_NO_OFFSET, "needs the program %s, which is not there", in->tool);
        return hint(err, "install %s, or unpack the file elsewhere", in->tool);
    }
    return code == 0 ? 0
                     : fail_at(err, ERR_INPUT, in->path, ERROR_NO_OFFSET, "is damaged: %s cannot unpack it", in->tool);
}

/* Recognises a compressed file by its first bytes. */
static int look(struct input *in, struct error *err)
{
    const struct str head = buf_str(&in->text);
    for (size_t i = 0; i < sizeof packings / sizeof *packings; i++)
        if (str_starts(head, packings[i].magic))
            return unpack(in, &packings[i], err);
    if (bzip2_begins(head)) {
        in->packed = bzip2_stream_open(in->path, head, in->ended ? NULL : &in->file);
        in->ended = false;
        buf_reset(&in->text);
    }
    return 0;
}

static int read_step(struct input *in, struct error *err)
{
    if (in->packed) {
        const int more = bzip2_stream_next(in->packed, &in->text, err);
        in->ended = more == 0;
        return more;
    }
    struct file from = in->file; /* the same name in errors */
    if (in->child.pid != 0)
        from.fd = in->child.out;
    buf_reserve(&in->text, STEP_BYTES);
    const int64_t got = file_read(&from, in->text.data + in->text.size, STEP_BYTES, err);
    TRY(got);
    in->text.size += (size_t)got;
    in->ended = got < STEP_BYTES;
    return in->ended && in->child.pid != 0 ? unpacked(in, err) : 0;
}

/* The name of UTF-16 if the text is that, by its mark or by zeros in every second byte of its head; else NULL. */
static const char *utf16_of(struct str text)
{
    size_t zeros[2] = {0}, pairs = text.size / 2 < 32 ? text.size / 2 : 32;
    for (size_t i = 0; i < 2 * pairs; i++)
        zeros[i % 2] += text.data[i] == '\0';
    if (str_starts(text, (struct str){"\xff\xfe", 2}) || str_starts(text, (struct str){"\xfe\xff", 2}))
        return "UTF-16";
    if (pairs < 4 || (zeros[0] == pairs) == (zeros[1] == pairs))
        return NULL;
    return zeros[0] == pairs ? "UTF-16BE" : "UTF-16LE";
}

static int refuse_utf16(const struct input *in, struct error *err)
{
    const char *encoding = utf16_of(buf_str(&in->text));
    if (!encoding)
        return 0;
    fail_at(err, ERR_UNSAFE, in->path, ERROR_NO_OFFSET, "is UTF-16");
    return hint_command(err, "iconv -f %s -t UTF-8 %s >FILE", encoding, in->path);
}

/* Reads more. What input_next has given is overwritten. */
static int fill(struct input *in, struct error *err)
{
    if (in->at > 0) {
        in->text.size -= in->at;
        memmove(in->text.data, in->text.data + in->at, in->text.size);
        in->at = 0;
    }
    if (stop_requested())
        return fail_at(err, ERR_STOPPED, in->path, ERROR_NO_OFFSET, "stopped while it was read");
    TRY(read_step(in, err));
    if (!in->begun) {
        in->begun = true;
        TRY(look(in, err));
    }
    return in->next == 0 ? refuse_utf16(in, err) : 0;
}

int input_open(struct input *in, const char *path, struct error *err)
{
    *in = (struct input){.path = path, .file = FILE_CLOSED, .child = CHILD_NONE};
    TRY(file_open_input(&in->file, path, err));
    if (strcmp(path, "-") == 0 && isatty(STDIN_FILENO))
        log_say("note       reads what is typed here; Ctrl-D at the start of a line ends it");
    return 0;
}

/* Reads until the line that begins at `at` is there; *end becomes the byte after its LF. */
static int find_end(struct input *in, size_t *end, struct error *err)
{
    for (size_t looked = 0;;) {
        const size_t size = in->text.size - in->at;
        const char *line = in->text.data + in->at,
                   *mark = size > looked ? memchr(line + looked, '\n', size - looked) : NULL;
        *end = mark ? in->at + (size_t)(mark - line) + 1 : in->text.size;
        if (*end - in->at > INPUT_LINE_BYTES_MAX)
            return fail_at(err, ERR_UNSAFE, in->path, in->next, "line %" PRIu64 " is longer than %u bytes", in->number,
                           INPUT_LINE_BYTES_MAX);
        if (mark || in->ended)
            return 0;
        looked = size;
        TRY(fill(in, err));
    }
}

int input_next(struct input *in, struct str *line, struct error *err)
{
    size_t end;
    in->number++;
    TRY(find_end(in, &end, err));
    char *begin = in->text.data + in->at;
    const size_t size = end - in->at;
    if (size == 0)
        return 0;
    const struct str whole = {begin, size - (begin[size - 1] == '\n')};
    const struct str text = in->number == 1 ? str_without_mark(whole) : whole;
    *line = (struct str){text.data, utf8_repair((char *)text.data, text.size, &in->dropped)};
    in->cr = line->size > 0 && line->data[line->size - 1] == '\r';
    line->size -= in->cr;
    in->at = end;
    in->offset = in->next;
    in->next += size;
    return 1;
}

int input_bytes(struct input *in, struct str *bytes, struct error *err)
{
    while (in->at == in->text.size && !in->ended)
        TRY(fill(in, err));
    *bytes = (struct str){in->text.data + in->at, in->text.size - in->at};
    in->at = in->text.size;
    in->next += bytes->size;
    return bytes->size > 0;
}

static void say_dropped(const char *name, uint64_t dropped)
{
    char bytes[56];
    if (dropped > 0)
        log_warn("%s: %s left out: not UTF-8", strcmp(name, "-") == 0 ? "standard input" : name,
                 format_counted(dropped, "byte", bytes));
}

void input_close(struct input *in)
{
    if (!in->path)
        return;
    say_dropped(in->path, in->dropped);
    child_close(&in->child);
    bzip2_stream_close(in->packed);
    file_close(&in->file);
    buf_release(&in->text);
    *in = (struct input){0};
}

int input_read(const char *path, size_t bytes_max, struct buf *out, struct error *err)
{
    struct input in;
    struct str line;
    const size_t before = out->size;
    int more = input_open(&in, path, err) < 0 ? -1 : 1;
    while (more > 0) {
        more = input_next(&in, &line, err);
        if (more > 0) {
            buf_add_str(out, line);
            buf_add_byte(out, '\n');
        }
        if (more > 0 && out->size - before > bytes_max)
            more = fail_at(err, ERR_UNSAFE, path, in.offset, "is longer than %zu bytes", bytes_max);
    }
    input_close(&in);
    return more;
}

void input_repair(const char *name, struct buf *text, size_t from)
{
    uint64_t dropped = 0;
    if (text->size > from)
        text->size = from + utf8_repair(text->data + from, text->size - from, &dropped);
    say_dropped(name, dropped);
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
