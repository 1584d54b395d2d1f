/* Decisions for moments of a run of 100 steps. Each row changes a few members of a moment whose decision is just to go
 * on. */
#include "tests/unit.h"
#include "trainer/parallel/decision.h"

#define NEVER UINT64_MAX

/* After step 42, of which the last twenty are not saved; the clock is at 1000 s. */
#define RULES .steps = 100, .save_every = {.seconds = 600}, .evaluates = true, .deadline = INFINITY
#define MOMENT                                                                                                         \
    .step = 42, .saved_step = 22, .tried_step = 22, .evaluated_step = NEVER, .now = 1000, .saved_clock = 900,          \
    .step_seconds = 10, .save_seconds = 5, .evaluation_seconds = 30

/* Later initializers override those of RULES and MOMENT on purpose. */
#pragma GCC diagnostic ignored "-Woverride-init"
#ifdef __clang__
#pragma clang diagnostic ignored "-Winitializer-overrides"
#endif

#define SAVE                                                                                                           \
    {                                                                                                                  \
        .save = true                                                                                                   \
    }
#define EVALUATE                                                                                                       \
    {                                                                                                                  \
        .evaluate = true                                                                                               \
    }
#define BOTH                                                                                                           \
    {                                                                                                                  \
        .save = true, .evaluate = true                                                                                 \
    }
#define STEP                                                                                                           \
    {                                                                                                                  \
        .save = false                                                                                                  \
    }

static const struct row {
    const char *name;
    struct rules rules;
    struct decision_facts facts;
    struct decision decision;
} rows[] = {
    {"nothing is due", {RULES}, {MOMENT}, STEP},
    {"before the first step", {RULES, .eval_every = 7, .keep_every = 7}, {MOMENT, .step = 0, .saved_step = 0}, STEP},

    {"every 21 steps", {RULES, .save_every = {.count = 21}}, {MOMENT}, SAVE},
    {"every 20 steps", {RULES, .save_every = {.count = 20}}, {MOMENT}, STEP},
    {"by the clock, not yet", {RULES}, {MOMENT, .saved_clock = 400.5}, STEP},
    {"by the clock", {RULES}, {MOMENT, .saved_clock = 400}, SAVE},
    {"by the clock, at a step that is saved", {RULES}, {MOMENT, .saved_clock = 400, .saved_step = 42}, STEP},
    {"a step to be kept", {RULES, .keep_every = 14}, {MOMENT}, SAVE},
    {"one that could not be saved", {RULES, .keep_every = 14}, {MOMENT, .tried_step = 42}, STEP},

    {"evaluation", {RULES, .eval_every = 6}, {MOMENT}, EVALUATE},
    {"evaluation that was made", {RULES, .eval_every = 6}, {MOMENT, .evaluated_step = 42}, STEP},
    {"evaluation on nothing", {RULES, .eval_every = 6, .evaluates = false}, {MOMENT}, STEP},
    {"an evaluation that found the best", {RULES, .eval_every = 6}, {MOMENT, .evaluated_step = 42, .keep = true}, SAVE},
    {"the best one, which could not be saved",
     {RULES, .eval_every = 6},
     {MOMENT, .evaluated_step = 42, .tried_step = 42, .keep = true},
     STEP},
    {"patience", {RULES, .patience = 3}, {MOMENT, .since_best = 2}, STEP},
    {"no patience", {RULES, .patience = 3}, {MOMENT, .since_best = 3}, {.save = true, .stop = STOP_ENOUGH}},
    {"no patience, saved", {RULES, .patience = 3}, {MOMENT, .saved_step = 42, .since_best = 3}, {.stop = STOP_ENOUGH}},
    {"no patience at the last step",
     {RULES, .patience = 3},
     {MOMENT, .step = 100, .saved_step = 100, .evaluated_step = 100, .since_best = 3},
     {.stop = STOP_FINISHED}},
    {"both", {RULES, .eval_every = 6, .keep_every = 42}, {MOMENT}, BOTH},

    {"the last step", {RULES}, {MOMENT, .step = 100}, BOTH},
    {"the last step, saved", {RULES}, {MOMENT, .step = 100, .saved_step = 100}, EVALUATE},
    {"the last step, evaluated", {RULES}, {MOMENT, .step = 100, .evaluated_step = 100}, SAVE},
    {"the end", {RULES}, {MOMENT, .step = 100, .saved_step = 100, .evaluated_step = 100}, {.stop = STOP_FINISHED}},
    {"the end, too late",
     {RULES, .deadline = 7},
     {MOMENT, .step = 100, .saved_step = 100, .evaluated_step = 100},
     {.stop = STOP_FINISHED}},

    {"stop after", {RULES, .stop_at = 42}, {MOMENT}, {.save = true, .stop = STOP_AFTER}},
    {"stop after, saved", {RULES, .stop_at = 42}, {MOMENT, .saved_step = 42}, {.stop = STOP_AFTER}},
    {"stop after, evaluation first", {RULES, .stop_at = 42, .eval_every = 6}, {MOMENT}, EVALUATE},
    {"stop after the last step", {RULES, .stop_at = 100}, {MOMENT, .step = 100}, BOTH},
    {"stop later", {RULES, .stop_at = 43}, {MOMENT}, STEP},

    /* time needed: 1.5 × (10 + 5) s, or 1.5 × (20 + 5) s with a queued step */
    {"time for a step and a save", {RULES, .deadline = 1022.6}, {MOMENT}, STEP},
    {"no time for both", {RULES, .deadline = 1022.5}, {MOMENT}, {.save = true, .stop = STOP_TIME}},
    {"no time, saved", {RULES, .deadline = 1022.5}, {MOMENT, .saved_step = 42}, {.stop = STOP_TIME}},
    {"time with a queued step", {RULES, .deadline = 1037.6}, {MOMENT, .queued = 1}, STEP},
    {"no time with one", {RULES, .deadline = 1037.5}, {MOMENT, .queued = 1}, {.save = true, .stop = STOP_TIME}},
    {"time for a first step as estimated", {RULES, .deadline = 1015.1}, {MOMENT, .fresh = true}, STEP},
    {"no time for a first step",
     {RULES, .deadline = 1015},
     {MOMENT, .fresh = true, .saved_step = 42},
     {.stop = STOP_TIME}},
    /* 1.5 × (30 + 5) s */
    {"time for an evaluation and a save", {RULES, .eval_every = 6, .deadline = 1052.6}, {MOMENT}, EVALUATE},
    {"no time for an evaluation",
     {RULES, .eval_every = 6, .deadline = 1052.5},
     {MOMENT},
     {.save = true, .stop = STOP_TIME}},
    {"time for an evaluation of what is saved",
     {RULES, .deadline = 1045.1},
     {MOMENT, .step = 100, .saved_step = 100},
     EVALUATE},
    {"no time, but a save is due", {RULES, .deadline = 7, .keep_every = 42}, {MOMENT}, SAVE},

    {"a signal", {RULES}, {MOMENT, .asked = true}, {.save = true, .stop = STOP_ASKED}},
    {"a signal, saved", {RULES}, {MOMENT, .asked = true, .saved_step = 42}, {.stop = STOP_ASKED}},
    {"a signal, where that could not be saved",
     {RULES},
     {MOMENT, .asked = true, .tried_step = 42},
     {.save = true, .stop = STOP_ASKED}},
    {"a signal goes before an evaluation",
     {RULES, .eval_every = 6},
     {MOMENT, .asked = true},
     {.save = true, .stop = STOP_ASKED}},
    {"a signal at the last step, evaluation missing",
     {RULES},
     {MOMENT, .asked = true, .step = 100},
     {.save = true, .stop = STOP_ASKED}},
    {"a signal at the end",
     {RULES},
     {MOMENT, .asked = true, .step = 100, .saved_step = 100, .evaluated_step = 100},
     {.stop = STOP_FINISHED}},
    {"a step discarded on request",
     {RULES},
     {MOMENT, .failure = ERR_STOPPED, .asked = true},
     {.save = true, .stop = STOP_ASKED}},
    {"an evaluation discarded on request",
     {RULES},
     {MOMENT, .failure = ERR_STOPPED, .asked = true, .step = 100, .saved_step = 100},
     {.stop = STOP_ASKED}},
    {"a step discarded in time", {RULES}, {MOMENT, .failure = ERR_STOPPED}, {.save = true, .stop = STOP_TIME}},

    {"a damaged shard", {RULES}, {MOMENT, .failure = ERR_VERIFY}, {.save = true, .stop = STOP_FAILED}},
    {"a damaged shard, saved", {RULES}, {MOMENT, .failure = ERR_VERIFY, .saved_step = 42}, {.stop = STOP_FAILED}},
    {"a full disk", {RULES}, {MOMENT, .failure = ERR_RESOURCE}, {.stop = STOP_FAILED}},
    {"not finite", {RULES, .keep_every = 42}, {MOMENT, .failure = ERR_NUMERIC}, {.stop = STOP_FAILED}},
    {"a failure goes before a signal", {RULES}, {MOMENT, .failure = ERR_NUMERIC, .asked = true}, {.stop = STOP_FAILED}},
};

