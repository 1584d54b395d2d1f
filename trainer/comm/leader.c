/* Rank 0's thread: the seats of all ranks, and what it hears from them. leader_accept.c has how they join. */
#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "trainer/comm/leader.h"
#include "trainer/comm/listen.h"

#include <assert.h>
#include <poll.h>
#include <unistd.h>

int leader_open(struct rendezvous *rendezvous, struct error *err)
{
    const struct rendezvous_options *options = &rendezvous->options;
    struct leader *leader = rendezvous->leader = mem_clear(1, sizeof *leader);
    if (options->listener >= 0)
        leader->listeners = (struct listeners){{options->listener}, 1};
    nonce_make(leader->nonce);
    leader->seats = mem_clear(options->size, sizeof *leader->seats);
    for (uint32_t i = 0; i < options->size; i++)
        leader->seats[i].line = LINE_CLOSED;
    struct peer *self = &rendezvous->peers[0];
    self->here = true;
    self->pid = (uint32_t)getpid();
    memcpy(self->host, rendezvous->host, sizeof self->host);
    int result = 0;
    if (options->listener < 0) {
        if (options->endpoint)
            result = endpoint_parse(&leader->endpoint, options->endpoint, err);
        if (result == 0)
            result = listen_open(&leader->listeners, options->endpoint ? &leader->endpoint : NULL, options->bind, err);
        if (result < 0) {
            char nothing[ENDPOINT_FILE_BYTES] = {0};
            struct error ignored;
            if (!options->endpoint) /* the others wait for it */
                (void)options->broadcast(options->broadcast_context, nothing, sizeof nothing, &ignored);
            return -1;
        }
    }
    TRY(leader_announce(rendezvous, err)); /* makes the key, if the others learn it from there */
    rendezvous_make_secret(rendezvous, leader->nonce);
    return 0;
}

void seat_clear(struct seat *seat)
{
    line_close(&seat->line);
    buf_release(&seat->given);
    for (size_t i = 0; i < seat->wanted_count; i++)
        mem_free(seat->wanted[i]);
    mem_free(seat->wanted);
    *seat = (struct seat){.line = LINE_CLOSED};
}

void leader_close(struct rendezvous *rendezvous)
{
    struct leader *leader = rendezvous->leader;
    leader_stop_listening(rendezvous);
    assert(leader->listeners.count == 0 && leader->strangers_count == 0);
    for (uint32_t i = 0; i < rendezvous->options.size; i++)
        seat_clear(&leader->seats[i]);
    mem_free(leader->seats);
    buf_release(&leader->description);
    mem_free(leader);
}

void leader_put_all(struct rendezvous *rendezvous, uint32_t kind, const void *bytes, size_t size)
{
    for (uint32_t i = 1; i < rendezvous->options.size; i++)
        line_put(&rendezvous->leader->seats[i].line, kind, bytes, size);
}

void leader_put_failure(struct rendezvous *rendezvous, struct line *line)
{
    struct rendezvous_failure failure = rendezvous->failure;
    memset(failure.error.hint, 0, sizeof failure.error.hint);
    line_put(line, FRAME_ABORT, &failure, sizeof failure);
}

void leader_put_failure_all(struct rendezvous *rendezvous)
{
    for (uint32_t i = 1; i < rendezvous->options.size; i++)
        leader_put_failure(rendezvous, &rendezvous->leader->seats[i].line);
}

static void answer(struct seat *seat, struct str key, struct str bytes)
{
    SCOPED(buf_release) struct buf frame = {0};
    value_write(&frame, key, bytes);
    line_put(&seat->line, FRAME_VALUE, frame.data, frame.size);
}

