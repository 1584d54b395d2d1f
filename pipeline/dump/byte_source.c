/* The size of a file is taken when it is opened: bytes appended later are not read. What is not a regular file
 * (standard input, a named pipe, a shell's <(…)) cannot be read twice, so its bytes stay in memory until they are
 * forgotten. Asking for a later offset reads up to it. */
#include "pipeline/dump/byte_source.h"

#include "base/progress.h"
#include "pipeline/dump/members.h"

#include <assert.h>

#define READ_BYTES ((size_t)1 << 20) /* at a time */

int byte_source_open(struct byte_source *source, const char *path, struct error *err)
{
    bool standard = strcmp(path, "-") == 0;
    *source = (struct byte_source){.file = FILE_CLOSED, .name = standard ? "standard input" : path, .path = path};
    TRY(file_open_input(&source->file, path, err));
    struct error irregular;
    int64_t bytes = standard ? -1 : file_size(&source->file, &irregular);
    source->pipe = bytes < 0;
    source->bytes = source->stored = source->pipe ? 0 : (uint64_t)bytes;
    return 0;
}

void byte_source_open_member(struct byte_source *source, const char *name, struct members *members, uint64_t number,
                             uint64_t bytes)
{
    *source =
        (struct byte_source){.file = FILE_CLOSED, .name = name, .path = name, .members = members, .member = number};
    source->bytes = source->stored = bytes == UINT64_MAX ? 0 : bytes;
}

void byte_source_park(struct byte_source *source)
{
    if (source->pipe || source->members || source->unpack || source->recode || source->convert)
        return;
    source->opened = file_identity(&source->file);
    source->parked = true;
    file_close(&source->file);
}

static int open_again(const struct byte_source *source, struct file *file, struct error *err)
{
    TRY(file_open_input(file, source->path, err));
    if (file_identity(file) == source->opened)
        return 0;
    file_close(file);
    return fail_at(err, ERR_INPUT, source->name, ERROR_NO_OFFSET, "the file was exchanged while it was read");
}

/* The next bytes as they are stored. */
static int64_t next_stored(void *context, void *out, size_t bytes, struct error *err)
{
    struct byte_source *source = context;
    if (source->pipe)
        return file_read(&source->file, out, bytes, err);
    if (!source->members && bytes > source->stored - source->read)
        bytes = (size_t)(source->stored - source->read);
    const int64_t got = source->members
                            ? members_read(source->members, source->member, source->name, out, bytes, source->read, err)
                            : file_read_at(&source->file, out, bytes, source->read, err);
    source->read += got > 0 ? (uint64_t)got : 0;
    return got;
}

static void open_unpack(struct byte_source *source, struct str start)
{
    struct file *file = source->pipe || source->members ? NULL : &source->file;
    source->unpack = unpack_open(&source->packed, file, next_stored, source, start);
}

void byte_source_unpack(struct byte_source *source, const struct unpack_options *options)
{
    assert(!byte_source_is_packed(source) && !source->recode && source->kept_from == 0);
    byte_source_rewind(source);
    source->packed = *options;
    source->bytes = 0;
    if (!source->pipe)
        return;
    open_unpack(source, buf_str(&source->kept));
    buf_reset(&source->kept);
    source->ended = false;
}

/* The next bytes as they are stored, or unpacked: what the encoding converts. */
static int64_t next_raw(void *context, void *out, size_t bytes, struct error *err)
{
    struct byte_source *source = context;
    if (source->parked && !source->file.path)
        TRY(open_again(source, &source->file, err));
    if (!byte_source_is_packed(source))
        return next_stored(source, out, bytes, err);
    if (!source->unpack)
        open_unpack(source, STR(""));
    return unpack_read(source->unpack, out, bytes, err);
}

static int open_recode(struct byte_source *source, struct str start, struct error *err)
{
    const struct recode_options options = {
        .name = source->name, .encoding = source->encoding, .packed = byte_source_is_packed(source)};
    return recode_open(&source->recode, &options, start, next_raw, source, err);
}

