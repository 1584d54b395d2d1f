/* The training loop.
 *
 *     training_open (training.c) → { decision → a step, or a pause to save and evaluate } … → the end
 *
 * step.c computes a step, decision.h defines a decision. What a step computes depends only on its number, so a run that
 * was stopped and resumed has the same bits. */

#include <inttypes.h>

#include "base/faults.h"
#include "base/hash.h"
#include "trainer/run/nonfinite.h"
#include "trainer/run/limit.h"
#include "trainer/device/timings.h"

/* Whether the deadline has come, or with `save` whether a save begun now would end after it. */
static bool deadline_nears(const struct training *t, bool save)
{
    return clock_now() + (save ? limit_save_seconds(t) : 0) >= t->deadline;
}

static bool halts(const struct training *t, bool save)
{
    const bool asked = process_group_stop_asked(t->processes);
    return t->processes->size == 1 ? asked || deadline_nears(t, save) : process_group_has_failed(t->processes);
}

/* A single process discards an evaluation on a stop request or near the deadline; several processes finish it, unless
 * one of them has failed. */
static bool evaluation_halts(void *context)
{
    const struct training *t = context;
    return halts(t, t->position.state.step != t->checkpointer.saved_step);
}

/* Several processes discard a step on a stop request if none has begun its sums, but never because of the deadline. */
static bool step_halts(void *context)
{
    const struct training *t = context;
    const uint64_t number = t->position.state.step + t->position.queued + 1;
    return halts(t, true) || (t->processes->size > 1 && process_group_halts(t->processes, number));
}

static struct rules rules_of(const struct training *t)
{
    const struct settings *settings = t->setup.settings;
    return (struct rules){
        .steps = t->setup.recipe.schedule.steps,
        .stop_at = settings->stop_after > 0 ? t->position.counts_from + settings->stop_after : 0,
        .save_every = settings->save_every,
        .keep_every = settings->keep_every,
        .evaluates = t->setup.task.splits[SPLIT_VALID].samples > 0 && settings->eval_samples > 0,
        .eval_every = settings->eval_every,
        .patience = settings->patience,
        .deadline = t->deadline,
    };
}

/* Decides what is done after the queued steps and the step that is being computed, if any (`under_way` is 0 or 1). */
static struct decision decide(const struct training *t, uint64_t under_way, enum error_kind failure)
{
    const struct rules rules = rules_of(t);
    const uint64_t step = t->position.state.step + t->position.queued + under_way;
    const struct checkpointer *checkpointer = &t->checkpointer;
    const double now = clock_now(), seconds = under_way > 0 ? now - t->position.clock : 0; /* so far */
    return decision_of(&rules, &(struct decision_facts){
                                   .step = step,
                                   .queued = t->position.queued + under_way,
                                   .saved_step = checkpointer->saved_step,
                                   .tried_step = checkpointer->tried_step,
                                   .evaluated_step = checkpointer->evaluated_step,
                                   .keep = checkpointer_keeps(checkpointer, step),
                                   .since_best = checkpointer->best.since,
                                   .now = now,
                                   .saved_clock = checkpointer->saved_clock,
                                   .step_seconds = fmax(limit_step_seconds(t), seconds),
                                   .save_seconds = limit_save_seconds(t),
                                   .evaluation_seconds = limit_evaluation_seconds(t),
                                   .fresh = under_way + t->position.queued == 0 && !limit_moved(t),
                                   .asked = process_group_stop_asked(t->processes),
                                   .failure = failure,
                               });
}

/* Starts the message with this process's counts of the next batch and, from rank 0, the decision on what is done before
 * it. A single process asks after a step. Several ask as soon as the sums of gradients are complete, so that the
 * message travels during the update; if a stop is requested after that, the next step is discarded. */
static void ask(struct training *t, uint64_t under_way)
{
    const uint64_t step = t->position.state.step + t->position.queued + under_way;
    assert(!t->asked && under_way <= 1); /* one message is under way at most */
    struct control control = {.decision = decide(t, under_way, ERR_NONE)};
    _Static_assert(sizeof(struct step_counts) <= sizeof control.counts, "what is known of a batch");
    rendezvous_progress(t->processes->rendezvous, step + 1, "data");
    if (step < t->setup.recipe.schedule.steps) {
        const struct step_counts counts = step_fetch(&t->samples);
        memcpy(control.counts, &counts, sizeof counts);
    }
    process_group_control_begin(t->processes, &control);
    t->asked = true;
}

