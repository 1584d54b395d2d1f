/* Every operation against a plain loop over the inputs of all processes. Numbers that floats add exactly show a wrong
 * sum regardless of order; numbers of very different size show the order. */
#include "tests/comm/rank.h"

#include <linux/tcp.h>
#include <math.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "trainer/backend/bf16.h"

static const struct rank *me;
static struct comm *comm;

static void run(struct comm_work work)
{
    struct error err;
    CHECK(comm_run(comm, work, &err) == 0, "rank %u: %s", me->options.rank, err.text);
}

/* -1000 … 1000 */
static int32_t small(uint32_t rank, size_t i, unsigned salt)
{
    uint32_t x = rank * 2654435761u ^ (uint32_t)i * 2246822519u ^ salt * 3266489917u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return (int32_t)(x % 2001) - 1000;
}

/* Numbers over eight powers of two, whose sums are never exact. */
static float uneven(uint32_t rank, size_t i, unsigned salt)
{
    return ldexpf((float)small(rank, i, salt) / 3, small(rank, i, salt + 1) & 7);
}

static void *array(size_t count, size_t element)
{
    void *memory = malloc(count * element + 1); /* one more: an empty array is no NULL */
    CHECK(memory, "memory");
    memset(memory, 0x5a, count * element + 1);
    return memory;
}

/* ------------------------------------------------------------------------------------------------- sums and so on */

static void sums(size_t count)
{
    const uint32_t size = me->options.size, rank = me->options.rank;
    float *floats = array(count, sizeof *floats);
    double *doubles = array(count, sizeof *doubles);
    int64_t *integers = array(count, sizeof *integers), *largest = array(count, sizeof *largest);
    for (size_t i = 0; i < count; i++) {
        floats[i] = (float)small(rank, i, 1);
        doubles[i] = small(rank, i, 2) / 1024.0;
        integers[i] = small(rank, i, 3) * ((int64_t)1 << 46) + small(rank, i, 4);
        largest[i] = small(rank, i, 5) * ((int64_t)1 << 50);
    }
    run((struct comm_work){.operation = COMM_SUM, .type = COMM_FLOAT, .out = floats, .count = count});
    run((struct comm_work){.operation = COMM_SUM, .type = COMM_DOUBLE, .out = doubles, .count = count});
    run((struct comm_work){.operation = COMM_SUM, .type = COMM_INT64, .out = integers, .count = count});
    run((struct comm_work){.operation = COMM_MAX, .type = COMM_INT64, .out = largest, .count = count});
    for (size_t i = 0; i < count; i++) {
        int64_t one = 0, two = 0, three = 0, most = INT64_MIN;
        for (uint32_t r = 0; r < size; r++) {
            one += small(r, i, 1);
            two += small(r, i, 2);
            three += small(r, i, 3) * ((int64_t)1 << 46) + small(r, i, 4);
            most = small(r, i, 5) * ((int64_t)1 << 50) > most ? small(r, i, 5) * ((int64_t)1 << 50) : most;
        }
        CHECK(floats[i] == (float)one && doubles[i] == (double)two / 1024.0, "sum %zu of %zu of %u", i, count, size);
        CHECK(integers[i] == three && largest[i] == most, "integer %zu of %zu of %u", i, count, size);
    }
    free(floats);
    free(doubles);
    free(integers);
    free(largest);
}

/* A float sum is within rounding, and bit-exact on all ranks: rank 0's result is broadcast for comparison. */
static void float_sum_is_the_same_everywhere(size_t count)
{
    const uint32_t size = me->options.size;
    float *sum = array(count, sizeof *sum), *first = array(count, sizeof *first);
    for (size_t i = 0; i < count; i++)
        sum[i] = uneven(me->options.rank, i, 6);
    run((struct comm_work){.operation = COMM_SUM, .type = COMM_FLOAT, .out = sum, .count = count});
    memcpy(first, sum, count * sizeof *sum);
    run((struct comm_work){.operation = COMM_BROADCAST, .type = COMM_FLOAT, .out = first, .count = count});
    CHECK(memcmp(first, sum, count * sizeof *sum) == 0, "the bits of a sum of %zu differ from rank 0's", count);
    for (size_t i = 0; i < count; i++) {
        double exact = 0, magnitude = 0;
        for (uint32_t r = 0; r < size; r++) {
            exact += uneven(r, i, 6);
            magnitude += fabs(uneven(r, i, 6));
        }
        CHECK(fabs(sum[i] - exact) <= magnitude * 6e-8 * size, "sum %zu is %g, not %g", i, sum[i], exact);
    }
    free(sum);
    free(first);
}

