/* A file's size is taken when it is opened: one that grows afterwards is read up to there. What is no regular file
 * (standard input, a named pipe, a shell's <(…)) cannot be read twice, so its bytes stay in memory until they are
 * forgotten; asking for a later offset reads on up to it. */
#include "pipeline/dump/source.h"

#include <assert.h>

int source_open(struct source *source, const char *path, struct error *err)
{
    bool standard = strcmp(path, "-") == 0;
    *source = (struct source){.file = FILE_CLOSED, .name = standard ? "standard input" : path};
    TRY(file_open_input(&source->file, path, err));
    struct error irregular;
    int64_t bytes = standard ? -1 : file_size(&source->file, &irregular);
    source->pipe = bytes < 0;
    source->bytes = source->pipe ? 0 : (uint64_t)bytes;
    return 0;
}

void source_close(struct source *source)
{
    file_close(&source->file);
    buf_release(&source->kept);
}

/* Reads on in the pipe until the bytes before `end` are kept. */
static int pipe_read_to(struct source *source, uint64_t end, struct error *err)
{
    while (!source->ended && source->kept_from + source->kept.size < end) {
        size_t want = (size_t)(end - source->kept_from) - source->kept.size;
        if (want > 1u << 20)
            want = 1u << 20;
        buf_reserve(&source->kept, want);
        int64_t got = file_read(&source->file, source->kept.data + source->kept.size, want, err);
        TRY(got);
        source->kept.size += (size_t)got;
        source->ended = (size_t)got < want;
    }
    return 0;
}

static int pipe_read(struct source *source, uint64_t offset, size_t bytes, struct buf *out, struct error *err)
{
    assert(offset >= source->kept_from);
    TRY(pipe_read_to(source, offset + bytes, err));
    uint64_t end = source->kept_from + source->kept.size;
    if (offset >= end)
        return 0;
    size_t size = end - offset < bytes ? (size_t)(end - offset) : bytes;
    buf_add(out, source->kept.data + (offset - source->kept_from), size);
    return 0;
}

int source_read_file(const struct source *source, uint64_t offset, size_t bytes, struct buf *out, struct error *err)
{
    if (offset >= source->bytes)
        return 0;
    if (bytes > source->bytes - offset)
        bytes = (size_t)(source->bytes - offset);
    buf_reserve(out, bytes);
    int64_t got = file_read_at(&source->file, out->data + out->size, bytes, offset, err);
    TRY(got);
    if ((size_t)got < bytes)
        return fail_at(err, ERR_INPUT, source->name, offset + (uint64_t)got,
                       "the file became shorter while it was read");
    out->size += bytes;
    return 0;
}

int source_read(struct source *source, uint64_t offset, size_t bytes, struct buf *out, struct error *err)
{
    return source->pipe ? pipe_read(source, offset, bytes, out, err)
                        : source_read_file(source, offset, bytes, out, err);
}

uint64_t source_end(const struct source *source)
{
    return source->pipe ? source->kept_from + source->kept.size : source->bytes;
}

void source_forget(struct source *source, uint64_t offset)
{
    if (!source->pipe || offset <= source->kept_from)
        return;
    size_t gone =
        offset - source->kept_from < source->kept.size ? (size_t)(offset - source->kept_from) : source->kept.size;
    if (gone == 0)
        return;
    memmove(source->kept.data, source->kept.data + gone, source->kept.size - gone);
    source->kept.size -= gone;
    source->kept_from += gone;
}