void leader_set(struct rendezvous *rendezvous, struct str key, struct str bytes)
{
    rendezvous_keep_value(rendezvous, key, bytes);
    const struct value *value = rendezvous_find_value(rendezvous, key);
    for (uint32_t i = 1; value && i < rendezvous->options.size; i++) {
        struct seat *seat = &rendezvous->leader->seats[i];
        for (size_t k = seat->wanted_count; k-- > 0;)
            if (str_equal(str_of(seat->wanted[k]), key)) {
                answer(seat, key, buf_str(&value->bytes));
                mem_free(seat->wanted[k]);
                seat->wanted[k] = seat->wanted[--seat->wanted_count];
            }
    }
}

/* GETs of one rank that have no answer yet, at most; more breaks its line. */
#define WANTED_MAX 64u

static int leader_want(struct rendezvous *rendezvous, struct seat *seat, struct str key)
{
    const struct value *value = rendezvous_find_value(rendezvous, key);
    SCOPED(buf_release) struct buf name = {0};
    if (value) {
        answer(seat, key, buf_str(&value->bytes));
        return 0;
    }
    for (size_t i = 0; i < seat->wanted_count; i++)
        if (str_equal(str_of(seat->wanted[i]), key)) /* it gave up once, and asks again */
            return 0;
    if (seat->wanted_count == WANTED_MAX)
        return -1;
    buf_add_str(&name, key);
    seat->wanted = mem_grow(seat->wanted, seat->wanted_count + 1, sizeof *seat->wanted);
    seat->wanted[seat->wanted_count++] = mem_copy_text(buf_text(&name));
    return 0;
}

/* A process that left gives no further block, so a rank that has given its own would wait forever: ends the
 * rendezvous. */
static void check_left(struct rendezvous *rendezvous)
{
    const struct seat *seats = rendezvous->leader->seats;
    uint32_t gave = 0, left = 0;
    struct error err;
    char name[PEER_TEXT];
    while (gave < rendezvous->options.size && !seats[gave].has_given)
        gave++;
    while (left < rendezvous->options.size && (rendezvous->peers[left].here || seats[left].has_given))
        left++;
    if (gave == rendezvous->options.size || left == rendezvous->options.size)
        return;
    fail(&err, ERR_PEER, "%s has left, and rank %u waits for it", peer_text(&rendezvous->peers[left], name), gave);
    rendezvous_declare_failure(rendezvous, left, &err);
}

void leader_take_block(struct rendezvous *rendezvous, uint32_t rank, struct str block)
{
    struct leader *leader = rendezvous->leader;
    SCOPED(buf_release) struct buf all = {0};
    assert(rank < rendezvous->options.size && !leader->seats[rank].has_given); /* one block for each exchange */
    leader->seats[rank].has_given = true;
    buf_reset(&leader->seats[rank].given);
    buf_add_str(&leader->seats[rank].given, block);
    check_left(rendezvous);
    for (uint32_t i = 0; i < rendezvous->options.size; i++)
        if (!leader->seats[i].has_given)
            return;
    for (uint32_t i = 0; i < rendezvous->options.size; i++) {
        const uint32_t size = (uint32_t)leader->seats[i].given.size;
        buf_add(&all, &size, sizeof size);
    }
    for (uint32_t i = 0; i < rendezvous->options.size; i++) {
        buf_add_str(&all, buf_str(&leader->seats[i].given));
        leader->seats[i].has_given = false;
    }
    leader_put_all(rendezvous, FRAME_BLOCKS, all.data, all.size);
    rendezvous_take_blocks(rendezvous, buf_str(&all));
}

static void worker_left(struct rendezvous *rendezvous, uint32_t rank)
{
    assert(rank > 0 && rank < rendezvous->options.size); /* rank 0 has no line to itself */
    rendezvous->peers[rank].here = false;
    line_close(&rendezvous->leader->seats[rank].line);
    if (rendezvous->begun && !rendezvous->closing)
        check_left(rendezvous);
}

