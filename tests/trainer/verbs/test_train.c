/* The loop over steps, on a CPU that acts as a late device: the record of a step arrives after the next step was
 * queued. The files of the run must not show the difference. */
#include "tests/shards/tiny.h"

#include <signal.h>

#include "base/log.h"
#include "base/progress.h"
#include "trainer/model/config.h"
#include "trainer/keep/names.h"
#include "trainer/keep/state.h"
#include "trainer/run/nonfinite.h"
#include "trainer/options.h"
#include "trainer/run/training.h"

static struct error *const err = &tiny_err;
static struct opt_program program; /* main sets it */

/* ---- a training from a command line ---- */

#define ARGUMENTS 40
struct command {
    char *argv[ARGUMENTS];
    int argc;
    struct settings settings;
    struct opt_result parsed;
    struct training training;
    struct process_group processes;
};

static bool silent; /* whether the run has the silent checkpointer */

/* `more` ends with NULL. */
static int command_open(struct command *command, const char *directory, const char *out, const char *const *more)
{
    /* One level of vector instructions: under an emulator, signalled() runs on the processor itself. */
    const char *const fixed[] = {"dstrain",  "--steps",   "9",     "--batch",     "4", "--micro-batch",
                                 "2",        "--threads", "1",     "--log-every", "1", "-q",
                                 "--device", "cpu",       "--cpu", "base"};
    *command = (struct command){0};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        command->argv[command->argc++] = mem_copy_text(fixed[i]);
    const char *const paths[][2] = {{"--shards", ""}, {"--out", out}, {"--model", "model.json"}};
    const bool starts_from = *more && strcmp(*more, "--init") == 0; /* which has its own shape */
    for (int i = 0; i < (starts_from ? 2 : 3); i++) {
        command->argv[command->argc++] = mem_copy_text(paths[i][0]);
        command->argv[command->argc++] = path_join(directory, paths[i][1]);
    }
    for (; *more; more++)
        command->argv[command->argc++] = mem_copy_text(*more);
    assert_true(command->argc < ARGUMENTS);
    assert_ok(opts_parse(&program, command->argc, command->argv, &command->settings, &command->parsed, err));
    command->settings.program = &program;
    command->settings.result = &command->parsed;
    command->settings.argc = command->argc;
    command->settings.argv = command->argv;
    assert_ok(process_group_single(&command->processes, err));
    return training_open(&command->training, &command->settings, &command->processes, NULL, silent, err);
}

static void command_close(struct command *command)
{
    training_close(&command->training);
    process_group_close(&command->processes);
    opts_release(&program, &command->settings, &command->parsed);
    for (int i = 0; i < command->argc; i++)
        mem_free(command->argv[i]);
}

static struct ops plain;                /* of the running run */
static void (*tamper)(struct ops *ops); /* changes the backend of a run before it begins; NULL: nothing is done */
static float last_params[1 << 16];      /* of the last run */

/* Runs to the end from the last checkpoint. Returns the kind of its error, or -1 without one. */
static int run(const char *directory, const char *out, bool late, const char *const *more)
{
    struct command command;
    struct training *t = &command.training;
    assert_ok(command_open(&command, directory, out, more));
    t->engine.ops->late = late;
    plain = *t->engine.ops;
    if (tamper)
        tamper(t->engine.ops);
    *err = (struct error){0};
    const int result = train(t, err);
    assert_true(model_table(t->engine.model)->size <= sizeof last_params / sizeof *last_params);
    memcpy(last_params, model_params(t->engine.model), model_table(t->engine.model)->size * sizeof *last_params);
    command_close(&command);
    return result < 0 ? (int)err->kind : -1;
}

#define RUN(out, late, ...) run(*state, out, late, (const char *const[]){__VA_ARGS__, NULL})

static void assert_same_file(const char *directory, const char *a, const char *b, const char *name)
{
    char *names[2] = {path_join(a, name), path_join(b, name)};
    struct buf bytes[2] = {tiny_read(directory, names[0]), tiny_read(directory, names[1])};
    assert_true(bytes[0].size > 0);
    assert_int_equal(bytes[0].size, bytes[1].size);
    assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].size);
    for (int i = 0; i < 2; i++) {
        buf_release(&bytes[i]);
        mem_free(names[i]);
    }
}

