/* dstrain report: one page of HTML about runs (report/run_report.h), in the first run's directory or at --out. */
#include "trainer/report/run_report.h"

#include "base/html.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "trainer/tune/tune_kinds.h"
#include "trainer/verbs/about.h"
#include "trainer/verbs/dstrain_eval.h"

#define GUESSES       10u
#define GUESSES_AMONG 1000u /* samples from which the commonest label is determined */

/* Adds held-out samples of a run. If that fails, for example because the dataset no longer exists, the page gives the
 * reason instead. */
static int add_guesses(struct report_run *run, const struct settings *given, struct error *err)
{
    struct settings settings = *given;
    struct evaluating e = {0};
    struct error error = {0};
    settings.split = SPLIT_VALID;
    settings.shown = GUESSES;
    settings.eval_samples = GUESSES_AMONG;
    int result = evaluating_open(&e, &settings, run->directory, &error);
    if (result == 0)
        result = evaluating_guesses(&e, &run->guesses, &error);
    evaluating_close(&e, result, &error);
    if (result == 0)
        return 0;
    if (error.kind == ERR_STOPPED) {
        *err = error;
        return -1;
    }
    snprintf(run->no_guesses, sizeof run->no_guesses, "%.200s%s%.250s", error.file, error.file[0] ? ": " : "",
             error.text);
    log_warn("no samples with guesses are shown: %s", run->no_guesses);
    return 0;
}

static void say(const struct settings *settings, const struct report *report, const char *path, size_t bytes)
{
    char size[32];
    json_t *facts = json_pack("{s:o, s:I, s:I, s:I}", "report", json_name(path), "bytes", (json_int_t)bytes, "runs",
                              (json_int_t)report->count, "samples",
                              (json_int_t)json_array_size(json_object_get(report->runs[0].guesses, "samples")));
    if (settings->json)
        output_json(json_incref(facts), JSON_INDENT(2));
    json_decref(facts);
    log_say("%s   %s: open it in a browser; it needs no network and may be sent alone", path,
            format_bytes(bytes, size));
    if (!settings->json)
        say_next(report->runs[0].health.command
                     ? mem_copy_text(report->runs[0].health.command)
                     : command_text("dstrain export %s --out bert", report->runs[0].directory));
}

int dstrain_report(void *context, struct opt_paths bare, struct error *err)
{
    const struct settings *settings = context;
    SCOPED(report_release) struct report report = {.note = settings->note};
    SCOPED(buf_release) struct buf page = {0};
    int result = 0;
    stop_on_signals();
    const bool console = settings->out && strcmp(settings->out, "-") == 0;
    if (console && settings->json)
        return fail(err, ERR_USAGE, "--out - and --json both write to standard output: give one of them");
    for (size_t i = 0; i < bare.count && result == 0; i++)
        result = report_add(&report, bare.items[i], err);
    SCOPED(mem_free_at)
    char *path = settings->out ? mem_copy_text(settings->out) : path_join(bare.items[0], REPORT_NAME);
    const struct target target = {
        .option = "out", .path = path, .streams = true, .force = settings->force, .forms = &html_form, .form_count = 1};
    if (result == 0)
        result = target_check(&target, err);
    if (result < 0 && !settings->out && err->file[0] && strcmp(err->file, bare.items[0]) == 0 && !err->hint[0])
        hint(err, "--out FILE writes the page elsewhere");
    for (size_t r = 0; r < report.count && result == 0; r++) {
        report.runs[r].scores = about_read(report.runs[r].directory, SCORES_NAME, SCORES_BYTES_MAX);
        if (!report.runs[r].scores)
            result = add_guesses(&report.runs[r], settings, err);
        else
            snprintf(report.runs[r].no_guesses, sizeof report.runs[r].no_guesses, "it was fine-tuned");
    }
    if (result == 0) {
        report_make(&page, &report);
        result = html_page_write(&page, path, err);
    }
    if (result == 0 && !console)
        say(settings, &report, path, page.size);
    return result;
}
