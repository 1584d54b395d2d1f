/* Frames over a socket: in pieces, of no bytes, beyond the bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/socket.h>
#include <unistd.h>

#include "trainer/comm/line.h"

#define SIZE_MAX_OF_LINE 8

static int other; /* the end of the socket that the test writes */
static struct line line;

static int set_up(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    other = fds[0];
    line_open(&line, fds[1], SIZE_MAX_OF_LINE);
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

static void a_frame_is_taken_when_all_of_it_came(void **state)
{
    (void)state;
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

static void a_frame_beyond_the_bound_breaks_the_line(void **state)
{
    (void)state;
    const uint32_t head[] = {5, SIZE_MAX_OF_LINE + 1};
    struct frame frame;
    give(head, sizeof head);
    assert_true(line_take(&line, &frame) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_frame_is_taken_when_all_of_it_came, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_frame_beyond_the_bound_breaks_the_line, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