static void assert_same_end(const char *directory, const char *a, const char *b)
{
    assert_same_file(directory, a, b, "checkpoints/step-00000009/model.safetensors");
    assert_same_file(directory, a, b, "checkpoints/step-00000009/optimizer.safetensors");
    assert_same_file(directory, a, b, "checkpoints/step-00000009/state.json");
}

/* The lines of metrics without values that depend on the clock. */
static json_t *metrics_of(const char *directory, const char *out)
{
    SCOPED(mem_free_at) char *name = path_join(out, METRICS_NAME);
    SCOPED(buf_release) struct buf text = tiny_read(directory, name);
    json_t *lines = json_array();
    for (const char *line = buf_text(&text), *end; (end = strchr(line, '\n')); line = end + 1) {
        json_t *one = json_loadb(line, (size_t)(end - line), 0, NULL);
        assert_non_null(one);
        assert_true(json_real_value(json_object_get(one, "seconds")) >= 0);
        json_object_del(one, "seconds");
        json_object_del(one, "sequences_per_second");
        json_object_del(one, "data_wait_seconds");
        json_array_append_new(lines, one);
    }
    return lines;
}

static void assert_same_metrics(const char *directory, const char *a, const char *b, size_t lines)
{
    json_t *left = metrics_of(directory, a), *right = metrics_of(directory, b);
    assert_int_equal(json_array_size(left), lines);
    assert_true(json_equal(left, right));
    json_decref(left);
    json_decref(right);
}

/* ---- the cases ---- */

#define WILD                                                                                                           \
    "--precision", "fp32", "--save-every", "2", "--set", "scheduler.type=LRRangeTest",                                 \
        "scheduler.params.lr_range_test_min_lr=1e3", "scheduler.params.lr_range_test_step_size=2",                     \
        "scheduler.params.lr_range_test_step_rate=1e6", "scheduler.params.lr_range_test_staircase=true"

TEST(late_facts_leave_the_same_run)
{
    assert_int_equal(RUN("at-once", false, "--save-every", "4", "--eval-every", "3"), -1);
    assert_int_equal(RUN("late", true, "--save-every", "4", "--eval-every", "3"), -1);
    assert_same_end(*state, "at-once", "late");
    assert_same_metrics(*state, "at-once", "late", 9 + 3);
    assert_int_equal(RUN("fewer", true, "--save-every", "100"), -1);
    assert_same_end(*state, "at-once", "fewer");
}

/* A rank other than the one that writes: it computes the same, evaluates as often, and writes no files. */
TEST(a_silent_checkpointer_changes_no_bit_and_writes_nothing)
{
    static float params[sizeof last_params / sizeof *last_params];
    assert_int_equal(RUN("speaks", true, "--save-every", "4", "--eval-every", "3"), -1);
    memcpy(params, last_params, sizeof params);
    memset(last_params, 0, sizeof last_params);
    silent = true;
    assert_int_equal(RUN("silent", true, "--save-every", "4", "--eval-every", "3"), -1);
    assert_memory_equal(params, last_params, sizeof params);
    assert_int_equal(RUN("silent", true, "--stop-after", "3"), (int)ERR_STOPPED);
    assert_int_equal(RUN("silent", true, WILD), (int)ERR_NUMERIC);
    silent = false;
    SCOPED(mem_free_at) char *path = path_join(*state, "silent");
    assert_false(path_exists(path));
}

/* Every step is in the metrics once and in order, including the last one before a stop. */
TEST(a_stop_and_a_resume_lose_no_line)
{
    assert_int_equal(RUN("whole", false, "--eval-every", "100"), -1);
    assert_int_equal(RUN("parts", true, "--stop-after", "1"), (int)ERR_STOPPED);
    assert_int_equal(RUN("parts", true, "--stop-after", "4"), (int)ERR_STOPPED);
    assert_non_null(strstr(err->text, "step 5 of 9"));
    assert_int_equal(RUN("parts", true, "--stop-after", "2"), (int)ERR_STOPPED);
    assert_int_equal(RUN("parts", true, "--eval-every", "100"), -1);
    assert_same_end(*state, "whole", "parts");
    assert_same_metrics(*state, "whole", "parts", 9 + 1);
}