/* bf16 sums are bit-exact: added in fp32 in rank order and rounded once, whichever rank owns the element. */
static void bf16_sums(size_t count)
{
    uint16_t *sum = array(count, sizeof *sum);
    for (size_t i = 0; i < count; i++)
        sum[i] = bf16_from_float(uneven(me->options.rank, i, 12));
    run(COMM_SUM_OF(COMM_BF16, sum, count));
    for (size_t i = 0; i < count; i++) {
        float expected = bf16_to_float(bf16_from_float(uneven(0, i, 12)));
        for (uint32_t r = 1; r < me->options.size; r++)
            expected += bf16_to_float(bf16_from_float(uneven(r, i, 12)));
        CHECK(sum[i] == bf16_from_float(expected), "bf16 sum %zu of %zu", i, count);
    }
    free(sum);
}

static void broadcasts(size_t count)
{
    uint16_t *values = array(count, sizeof *values);
    for (uint32_t root = 0; root < me->options.size; root++) {
        for (size_t i = 0; i < count; i++)
            values[i] = (uint16_t)small(me->options.rank, i, 7);
        run((struct comm_work){
            .operation = COMM_BROADCAST, .type = COMM_BF16, .out = values, .count = count, .root = root});
        for (size_t i = 0; i < count; i++)
            CHECK(values[i] == (uint16_t)small(root, i, 7), "broadcast %zu of %zu from %u", i, count, root);
    }
    free(values);
}

/* --------------------------------------------------------------------------------------------------------- parts */

/* How an array is divided among processes: equal parts, growing, all in one, all empty, odd ones empty. */
enum pattern { EQUAL, GROWING, FIRST, LAST, NONE, EVEN_ONES, PATTERNS };

static size_t part(enum pattern pattern, uint32_t of, size_t count)
{
    const uint32_t size = me->options.size;
    switch (pattern) {
    case EQUAL:
        return count / size;
    case GROWING:
        return count * (of + 1) / (size * size) + of % 2;
    case FIRST:
        return of == 0 ? count : 0;
    case LAST:
        return of == size - 1 ? count : 0;
    case EVEN_ONES:
        return of % 2 == 0 ? count / size : 0;
    default:
        return 0;
    }
}

static size_t parts(enum pattern pattern, size_t count, size_t *counts, uint32_t before)
{
    size_t sum = 0;
    for (uint32_t r = 0; r < me->options.size; r++) {
        counts[r] = part(pattern, r, count);
        sum += r < before ? counts[r] : 0;
    }
    return sum;
}

static void gathers(enum pattern pattern, size_t count, bool in_place)
{
    const uint32_t rank = me->options.rank, size = me->options.size;
    size_t counts[RANKS_MAX], at = 0;
    const size_t own = parts(pattern, count, counts, rank), all = parts(pattern, count, counts, size);
    int32_t *out = array(all, sizeof *out), *in = array(counts[rank], sizeof *in);
    int32_t *from = in_place ? out + own : in;
    for (size_t i = 0; i < counts[rank]; i++)
        from[i] = small(rank, i, 8);
    run((struct comm_work){.operation = COMM_ALL_GATHER,
                           .type = COMM_FLOAT,
                           .in = in_place ? NULL : in,
                           .out = out,
                           .out_counts = counts});
    for (uint32_t r = 0; r < size; r++)
        for (size_t i = 0; i < counts[r]; i++, at++)
            CHECK(out[at] == small(r, i, 8), "pattern %d of %zu: %zu of rank %u", (int)pattern, count, i, r);
    free(in);
    free(out);
}

/* Count of elements that `from` sends to `to`: 0 in a third of the cases. */
static size_t given(uint32_t from, uint32_t to, size_t count)
{
    const uint32_t kind = (from * 5 + to * 7) % 3;
    return kind == 0 ? 0 : kind == 1 ? count / (to + 1) : count % 97 + from;
}

