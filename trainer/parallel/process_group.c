#include "trainer/parallel/process_group.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "trainer/parallel/processes.h"
#include "trainer/parallel/run_key.h"
#include "trainer/parallel/division.h"

#define RUN_NAME       128
#define OPTION_BYTES   32  /* of an option with its dashes */
#define COMM_SECONDS   1e5 /* timeout of one operation; the rendezvous aborts it earlier if a process stalls */
#define LEAVE_SECONDS  8.0 /* after a failure, until a process that hangs elsewhere is ended */
#define TEXT_BYTES_MAX ((int64_t)64 << 20)  /* of one process, in process_group_gather_texts */
#define LATER_NS       (200L * 1000 * 1000) /* by which a process leaves later whose error another one reports */
#define DETECT_SECONDS 5.0                  /* in which the rendezvous notices that a process died */

static int store_set(void *context, const char *name, const void *bytes, size_t size, struct error *err)
{
    return rendezvous_set(context, name, (struct str){bytes, size}, err);
}

static long store_get(void *context, const char *name, void *bytes, size_t room, double timeout, struct error *err)
{
    SCOPED(buf_release) struct buf value = {0};
    TRY(rendezvous_get(context, name, timeout, &value, err));
    const long size = (long)value.size;
    memcpy(bytes, buf_text(&value), value.size < room ? value.size : room);
    return size;
}

static int store_check(void *context, struct error *err)
{
    return rendezvous_has_failed(context) ? rendezvous_failed(context, err) : 0;
}

/* Called by the rendezvous, which notices a failure first: makes operations under way fail with the same error. */
static void abort_comm(void *context, const struct error *why)
{
    struct process_group *processes = context;
    pthread_mutex_lock(&processes->lock);
    if (processes->comm)
        comm_abort(processes->comm, why);
    pthread_mutex_unlock(&processes->lock);
}

/* Exchanges --share of all processes, in rank order. */
static int exchange_weights(struct process_group *processes, uint64_t weight, struct error *err)
{
    assert(!processes->weights);
    processes->weights = mem_clear(processes->size, sizeof *processes->weights);
    uint64_t sum = 0, adapting = 0;
    TRY(rendezvous_all_gather_equal(processes->rendezvous, &weight, sizeof weight, processes->weights, err));
    for (uint32_t r = 0; r < processes->size; r++) {
        adapting += processes->weights[r] == WEIGHT_AUTO;
        sum += processes->weights[r] == WEIGHT_AUTO ? 1 : processes->weights[r];
    }
    processes->adapts = processes->size > 1 && adapting > 0;
    for (uint32_t r = 0; processes->adapts && r < processes->size; r++)
        processes->weights[r] = 1;
    if (adapting > 0 && adapting < processes->size)
        return fail(err, ERR_USAGE, "--share auto is for all processes, or for none");
    if (sum == 0)
        return fail(err, ERR_USAGE, "--share is 0 for every process");
    return 0;
}

_Static_assert(COMM_SECRET_BYTES == RENDEZVOUS_SECRET_BYTES, "one is the other");

static void tell_waiting(void *context, bool waits)
{
    rendezvous_set_waiting(((struct process_group *)context)->rendezvous, waits);
}

/* Opens the communication library. If MPI started us without a rendezvous, this comes before the rendezvous, because
 * MPI then tells the others where rank 0 is; otherwise the rendezvous comes first. */
static int open_comm(struct process_group *processes, struct error *err)
{
    struct comm_options options = {
        .rank = processes->rank,
        .size = processes->size,
        .timeout = COMM_SECONDS,
        .address = rendezvous_address(processes->rendezvous),
        .store = {store_set, store_get, store_check, processes->rendezvous},
        .waiting = tell_waiting,
        .waiting_context = processes,
    };
    if (processes->rendezvous)
        rendezvous_secret(processes->rendezvous, "connections", options.secret);
    rendezvous_progress(processes->rendezvous, 0, "connecting");
    struct comm *comm = comm_open(processes->backend.kind, &options, err);
    pthread_mutex_lock(&processes->lock);
    assert(!processes->comm);
    processes->comm = comm;
    pthread_mutex_unlock(&processes->lock);
    return comm ? 0 : -1;
}

static int broadcast_by_comm(void *context, void *bytes, size_t size, struct error *err)
{
    struct process_group *processes = context;
    return comm_run(processes->comm, COMM_BROADCAST_OF(COMM_BYTE, bytes, size), err);
}

/* Names the run for processes of other runs that come to its place by accident. No option stands in it: where those
 * differ, rendezvous_compare names the option. */
