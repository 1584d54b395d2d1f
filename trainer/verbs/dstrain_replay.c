/* dstrain verify --replay: whether a run's checkpoints contain what its recorded command computes.
 *
 *     plan (rank 0 reads run.json and sends the others what they need)
 *       → run the command again, silently, from the first checkpoint → { train to the next one → compare } …
 *
 * The run's directory is only read; with --provenance its run.json is not needed. If this machine cannot compute the
 * same bits, that is found before the first step. */
#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "trainer/run/record.h"
#include "trainer/run/training.h"
#include "trainer/tune/tune_kinds.h"
#include "trainer/verbs/proof.h"
#include "trainer/verbs/stretch.h"

#define NEVER UINT64_MAX

struct replay {
    const char *run;    /* directory */
    json_t *record;     /* run.json, at rank 0 */
    json_t *plan;       /* from stretch_plan */
    const char **words; /* [command + 5] the command line to parse; pointers into `plan` and `beside` */
    json_t *beside;     /* options of this process, some of which replace recorded ones */
    struct opt_program program;
    struct opt_result parsed;
    struct settings settings; /* the recorded command's */
    struct tune_task task;    /* of a fine-tuning */
    struct tuning tuning;
    struct training_again again;
    char *checkpoint; /* to start from */
    struct training training;
    char hash[34]; /* of the last compared checkpoint */
};

static uint64_t plan_from(const struct replay *r)
{
    return (uint64_t)json_integer_value(json_object_get(r->plan, "from"));
}

/* Collective (process_group.h): sends rank 0's plan to all. The others need no access to the run's directory. */
static int give_plan(struct replay *r, struct process_group *processes, struct error *err)
{
    if (processes->size == 1)
        return 0;
    SCOPED(mem_free_at) char *text = r->plan ? json_dumps(r->plan, JSON_COMPACT) : NULL;
    uint64_t size = text ? strlen(text) + 1 : 0;
    TRY(process_group_broadcast(processes, &size, sizeof size, err));
    if (!text)
        text = mem_clear(size, 1);
    TRY(process_group_broadcast(processes, text, size, err));
    if (!r->plan)
        r->plan = json_loads(text, 0, NULL);
    return 0;
}

/* Replaces recorded settings about the machine by those of this process. */
static void take_machine(struct settings *settings, const struct settings *asked, const json_t *shards)
{
    if (asked->shards.count > 0 || shards) {
        mem_free(settings->shards.items);
        settings->shards = shards_recorded(shards);
    }
    for (size_t i = 0; i < asked->shards.count; i++) {
        settings->shards.items = mem_grow(settings->shards.items, i + 1, sizeof *settings->shards.items);
        settings->shards.items[i] = asked->shards.items[i];
        settings->shards.count = i + 1;
    }
    settings->threads = asked->threads;
    settings->launch = asked->launch;
    settings->comm = asked->comm;
    settings->share = asked->share;
    settings->peer_timeout = asked->peer_timeout;
    settings->tune = NULL; /* the run has a copy of the table */
}

/* Turns off everything except the steps. */
static void take_silence(struct settings *settings)
{
    settings->eval_samples = 0;
    settings->save_every = (struct opt_count_or_time){.count = NEVER};
    settings->keep_every = 0;
    settings->time_limit = 0;
    settings->timings = false;
    settings->dump_gradients = NULL;
}

/* Prepares the task of a fine-tuning. Its task and seed are taken from the run, because the command may have been for
 * all tasks and several seeds. Its training files are read again from the recorded paths; files of questions that were
 * only answered are not needed. */
static int take_task(struct replay *r, struct error *err)
{
    const struct opt_verb *verb = r->parsed.verb;
    const char *task = json_string_value(json_object_get(r->plan, "task"));
    if (verb && verb->run == dstrain_train && !task)
        return 0;
    r->task = tune_task_recorded(task);
    const struct tune_kind *kind = r->task.kind;
    if (!verb || !kind || strcmp(verb->name, kind->verb) != 0 || !tune_trains(kind, &r->settings))
        return fail_at(err, ERR_VERIFY, r->run, ERROR_NO_OFFSET, "the command in " RUN_NAME " is not a training");
    r->settings.seed = (uint64_t)json_integer_value(json_object_get(r->plan, "seed"));
    r->tuning = kind->tuning;
    r->tuning.context = kind->make(kind, r->task.name, &r->settings, TUNE_REPLAY);
    r->settings.tuning = &r->tuning;
    return 0;
}

/* Parses the words in run.json as a command line. They cannot choose what is done here: anything but a training is
 * refused. */
