/* The output at the end of a training: the summary on stderr, with the commands that may come next, and with
 * --json the facts as one object on stdout. */
#include "trainer/run/checkpointer.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "trainer/model/config.h"
#include "trainer/run/health.h"
#include "base/json.h"

#define WAITED_SHARE   0.05 /* a larger share of the time spent waiting for data is reported */
#define WAITED_SECONDS 1.0  /* if it is more than this */

static void append_command(json_t *commands, char *command)
{
    json_array_append_new(commands, json_string(command));
    mem_free(command);
}

/* The shortest length above the run's for which all its datasets have samples and the model has positions; 0: none. */
static uint32_t longer_length(const struct setup *setup)
{
    const struct manifest *manifest = &setup->datasets.train[0].manifest;
    uint32_t longer = 0;
    for (size_t i = 0; !setup->settings->tuning && i < manifest->length_count; i++) {
        const uint32_t seq = manifest->lengths[i].seq;
        bool everywhere = seq > setup->recipe.seq && seq <= (uint32_t)setup->recipe.config.positions;
        for (uint32_t d = 0; d < setup->datasets.count && everywhere; d++) {
            const struct manifest_length *length = manifest_find(&setup->datasets.train[d].manifest, seq, SPLIT_TRAIN);
            everywhere = length && length->samples > 0;
        }
        if (everywhere && (longer == 0 || seq < longer))
            longer = seq;
    }
    return longer;
}

/* What was typed for this run and holds for a longer length too. Warm-ups and decays that are numbers of steps may not
 * fit into the fewer steps; a micro-batch is in sequences of the other length. */
static char *longer_command(const struct setup *setup, uint32_t longer, const char *init)
{
    const struct settings *settings = setup->settings;
    struct buf command = {0}, leave = {0};
    char seq[16], steps[24];
    buf_add_text(&leave, " seq steps epochs model init init-moments resume out fresh micro-batch tune stop-after "
                         "skip-damaged dump-gradients timings dry-run ");
    if (settings->warmup >= 1)
        buf_add_text(&leave, "warmup ");
    if (settings->decay >= 1)
        buf_add_text(&leave, "decay ");
    if (settings->batch_warmup >= 1)
        buf_add_text(&leave, "batch batch-warmup ");
    opts_command(settings->program, settings->result, settings, "train", buf_text(&leave), &command);
    snprintf(seq, sizeof seq, "%" PRIu32, longer);
    snprintf(steps, sizeof steps, "%" PRIu64, setup->recipe.schedule.steps / 10 + 1);
    command_option(&command, "seq", seq);
    command_add(&command, "--init");
    command_path(&command, init);
    command_option(&command, "steps", steps);
    buf_release(&leave);
    buf_text(&command);
    return command.data;
}

/* The commands that a user is likely to want next: training at a longer length, if the dataset has one, looking at the
 * run, and exporting the model; model and weights are of the checkpoint `best` unless that is NULL. */
static json_t *next_commands(const struct setup *setup, const char *directory, const char *best)
{
    json_t *next = json_array();
    char name[32], model[40];
    const uint32_t longer = longer_length(setup);
    if (longer > 0)
        append_command(next, longer_command(setup, longer, best ? best : directory));
    snprintf(model, sizeof model, "bert-%s", config_name(&setup->recipe.config, name));
    append_command(next, command_text("dstrain report %s", directory));
    append_command(next, command_text("dstrain export %s --out %s", best ? best : directory, model));
    return next;
}

/* Takes ownership of `part`. */
static void add_all(json_t *facts, json_t *part)
{
    json_object_update(facts, part);
    json_decref(part);
}

static uint64_t steps_of(const struct checkpointer *k)
{
    const char *early;
    const uint64_t ended = run_ended(&k->run, &early);
    return early ? ended : k->setup->recipe.schedule.steps;
}

