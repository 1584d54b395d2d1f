/* In: a socket. Out: whole frames, both ways. */
#include "trainer/comm/line.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define FILL_BYTES ((size_t)64 << 10)

struct head {
    uint32_t kind, size;
};
_Static_assert(sizeof(struct head) == 8, "a frame's head is 8 bytes");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "frames are the bytes of structs");

void line_open(struct line *line, int fd, uint32_t size_max)
{
    assert(fd >= 0);
    *line = (struct line){.fd = fd, .size_max = size_max};
}

void line_close(struct line *line)
{
    if (line->fd >= 0)
        close(line->fd);
    buf_release(&line->in);
    buf_release(&line->out);
    *line = LINE_CLOSED;
}

void line_put(struct line *line, uint32_t kind, const void *bytes, size_t size)
{
    const struct head head = {kind, (uint32_t)size};
    assert(size <= UINT32_MAX);
    if (line->fd < 0)
        return;
    buf_add(&line->out, &head, sizeof head);
    buf_add(&line->out, bytes, size);
}

bool line_is_empty(const struct line *line)
{
    return line->sent == line->out.size;
}

int line_flush(struct line *line)
{
    assert(line->sent <= line->out.size);
    while (!line_is_empty(line)) {
        const ssize_t sent =
            send(line->fd, line->out.data + line->sent, line->out.size - line->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return errno == EAGAIN ? 0 : -1;
        line->sent += (size_t)sent;
    }
    buf_reset(&line->out);
    line->sent = 0;
    return 0;
}

int line_fill(struct line *line)
{
    if (line->taken > 0) {
        line->in.size -= line->taken;
        memmove(line->in.data, line->in.data + line->taken, line->in.size);
        line->taken = 0;
    }
    buf_reserve(&line->in, FILL_BYTES);
    for (;;) {
        const ssize_t got = recv(line->fd, line->in.data + line->in.size, FILL_BYTES, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 && errno == EAGAIN ? 0 : -1;
        line->in.size += (size_t)got;
        return 0;
    }
}

int line_take(struct line *line, struct frame *frame)
{
    struct head head;
    assert(line->taken <= line->in.size);
    const size_t left = line->in.size - line->taken;
    if (left < sizeof head)
        return 0;
    memcpy(&head, line->in.data + line->taken, sizeof head);
    if (head.size > line->size_max)
        return -1;
    if (left - sizeof head < head.size)
        return 0;
    *frame = (struct frame){head.kind, {line->in.data + line->taken + sizeof head, head.size}};
    line->taken += sizeof head + head.size;
    return 1;
}