/* Time and speed are measured from the step of the checkpoint on. */
TEST(a_resume_goes_on_with_the_seconds)
{
    struct command command;
    assert_int_equal(RUN("timed", false, "--stop-after", "5"), (int)ERR_STOPPED);
    assert_ok(command_open(&command, *state, "timed", (const char *const[]){NULL}));
    assert_int_equal(command.training.position.state.samples, 20);
    assert_int_equal(command.training.checkpointer.since.samples, 20);
    assert_true(command.training.position.seconds > 0);
    command_close(&command);
}

/* A checkpoint whose state is not damaged, but cannot be of its step. */
TEST(a_state_that_contradicts_itself_is_refused)
{
    static const char name[] = "odd/checkpoints/step-00000005/state.json";
    struct checkpoint_state there;
    struct command command;
    assert_int_equal(RUN("odd", false, "--stop-after", "5"), (int)ERR_STOPPED);
    SCOPED(buf_release) struct buf text = tiny_read(*state, name);
    json_auto_t *json = json_loadb(text.data, text.size, 0, NULL);
    assert_ok(state_take(name, json, &there, err));
    there.samples++;
    json_auto_t *odd = state_json(&there, json_object_get(json, "files"), json_object_get(json, "run"));
    char *again = json_dumps(odd, 0);
    tiny_write(*state, name, again, strlen(again));
    assert_int_equal(command_open(&command, *state, "odd", (const char *const[]){NULL}), -1);
    assert_int_equal(err->kind, ERR_VERIFY);
    assert_non_null(strstr(err->text, "contradicts itself"));
    command_close(&command);
    free(again);
}

/* A step that overflows is skipped before the next one is queued, late or not. */
TEST(fp16_hears_of_an_overflow_at_once)
{
    assert_int_equal(RUN("half", false, "--precision", "fp16", "--set", "fp16.initial_scale_power=24"), -1);
    assert_int_equal(RUN("half-late", true, "--precision", "fp16", "--set", "fp16.initial_scale_power=24"), -1);
    assert_same_end(*state, "half", "half-late");
    assert_same_metrics(*state, "half", "half-late", 9 + 1);
    json_auto_t *lines = metrics_of(*state, "half");
    const json_int_t skipped = json_integer_value(json_object_get(json_array_get(lines, 8), "skipped"));
    assert_in_range(skipped, 1, 8);
}

/* The reported step, tensors and samples are the same, although another step was queued after it. */
TEST(a_non_finite_step_is_diagnosed_all_the_same)
{
    assert_int_equal(RUN("wild", false, WILD), (int)ERR_NUMERIC);
    char text[sizeof err->text];
    strcpy(text, strstr(err->text, "step "));
    assert_non_null(strstr(text, "not finite"));
    assert_int_equal(RUN("wild-late", true, WILD), (int)ERR_NUMERIC);
    assert_string_equal(text, strstr(err->text, "step "));
    assert_same_file(*state, "wild", "wild-late", NONFINITE_NAME);
    assert_same_file(*state, "wild", "wild-late", "latest");
    json_auto_t *lines = metrics_of(*state, "wild");
    const size_t told = json_array_size(lines);
    assert_in_range(told, 1, 8);
    assert_same_metrics(*state, "wild", "wild-late", told);
}

/* One gradient of step 5 is infinite, and no other. */
static void norm_backward_5(struct device *device, const struct norm_backward_args *args)
{
    plain.norm_backward(device, args);
    if (args->dropout && args->dropout->threshold > 0 && args->dropout->key[1] == 5)
        ((float *)args->dgain)[3] = INFINITY;
}

static void break_step_5(struct ops *ops)
{
    ops->norm_backward = norm_backward_5;
}