static int read_command(struct replay *r, const struct settings *asked, struct error *err)
{
    const json_t *command = json_object_get(r->plan, "command");
    static const struct {
        const char *name, *option;
    } replaced[] = {{"device", "--device"}, {"cpu", "--cpu"}};
    struct error found = {0};
    int count = 0;
    size_t i;
    const json_t *word;
    r->words = mem_clear(json_array_size(command) + 5, sizeof *r->words);
    json_array_foreach(command, i, word)
    {
        if (strcmp(json_string_value(word), "--") == 0)
            break; /* no options follow */
        r->words[count++] = json_string_value(word);
    }
    r->beside = opts_json(asked->program, asked->result->verb, asked);
    for (i = 0; i < sizeof replaced / sizeof *replaced; i++)
        if (settings_given(asked, replaced[i].name)) {
            r->words[count++] = replaced[i].option;
            r->words[count++] = json_string_value(json_object_get(r->beside, replaced[i].name));
        }
    r->program = *asked->program;
    if (opts_parse(&r->program, count, (char **)r->words, &r->settings, &r->parsed, &found) < 0)
        return fail_at(err, ERR_MISMATCH, r->run, ERROR_NO_OFFSET, "this version cannot parse its command: %.200s",
                       found.text);
    r->settings.program = &r->program;
    r->settings.result = &r->parsed;
    TRY(take_task(r, err));
    take_machine(&r->settings, asked, json_object_get(r->plan, "shards"));
    take_silence(&r->settings);
    return 0;
}

/* Checks that this is the run of --provenance, and that this machine can compute the bits of every start that computed
 * a part of the stretch. For rank 0. */
static int same_machine(const struct replay *r, const struct settings *asked, uint64_t last, struct error *err)
{
    const struct training *t = &r->training;
    const json_t *before = NULL;
    struct buf differences = {0};
    if (asked->provenance)
        run_differences(json_object_get(r->record, "identity"), t->setup.identity, &differences);
    if (differences.size > 0) {
        fail_at(err, ERR_MISMATCH, asked->provenance, ERROR_NO_OFFSET, "is of another run or dataset: %.400s",
                buf_text(&differences));
        buf_release(&differences);
        return -1;
    }
    for (uint64_t step = stretch_first(r->record, plan_from(r)); step <= last && differences.size == 0; step++) {
        const json_t *start = stretch_start(r->record, step);
        if (start != before)
            record_differences(start, &t->setup, &t->engine, &differences);
        before = start;
    }
    int result = 0;
    if (differences.size > 0) {
        result = fail_at(err, ERR_MISMATCH, r->run, ERROR_NO_OFFSET,
                         "its bits cannot be computed here: the start at step %" PRIu64 " had %.400s",
                         stretch_start_step(before), buf_text(&differences));
        hint(err,
             t->setup.recipe.part > 0
                 ? "they depend on the precision, and except for fp32 on CPUs on the processor's level and the library"
                 : "they depend on device, library, precision, and without --same-bits on processes and "
                   "micro-batch");
    }
    buf_release(&differences);
    return result;
}

/* Compares the state, which a checkpoint has besides its tensors. */
static int compare_state(const char *directory, const struct checkpoint_state *there,
                         const struct checkpoint_state *here, struct error *err)
{
    struct buf differences = {0};
    json_t *nothing = json_object(), *a = state_json(there, nothing, nothing), *b = state_json(here, nothing, nothing);
    json_object_del(a, "hash");
    json_object_del(b, "hash");
    run_differences(a, b, &differences);
    int result = 0;
    if (differences.size > 0)
        result = fail_at(err, ERR_VERIFY, directory, ERROR_NO_OFFSET, "its state.json is not what is computed: %.200s",
                         buf_text(&differences));
    buf_release(&differences);
    json_decref(a);
    json_decref(b);
    json_decref(nothing);
    return result;
}

static int compare_files(struct replay *r, const char *directory, struct error *err)
{
    struct training *t = &r->training;
    struct checkpoint_state state;
    json_t *identity = NULL;
    TRY(checkpoint_verify(directory, &state, &identity, err));
    int result = run_is_of(directory, identity, t->setup.identity, err);
    json_decref(identity);
    TRY(result);
    const bool divided = engine_divides(&t->engine);
    const struct flat_state flat = divided ? (struct flat_state){0} : engine_map(&t->engine, MAP_READ);
    struct checkpoint_source source;
    const struct checkpoint_parts parts = {.params = model_table(t->engine.model),
                                           .weights = flat.params,
                                           .first = flat.first,
                                           .second = flat.second,
                                           .source = exchange_source(t->engine.exchange, &source) ? &source : NULL};
    result = checkpoint_compare(directory, &parts, t->position.state.step, r->hash, err);
    if (!divided)
        engine_unmap(&t->engine, &flat, MAP_READ);
    return result < 0 ? -1 : compare_state(directory, &state, &t->position.state, err);
}

/* Compares the training with the recorded checkpoint of its step. Rank 0 does it; the others send what only they
 * have. */