/* Receives the results of queued steps until at most `left` remain queued. */
static int settle(struct training *t, uint64_t left, struct error *err)
{
    struct step_facts facts;
    while (t->position.queued > left) {
        step_receive(&t->engine, &t->position, &facts);
        if (facts.outcome == STEP_NOT_FINITE) {
            struct loader_options samples = training_samples(t);
            samples.count = loader_batch_size(&samples);
            return diagnose_nonfinite(&t->engine, t->processes, &samples, &facts, t->checkpointer.run.directory,
                                      t->checkpointer.saved_step, err);
        }
        TRY(checkpointer_step(&t->checkpointer, &t->position, &facts, err));
    }
    assert(t->position.queued <= left);
    return 0;
}

static bool norms_due(const struct training *t)
{
    return t->norms.engine && (t->position.state.step + t->position.queued + 1) % t->setup.settings->norms_every == 0;
}

/* Makes one step. If possible the host runs ahead: while the device computes this step, the host receives the previous
 * one and goes on to the next. Not with fp16, which must know about an overflow first, nor on a device whose ops are
 * done when they return, where nothing is gained. */
static int step(struct training *t, const struct step_counts *counts, struct error *err)
{
    const bool ahead = t->engine.ops->late && t->engine.ops->precision != PRECISION_FP16;
    const char *dump = t->setup.settings->dump_gradients;
    const uint64_t updates = t->position.state.updates + t->position.queued;
    const struct halt halt = {step_halts, t};
    assert(t->position.queued < STEPS_QUEUED);
    assert(t->position.state.step + t->position.queued < t->setup.recipe.schedule.steps);
    TRY(step_gradients(&t->engine, &t->position, &t->samples, counts, &halt, err));
    TRY(training_redivide(t, err));
    if (t->processes->size > 1)
        ask(t, 1);
    if (dump && process_group_is_leader(t->processes) &&
        t->position.state.step + t->position.queued == t->position.counts_from)
        TRY(engine_dump_gradients(&t->engine, step_loss_scale(&t->position), dump, err));
    rendezvous_progress(t->processes->rendezvous, t->position.state.step + t->position.queued + 1, "the update");
    const bool norms = norms_due(t);
    const double loss_scale = step_loss_scale(&t->position);
    if (norms)
        norms_before(&t->norms);
    TRY(step_update(&t->engine, &t->position, err));
    TRY(settle(t, ahead && !norms ? STEPS_QUEUED - 1 : 0, err));
    if (!norms || t->position.state.updates == updates) /* fp16 skipped it */
        return 0;
    norms_after(&t->norms, loss_scale);
    return checkpointer_norms(&t->checkpointer, &t->position, &t->norms, err);
}

/* Checks that all processes have the same parameters; they made the same updates, so otherwise a machine computes
 * wrongly. */
static int same_replicas(struct training *t, struct error *err)
{
    assert(t->position.queued == 0);
    if (t->processes->size == 1)
        return 0;
    const uint64_t hash = engine_hash(&t->engine);
    const bool wrong = fault_weight(t->processes->rank, t->position.state.step);
    if (process_group_check_same(t->processes, wrong ? ~hash : hash, "parameters", err) == 0)
        return 0;
    if (err->kind != ERR_NUMERIC)
        return -1;
    return hint(err,
                "each process made the same updates, so a machine computes wrongly; what is saved was the same in all "
                "processes: "
                "the checkpoint of step %" PRIu64,
                t->checkpointer.saved_step);
}

/* Saves a checkpoint, while the other processes wait and send what only they have. It may take longer than
 * --peer-timeout, so the rendezvous is told (rendezvous_set_working). */
static int save(struct training *t, bool go_on, struct error *err)
{
    assert(t->position.queued == 0); /* a checkpoint is of received steps only */
    rendezvous_progress(t->processes->rendezvous, t->position.state.step, "saving");
    rendezvous_set_working(t->processes->rendezvous, true);
    struct error second = {0};
    int result = checkpointer_save(&t->checkpointer, &t->engine, &t->position, go_on, err);
    if (!process_group_is_leader(t->processes)) {
        result = exchange_serve(t->engine.exchange, err);
    } else if (exchange_end_serving(t->engine.exchange, &second) < 0 && result == 0) {
        *err = second;
        result = -1;
    }
    rendezvous_set_working(t->processes->rendezvous, false);
    return result;
}