/* A worker says what went wrong there. Rank 0 cannot know whether that is true, and says so. */
static int leader_failed(struct rendezvous *rendezvous, uint32_t rank, struct str bytes)
{
    struct said said;
    struct rendezvous_failure failure = {.lost = NOBODY, .said = true};
    char name[PEER_TEXT];
    if (bytes.size != sizeof said)
        return -1;
    memcpy(&said, bytes.data, sizeof said);
    said.text[sizeof said.text - 1] = '\0';
    fail(&failure.error, said.stopped ? ERR_STOPPED : ERR_PEER, "%s says: %s",
         peer_text(&rendezvous->peers[rank], name), said.text);
    rendezvous_take_failure(rendezvous, &failure);
    return 0;
}

/* < 0: the frame is malformed. */
static int seat_frame(struct rendezvous *rendezvous, uint32_t rank, const struct frame *frame)
{
    struct seat *seat = &rendezvous->leader->seats[rank];
    struct str key, bytes;
    if (!rendezvous->begun && frame->kind != FRAME_BYE)
        return -1;
    switch ((enum frame_kind)frame->kind) {
    case FRAME_REPORT:
        rendezvous_take_report(rendezvous, &rendezvous->peers[rank], frame->bytes);
        return 0;
    case FRAME_SET:
        TRY(value_read(frame->bytes, &key, &bytes));
        leader_set(rendezvous, key, bytes);
        return 0;
    case FRAME_GET:
        TRY(value_read(frame->bytes, &key, &bytes));
        return leader_want(rendezvous, seat, key);
    case FRAME_BLOCK:
        if (frame->bytes.size > RENDEZVOUS_BLOCK_MAX || seat->has_given)
            return -1;
        leader_take_block(rendezvous, rank, frame->bytes);
        return 0;
    case FRAME_STOP:
        rendezvous_stopped(rendezvous);
        return 0;
    case FRAME_FAILED:
        return leader_failed(rendezvous, rank, frame->bytes);
    case FRAME_BYE:
        worker_left(rendezvous, rank);
        return 0;
    default: /* no worker sends it */
        return -1;
    }
}

/* A rank's line broke without a BYE. Before all are there its seat is freed, because the rank may be started again. */
static void seat_broken(struct rendezvous *rendezvous, uint32_t rank)
{
    struct error err;
    struct line *line = &rendezvous->leader->seats[rank].line;
    const char *fault = line->fault;
    assert(rank > 0 && rank < rendezvous->options.size);
    if (fault && !rendezvous->begun)
        leader_log_refused(rendezvous, line->fd, fault);
    line_close(line);
    if (rendezvous->begun && !rendezvous->closing) {
        fail_peer_lost(&rendezvous->peers[rank], fault, &err);
        rendezvous_declare_failure(rendezvous, rank, &err);
    }
    rendezvous->peers[rank].here = false;
    if (!rendezvous->begun)
        seat_clear(&rendezvous->leader->seats[rank]);
}

static void send_all(struct rendezvous *rendezvous)
{
    struct leader *leader = rendezvous->leader;
    if (rendezvous_is_due(rendezvous))
        for (uint32_t i = 1; rendezvous->begun && i < rendezvous->options.size; i++)
            if (line_is_empty(&leader->seats[i].line)) /* otherwise it does not read: queue no more */
                line_put(&leader->seats[i].line, FRAME_REPORT, &rendezvous->report, sizeof rendezvous->report);
    if (rendezvous->closing && !leader->bye) {
        leader_put_all(rendezvous, FRAME_BYE, NULL, 0);
        leader->bye = true;
        rendezvous->closing_since = rendezvous->now;
    }
    for (uint32_t i = 1; i < rendezvous->options.size; i++)
        if (leader->seats[i].line.fd >= 0 && line_flush(&leader->seats[i].line) < 0)
            seat_broken(rendezvous, i);
}