static int compare_checkpoint(struct replay *r, bool leads, struct error *err)
{
    const uint64_t step = r->training.position.state.step;
    struct gradient_exchange *exchange = r->training.engine.exchange;
    struct error second = {0};
    if (!leads)
        return exchange_serve(exchange, err);
    char *directory = checkpoint_path(r->run, step);
    const int result = compare_files(r, directory, err);
    mem_free(directory);
    if (exchange_end_serving(exchange, &second) < 0 && result == 0) {
        *err = second;
        return -1;
    }
    if (result == 0)
        log_say("compared   step %" PRIu64 ": the same bytes", step);
    return result;
}

/* Trains to the step of a checkpoint. Stopping there is success; stopping before it was requested and is an error. */
static int train_to(struct replay *r, uint64_t step, struct error *err)
{
    struct training *t = &r->training;
    r->settings.stop_after = step - t->position.begun_at;
    if (train(t, err) == 0)
        return 0;
    if (err->kind != ERR_STOPPED || t->position.state.step != step)
        return -1;
    *err = (struct error){0};
    return 0;
}

/* For rank 0: the plan; with --provenance also whether the checkpoints are those that it names. */
static int make_plan(struct replay *r, const struct settings *asked, struct error *err)
{
    size_t count;
    uint64_t last;
    char weights[17];
    TRY(stretch_plan(r->run, asked, &r->record, &r->plan, err));
    if (!asked->provenance)
        return 0;
    const json_t *steps = json_object_get(r->plan, "steps");
    const json_t *to = json_array_get(steps, json_array_size(steps) - 1);
    return proof_compare(r->record, asked->provenance, r->run, plan_from(r), (uint64_t)json_integer_value(to), &count,
                         &last, weights, err);
}

static int open_replay(struct replay *r, struct process_group *processes, const struct settings *asked,
                       struct error *err)
{
    TRY(process_group_barrier(processes, process_group_is_leader(processes) ? make_plan(r, asked, err) : 0, err));
    TRY(give_plan(r, processes, err));
    TRY(process_group_barrier(processes, read_command(r, asked, err), err));
    if (plan_from(r) > 0)
        r->checkpoint = checkpoint_path(r->run, plan_from(r));
    r->again = (struct training_again){
        .run = r->run,
        .precision = json_string_value(json_object_get(r->plan, "precision")),
        .checkpoint = r->checkpoint,
    };
    return training_open(&r->training, &r->settings, processes, &r->again, true, err);
}

static int replay(struct replay *r, struct process_group *processes, const struct settings *asked, struct error *err)
{
    const bool leads = process_group_is_leader(processes);
    TRY(open_replay(r, processes, asked, err));
    const json_t *steps = json_object_get(r->plan, "steps");
    const size_t count = json_array_size(steps);
    const uint64_t last = (uint64_t)json_integer_value(json_array_get(steps, count - 1));
    TRY(process_group_barrier(processes, leads ? same_machine(r, asked, last, err) : 0, err));
    for (size_t i = 0; i < count; i++) {
        TRY(train_to(r, (uint64_t)json_integer_value(json_array_get(steps, i)), err));
        TRY(process_group_barrier(processes, compare_checkpoint(r, leads, err), err));
    }
    if (leads && asked->json) {
        output_json(json_pack("{s:b, s:I, s:I, s:i, s:s}", "ok", 1, "from", (json_int_t)plan_from(r), "to",
                              (json_int_t)last, "checkpoints", (int)count, "hash", r->hash),
                    0);
    } else if (leads) {
        output_line("%s: steps %" PRIu64 " to %" PRIu64
                    " computed again, checkpoints with the same bytes: %zu; the last one's %s+%s have XXH3 %s",
                    r->run, stretch_first(r->record, plan_from(r)), last, count, WEIGHTS_NAME, MOMENTS_NAME, r->hash);
        if (!asked->provenance) /* else the directory may be no run */
            say_next(command_text("dstrain export %s --out DIR", r->run));
    }
    return 0;
}

static void replay_release(struct replay *r)
{
    if (r->tuning.context)
        r->task.kind->release(r->tuning.context);
    if (r->parsed.verb)
        opts_release(&r->program, &r->settings, &r->parsed);
    json_decref(r->beside);
    json_decref(r->plan);
    json_decref(r->record);
    mem_free(r->words);
    mem_free(r->checkpoint);
}

int dstrain_replay(void *context, struct opt_paths bare, struct error *err)
{
    struct settings *asked = context;
    SCOPED(replay_release) struct replay r = {.run = bare.items[0]};
    struct process_group processes;
    stop_on_signals();
    int result = process_group_open(&processes, asked, err);
    if (result == 0)
        result = replay(&r, &processes, asked, err);
    if (result < 0 && asked->shards.count == 0 && shards_missing(&r.settings.shards))
        hint(err, "%s names that dataset; --shards DIR says where it is now",
             asked->provenance ? asked->provenance : RUN_NAME);
    training_close(&r.training);
    asked->mute = process_group_leave(&processes, result, err);
    return result;
}
