/* The queue of comm over a fake library that tests control, and the count of bytes on the wire. Real processes:
 * tests/comm. */
// labels: threads

#include <pthread.h>
#include <semaphore.h>

#include "tests/unit.h"
#include "trainer/comm/library.h"

/* ----------------------------------------------------------------------------------------------- a fake library */

/* A sum waits until the test allows it, and adds 1 for each operation done before. */
static struct {
    sem_t turns;
    pthread_t thread; /* the thread that opened it */
    int opens, sums, aborts, closes;
    int fails_at; /* number of the sum that fails; -1: none */
    bool well, refuses;
} false_one;

static void *false_open(const struct comm_options *options, struct error *err)
{
    false_one.thread = pthread_self();
    false_one.opens++;
    if (!false_one.refuses)
        return &false_one;
    (fail)(err, ERR_PEER, "rank %u is alone", options->rank);
    return NULL;
}

static int false_reduce(void *opened, enum comm_operation operation, enum comm_type type, void *data, size_t count,
                        struct error *err)
{
    assert_ptr_equal(opened, &false_one);
    assert_true(operation == COMM_SUM && type == COMM_INT64 && count == 1);
    assert_true(pthread_equal(pthread_self(), false_one.thread));
    sem_wait(&false_one.turns);
    if (false_one.aborts > 0)
        return (fail)(err, ERR_PEER, "given up");
    if (false_one.sums == false_one.fails_at)
        return (fail)(err, ERR_PEER, "the cable is cut");
    *(int64_t *)data += false_one.sums++;
    return 0;
}

static void false_abort(void *opened)
{
    (void)opened;
    false_one.aborts++;
    sem_post(&false_one.turns);
}

static void false_close(void *opened, bool well)
{
    (void)opened;
    assert_true(pthread_equal(pthread_self(), false_one.thread));
    false_one.closes++;
    false_one.well = well;
}

static const struct comm_library library = {
    .interface = COMM_INTERFACE,
    .waits = true,
    .open = false_open,
    .reduce = false_reduce,
    .abort = false_abort,
    .close = false_close,
};

static int reset(void **state)
{
    (void)state;
    memset(&false_one, 0, sizeof false_one);
    false_one.fails_at = -1;
    return sem_init(&false_one.turns, 0, 0);
}

static struct comm *open_false(void)
{
    struct error err;
    struct comm *comm = comm_open_library(&library, &(struct comm_options){.rank = 1, .size = 3}, &err);
    assert_non_null(comm);
    assert_int_equal(comm_rank(comm), 1);
    assert_int_equal(comm_size(comm), 3);
    return comm;
}

static void give_turns(int n)
{
    while (n-- > 0)
        sem_post(&false_one.turns);
}

static struct comm_work sum(int64_t *value)
{
    return (struct comm_work){.operation = COMM_SUM, .type = COMM_INT64, .out = value, .count = 1};
}

/* ------------------------------------------------------------------------------------------------------ the queue */

TEST_WITH(one_thread_does_all_in_order, reset, NULL)
{
    int64_t values[COMM_QUEUE];
    uint64_t numbers[COMM_QUEUE];
    struct error err;
    struct comm *comm = open_false();
    assert_false(pthread_equal(pthread_self(), false_one.thread));
    for (int i = 0; i < COMM_QUEUE; i++) {
        values[i] = 1000 * i;
        numbers[i] = comm_start(comm, sum(&values[i]));
        assert_int_equal(numbers[i], i);
    }
    assert_int_equal(false_one.sums, 0); /* nothing began before its turn */
    give_turns(COMM_QUEUE);
    assert_int_equal(comm_wait(comm, numbers[COMM_QUEUE - 1], &err), 0);
    for (int i = 0; i < COMM_QUEUE; i++) {
        assert_int_equal(comm_wait(comm, numbers[i], &err), 0);
        assert_int_equal(values[i], 1001 * i);
    }
    comm_close(comm);
    assert_true(false_one.well);
    assert_int_equal(false_one.closes, 1);
    assert_int_equal(false_one.aborts, 0);
}

static void *give_one_turn(void *unused)
{
    give_turns(1);
    return unused;
}

