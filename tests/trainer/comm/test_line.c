/* Frames over a socket: in pieces, of no bytes, beyond the bound; sealed ones that somebody between both ends altered,
 * repeated or moved; a reader that does not read. */
#include <sys/socket.h>

#include "tests/unit.h"
#include "trainer/comm/line.h"

#define SIZE_MAX_OF_LINE 8
#define OUT_MAX          (1 << 20)

static int other; /* the end of the socket that the test writes */
static struct line line;

static int set_up(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    other = fds[0];
    line_open(&line, fds[1], SIZE_MAX_OF_LINE, OUT_MAX);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    line_close(&line);
    close(other);
    return 0;
}

static void give(const void *bytes, size_t size)
{
    assert_int_equal(send(other, bytes, size, 0), size);
    assert_int_equal(line_fill(&line), 0);
}

TEST_WITH(a_frame_is_taken_when_all_of_it_came, set_up, tear_down)
{
    const uint32_t bytes[] = {5, SIZE_MAX_OF_LINE, 1, 2, 6, 0};
    struct frame frame;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(line_take(&line, &frame), 0);
        give(&bytes[i], sizeof bytes[i]);
    }
    assert_int_equal(line_take(&line, &frame), 1);
    assert_int_equal(frame.kind, 5);
    assert_true(frame.bytes.size == SIZE_MAX_OF_LINE && memcmp(frame.bytes.data, &bytes[2], SIZE_MAX_OF_LINE) == 0);
    assert_int_equal(line_take(&line, &frame), 0);
    give(&bytes[4], 2 * sizeof bytes[4]);
    assert_int_equal(line_take(&line, &frame), 1);
    assert_true(frame.kind == 6 && frame.bytes.size == 0);
}

TEST_WITH(a_frame_beyond_the_bound_breaks_the_line, set_up, tear_down)
{
    const uint32_t head[] = {5, SIZE_MAX_OF_LINE + 1};
    struct frame frame;
    give(head, sizeof head);
    assert_true(line_take(&line, &frame) < 0);
}

/* ------------------------------------------------------------------------------------------------------ sealed */

#define FRAME_BYTES (8 + SIZE_MAX_OF_LINE + SEAL_BYTES)
#define FRAMES      3

static const unsigned char key[HMAC_BYTES] = {1, 2, 3}, other_key[HMAC_BYTES] = {1, 2, 4};

/* The bytes of frames of kinds 0 to FRAMES - 1, sealed with the key. */
static void sealed_frames(const unsigned char sender_key[HMAC_BYTES], char bytes[FRAMES * FRAME_BYTES])
{
    int fds[2];
    struct line sender;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    line_open(&sender, fds[1], SIZE_MAX_OF_LINE, OUT_MAX);
    line_seal(&sender.seal_out, sender_key);
    for (uint32_t i = 0; i < FRAMES; i++)
        line_put(&sender, i, "12345678", SIZE_MAX_OF_LINE);
    assert_int_equal(line_flush(&sender), 0);
    assert_int_equal(recv(fds[0], bytes, FRAMES * FRAME_BYTES, MSG_WAITALL), FRAMES * FRAME_BYTES);
    line_close(&sender);
    close(fds[0]);
}

/* Gives these frames, by number, to a fresh line. Returns how many it takes before it breaks. */
static unsigned taken_of(const char bytes[FRAMES * FRAME_BYTES], const char *order)
{
    struct frame frame;
    unsigned taken = 0;
    int result = 0;
    tear_down(NULL);
    set_up(NULL);
    line_seal(&line.seal_in, key);
    for (; *order; order++)
        give(bytes + (*order - '0') * FRAME_BYTES, FRAME_BYTES);
    while ((result = line_take(&line, &frame)) > 0) {
        assert_true(frame.bytes.size == SIZE_MAX_OF_LINE && memcmp(frame.bytes.data, "12345678", 8) == 0);
        taken++;
    }
    assert_true((result < 0) == (line.fault != NULL));
    assert_true(result == 0 || line_take(&line, &frame) < 0); /* it stays broken */
    return taken;
}