TEST(what_comes_after_it_is_not_applied)
{
    static float params[sizeof last_params / sizeof *last_params];
    char text[sizeof err->text];
    tamper = break_step_5;
    assert_int_equal(RUN("broken", false, "--save-every", "3"), (int)ERR_NUMERIC);
    memcpy(params, last_params, sizeof params);
    strcpy(text, strstr(err->text, "step "));
    assert_ptr_equal(strstr(text, "step 5: the gradient's norm is infinite"), text);
    assert_non_null(strstr(text, "LayerNorm.weight and"));
    assert_int_equal(RUN("broken-late", true, "--save-every", "3"), (int)ERR_NUMERIC);
    tamper = NULL;
    assert_string_equal(text, strstr(err->text, "step "));
    assert_memory_equal(params, last_params, sizeof params);
    assert_same_file(*state, "broken", "broken-late", NONFINITE_NAME);
    assert_same_file(*state, "broken", "broken-late", "latest");
    assert_same_metrics(*state, "broken", "broken-late", 4);
}

/* A signal arrives while a step is queued and the record of the step before has not arrived. */
static void squares_signal(struct device *device, const struct squares_args *args)
{
    static int calls;
    if (++calls == 4)
        raise(SIGTERM);
    plain.squares(device, args);
}

static void signal_at_4(struct ops *ops)
{
    ops->squares = squares_signal;
}

/* A signal arrives in the first of step 6's two micro-batches, while step 5 is queued. */
static void norm_backward_signal(struct device *device, const struct norm_backward_args *args)
{
    if (args->dropout && args->dropout->threshold > 0 && args->dropout->key[1] == 6 && !stop_requested())
        raise(SIGTERM);
    plain.norm_backward(device, args);
}

static void signal_in_6(struct ops *ops)
{
    ops->norm_backward = norm_backward_signal;
}

/* Runs in a separate process, because a request to stop cannot be withdrawn. */
static int signalled(char *directory, const char *when)
{
    void *const made = directory, *const *state = &made;
    const bool inside = strcmp(when, "inside") == 0;
    log_open("test", LOG_QUIET, false);
    stop_on_signals();
    tamper = inside ? signal_in_6 : signal_at_4;
    const int kind = RUN(when, true, "--eval-every", "100");
    return kind == (int)ERR_STOPPED && strstr(err->text, inside ? "at step 5 of 9" : "at step 4 of 9") ? 0 : 1;
}

static void disturb(void **state, const char *when, size_t lines_left)
{
    char program_path[4096] = "", command[4200];
    assert_true(readlink("/proc/self/exe", program_path, sizeof program_path - 1) > 0);
    snprintf(command, sizeof command, "'%s' '%s' %s", program_path, (const char *)*state, when);
    assert_int_equal(system(command), 0);
    json_auto_t *lines = metrics_of(*state, when);
    assert_int_equal(json_array_size(lines), lines_left);
    assert_int_equal(RUN(when, true, "--eval-every", "100"), -1);
    assert_same_end(*state, "undisturbed", when);
    assert_same_metrics(*state, "undisturbed", when, 9 + 1);
}

TEST(a_signal_saves_the_last_step_that_was_queued)
{
    assert_int_equal(RUN("undisturbed", false, "--eval-every", "100"), -1);
    disturb(state, "between", 4);
    disturb(state, "inside", 5);
}

/* ---- calls of the device per step ---- */

static int maps, waits, allocations, sends, receives;

static void *counted_map(struct device *device, void *memory, size_t bytes, enum map_mode mode)
{
    maps++;
    return plain.map(device, memory, bytes, mode);
}

static void counted_wait(struct device *device)
{
    waits++;
    plain.wait(device);
}

static void *counted_allocate(struct device *device, size_t bytes)
{
    allocations++;
    return plain.allocate(device, bytes);
}

static void counted_send(struct device *device, int slot, const void *memory, size_t bytes)
{
    sends++;
    plain.send(device, slot, memory, bytes);
}

static void counted_receive(struct device *device, int slot, void *host, size_t bytes)
{
    receives++;
    assert_true(receives < sends); /* the slot is that of an earlier step, not of the last one sent */
    plain.receive(device, slot, host, bytes);
}