/* Saves and evaluates as the decision says. With --save-fails go-on only the last save must succeed. */
static int pause_steps(struct training *t, const struct decision *decision, struct error *err)
{
    const struct settings *settings = t->setup.settings;
    struct evaluation means, each[MIXTURE_MAX];
    const struct halt halt = {evaluation_halts, t};
    TRY(settle(t, 0, err));
    if (decision->save) {
        TRY(same_replicas(t, err));
        const bool go_on = settings->save_fails && t->position.state.step < t->setup.recipe.schedule.steps;
        TRY(save(t, go_on, err));
    }
    if (!decision->evaluate)
        return 0;
    rendezvous_progress(t->processes->rendezvous, t->position.state.step, "evaluating");
    const struct evaluation_work work = {
        .task = &t->setup.task,
        .model = t->engine.model,
        .source = &t->setup.task.splits[SPLIT_VALID],
        .samples = settings->eval_samples,
        .limits = &t->engine.limits,
        .halt = &halt,
        .processes = t->processes,
        .step = t->position.state.step,
        .each = each,
    };
    const double from = clock_now();
    TRY(work.task->evaluate(&work, &means, err));
    t->evaluation_longest = fmax(t->evaluation_longest, clock_now() - from);
    return checkpointer_evaluation(&t->checkpointer, &t->position, &means, each, err);
}

/* Gets the decision, rank 0's in all processes, and the counts of the next batch. If `result` is a failure of this
 * process, the others are told; if another process failed, this one fails too. */
static struct decision next_turn(struct training *t, int result, struct step_counts *counts, struct error *err)
{
    struct control control;
    if (result == 0) {
        if (!t->asked)
            ask(t, 0);
        t->asked = false;
        rendezvous_progress(t->processes->rendezvous, t->position.state.step + t->position.queued + 1,
                            "the counts of the batch");
        result = process_group_control_end(t->processes, &control, err);
    } else if (err->kind != ERR_NUMERIC && (err->kind != ERR_STOPPED || process_group_has_failed(t->processes))) {
        process_group_fail(t->processes, err); /* the other errors occur in all processes */
    }
    if (result < 0)
        return decide(t, 0, err->kind);
    memcpy(counts, control.counts, sizeof *counts);
    return control.decision;
}

/* Runs steps and pauses until a decision says stop. A failure becomes a fact for the next decision; *err has the
 * error. */
static struct decision loop(struct training *t, struct error *err)
{
    struct step_counts counts = {0};
    struct decision decision = next_turn(t, 0, &counts, err);
    while (decision.stop == STOP_NONE) {
        const bool pause = decision.save || decision.evaluate;
        const int result = pause ? pause_steps(t, &decision, err) : step(t, &counts, err);
        decision = next_turn(t, result, &counts, err);
    }
    return decision;
}

/* Makes the error of a run that stops before its end. If a step or evaluation was discarded, *err already has the
 * reason. */
static int fail_stopped(const struct training *t, enum stop_cause cause, struct error *err)
{
    char text[160] = "stopped on request", count[56], steps[32];
    if (cause == STOP_TIME && !limit_moved(t))
        return limit_fail(t, err);
    if (cause == STOP_AFTER)
        snprintf(text, sizeof text, "stopped after %s", format_counted(t->setup.settings->stop_after, "step", count));
    else if (cause == STOP_TIME)
        snprintf(text, sizeof text, "stopped by the time limit");
    else if (err->kind == ERR_STOPPED)
        snprintf(text, sizeof text, "%.150s", err->text);
    if (t->checkpointer.silent)
        return fail(err, ERR_STOPPED, "%s", text);
    fail(err, ERR_STOPPED, "%s, at step %s of %s; saved in %s", text, format_count(t->position.state.step, count),
         format_count(t->setup.recipe.schedule.steps, steps), t->checkpointer.run.directory);
    return hint(err, "the same command continues from there");
}

/* Lets rank 0 write what the task makes of the model, while the others wait, and marks the run as finished. */
static int finish(struct training *t, bool early, struct error *err)
{
    const struct task *task = &t->setup.task;
    const struct halt halt = {evaluation_halts, t};
    int result = 0;
    if (!task->finish)
        return checkpointer_finish(&t->checkpointer, &t->position, early, err);
    const struct evaluation_work work = {
        .task = task,
        .model = t->engine.model,
        .limits = &t->engine.limits,
        .halt = &halt,
        .step = t->position.state.step,
    };
    rendezvous_set_working(t->processes->rendezvous, true);
    if (!t->checkpointer.silent)
        result = task->finish(&work, t->checkpointer.run.directory, err);
    if (result < 0 && err->kind == ERR_STOPPED && !process_group_stop_asked(t->processes) && !limit_moved(t))
        result = limit_fail(t, err);
    rendezvous_set_working(t->processes->rendezvous, false);
    TRY(process_group_barrier(t->processes, result, err));
    return checkpointer_finish(&t->checkpointer, &t->position, early, err);
}