TEST_WITH(a_wait_ends_when_the_operation_is_done, reset, NULL)
{
    int64_t value = 5;
    struct error err;
    pthread_t thread;
    struct comm *comm = open_false();
    const uint64_t number = comm_start(comm, sum(&value));
    assert_int_equal(false_one.sums, 0);
    assert_int_equal(pthread_create(&thread, NULL, give_one_turn, NULL), 0);
    assert_int_equal(comm_wait(comm, number, &err), 0);
    assert_int_equal(false_one.sums, 1);
    assert_true(comm_timed(comm, number).waited > 0 && comm_timed(comm, number).taken > 0);
    pthread_join(thread, NULL);
    comm_close(comm);
}

TEST_WITH(a_failure_ends_all, reset, NULL)
{
    int64_t values[4] = {0};
    uint64_t numbers[4];
    struct error err;
    false_one.fails_at = 1;
    struct comm *comm = open_false();
    for (int i = 0; i < 4; i++)
        numbers[i] = comm_start(comm, sum(&values[i]));
    give_turns(4);
    assert_int_equal(comm_wait(comm, numbers[3], &err), -1);
    assert_int_equal(err.kind, ERR_PEER);
    assert_string_equal(err.text, "the cable is cut, in a sum of 8 B (operation 1)");
    for (int i = 0; i < 4; i++) {
        memset(&err, 0, sizeof err);
        assert_int_equal(comm_wait(comm, numbers[i], &err), -1);
        assert_string_equal(err.text, "the cable is cut, in a sum of 8 B (operation 1)");
    }
    assert_int_equal(comm_run(comm, sum(&values[0]), &err), -1);
    comm_close(comm);
    assert_int_equal(false_one.sums, 1);
    assert_int_equal(false_one.aborts, 1);
    assert_false(false_one.well);
}

static void *abort_it(void *comm)
{
    struct error why;
    (fail)(&why, ERR_STOPPED, "rank 2 was lost at step 41");
    comm_abort(comm, &why);
    return NULL;
}

TEST_WITH(an_abort_ends_a_wait, reset, NULL)
{
    int64_t value = 0;
    struct error err;
    pthread_t thread;
    struct comm *comm = open_false();
    const uint64_t number = comm_start(comm, sum(&value));
    assert_int_equal(pthread_create(&thread, NULL, abort_it, comm), 0);
    assert_int_equal(comm_wait(comm, number, &err), -1);
    assert_int_equal(err.kind, ERR_STOPPED);
    assert_string_equal(err.text, "rank 2 was lost at step 41");
    pthread_join(thread, NULL);
    comm_close(comm);
    assert_false(false_one.well);
    assert_int_equal(value, 0);
}

TEST_WITH(closing_ends_what_is_under_way, reset, NULL)
{
    int64_t values[3] = {0};
    struct comm *comm = open_false();
    for (int i = 0; i < 3; i++)
        comm_start(comm, sum(&values[i]));
    comm_close(comm);
    assert_true(false_one.aborts > 0);
    assert_int_equal(false_one.closes, 1);
    assert_false(false_one.well);
}

TEST_WITH(a_library_that_does_not_open_is_an_error, reset, NULL)
{
    struct error err;
    false_one.refuses = true;
    assert_null(comm_open_library(&library, &(struct comm_options){.rank = 1, .size = 3}, &err));
    assert_string_equal(err.text, "rank 1 is alone");
    assert_int_equal(false_one.opens, 1);
    assert_int_equal(false_one.closes, 0);
}

/* ------------------------------------------------------------------------------------------------------ one process */

TEST(one_process_needs_no_library)
{
    const struct comm_options alone = {.rank = 0, .size = 1}, several = {.rank = 0, .size = 2};
    struct error err;
    float in[3] = {1, 2, 3}, out[3] = {0};
    const size_t counts[] = {3};
    assert_null(comm_open(COMM_SELF, &several, &err));
    assert_int_equal(err.kind, ERR_USAGE);
    struct comm *comm = comm_open(COMM_SELF, &alone, &err);
    assert_non_null(comm);
    for (enum comm_operation operation = COMM_BARRIER; operation <= COMM_REDUCE_SCATTER; operation++) {
        struct comm_work work = {.operation = operation,
                                 .type = operation == COMM_MAX ? COMM_INT64 : COMM_FLOAT,
                                 .in = in,
                                 .out = out,
                                 .in_counts = counts,
                                 .out_counts = counts};
        memset(out, 0, sizeof out);
        assert_int_equal(comm_run(comm, work, &err), 0);
        if (operation >= COMM_ALL_GATHER)
            assert_memory_equal(out, in, sizeof in);
    }
    comm_close(comm);
}

