/* dstrain classify and tag: fine-tuned models on data of the user. tune/classify.c and tune/tag.c describe one run. */
#include "base/output.h"
#include "trainer/verbs/tune_run.h"

static int check(const struct settings *settings, const char *form, struct error *err)
{
    if (!settings->train) {
        fail(err, ERR_USAGE, "--train FILE is missing: the data to train on");
        return hint(err, "%s", form);
    }
    if (settings->class_weights && settings->kind != CLASSIFY_SINGLE)
        return fail(err, ERR_USAGE, "--class-weights balances the classes of --kind single");
    if (!settings->out)
        return fail(err, ERR_USAGE, "--out DIR is missing: where model and scores are written");
    if (settings->launch->size > 1 && settings->seeds > 1)
        return fail(err, ERR_USAGE, "several processes train one run: give --seed instead of --seeds");
    return 0;
}

static int run(const struct tune_kind *kind, struct settings *settings, const char *form, struct error *err)
{
    json_t *scores = NULL;
    TRY(check(settings, form, err));
    const int result = tune_seeds(kind, kind->tasks, settings, settings->out, &scores, err);
    if (result == 0 && settings->json && scores)
        output_json(json_incref(scores), JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    if (result == 0 && scores)
        tune_say_next_seed(settings->out, scores);
    json_decref(scores);
    return result;
}

int dstrain_classify(void *context, struct opt_paths bare, struct error *err)
{
    (void)bare;
    return run(&tune_classify, context, "CSV with names of columns in its first line, TSV, or JSON lines", err);
}

int dstrain_tag(void *context, struct opt_paths bare, struct error *err)
{
    (void)bare;
    return run(&tune_tag, context, "CoNLL: a word on each line, its tag last, a blank line between sentences", err);
}
