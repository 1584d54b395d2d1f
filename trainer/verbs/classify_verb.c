/* dstrain classify: fine-tuned models on a table of the user's. tune/classify.c describes one run. */
#include "base/output.h"
#include "trainer/verbs/tune_run.h"

static int check(const struct settings *settings, struct error *err)
{
    if (!settings->train) {
        fail(err, ERR_USAGE, "--train FILE is missing: the table to train on");
        return hint(err, "CSV with names of columns in its first line, TSV, or JSON lines");
    }
    if (!settings->out)
        return fail(err, ERR_USAGE, "--out DIR is missing: where model and scores are written");
    if (settings->launch->size > 1 && settings->seeds > 1)
        return fail(err, ERR_USAGE, "several processes train one run: give --seed instead of --seeds");
    return 0;
}

int dstrain_classify(void *context, struct opt_paths bare, struct error *err)
{
    struct settings *settings = context;
    json_t *scores = NULL;
    (void)bare;
    TRY(check(settings, err));
    const int result = tune_seeds(&tune_classify, "classify", settings, settings->out, &scores, err);
    if (result == 0 && settings->json && scores)
        output_json(json_incref(scores), JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    if (result == 0 && scores)
        tune_say_next_seed(settings->out, scores);
    json_decref(scores);
    return result;
}