static void all_to_alls(size_t count)
{
    const uint32_t rank = me->options.rank, size = me->options.size;
    size_t in_counts[RANKS_MAX], out_counts[RANKS_MAX], in_all = 0, out_all = 0, at = 0;
    for (uint32_t r = 0; r < size; r++) {
        in_all += in_counts[r] = given(rank, r, count);
        out_all += out_counts[r] = given(r, rank, count);
    }
    int64_t *in = array(in_all, sizeof *in), *out = array(out_all, sizeof *out);
    for (uint32_t r = 0; r < size; r++)
        for (size_t i = 0; i < in_counts[r]; i++)
            in[at++] = small(rank, i, r + 100);
    run((struct comm_work){.operation = COMM_ALL_TO_ALL,
                           .type = COMM_INT64,
                           .in = in,
                           .in_counts = in_counts,
                           .out = out,
                           .out_counts = out_counts});
    at = 0;
    for (uint32_t r = 0; r < size; r++)
        for (size_t i = 0; i < out_counts[r]; i++, at++)
            CHECK(out[at] == small(r, i, rank + 100), "%zu of %zu from rank %u", i, out_counts[r], r);
    free(in);
    free(out);
}

/* Bit-exact with a plain loop over ranks 0, 1, 2 …; with more than two processes, another order gives other bits. */
static void reduce_scatters(enum pattern pattern, size_t count, bool in_place)
{
    const uint32_t rank = me->options.rank, size = me->options.size;
    size_t counts[RANKS_MAX], other_order = 0;
    const size_t own = parts(pattern, count, counts, rank), all = parts(pattern, count, counts, size);
    float *in = array(all, sizeof *in), *out = in_place ? in + own : array(counts[rank], sizeof *out);
    for (size_t i = 0; i < all; i++)
        in[i] = uneven(rank, i, 9);
    run((struct comm_work){
        .operation = COMM_REDUCE_SCATTER, .type = COMM_FLOAT, .in = in, .in_counts = counts, .out = out});
    for (size_t i = 0; i < counts[rank]; i++) {
        float up = uneven(0, own + i, 9), down = uneven(size - 1, own + i, 9);
        for (uint32_t r = 1; r < size; r++) {
            up += uneven(r, own + i, 9);
            down += uneven(size - 1 - r, own + i, 9);
        }
        other_order += up != down;
        CHECK(memcmp(&up, &out[i], sizeof up) == 0, "part %u: %zu is %a, not %a", rank, i, (double)out[i], (double)up);
    }
    CHECK(size < 3 || counts[rank] < 100 || other_order > 0, "the numbers do not show the order");
    if (!in_place)
        free(out);
    free(in);
}

static void reduce_scatters_of_other_types(enum pattern pattern, size_t count)
{
    const uint32_t rank = me->options.rank, size = me->options.size;
    size_t counts[RANKS_MAX];
    const size_t own = parts(pattern, count, counts, rank), all = parts(pattern, count, counts, size);
    int64_t *in = array(all, sizeof *in), *out = array(counts[rank], sizeof *out);
    uint16_t *short_in = array(all, sizeof *short_in), *short_out = array(counts[rank], sizeof *short_out);
    for (size_t i = 0; i < all; i++) {
        in[i] = small(rank, i, 10) * ((int64_t)1 << 46);
        short_in[i] = bf16_from_float(uneven(rank, i, 11));
    }
    run((struct comm_work){
        .operation = COMM_REDUCE_SCATTER, .type = COMM_INT64, .in = in, .in_counts = counts, .out = out});
    run((struct comm_work){
        .operation = COMM_REDUCE_SCATTER, .type = COMM_BF16, .in = short_in, .in_counts = counts, .out = short_out});
    for (size_t i = 0; i < counts[rank]; i++) {
        int64_t sum = 0;
        float short_sum = bf16_to_float(bf16_from_float(uneven(0, own + i, 11)));
        for (uint32_t r = 0; r < size; r++) {
            sum += small(r, own + i, 10) * ((int64_t)1 << 46);
            short_sum += r == 0 ? 0 : bf16_to_float(bf16_from_float(uneven(r, own + i, 11)));
        }
        CHECK(out[i] == sum, "integer %zu of part %u", i, rank);
        CHECK(short_out[i] == bf16_from_float(short_sum), "bf16 %zu of part %u", i, rank);
    }
    free(in);
    free(out);
    free(short_in);
    free(short_out);
}

/* ------------------------------------------------------------------------------------------------------ the queue */