int byte_source_recode(struct byte_source *source, const struct encoding *encoding, struct error *err)
{
    assert(source->kept_from == 0 && !source->recode && encoding_converts(encoding));
    byte_source_rewind(source);
    source->encoding = *encoding;
    source->bytes = source->text_bytes = 0;
    TRY(open_recode(source, buf_str(&source->kept), err));
    buf_reset(&source->kept);
    source->ended = false;
    return 0;
}

/* The next bytes of the text before it becomes JSON lines. */
static int64_t next_text(void *context, void *out, size_t bytes, struct error *err)
{
    struct byte_source *source = context;
    if (!encoding_converts(&source->encoding))
        return next_raw(source, out, bytes, err);
    if (!source->recode)
        TRY(open_recode(source, STR(""), err));
    return recode_read(source->recode, out, bytes, err);
}

static void open_convert(struct byte_source *source)
{
    source->convert = convert_open(&source->conversion, source->name, buf_str(&source->kept), next_text, source);
    buf_reset(&source->kept);
}

void byte_source_convert(struct byte_source *source, const struct conversion *conversion)
{
    assert(source->kept_from == 0 && !source->conversion.converter);
    byte_source_rewind(source);
    source->conversion = *conversion;
    source->bytes = source->text_bytes = 0;
    open_convert(source);
    source->ended = false;
}

static void close_decoder(struct byte_source *source)
{
    const size_t memory =
        (source->unpack ? unpack_memory(source->unpack) : 0) + (source->members ? members_memory(source->members) : 0);
    source->memory = memory > source->memory ? memory : source->memory;
    unpack_close(source->unpack);
    recode_close(source->recode);
    convert_close(source->convert);
    source->convert = NULL;
    source->unpack = NULL;
    source->recode = NULL;
    source->read = 0;
    if (source->parked)
        file_close(&source->file);
}

void byte_source_let_go(struct byte_source *source)
{
    if (byte_source_is_made(source) && source->ended)
        close_decoder(source);
}

void byte_source_rewind(struct byte_source *source)
{
    if (source->pipe || !byte_source_is_made(source))
        return;
    close_decoder(source);
    buf_release(&source->kept);
    source->kept_from = 0;
    source->ended = false;
}

void byte_source_close(struct byte_source *source)
{
    close_decoder(source);
    file_close(&source->file);
    buf_release(&source->kept);
}

static int64_t next_bytes(struct byte_source *source, void *out, size_t bytes, struct error *err)
{
    assert(!source->ended); /* after the end the decoder is gone, and another would begin at the first byte */
    if (!source->conversion.converter)
        return next_text(source, out, bytes, err);
    if (!source->convert) /* from the first byte again: nothing is kept */
        open_convert(source);
    return convert_read(source->convert, out, bytes, err);
}

/* Reads on in the pipe or text until the bytes before `end` are kept. */
static int pipe_read_to(struct byte_source *source, uint64_t end, struct error *err)
{
    while (!source->ended && source->kept_from + source->kept.size < end) {
        size_t want = (size_t)(end - source->kept_from) - source->kept.size;
        if (want > READ_BYTES)
            want = READ_BYTES;
        const uint64_t at = source->kept_from + source->kept.size, left = source->bytes > at ? source->bytes - at : 0;
        if (source->bytes > 0 && want > left) /* where the end is known, one byte more shows it */
            want = (size_t)left + 1;
        buf_reserve(&source->kept, want);
        int64_t got = next_bytes(source, source->kept.data + source->kept.size, want, err);
        TRY(got);
        assert((size_t)got <= want);
        source->kept.size += (size_t)got;
        source->ended = (size_t)got < want;
        if (source->ended)
            source->text_bytes = source->kept_from + source->kept.size;
    }
    return 0;
}