static bool has_closed(const struct rendezvous *rendezvous)
{
    if (!rendezvous->leader->bye)
        return false;
    bool all = true;
    for (uint32_t i = 1; i < rendezvous->options.size; i++)
        all &= rendezvous->leader->seats[i].line.fd < 0;
    return all || rendezvous->now - rendezvous->closing_since > CLOSE_SECONDS;
}

/* Rank 0 takes its own state as it is now: the detector must not use a report that is a second old. */
static void hear_self(struct rendezvous *rendezvous)
{
    rendezvous->report.waits = rendezvous->waits > 0;
    rendezvous_take_report(rendezvous, &rendezvous->peers[0],
                           (struct str){(const char *)&rendezvous->report, sizeof rendezvous->report});
}

static void watch_all(struct rendezvous *rendezvous)
{
    struct error err;
    uint32_t who;
    hear_self(rendezvous);
    if (rendezvous->begun && !rendezvous->failed && !rendezvous->closing &&
        detect_failure(rendezvous->peers, rendezvous->options.size, rendezvous->now, rendezvous->options.peer_timeout,
                       &who, &err) < 0)
        rendezvous_declare_failure(rendezvous, who, &err);
    rendezvous_leave_late(rendezvous);
}

void *leader_run(void *context)
{
    struct rendezvous *rendezvous = context;
    struct leader *leader = rendezvous->leader;
    SCOPED(poll_release) struct poll_set set = {0};
    pthread_mutex_lock(&rendezvous->lock);
    while (!has_closed(rendezvous)) {
        set.count = 0;
        for (uint32_t i = 1; i < rendezvous->options.size; i++)
            if (leader->seats[i].line.fd >= 0)
                poll_add(&set, leader->seats[i].line.fd, &leader->seats[i].line);
        const size_t ranks = set.count;
        for (uint32_t i = 0; i < leader->strangers_count; i++)
            poll_add(&set, leader->strangers[i].line.fd, &leader->strangers[i].line);
        for (size_t i = 0; i < leader->listeners.count; i++)
            poll_add(&set, leader->listeners.fds[i], NULL);
        rendezvous_poll(rendezvous, &set);
        for (size_t i = 0; i < ranks; i++)
            if (set.fds[i].revents) {
                const uint32_t rank = (uint32_t)((struct seat *)(void *)set.lines[i] - leader->seats);
                if (rendezvous_read(rendezvous, set.lines[i], rank, seat_frame) < 0)
                    seat_broken(rendezvous, rank);
            }
        leader_read_strangers(rendezvous, &set);
        leader_accept(rendezvous);
        if (!rendezvous->begun && !rendezvous->failed)
            leader_begin(rendezvous);
        watch_all(rendezvous);
        send_all(rendezvous);
    }
    pthread_mutex_unlock(&rendezvous->lock);
    return NULL;
}

/* Waits until all are here; logs now and then whom it waits for. */
int leader_await(struct rendezvous *rendezvous, struct error *err)
{
    const double from = clock_now(), patience = rendezvous->options.patience;
    const char *where = rendezvous->options.endpoint ? rendezvous->options.endpoint : "the address that MPI carried";
    double reminded = from;
    char missing[160];
    while (!rendezvous->begun && !rendezvous->failed) {
        const double now = clock_now();
        list_missing_peers(rendezvous->peers, rendezvous->options.size, missing, sizeof missing);
        if (stop_requested())
            return fail(err, ERR_STOPPED, "stopped before all processes were there");
        if (now - from > patience) {
            fail(err, ERR_PEER, "rank %s of %u did not come to %s within %.0f s", missing, rendezvous->options.size,
                 where, patience);
            rendezvous_declare_failure(rendezvous, NOBODY, err);
            break;
        }
        if (now - reminded >= rendezvous->options.remind) {
            log_warn("waiting for rank %s of %u at %s", missing, rendezvous->options.size, where);
            reminded = now;
        }
        rendezvous_await(rendezvous);
    }
    return rendezvous->failed ? rendezvous_report_failure(rendezvous, err) : 0;
}