/* More operations than the queue holds, waited for in two orders. */
static void many_at_once(void)
{
    enum { MANY = COMM_QUEUE + 17 };
    static int64_t values[MANY];
    uint64_t numbers[MANY];
    struct error err;
    int64_t ranks = 0;
    for (uint32_t r = 0; r < me->options.size; r++)
        ranks += r + 1;
    for (size_t i = 0; i < MANY; i++) {
        values[i] = (int64_t)i * (me->options.rank + 1);
        numbers[i] = comm_start(
            comm, (struct comm_work){.operation = COMM_SUM, .type = COMM_INT64, .out = &values[i], .count = 1});
        CHECK(i == 0 || numbers[i] == numbers[i - 1] + 1, "numbers count");
    }
    for (size_t i = 1; i < MANY; i += 2)
        CHECK(comm_wait(comm, numbers[i], &err) == 0, "%s", err.text);
    for (size_t i = 0; i < MANY; i += 2)
        CHECK(comm_wait(comm, numbers[i], &err) == 0, "%s", err.text);
    for (size_t i = 0; i < MANY; i++)
        CHECK(values[i] == (int64_t)i * ranks, "operation %zu", i);
}

/* Bytes that this process has handed to the kernel on all its TCP connections, each counted once; 0 where the kernel
 * does not count. */
static uint64_t bytes_sent(void)
{
    uint64_t sum = 0;
    for (int file = 3; file < 256; file++) {
        struct tcp_info info = {0};
        socklen_t size = sizeof info;
        if (getsockopt(file, IPPROTO_TCP, TCP_INFO, &info, &size) == 0)
            sum += info.tcpi_bytes_sent + info.tcpi_notsent_bytes - info.tcpi_bytes_retrans;
    }
    return sum;
}

/* comm_wire_bytes is what gloo sends, apart from headers and its control messages. */
static void check_sent(const struct comm_work *work)
{
    const uint32_t rank = me->options.rank, size = me->options.size;
    const uint64_t before = bytes_sent();
    run(*work);
    const uint64_t sent = bytes_sent() - before, said = comm_wire_bytes(work, rank, size);
    CHECK(before == 0 || (sent >= said && sent <= said + said / 100 + 4096),
          "operation %d: rank %u of %u sent %zu bytes and says %zu", (int)work->operation, rank, size, (size_t)sent,
          (size_t)said);
}

static void sends_what_it_says(void)
{
    enum { COUNT = 700001 };
    const uint32_t rank = me->options.rank, size = me->options.size;
    size_t counts[RANKS_MAX];
    float *in = array(2 * COUNT, sizeof *in), *out = array(2 * COUNT, sizeof *out);
    parts(GROWING, COUNT, counts, size);
    check_sent(&(struct comm_work){.operation = COMM_SUM, .type = COMM_BF16, .out = out, .count = COUNT});
    for (enum comm_operation operation = COMM_SUM; operation <= COMM_REDUCE_SCATTER; operation++) {
        size_t to_all[RANKS_MAX];
        for (uint32_t r = 0; r < size; r++)
            to_all[r] = counts[rank]; /* all-to-all: the same count to every process; from each process its own count */
        const struct comm_work work = {
            .operation = operation,
            .type = operation == COMM_MAX ? COMM_INT64 : COMM_FLOAT,
            .in = operation == COMM_ALL_GATHER ? NULL : in,
            .out = out,
            .count = operation == COMM_MAX ? COUNT / 2 : COUNT,
            .root = size - 1,
            .in_counts = operation == COMM_ALL_TO_ALL ? to_all : counts,
            .out_counts = counts,
        };
        check_sent(&work);
    }
    free(in);
    free(out);
}

void test_collectives(const struct rank *rank, size_t count_max)
{
    static const size_t counts[] = {0, 1, 2, 3, 5, 7, 16, 97, 1000, 65537, 300001};
    me = rank;
    comm = open_rank(rank);
    for (size_t c = 0; c < sizeof counts / sizeof *counts && counts[c] <= count_max; c++) {
        run((struct comm_work){.operation = COMM_BARRIER});
        sums(counts[c]);
        float_sum_is_the_same_everywhere(counts[c]);
        bf16_sums(counts[c]);
        broadcasts(counts[c]);
        all_to_alls(counts[c]);
        for (enum pattern pattern = 0; pattern < (counts[c] > 100000 ? FIRST : PATTERNS); pattern++) {
            gathers(pattern, counts[c], false);
            gathers(pattern, counts[c], true);
            reduce_scatters(pattern, counts[c], false);
            reduce_scatters(pattern, counts[c], true);
            reduce_scatters_of_other_types(pattern, counts[c]);
        }
    }
    many_at_once();
    if (rank->kind == COMM_GLOO && rank->options.size > 1)
        sends_what_it_says();
    comm_close(comm);
}