/* Of text: skips the bytes before `offset`, from the beginning again if that has been passed. */
static int text_pass_to(struct byte_source *source, uint64_t offset, struct error *err)
{
    if (offset < source->kept_from)
        byte_source_rewind(source);
    while (!source->ended && source->kept_from + source->kept.size < offset) {
        const uint64_t at = source->kept_from + source->kept.size;
        if (stop_requested())
            return fail(err, ERR_STOPPED, "stopped on request");
        byte_source_forget(source, at);
        TRY(pipe_read_to(source, offset - at < READ_BYTES ? offset : at + READ_BYTES, err));
    }
    return 0;
}

int byte_source_measure(struct byte_source *source, struct error *err)
{
    if (source->pipe || source->bytes > 0 || !byte_source_is_made(source))
        return 0;
    if (source->text_bytes == 0) {
        TRY(text_pass_to(source, UINT64_MAX, err));
        byte_source_rewind(source);
    }
    source->bytes = source->text_bytes;
    return 0;
}

uint64_t byte_source_text_guess(const struct byte_source *source)
{
    if (source->bytes > 0 || source->text_bytes > 0)
        return source->bytes > 0 ? source->bytes : source->text_bytes;
    const uint64_t stored = source->unpack ? unpack_stored(source->unpack) : source->read;
    const double text = (double)(source->kept_from + source->kept.size);
    return stored > 0 ? (uint64_t)(text * ((double)source->stored / (double)stored)) : 0;
}

size_t byte_source_gaps(const struct byte_source *source, uint64_t from, uint64_t end, const struct gap **gaps)
{
    size_t all = 0, first = 0;
    if (source->unpack)
        *gaps = unpack_gaps(source->unpack, &all);
    while (first < all && (*gaps)[first].at < from)
        first++;
    *gaps = all ? *gaps + first : NULL;
    size_t count = 0;
    while (first + count < all && (*gaps)[count].at < end)
        count++;
    assert(first + count <= all);
    return count;
}

static int pipe_read(struct byte_source *source, uint64_t offset, size_t bytes, struct buf *out, struct error *err)
{
    if (byte_source_is_made(source))
        TRY(text_pass_to(source, offset, err));
    assert(offset >= source->kept_from);
    TRY(pipe_read_to(source, offset + bytes, err));
    uint64_t end = source->kept_from + source->kept.size;
    if (offset >= end)
        return 0;
    size_t size = end - offset < bytes ? (size_t)(end - offset) : bytes;
    buf_add(out, source->kept.data + (offset - source->kept_from), size);
    return 0;
}

int byte_source_read_file(const struct byte_source *source, uint64_t offset, size_t bytes, struct buf *out,
                          struct error *err)
{
    if (offset >= source->bytes || byte_source_is_made(source))
        return 0;
    if (bytes > source->bytes - offset)
        bytes = (size_t)(source->bytes - offset);
    buf_reserve(out, bytes);
    struct file again = FILE_CLOSED;
    if (source->parked)
        TRY(open_again(source, &again, err));
    int64_t got = file_read_at(source->parked ? &again : &source->file, out->data + out->size, bytes, offset, err);
    file_close(&again);
    TRY(got);
    if ((size_t)got < bytes)
        return fail_at(err, ERR_INPUT, source->name, offset + (uint64_t)got,
                       "the file became shorter while it was read");
    out->size += bytes;
    return 0;
}

int byte_source_read(struct byte_source *source, uint64_t offset, size_t bytes, struct buf *out, struct error *err)
{
    return source->pipe || byte_source_is_made(source) ? pipe_read(source, offset, bytes, out, err)
                                                       : byte_source_read_file(source, offset, bytes, out, err);
}

uint64_t byte_source_end(const struct byte_source *source)
{
    return source->pipe || byte_source_is_made(source) ? source->kept_from + source->kept.size : source->bytes;
}

void byte_source_forget(struct byte_source *source, uint64_t offset)
{
    if ((!source->pipe && !byte_source_is_made(source)) || offset <= source->kept_from)
        return;
    size_t gone =
        offset - source->kept_from < source->kept.size ? (size_t)(offset - source->kept_from) : source->kept.size;
    if (gone == 0)
        return;
    memmove(source->kept.data, source->kept.data + gone, source->kept.size - gone);
    source->kept.size -= gone;
    source->kept_from += gone;
}