/* Ends the run as the decision says. Queued steps are received first, unless the run has failed and is not saved; they
 * may turn out to have failed too. */
static int end_run(struct training *t, const struct decision *decision, struct error *err)
{
    const bool failed = decision->stop == STOP_FAILED;
    struct error second = {0};
    const int settled = failed && !decision->save ? 0 : settle(t, 0, &second);
    checkpointer_close_console(&t->checkpointer);
    if (settled < 0) {
        *err = second;
        return -1;
    }
    int saved = decision->save && !failed ? same_replicas(t, &second) : 0;
    if (decision->save && saved == 0)
        saved = save(t, false, &second);
    if (saved < 0) {
        if (!failed)
            *err = second; /* exit code 75 would promise that everything is saved */
        return -1;
    }
    if (failed)
        return -1;
    if (decision->stop == STOP_FINISHED || decision->stop == STOP_ENOUGH)
        return finish(t, decision->stop == STOP_ENOUGH, err);
    return fail_stopped(t, decision->stop, err);
}

static void say_timings(const struct training *t, double from)
{
    size_t count = 0;
    const struct bucket_times *buckets = exchange_times(t->engine.exchange, &count);
    struct timings_beside beside[] = {
        {"waiting for data", t->samples.loader ? loader_waited(t->samples.loader) : 0},
        {"saving", t->checkpointer.saving},
        {.name = NULL},
        {.name = NULL},
    };
    if (t->processes->size > 1)
        beside[2].name = "waiting for sums of gradients";
    for (size_t i = 0; i < count; i++)
        beside[2].seconds += buckets[i].waited;
    timings_say(t->engine.ops, clock_now() - from, &(struct timings_limits){0}, beside);
    if (t->processes->size > 1)
        buckets_say_times(buckets, count);
}

int train(struct training *t, struct error *err)
{
    if (t->setup.settings->timings)
        timings_clear(t->engine.ops);
    const double from = clock_now();
    checkpointer_open_console(&t->checkpointer, &t->engine, &t->position, &t->estimate);
    const struct decision decision = loop(t, err);
    const int result = end_run(t, &decision, err);
    if (t->setup.settings->timings)
        say_timings(t, from);
    return result;
}

/* After a process was lost: appends to the hint what is safe. */
static void hint_lost(uint64_t saved, struct error *err)
{
    char why[200];
    snprintf(why, sizeof why, "%.199s", err->hint);
    hint(err,
         "%s; the checkpoint of step %" PRIu64
         " is safe: the same command continues from there, with any number of processes",
         why, saved);
}

static void hint_safe(const struct training *t, struct error *err)
{
    if (err->hint[0])
        return;
    if (t->checkpointer.saved_step == 0)
        hint(err, "what is on disk is safe: the same command continues from there");
    else
        hint(err, "the checkpoint of step %" PRIu64 " is safe: the same command continues from there",
             t->checkpointer.saved_step);
}

int train_run(struct settings *settings, struct error *err)
{
    struct training training = {0};
    struct process_group processes;
    const double from = clock_now();
    stop_on_signals();
    int result = process_group_open(&processes, settings, err);
    if (result == 0)
        result = training_open(&training, settings, &processes, NULL, false, err);
    if (result == 0 && !training.finished)
        result = train(&training, err);
    if (result == 0)
        checkpointer_summary(&training.checkpointer, &training.engine, &training.position, clock_now() - from);
    if (result < 0 && err->kind == ERR_RESOURCE)
        hint_safe(&training, err);
    const uint64_t saved = training.checkpointer.saved_step;
    training_close(&training);
    settings->mute = process_group_leave(&processes, result, err);
    if (result < 0 && err->kind == ERR_PEER && saved > 0)
        hint_lost(saved, err);
    return result;
}

int dstrain_train(void *settings, struct opt_paths bare, struct error *err)
{
    if (((const struct settings *)settings)->dry_run)
        return dstrain_plan(settings, bare, err);
    return train_run(settings, err);
}