TEST_WITH(only_the_sealed_frames_in_their_order_are_taken, set_up, tear_down)
{
    char bytes[FRAMES * FRAME_BYTES], changed[FRAMES * FRAME_BYTES];
    sealed_frames(key, bytes);
    assert_int_equal(taken_of(bytes, "012"), 3);
    assert_int_equal(taken_of(bytes, "00"), 1);
    assert_int_equal(taken_of(bytes, "0121"), 3);
    assert_int_equal(taken_of(bytes, "021"), 1);
    assert_int_equal(taken_of(bytes, "12"), 0);
    for (size_t bit = 0; bit < (size_t)8 * FRAME_BYTES; bit++) {
        memcpy(changed, bytes, sizeof bytes);
        changed[FRAME_BYTES + bit / 8] = (char)(changed[FRAME_BYTES + bit / 8] ^ 1 << bit % 8);
        if (taken_of(changed, "012") != 1)
            fail_msg("bit %zu may be flipped", bit);
    }
    sealed_frames(other_key, changed);
    assert_int_equal(taken_of(changed, "0"), 0);
}

/* A frame that was cut says so in its size, or takes bytes of the next one as its own. */
TEST_WITH(a_cut_frame_is_not_taken, set_up, tear_down)
{
    char bytes[FRAMES * FRAME_BYTES];
    struct frame frame;
    sealed_frames(key, bytes);
    for (uint32_t size = 0; size < FRAME_BYTES - 8; size++) {
        memcpy(bytes + 4, &size, sizeof size);
        assert_int_equal(taken_of(bytes, "0"), 0);
        tear_down(NULL);
        set_up(NULL);
        line_seal(&line.seal_in, key);
        give(bytes, 8 + size); /* its bytes are cut too */
        assert_true(line_take(&line, &frame) < 0);
    }
}

TEST_WITH(one_kind_may_come_first_without_a_seal, set_up, tear_down)
{
    char bytes[FRAMES * FRAME_BYTES];
    const uint32_t plain[] = {5, 0};
    struct frame frame;
    sealed_frames(key, bytes);
    line_seal(&line.seal_in, key);
    line.unsealed = 5;
    give(plain, sizeof plain);
    assert_int_equal(line_take(&line, &frame), 1);
    give(bytes, FRAME_BYTES);
    assert_int_equal(line_take(&line, &frame), 1);
    give(plain, sizeof plain);
    assert_true(line_take(&line, &frame) < 0);
}

TEST_WITH(who_does_not_read_breaks_the_line, set_up, tear_down)
{
    static const char block[4096];
    struct frame frame;
    size_t sent = 0;
    for (; !line.fault && sent < (size_t)64 << 20; sent += sizeof block) {
        line_put(&line, 1, block, sizeof block);
        (void)line_flush(&line);
    }
    assert_non_null(line.fault);
    assert_true(line.out.size - line.sent <= OUT_MAX && sent > OUT_MAX);
    assert_true(line_flush(&line) < 0 && line_take(&line, &frame) < 0);
}

/* The buffer of a line that is never empty does not grow with what was sent through it. */
TEST_WITH(a_slow_reader_costs_no_more_than_what_waits, set_up, tear_down)
{
    static char block[4096];
    for (unsigned i = 0; i < 100; i++)
        line_put(&line, 1, block, sizeof block);
    for (unsigned i = 0; i < 5000; i++) {
        assert_int_equal(line_flush(&line), 0);
        assert_true(recv(other, block, sizeof block, MSG_DONTWAIT) > 0);
        if (line.out.size - line.sent < OUT_MAX / 2)
            line_put(&line, 1, block, sizeof block);
    }
    assert_true(line.out.size < (size_t)2 * OUT_MAX);
}