static void name_run(const struct settings *settings, char run[RUN_NAME])
{
    const char *job = settings->launch->job;
    snprintf(run, RUN_NAME, "%.20s%s%.90s", settings->result->verb->name, job[0] ? ", " : "", job);
}

static int open_rendezvous(struct process_group *processes, const struct settings *settings, struct error *err)
{
    const struct launch *launch = settings->launch;
    char run[RUN_NAME];
    const bool named = launch->rendezvous[0] || launch->listener >= 0;
    TRY(comm_kind_check(processes->backend.kind, err));
    if (!named && processes->backend.kind != COMM_MPI)
        return fail(err, ERR_USAGE,
                    "%s started %" PRIu32 " processes but does not say where they meet: --rendezvous is missing",
                    launch_name(launch->kind), launch->size);
    name_run(settings, run);
    return rendezvous_open(&processes->rendezvous,
                           &(struct rendezvous_options){
                               .rank = launch->rank,
                               .size = launch->size,
                               .endpoint = launch->rendezvous[0] ? launch->rendezvous : NULL,
                               .listener = launch->listener,
                               .bind = settings->bind,
                               .admits_all = run_key_is_none(settings),
                               .key = named ? &launch->key : NULL, /* MPI carries one of its own */
                               .run = run,
                               .broadcast = named ? NULL : broadcast_by_comm,
                               .broadcast_context = processes,
                               .peer_timeout = (double)settings->peer_timeout,
                               .leave_timeout = LEAVE_SECONDS,
                               .failed = abort_comm,
                               .failed_context = processes,
                           },
                           err);
}

/* Whether all processes must have the same value. */
static bool is_common(enum opt_scope scope, bool same_bits)
{
    return scope == SCOPE_IDENTITY || scope == SCOPE_RUN || (scope == SCOPE_SAME_BITS && same_bits);
}

/* Compares the values in force at rank 0 with the options that other processes were given explicitly. */
static int compare_settings(struct process_group *processes, const struct settings *settings, struct error *err)
{
    const struct opt_program *program = settings->program;
    json_auto_t *all = opts_json(program, settings->result->verb, settings);
    size_t rows = 0, count = 1;
    while (program->rows[rows].name)
        rows++;
    SCOPED(mem_free_at) struct rendezvous_fact *facts = mem_array(rows + 1, sizeof *facts);
    char(*names)[OPTION_BYTES] = mem_array(rows, sizeof *names), **values = mem_clear(rows + 1, sizeof *values);
    facts[0] = (struct rendezvous_fact){.name = "version", .value = program->version};
    for (size_t i = 0; i < rows; i++) {
        const struct opt_row *row = &program->rows[i];
        if (!is_common(row->scope, settings->same_bits) || !opt_row_is_for(row, settings->result->verb))
            continue;
        const json_t *value = json_object_get(all, row->name);
        const bool in_force =
            process_group_is_leader(processes) && row->default_text; /* without one the machine decides */
        if (value && (in_force || settings_given(settings, row->name)))
            values[count] = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        snprintf(names[count - 1], sizeof names[0], "--%s", row->name);
        facts[count] = (struct rendezvous_fact){names[count - 1], values[count] ? values[count] : "", .follows = true};
        count++;
    }
    const int result = rendezvous_compare(processes->rendezvous, facts, count, err);
    for (size_t i = 0; i < count; i++)
        mem_free(values[i]);
    mem_free(values);
    mem_free(names);
    return result;
}

static int join(struct process_group *processes, const struct settings *settings, double weight, struct error *err)
{
    char over[512];
    TRY(compare_settings(processes, settings, err));
    if (!processes->comm) {
        TRY(process_group_barrier(
            processes, comm_backend_agree(&processes->backend, processes->rendezvous, processes->size, err), err));
        TRY(open_comm(processes, err));
    }
    comm_backend_describe(&processes->backend, over, sizeof over);
    log_say("processes  %" PRIu32 ", %s", processes->size, over);
    return exchange_weights(processes, weight == 0 ? WEIGHT_AUTO : (uint64_t)llround(weight * 1e6), err);
}

int process_group_single(struct process_group *processes, struct error *err)
{
    *processes = (struct process_group){.size = 1, .lock = PTHREAD_MUTEX_INITIALIZER};
    processes->comm = comm_open(COMM_SELF, &(struct comm_options){.size = 1}, err);
    return exchange_weights(processes, 1, err);
}