TEST(moments)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        const struct decision decision = decision_of(&row->rules, &row->facts);
        if (decision.save != row->decision.save || decision.evaluate != row->decision.evaluate ||
            decision.stop != row->decision.stop)
            fail_msg("%s: save %d, evaluate %d, stop %d", row->name, decision.save, decision.evaluate, decision.stop);
    }
}

/* A whole run driven by decisions. Each decision is carried out at once, so every turn must change something. Steps
 * take 2 s, saves 3 s, evaluations 20 s; the save of step 30 fails and is skipped. */
TEST(a_run_ends)
{
    const struct rules rules = {RULES, .save_every = {.count = 15}, .eval_every = 10};
    struct decision_facts facts = {.evaluated_step = NEVER};
    struct decision decision;
    int saves = 0, evaluations = 0, turns = 0;
    while ((decision = decision_of(&rules, &facts)).stop == STOP_NONE) {
        assert_in_range(++turns, 1, 100 + 7 + 10);
        if (!decision.save && !decision.evaluate) {
            facts.step++;
            facts.now += 2;
        }
        if (decision.save) {
            facts.now += 3;
            facts.tried_step = facts.step;
            facts.saved_clock = facts.now;
            if (facts.step != 30)
                facts.saved_step = facts.step;
            saves++;
        }
        if (decision.evaluate) {
            facts.now += 20;
            facts.evaluated_step = facts.step;
            evaluations++;
        }
    }
    assert_int_equal(decision.stop, STOP_FINISHED);
    assert_true(facts.step == 100 && saves == 7 && evaluations == 10);
}
