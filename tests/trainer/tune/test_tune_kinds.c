/* What every row of tune_kinds must have, and that the options and the recorded names of its tasks agree with it. */
#include "base/str.h"
#include "tests/unit.h"
#include "trainer/model/head.h"
#include "trainer/options.h"
#include "trainer/tune/tune_kinds.h"

#define expect(condition)                                                                                              \
    do                                                                                                                 \
        if (!(condition))                                                                                              \
            fail_msg("%s: %s", kind->verb ? kind->verb : "?", #condition);                                             \
    while (0)

TEST(rows_are_complete)
{
    const struct settings settings = {0};
    for (size_t i = 0; tune_kinds[i]; i++) {
        const struct tune_kind *kind = tune_kinds[i];
        expect(kind->verb && kind->tasks && kind->seq && kind->batch);
        expect(kind->head < HEAD_KINDS && head_kinds[kind->head]->tuned);
        expect(kind->data && kind->data_is && kind->data_hint && kind->options);
        expect(kind->tuning.open && kind->tuning.text && kind->tuning.task && !kind->tuning.context);
        expect(kind->make && kind->evaluate && kind->release && kind->say_scores && kind->asks);
        expect(!tune_trains(kind, &settings));
        for (enum tune_use use = TUNE_TRAIN; use <= TUNE_SCORE; use++)
            kind->release(kind->make(kind, kind->tasks, &settings, use)); /* nothing was opened */
    }
}

/* Calls `each` for every name in a list "a, b, c". */
static void each_task(const struct tune_kind *kind, void (*each)(const struct tune_kind *kind, const char *name))
{
    for (const char *at = kind->tasks; *at; at += strspn(at, ", ")) {
        char name[24];
        const size_t size = strcspn(at, ",");
        assert_true(size < sizeof name);
        snprintf(name, sizeof name, "%.*s", (int)size, at);
        each(kind, name);
        at += size;
    }
}

static const struct opt_verb *verb_of(const struct opt_program *program, const char *name)
{
    const struct opt_verb *verb = program->verbs;
    while (verb->name && strcmp(verb->name, name) != 0)
        verb++;
    return verb;
}

static const struct opt_row *row_of(const struct opt_program *program, const char *name, const char *verb)
{
    for (const struct opt_row *row = program->rows; row->name; row++)
        if (strcmp(row->name, name) == 0 && opt_row_is_for(row, verb_of(program, verb)))
            return row;
    return NULL;
}

static void task_is_found(const struct tune_kind *kind, const char *name)
{
    char recorded[64], begin[64];
    const struct opt_program program = options_program();
    struct material material;
    const struct tune_task task = tune_task_named(name);
    expect(task.kind == kind && strcmp(task.name, name) == 0);
    snprintf(recorded, sizeof recorded, strcmp(name, kind->verb) == 0 ? "%s" : "%s %s", kind->verb, name);
    expect(strlen(recorded) < sizeof material.task);
    const struct tune_task again = tune_task_recorded(recorded);
    expect(again.kind == kind && strcmp(again.name, name) == 0);
    snprintf(begin, sizeof begin, "dstrain %s --init MODEL", recorded);
    SCOPED(mem_free_at) char *command = tune_command(&task, "MODEL");
    expect(strncmp(command, begin, strlen(begin)) == 0);
    expect(strstr(row_of(&program, "task", "eval")->help, name));
}

TEST(tasks_are_found)
{
    for (size_t i = 0; tune_kinds[i]; i++)
        each_task(tune_kinds[i], task_is_found);
    assert_null(tune_task_named("no such task").kind);
    assert_null(tune_task_recorded(NULL).kind);
    assert_null(tune_task_recorded("").kind);
    assert_null(tune_task_recorded("mrpc").kind); /* the verb is missing */
    assert_null(tune_task_recorded("glue squad").kind);
    assert_string_equal(tune_task_recorded("glue squad").name, "squad");
}

TEST(tasks_that_fit_exist)
{
    for (size_t i = 0; tune_kinds[i]; i++) {
        const struct tune_kind *kind = tune_kinds[i];
        const char *names[TUNE_TASKS_MAX];
        json_auto_t *config = json_pack("{s:[s+]}", "architectures", "Bert", head_kinds[kind->head]->class_end);
        const size_t count = tune_fits(kind, config, NULL, names);
        expect(count <= TUNE_TASKS_MAX);
        for (size_t k = 0; k < count; k++)
            expect(tune_task_named(names[k]).kind == kind);
    }
}

TEST(options_agree)
{
    const struct opt_program program = options_program();
    for (size_t i = 0; tune_kinds[i]; i++) {
        const struct tune_kind *kind = tune_kinds[i];
        const struct opt_verb *verb = verb_of(&program, kind->verb);
        expect(verb->name && verb->run && verb->group && strcmp(verb->group, "tune") == 0);
        expect(opt_verb_takes(&program, kind->verb, "world-size"));
        const struct opt_row *seq = row_of(&program, "seq", kind->verb), *batch = row_of(&program, "batch", kind->verb);
        expect(seq && strcmp(seq->default_text, kind->seq) == 0);
        expect(batch && strcmp(batch->default_text, kind->batch) == 0);
        expect(row_of(&program, "init", kind->verb) && row_of(&program, "out", kind->verb));
        expect(row_of(&program, kind->data, kind->verb) && row_of(&program, kind->data, "eval"));
        for (const char *const *option = kind->options; *option; option++)
            expect(row_of(&program, *option, kind->verb) && row_of(&program, *option, "eval"));
    }
}