int process_group_open(struct process_group *processes, const struct settings *settings, struct error *err)
{
    const struct launch *launch = settings->launch;
    double weight;
    if (!launch || launch->size == 1)
        return process_group_single(processes, err);
    *processes = (struct process_group){
        .rank = launch->rank,
        .size = launch->size,
        .launched = launch->kind,
        .lock = PTHREAD_MUTEX_INITIALIZER,
    };
    TRY(processes_weight(settings->share, &weight, err));
    TRY(comm_backend_find(&processes->backend, settings, err));
    if (processes->backend.kind == COMM_MPI && !launch->rendezvous[0] && launch->listener < 0)
        TRY(open_comm(processes, err));
    TRY(open_rendezvous(processes, settings, err));
    return process_group_barrier(processes, join(processes, settings, weight, err), err);
}

void process_group_close(struct process_group *processes)
{
    struct comm *comm = processes->comm;
    pthread_mutex_lock(&processes->lock);
    processes->comm = NULL;
    pthread_mutex_unlock(&processes->lock);
    if (comm && process_group_has_failed(processes))
        comm_abort(comm, &(struct error){.kind = ERR_PEER, .text = "the run has failed"});
    if (comm)
        comm_close(comm);
    rendezvous_close(processes->rendezvous);
    mem_free(processes->weights);
    *processes = (struct process_group){0};
}

/* A child process never mutes its error: its parent gets the errors of all children and chooses one. Nor does a process
 * with a command line of its own (--rank), which may be on another machine, unless all processes end like that. A
 * process that mutes its error leaves last: mpirun ends the others as soon as one has failed. */
bool process_group_leave(struct process_group *processes, int result, struct error *err)
{
    const bool common = result < 0 && (err->kind == ERR_NUMERIC || err->kind == ERR_STOPPED);
    if (result < 0 && !common)
        process_group_fail(processes, err);
    const bool own = processes->launched == LAUNCH_CHILD || (processes->launched == LAUNCH_COMMAND && !common);
    const bool mute = result < 0 && processes->rendezvous && !rendezvous_reports_errors(processes->rendezvous) && !own;
    process_group_close(processes);
    if (mute)
        nanosleep(&(struct timespec){.tv_nsec = LATER_NS}, NULL);
    return mute;
}

int process_group_fail(struct process_group *processes, struct error *err)
{
    if (!processes->rendezvous)
        return -1;
    /* A broken connection of comm says less than the rendezvous will in a moment: which process failed, and where. */
    const double from = clock_now();
    rendezvous_set_waiting(processes->rendezvous, true);
    while (err->kind == ERR_PEER && !rendezvous_has_failed(processes->rendezvous) &&
           clock_now() - from < DETECT_SECONDS)
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
    rendezvous_set_waiting(processes->rendezvous, false);
    return rendezvous_fail(processes->rendezvous, err);
}

int process_group_barrier(struct process_group *processes, int result, struct error *err)
{
    struct rendezvous_blocks blocks = {0};
    if (result < 0)
        return process_group_fail(processes, err);
    if (processes->size == 1)
        return 0;
    result = rendezvous_all_gather(processes->rendezvous, STR(""), &blocks, err);
    rendezvous_blocks_release(&blocks);
    return result;
}

int process_group_compare(struct process_group *processes, const char *name, const char *value, struct error *err)
{
    return processes->size == 1 ? 0
                                : rendezvous_compare(processes->rendezvous,
                                                     &(struct rendezvous_fact){.name = name, .value = value}, 1, err);
}

static int await(struct process_group *processes, uint64_t number, struct error *err)
{
    return comm_wait(processes->comm, number, err) < 0 ? process_group_fail(processes, err) : 0;
}

static int run(struct process_group *processes, struct comm_work work, struct error *err)
{
    return await(processes, comm_start(processes->comm, work), err);
}

int process_group_broadcast(struct process_group *processes, void *bytes, size_t size, struct error *err)
{
    assert(bytes || size == 0);
    return run(processes, COMM_BROADCAST_OF(COMM_BYTE, bytes, size), err);
}

int process_group_all_reduce(struct process_group *processes, double *values, size_t count, struct error *err)
{
    return run(processes, COMM_SUM_OF(COMM_DOUBLE, values, count), err);
}

int process_group_all_reduce_counts(struct process_group *processes, int64_t *values, size_t count, struct error *err)
{
    return run(processes, COMM_SUM_OF(COMM_INT64, values, count), err);
}

