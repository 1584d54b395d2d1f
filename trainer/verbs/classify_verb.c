/* dstrain classify and tag: fine-tuned models on data of the user. tune/classify.c and tune/tag.c describe one run. */
#include <limits.h>
#include <stdio.h>

#include "base/file.h"
#include "base/log.h"
#include "base/output.h"
#include "trainer/verbs/tune_run.h"

/* The file of a folder that has one of these names, with any ending; NULL: there is none. */
static const char *file_in(const char *folder, const char *const *stems, size_t count)
{
    static const char *const endings[] = {"csv", "tsv", "jsonl", "json", "conll", "conllu", "txt"};
    static const char *const packings[] = {"", ".gz", ".zst", ".xz", ".bz2"};
    static char paths[2][PATH_MAX]; /* of the two splits, for the rest of the command */
    char *path = paths[count > 1];
    for (size_t s = 0; s < count; s++)
        for (size_t e = 0; e < sizeof endings / sizeof *endings; e++)
            for (size_t p = 0; p < sizeof packings / sizeof *packings; p++) {
                const int size = snprintf(path, PATH_MAX, "%s/%s.%s%s", folder, stems[s], endings[e], packings[p]);
                if (size < PATH_MAX && path_is_file(path))
                    return path;
            }
    return NULL;
}

/* --train DIR stands for the files of the splits in it. */
static int find_files(struct settings *settings, struct error *err)
{
    static const char *const train[] = {"train"}, *const dev[] = {"dev", "valid", "validation"};
    const char *folder = settings->train;
    if (!folder || !path_is_directory(folder))
        return 0;
    settings->train = file_in(folder, train, 1);
    if (!settings->dev)
        settings->dev = file_in(folder, dev, 3);
    if (!settings->train) {
        fail_at(err, ERR_USAGE, folder, ERROR_NO_OFFSET, "has no train.csv, train.tsv, train.jsonl or train.conll");
        return hint(err, "--train FILE names a file; dev.csv, valid.csv or validation.csv beside it would be scored");
    }
    log_say("files      %s%s%s", settings->train, settings->dev ? ", " : "", settings->dev ? settings->dev : "");
    return 0;
}

static int check(struct settings *settings, const char *form, struct error *err)
{
    if (!settings->train) {
        fail(err, ERR_USAGE, "--train FILE is missing: the data to train on");
        return hint(err, "%s", form);
    }
    if (settings->class_weights && settings->kind != CLASSIFY_SINGLE)
        return fail(err, ERR_USAGE, "--class-weights balances the classes of --kind single");
    TRY(find_files(settings, err));
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