TEST(what_is_not_built_says_so)
{
    struct error err;
    char text[COMM_TEXT_BYTES];
    assert_string_equal(comm_kind_name(COMM_GLOO), "gloo");
    assert_string_equal(comm_kind_text(COMM_SELF, text), "no library");
    if (strcmp(comm_kind_text(COMM_NCCL, text), "nccl is not built in") == 0) {
        assert_null(comm_open(COMM_NCCL, &(struct comm_options){.rank = 0, .size = 2}, &err));
        assert_int_equal(err.kind, ERR_USAGE);
        assert_memory_equal(err.text, "--comm nccl: ", 13);
    }
}

/* ---------------------------------------------------------------------------------------------------- wire bytes */

/* The total that all processes send does not depend on the ring or tree: a broadcast must reach size - 1 processes, and
 * each part of a sum makes 2 (size - 1) hops. */
TEST(all_together_send_what_arrives)
{
    static const size_t counts[] = {0, 1, 2, 7, 1000, 4096, 1 << 20, (1 << 20) + 1, 12345678};
    for (uint32_t size = 1; size <= 9; size++) {
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            struct comm_work work = {.operation = COMM_SUM, .type = COMM_FLOAT, .count = counts[c]};
            uint64_t sums = 0, broadcasts = 0;
            for (uint32_t rank = 0; rank < size; rank++) {
                work.operation = COMM_SUM;
                const uint64_t sent = comm_wire_bytes(&work, rank, size);
                const double even = 2.0 * (size - 1) / size * (double)counts[c] * 4;
                if (counts[c] >= 4096)
                    assert_true((double)sent >= even * 0.98 && (double)sent <= even * 1.02);
                sums += sent;
                work.operation = COMM_BROADCAST;
                work.root = size / 2;
                broadcasts += comm_wire_bytes(&work, rank, size);
            }
            assert_int_equal(sums, 2 * (uint64_t)(size - 1) * counts[c] * 4);
            assert_int_equal(broadcasts, (uint64_t)(size - 1) * counts[c] * 4);
        }
    }
}

/* Half the bytes of floats, and at most two numbers more where parts are not equal. */
TEST(a_sum_in_bf16_sends_half)
{
    for (uint32_t size = 1; size <= 9; size++) {
        for (size_t count = 0; count < 100000; count = 3 * count + 1) {
            const struct comm_work work = COMM_SUM_OF(COMM_BF16, NULL, count);
            uint64_t sums = 0;
            for (uint32_t rank = 0; rank < size; rank++) {
                const uint64_t sent = comm_wire_bytes(&work, rank, size);
                assert_true(fabs((double)sent - 2.0 * (size - 1) / size * (double)count * 2) <= 4);
                sums += sent;
            }
            assert_int_equal(sums, 2 * (uint64_t)(size - 1) * count * 2);
        }
    }
}

TEST(parts_are_sent_to_all_others)
{
    const size_t counts[] = {5, 0, 7, 100};
    const uint64_t others[] = {107, 112, 105, 12}, round[] = {112, 105, 12, 107};
    for (uint32_t rank = 0; rank < 4; rank++) {
        struct comm_work work = {.type = COMM_INT64, .in_counts = counts, .out_counts = counts};
        work.operation = COMM_REDUCE_SCATTER;
        assert_int_equal(comm_wire_bytes(&work, rank, 4), 8 * others[rank]);
        work.operation = COMM_ALL_TO_ALL;
        assert_int_equal(comm_wire_bytes(&work, rank, 4), 8 * others[rank]);
        work.operation = COMM_ALL_GATHER;
        assert_int_equal(comm_wire_bytes(&work, rank, 4), 8 * round[rank]);
    }
}