int process_group_gather_texts(struct process_group *processes, struct str text, struct buf *all, struct error *err)
{
    SCOPED(mem_free_at) int64_t *sizes = mem_clear(processes->size, sizeof *sizes); /* of the texts, each with a NUL */
    SCOPED(mem_free_at) size_t *counts = mem_array(processes->size, sizeof *counts);
    size_t total = 0, before = 0;
    sizes[processes->rank] = (int64_t)text.size + 1;
    TRY(process_group_all_reduce_counts(processes, sizes, processes->size, err));
    for (uint32_t r = 0; r < processes->size; r++) {
        if (sizes[r] < 1 || sizes[r] > TEXT_BYTES_MAX)
            return fail(err, ERR_PEER, "rank %" PRIu32 " announces a text of %" PRId64 " bytes", r, sizes[r]);
        before = r == processes->rank ? total : before;
        total += counts[r] = (size_t)sizes[r];
    }
    SCOPED(mem_free_at) char *bytes = mem_clear(total, 1);
    memcpy(bytes + before, text.data, text.size);
    TRY(run(processes, COMM_GATHER_OF(COMM_BYTE, bytes, counts), err));
    buf_add(all, bytes, total);
    return 0;
}

/* The first rank that has the most common hash: if one replica is damaged, it is the one that differs. */
static uint32_t commonest(const int64_t *hashes, uint32_t size)
{
    uint32_t best = 0, most = 0;
    for (uint32_t r = 0; r < size; r++) {
        uint32_t equal = 0;
        for (uint32_t i = 0; i < size; i++)
            equal += hashes[i] == hashes[r];
        if (equal > most) {
            best = r;
            most = equal;
        }
    }
    return best;
}

int process_group_check_same(struct process_group *processes, uint64_t hash, const char *what, struct error *err)
{
    SCOPED(buf_release) struct buf others = {0};
    SCOPED(mem_free_at) int64_t *hashes = mem_clear(processes->size, sizeof *hashes);
    memcpy(&hashes[processes->rank], &hash, sizeof hash);
    int result = run(processes, COMM_SUM_OF(COMM_INT64, hashes, processes->size), err);
    const uint32_t most = commonest(hashes, processes->size);
    for (uint32_t r = 0; result == 0 && r < processes->size; r++)
        if (hashes[r] != hashes[most])
            buf_addf(&others, "%s%" PRIu32, others.size > 0 ? ", " : "", r);
    if (others.size > 0)
        result = fail(err, ERR_NUMERIC, "the %s of rank %s differ from those of rank %" PRIu32, what, buf_text(&others),
                      most);
    return result;
}

/* One sum carries both: only rank 0 adds a decision, all others add zeros to it, so the sum is rank 0's. */
void process_group_control_begin(struct process_group *processes, const struct control *control)
{
    const struct decision *decision = &control->decision;
    int64_t *words = processes->message.words;
    const bool leads = process_group_is_leader(processes);
    words[0] = leads && decision->save;
    words[1] = leads && decision->evaluate;
    words[2] = leads ? (int64_t)decision->stop : 0;
    memcpy(words + 3, control->counts, sizeof control->counts);
    processes->message.number = comm_start(processes->comm, COMM_SUM_OF(COMM_INT64, words, 3 + CONTROL_COUNTS));
}

int process_group_control_end(struct process_group *processes, struct control *control, struct error *err)
{
    const int64_t *words = processes->message.words;
    TRY(await(processes, processes->message.number, err));
    assert(words[2] >= STOP_NONE && words[2] <= STOP_FAILED); /* only rank 0 has added to it */
    control->decision = (struct decision){words[0] > 0, words[1] > 0, (enum stop_cause)words[2]};
    memcpy(control->counts, words + 3, sizeof control->counts);
    return 0;
}

bool process_group_has_failed(const struct process_group *processes)
{
    return processes->rendezvous && rendezvous_has_failed(processes->rendezvous);
}

bool process_group_stop_asked(struct process_group *processes)
{
    if (processes->rendezvous && stop_requested())
        rendezvous_request_stop(processes->rendezvous);
    return stop_requested() || (processes->rendezvous && rendezvous_stop_asked(processes->rendezvous));
}

/* Called between micro-batches. The answer of the stop protocol is final, so it is asked once per step. */
bool process_group_halts(struct process_group *processes, uint64_t step)
{
    struct error err;
    bool discard = false;
    if (!process_group_stop_asked(processes) || processes->goes_on == step ||
        rendezvous_has_begun(processes->rendezvous, step))
        return false;
    if (rendezvous_halt(processes->rendezvous, step, &discard, &err) < 0)
        return true; /* the rendezvous has failed */
    if (!discard)
        processes->goes_on = step;
    return discard;
}