static bool never(void *nothing)
{
    (void)nothing;
    return false;
}

TEST(a_step_neither_waits_nor_allocates)
{
    static const char *const names[] = {"adam", "lamb", "nvlamb", "lans"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct command command;
        struct training *t = &command.training;
        struct step_facts facts;
        const char *const more[] = {"--optimizer", names[i], "--precision", "bf16", NULL};
        assert_ok(command_open(&command, *state, names[i], more));
        plain = *t->engine.ops;
        maps = waits = allocations = sends = receives = 0;
        t->engine.ops->map = counted_map;
        t->engine.ops->wait = counted_wait;
        t->engine.ops->allocate = counted_allocate;
        t->engine.ops->send = counted_send;
        t->engine.ops->receive = counted_receive;
        for (int step = 1; step <= 5; step++) {
            const struct step_counts counts = step_fetch(&t->samples);
            assert_ok(step_gradients(&t->engine, &t->position, &t->samples, &counts, &(struct halt){never, NULL}, err));
            assert_ok(step_update(&t->engine, &t->position, err));
            if (t->position.queued > 1)
                step_receive(&t->engine, &t->position, &facts);
            assert_int_equal(t->position.state.step, step - 1);
        }
        assert_true(maps == 0 && waits == 0 && allocations == 0 && sends == 5 && receives == 4);
        *t->engine.ops = plain;
        step_receive(&t->engine, &t->position, &facts);
        assert_true(facts.number == 5 && facts.outcome == STEP_APPLIED && t->position.queued == 0);
        assert_true(t->position.state.step == 5 && t->position.state.updates == 5 && t->position.state.samples == 20);
        command_close(&command);
    }
}

/* ---- models of others ---- */

#define MODEL                                                                                                          \
    "{\"model_type\": \"bert\", \"hidden_size\": 32, \"num_hidden_layers\": 2, \"num_attention_heads\": 2, "           \
    "\"intermediate_size\": 64, \"max_position_embeddings\": 32, \"hidden_act\": \"gelu_new\""

/* Writes a Hugging Face directory with the dataset's pieces and `spare` rows more, all of the value `value`. *params
 * becomes its table. Returns its path. */
static char *write_model(const char *directory, const char *name, int32_t spare, float value, struct params *params)
{
    static float flat[sizeof last_params / sizeof *last_params];
    char *out = path_join(directory, name), *config = path_join(out, "config.json");
    SCOPED(mem_free_at) char *weights = path_join(out, WEIGHTS_NAME);
    SCOPED(buf_release) struct buf json = {0};
    struct model_config shape;
    assert_ok(path_make_directory(out, err));
    buf_addf(&json, MODEL ", \"vocab_size\": %d}", TINY_PIECES + spare);
    tiny_write(out, "config.json", buf_text(&json), json.size);
    tiny_write(out, VOCAB_NAME, TINY_VOCAB, sizeof(TINY_VOCAB) - 1);
    assert_ok(config_read(config, &shape, err));
    shape.spare = spare > 0 ? spare : 0;
    params_init(params, &shape);
    assert_true(params->size <= sizeof flat / sizeof *flat);
    memset(flat, 0, sizeof flat);
    params_draw_all(params, 5, flat);
    for (const struct param *p = params->items; p < params->items + params->count; p++)
        for (size_t i = p->trained; i < p->count; i++)
            flat[p->offset + i] = value;
    assert_ok(names_write(weights, params, flat, NULL, NULL, err));
    mem_free(config);
    return out;
}

