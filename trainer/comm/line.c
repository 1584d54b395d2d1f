#include "trainer/comm/line.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define FILL_BYTES ((size_t)64 << 10)
#define LONG_FRAME "it sent a message longer than any of this program"
#define WRONG_SEAL "it sent a message that was altered, cut, repeated or out of order"
#define FULL_QUEUE "it does not read what is sent to it"

struct head {
    uint32_t kind, size;
};
_Static_assert(sizeof(struct head) == 8, "a frame's head is 8 bytes");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "frames are the bytes of structs");

void line_open(struct line *line, int fd, uint32_t size_max, size_t out_max)
{
    assert(fd >= 0);
    *line = (struct line){.fd = fd, .size_max = size_max, .out_max = out_max};
}

void line_seal(struct seal *seal, const unsigned char key[HMAC_BYTES])
{
    *seal = (struct seal){.on = true};
    memcpy(seal->key, key, sizeof seal->key);
}

/* The seal of the next frame, whose head and bytes are `frame`. There is room for its number behind it. */
static void make_seal(struct seal *seal, char *frame, size_t size, unsigned char mac[SEAL_BYTES])
{
    _Static_assert(sizeof seal->count <= SEAL_BYTES, "the number stands where the seal will");
    memcpy(frame + size, &seal->count, sizeof seal->count);
    hmac_sha256((struct str){(const char *)seal->key, sizeof seal->key}, (struct str){frame, size + sizeof seal->count},
                mac);
    seal->count++;
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
    const struct head head = {kind, (uint32_t)(size + (line->seal_out.on ? SEAL_BYTES : 0))};
    unsigned char mac[SEAL_BYTES] = {0};
    assert(size <= UINT32_MAX - SEAL_BYTES);
    if (line->fd < 0 || line->fault)
        return;
    if (line->out.size - line->sent + sizeof head + head.size > line->out_max) {
        line->fault = FULL_QUEUE;
        return;
    }
    const size_t from = line->out.size;
    buf_add(&line->out, &head, sizeof head);
    buf_add(&line->out, bytes, size);
    if (!line->seal_out.on)
        return;
    buf_add(&line->out, mac, sizeof mac);
    make_seal(&line->seal_out, line->out.data + from, sizeof head + size, mac);
    memcpy(line->out.data + from + sizeof head + size, mac, sizeof mac);
}

bool line_is_empty(const struct line *line)
{
    return line->sent == line->out.size;
}

/* Removes the first bytes of a buffer. */
static void drop(struct buf *buf, size_t *bytes)
{
    buf->size -= *bytes;
    memmove(buf->data, buf->data + *bytes, buf->size);
    *bytes = 0;
}

int line_flush(struct line *line)
{
    assert(line->sent <= line->out.size);
    if (line->fault)
        return -1;
    while (!line_is_empty(line)) {
        const ssize_t sent =
            send(line->fd, line->out.data + line->sent, line->out.size - line->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0) {
            if (line->sent > line->out.size / 2) /* a slow reader: the buffer may never become empty */
                drop(&line->out, &line->sent);
            return errno == EAGAIN ? 0 : -1;
        }
        line->sent += (size_t)sent;
    }
    buf_reset(&line->out);
    line->sent = 0;
    return 0;
}

int line_fill(struct line *line)
{
    if (line->taken > 0)
        drop(&line->in, &line->taken);
    const size_t frame = sizeof(struct head) + line->size_max + SEAL_BYTES,
                 room = frame < FILL_BYTES ? frame : FILL_BYTES;
    buf_reserve(&line->in, room); /* little for a connection that may send little */
    for (;;) {
        const ssize_t got = recv(line->fd, line->in.data + line->in.size, room, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 && errno == EAGAIN ? 0 : -1;
        line->in.size += (size_t)got;
        return 0;
    }
}

/* Checks a frame whose head and bytes, with the seal at their end, are `frame`. */
static bool has_seal(struct seal *seal, char *frame, size_t size)
{
    unsigned char wanted[SEAL_BYTES], mac[SEAL_BYTES];
    memcpy(mac, frame + size - sizeof mac, sizeof mac);
    make_seal(seal, frame, size - sizeof mac, wanted);
    return hmac_same(mac, wanted);
}

static int broken_by(struct line *line, const char *fault)
{
    line->fault = fault;
    return -1;
}

int line_take(struct line *line, struct frame *frame)
{
    struct head head;
    assert(line->taken <= line->in.size);
    const size_t left = line->in.size - line->taken;
    char *from = line->in.data + line->taken;
    if (line->fault)
        return -1;
    if (left < sizeof head)
        return 0;
    memcpy(&head, from, sizeof head);
    const bool plain = !line->seal_in.on || (line->unsealed && line->seal_in.count == 0 && head.kind == line->unsealed);
    const size_t seal = plain ? 0 : SEAL_BYTES;
    if (head.size > line->size_max + seal)
        return broken_by(line, LONG_FRAME);
    if (head.size < seal)
        return broken_by(line, WRONG_SEAL);
    if (left - sizeof head < head.size)
        return 0;
    if (!plain && !has_seal(&line->seal_in, from, sizeof head + head.size))
        return broken_by(line, WRONG_SEAL);
    *frame = (struct frame){head.kind, {from + sizeof head, head.size - seal}};
    line->taken += sizeof head + head.size;
    return 1;
}