static json_t *position_json(const struct setup *setup, const struct position *position)
{
    const struct checkpoint_state *state = &position->state;
    const uint64_t own = state->samples - setup->recipe.samples_before; /* what `seconds` were spent on */
    return json_pack("{s:I, s:I, s:f, s:f, s:f, s:I, s:f, s:I}", "samples", (json_int_t)state->samples, "tokens",
                     (json_int_t)state->tokens, "epochs", (double)state->samples / (double)setup->task.samples.samples,
                     "seconds", position->seconds, "sequences_per_second",
                     position->seconds > 0 ? (double)own / position->seconds : 0, "skipped",
                     (json_int_t)(state->step - state->updates), "largest_grad_norm", state->norm_max,
                     "largest_grad_norm_step", (json_int_t)state->norm_max_step);
}

static uint32_t held_out_parts(const struct setup *setup)
{
    return setup->task.splits[SPLIT_VALID].parts;
}

/* Whether this start has evaluated the model after the last step. */
static bool is_evaluated(const struct checkpointer *k, const struct position *position)
{
    return position && k->evaluated_step == position->state.step && k->evaluation.samples > 0;
}

/* Prints the facts as one object on stdout. Takes ownership of `next`. */
static void print_json(const struct checkpointer *k, const struct engine *engine, const struct position *position,
                       double seconds, const struct health *health, json_t *next)
{
    const struct console *console = &k->console;
    const struct metric_table *metrics = &k->setup->task.metrics;
    const uint64_t best = checkpoint_best(k->run.directory);
    const char *early;
    json_t *facts = json_pack("{s:o, s:b, s:I}", "run", json_name(k->run.directory), "finished", 1, "steps",
                              (json_int_t)steps_of(k));
    run_ended(&k->run, &early);
    if (early)
        json_object_set_new(facts, "ended", json_string(early));
    if (position)
        json_object_set_new(facts, "parameters", json_integer((json_int_t)model_table(engine->model)->total));
    json_object_set_new(facts, "end_to_end_seconds", json_real(seconds));
    json_object_set_new(facts, "starts", json_integer((json_int_t)run_starts(&k->run)));
    if (position)
        add_all(facts, position_json(k->setup, position));
    if (console->steps > 0) {
        json_object_set_new(facts, "train", console_means_json(metrics, &console->last.means));
        json_object_set_new(facts, "share_of_peak", json_real(console_percent_of_peak(console) / 100));
        json_object_set_new(facts, "loss_spikes", json_integer((json_int_t)console->spikes.count));
    }
    if (is_evaluated(k, position)) {
        json_t *means = console_means_json(metrics, &k->evaluation);
        json_object_set_new(means, "samples", json_integer((json_int_t)k->evaluation.samples));
        if (held_out_parts(k->setup) > 0)
            json_object_set_new(means, "datasets",
                                console_datasets_json(metrics, k->each, held_out_parts(k->setup), &k->setup->datasets));
        json_object_set_new(facts, "valid", means);
    }
    if (best > 0)
        json_object_set_new(facts, "best",
                            json_pack("{s:I, s:o}", "step", (json_int_t)best, "loss",
                                      position ? json_real(k->kept_loss) : json_null()));
    json_object_set(facts, "health", health->findings);
    json_object_set_new(facts, "next", next);
    output_json(facts, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
}

static char *spikes_text(const struct spikes *spikes, char out[96])
{
    char step[32];
    if (spikes->count == 0)
        snprintf(out, 96, "no loss spikes");
    else
        snprintf(out, 96, "%" PRIu64 " loss spike%s, the largest of %.1f deviations at step %s", spikes->count,
                 spikes->count == 1 ? "" : "s", spikes->largest, format_count(spikes->largest_step, step));
    return out;
}

static void say_findings(const json_t *findings)
{
    size_t i;
    const json_t *finding;
    json_array_foreach(findings, i, finding) log_warn("%s: %s", json_string_value(json_object_get(finding, "kind")),
                                                      json_string_value(json_object_get(finding, "text")));
}

/* With --same-bits: the hash of the weights, which is the same wherever the bits are. */
static void say_weights(const struct checkpointer *k, uint64_t step)
{
    struct error ignored = {0};
    json_auto_t *state = NULL;
    SCOPED(mem_free_at) char *directory = checkpoint_path(k->run.directory, step);
    SCOPED(mem_free_at) char *path = path_join(directory, STATE_NAME);
    if (k->setup->recipe.part > 0 && json_read(path, STATE_BYTES_MAX, ERR_VERIFY, &state, &ignored) == 0)
        log_say("weights    XXH3 %s",
                json_string_value(json_object_get(json_object_get(state, "files"), WEIGHTS_NAME)));
}

static void say_all(const struct checkpointer *k, const struct position *position, const struct health *health)
{
    char steps[56], skipped[56], time[32], loss[LOSS_TEXT_SIZE], first[LOSS_TEXT_SIZE], step[32], epochs[40],
        spikes[96], speed[32];
    const struct setup *setup = k->setup;
    const struct metric_table *metrics = &setup->task.metrics;
    const struct console *console = &k->console;
    const struct checkpoint_state *state = &position->state;
    const size_t starts = run_starts(&k->run);
    const uint64_t best = checkpoint_best(k->run.directory);
    log_say("done       %s, %s, %s in %zu start%s", format_counted(state->step, "step", steps),
            epochs_text((double)state->samples / (double)setup->task.samples.samples, epochs),
            format_seconds(position->seconds, time), starts, starts == 1 ? "" : "s");
    if (state->step < setup->recipe.schedule.steps)
        log_say("ended      before step %s: %" PRIu64
                " evaluations in a row did not lower the held-out loss (--patience)",
                format_count(setup->recipe.schedule.steps, step), setup->settings->patience);
    if (console->steps > 0)
        log_say("train      %s; at step %s: %s", loss_text(metrics, &console->last.means, loss),
                format_count(console->first.number, step), loss_text(metrics, &console->first.means, first));
    if (is_evaluated(k, position)) {
        console_means(log_say, metrics, &k->evaluation, "valid", "");
        console_datasets(log_say, metrics, k->each, held_out_parts(setup), &setup->datasets);
    }
    if (best > 0)
        log_say("best       loss %.3f at step %s: its checkpoint is kept, %s/%s names it", k->kept_loss,
                format_count(best, step), k->run.directory, BEST_NAME);
    if (console->steps > 0)
        log_say("speed      %s sequences/s, %.0f %% of the %.4g GFLOP/s that matrix products alone reach here",
                rate_text(console->rate, speed), console_percent_of_peak(console), console->estimate.products * 1e-9);
    if (console->waited > WAITED_SHARE * console->busy && console->waited > WAITED_SECONDS)
        log_warn("%.0f %% of the time was spent waiting for data: a slow disk, or too few threads for the loader",
                 100 * console->waited / console->busy);
    log_say("health     %s skipped; %s; largest |g| %.3g at step %s",
            format_counted(state->step - state->updates, "step", skipped), spikes_text(&console->spikes, spikes),
            state->norm_max, format_count(state->norm_max_step, step));
    say_weights(k, state->step);
    say_findings(health->findings);
}

void checkpointer_summary(const struct checkpointer *k, const struct engine *engine, const struct position *position,
                          double seconds)
{
    if (k->silent)
        return;
    if (k->run.kind == RUN_FINISHED)
        position = NULL; /* nothing was done */
    const char *directory = k->run.directory;
    const uint64_t last = steps_of(k), kept = checkpoint_best(directory);
    SCOPED(mem_free_at) char *best = kept > 0 && kept != last ? checkpoint_path(directory, kept) : NULL;
    SCOPED(health_release) struct health health = health_read(directory, k->run.record);
    json_t *next = health.command ? json_pack("[s]", health.command) : next_commands(k->setup, directory, best);
    json_t *command;
    size_t i;
    char steps[56];
    if (position) {
        say_all(k, position, &health);
    } else {
        log_say("run        %s is finished: %s; nothing was changed (--fresh starts anew)", directory,
                format_counted(last, "step", steps));
        say_findings(health.findings);
    }
    const struct tuning *tuning = k->setup->settings->tuning;
    if (!tuning || !tuning->scored) /* otherwise the verb prints it, after the scores */
        json_array_foreach(next, i, command) log_say("%-10s %s", i == 0 ? "next" : "", json_string_value(command));
    if (k->setup->settings->json)
        print_json(k, engine, position, seconds, &health, next);
    else
        json_decref(next);
}