/* A table with spare rows trains to the bits of the table without them, and its spare rows stay as they were. */
TEST(spare_rows_stay_and_change_nothing)
{
    static const char *const optimizers[] = {"adam", "lamb"};
    static float plain_end[sizeof last_params / sizeof *last_params];
    struct params table, padded;
    SCOPED(mem_free_at) char *without = write_model(*state, "without-spare", 0, 0, &table);
    SCOPED(mem_free_at) char *with = write_model(*state, "with-spare", 3, 2.5f, &padded);
    assert_true(table.size == padded.size); /* both are padded to 64 rows */
    for (size_t i = 0; i < 2; i++) {
        const char *const precision = i == 0 ? "fp32" : "bf16";
        char outs[2][20];
        snprintf(outs[0], sizeof outs[0], "plain-%s", optimizers[i]);
        snprintf(outs[1], sizeof outs[1], "spare-%s", optimizers[i]);
        assert_int_equal(RUN(outs[0], false, "--init", without, "--optimizer", optimizers[i], "--precision", precision),
                         -1);
        memcpy(plain_end, last_params, sizeof plain_end);
        assert_int_equal(RUN(outs[1], false, "--init", with, "--optimizer", optimizers[i], "--precision", precision,
                             "--stop-after", "4"),
                         (int)ERR_STOPPED);
        assert_int_equal(RUN(outs[1], false, "--init", with, "--optimizer", optimizers[i], "--precision", precision),
                         -1);
        assert_same_metrics(*state, outs[0], outs[1], 9 + 1);
        for (const struct param *p = padded.items; p < padded.items + padded.count; p++) {
            assert_memory_equal(last_params + p->offset, plain_end + p->offset, p->trained * sizeof *plain_end);
            for (size_t k = p->trained; k < p->count; k++)
                assert_true(last_params[p->offset + k] == 2.5f);
        }
    }
    params_release(&table);
    params_release(&padded);

    /* Fewer rows than pieces, and spare rows of a model that does not say what its pieces are. */
    SCOPED(mem_free_at) char *vocabulary = path_join(with, VOCAB_NAME);
    assert_int_equal(unlink(vocabulary), 0);
    struct command command;
    assert_fails(command_open(&command, *state, "unknown", (const char *const[]){"--init", with, NULL}), ERR_MISMATCH);
    assert_non_null(strstr(tiny_err.text, "neither vocab.txt"));
    command_close(&command);
}

/* The model lacks the dataset's last two pieces, and has one spare row. */
TEST(a_grown_model_trains_and_resumes)
{
    struct params table;
    struct model_config shape;
    SCOPED(mem_free_at)
    char *from = write_model(*state, "short", -1, 0, &table), *vocabulary = path_join(from, VOCAB_NAME);
    assert_ok(file_write_all(vocabulary, TINY_VOCAB, sizeof(TINY_VOCAB) - 1 - sizeof("water\nriver"), err));
    struct command command;
    assert_fails(command_open(&command, *state, "grown", (const char *const[]){"--init", from, NULL}), ERR_MISMATCH);
    assert_non_null(strstr(tiny_err.hint, "--grow-vocab"));
    command_close(&command);

    assert_int_equal(RUN("grown", false, "--init", from, "--grow-vocab"), -1);
    assert_int_equal(RUN("grown-on", false, "--init", from, "--grow-vocab", "--stop-after", "4"), (int)ERR_STOPPED);
    assert_int_equal(RUN("grown-on", false, "--init", from, "--grow-vocab"), -1);
    assert_same_end(*state, "grown", "grown-on");
    struct buf record = tiny_read(*state, "grown/" RUN_NAME);
    assert_non_null(strstr(buf_text(&record), "\"grown_from\": 8"));
    buf_release(&record);
    SCOPED(mem_free_at) char *path = path_join(*state, "grown/checkpoints/step-00000009/config.json");
    assert_ok(config_read(path, &shape, err));
    assert_int_equal(shape.vocabulary, TINY_PIECES);
    params_release(&table);
}

/* ---- all ---- */

static int set_up(void **state)
{
    static const char model[] = MODEL "}";
    char *directory = tiny_directory();
    log_open("test", LOG_QUIET, false);
    tiny_dataset(directory);
    tiny_write(directory, "model.json", model, sizeof model - 1);
    *state = directory;
    return 0;
}

static int tear_down(void **state)
{
    tiny_remove(*state);
    return 0;
}

GROUP(set_up, tear_down)

int main(int argc, char **argv)
{
    program = options_program();
    if (argc == 3)
        return signalled(argv[1], argv[2]);
    return unit_run();
}
