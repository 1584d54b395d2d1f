/* The page about runs. All files are read first, so that no error leaves half a page. Then each section adds its
 * part. */
#include "trainer/report/run_report.h"

#include "trainer/data/metric.h"
#include "trainer/keep/checkpoint.h"
#include "trainer/report/sections.h"
#include "trainer/run/run.h"

int report_add(struct report *report, const char *directory, struct error *err)
{
    struct report_run run = {.directory = directory};
    if (report->count == REPORT_RUNS_MAX)
        return fail(err, ERR_USAGE, "a page holds %u runs, so that their colours can be told apart", REPORT_RUNS_MAX);
    if (!path_is_directory(directory))
        return fail_at(err, ERR_USAGE, directory, ERROR_NO_OFFSET, "no such directory");
    TRY(run_read(directory, &run.record, err));
    if (!run.record) {
        fail_at(err, ERR_USAGE, directory, ERROR_NO_OFFSET, "is not a run of dstrain: it holds no %s", RUN_NAME);
        return checkpoint_hint_place(directory, err);
    }
    if (history_read(&run.history, directory, err) < 0) {
        json_decref(run.record);
        return -1;
    }
    run.health = health_of(&run.history, run.record);
    report->runs[report->count++] = run;
    run_say_running(directory);
    return 0;
}

void report_release(struct report *report)
{
    for (size_t r = 0; r < report->count; r++) {
        json_decref(report->runs[r].guesses);
        json_decref(report->runs[r].scores);
        history_release(&report->runs[r].history);
        health_release(&report->runs[r].health);
        json_decref(report->runs[r].record);
    }
    *report = (struct report){0};
}

/* The last component of a path, ignoring slashes at its end. */
static struct str base_name(const char *path)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    return (struct str){path + begin, end - begin};
}

static void put_run(struct buf *page, const struct report_run *run)
{
    buf_add_text(page, "<bdi>");
    html_text(page, base_name(run->directory), HTML_NAME_LETTERS);
    buf_add_text(page, "</bdi>");
}

void section_run_name(struct buf *page, const struct report *report, size_t run)
{
    if (report->count > 1)
        buf_addf(page, "<span class=\"key r%zu\"></span>", run + 1);
    put_run(page, &report->runs[run]);
}

struct str section_part(const char *key, const char *end)
{
    return str_ends(str_of(key), str_of(end)) ? (struct str){key, strlen(key) - strlen(end)} : (struct str){"", 0};
}

char *section_number(double value, const char *format, char out[32])
{
    if (isfinite(value))
        snprintf(out, 32, format, value);
    else
        snprintf(out, 32, "–");
    return out;
}

bool report_has_scores(const struct report *report)
{
    for (size_t r = 0; r < report->count; r++)
        if (report->runs[r].scores)
            return true;
    return false;
}

/* Whether any run is a pre-training; others have no masked words. */
static bool guesses_are_due(const struct report *report)
{
    for (size_t r = 0; r < report->count; r++)
        if (!report->runs[r].scores)
            return true;
    return false;
}

uint64_t section_steps(const struct report_run *run)
{
    const json_int_t steps = json_integer_value(json_object_get(json_object_get(run->record, "identity"), "steps"));
    return steps > 0 ? (uint64_t)steps : 0;
}

uint64_t section_last_step(const struct report_run *run)
{
    return run->history.count ? run->history.lines[run->history.count - 1].step : 0;
}

double section_accuracy(const struct history *h, bool valid)
{
    const struct history_line *last = history_last(h, valid);
    for (size_t k = 0; last && k < h->key_count; k++)
        if (str_ends(str_of(h->keys[k]), STR("_accuracy")) && isfinite(last->values[k]))
            return 100 * last->values[k];
    return (double)NAN;
}

/* What always guessing the commonest label had in the last evaluation, in %; NAN if it is not known. */
static double commonest_accuracy(const struct history *h)
{
    static const char *const ends[] = {"_accuracy_" BASELINE_COMMONEST, "_accuracy_" BASELINE_MAJORITY};
    const struct history_line *last = history_last(h, true);
    for (size_t k = 0; last && k < h->key_count; k++)
        for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
            if (str_ends(str_of(h->keys[k]), str_of(ends[e])) && isfinite(last->values[k]))
                return 100 * last->values[k];
    return (double)NAN;
}

double section_speed(const struct report_run *run)
{
    const struct history *h = &run->history;
    const struct history_line *last = history_last(h, false);
    const json_t *before = json_object_get(json_object_get(run->record, "identity"), "resumed_samples");
    return (history_value(h, last, "samples") - json_number_value(before)) / history_value(h, last, "seconds");
}

static void put_tiles(struct buf *page, const struct report_run *run)
{
    const struct history *h = &run->history;
    const struct history_line *train = history_last(h, false), *valid = history_last(h, true);
    char figure[32], number[32], small[64];
    buf_add_text(page, "<dl class=\"tiles\">\n");
    snprintf(small, sizeof small, "of %s%s", format_count(section_steps(run), number),
             json_is_true(json_object_get(run->record, "finished")) ? ", finished" : "");
    html_tile(page, "Steps", format_count(section_last_step(run), figure), small);
    snprintf(small, sizeof small, "training %s", section_number(history_value(h, train, "loss"), "%.3f", number));
    html_tile(page, "Held-out loss", section_number(history_value(h, valid, "loss"), "%.3f", figure), small);
    const double commonest = commonest_accuracy(h);
    snprintf(small, sizeof small, isfinite(commonest) ? "always the commonest %s" : "training %s",
             section_number(isfinite(commonest) ? commonest : section_accuracy(h, false), "%.1f %%", number));
    html_tile(page, "Held-out accuracy", section_number(section_accuracy(h, true), "%.1f %%", figure), small);
    html_tile(page, "Sequences a second", section_number(section_speed(run), "%.4g", figure),
              "on average over the run");
    const double samples = history_value(h, train, "samples"), tokens = history_value(h, train, "tokens");
    snprintf(small, sizeof small, "samples, %s epochs",
             section_number(history_value(h, train, "epoch"), "%.3g", number));
    html_tile(page, "Read", samples >= 0 && samples < 1e15 ? format_count((uint64_t)samples, figure) : "–", small);
    snprintf(small, sizeof small, "%s tokens",
             tokens >= 0 && tokens < 1e18 ? format_count((uint64_t)tokens, number) : "–");
    const double seconds = history_value(h, train, "seconds");
    html_tile(page, "Training time", isfinite(seconds) ? format_seconds(seconds, figure) : "–", small);
    buf_add_text(page, "</dl>\n");
}

/* What is wrong with the runs; nothing if they are healthy. */
static void put_health(struct buf *page, const struct report *report)
{
    size_t i;
    const json_t *finding;
    for (size_t r = 0; r < report->count; r++)
        json_array_foreach(report->runs[r].health.findings, i, finding)
        {
            buf_add_text(page, "<p class=\"finding\">");
            if (report->count > 1) {
                section_run_name(page, report, r);
                buf_add_text(page, " ");
            }
            buf_addf(page, "<b>%s</b>: ", json_string_value(json_object_get(finding, "kind")));
            html_text(page, str_of(json_string_value(json_object_get(finding, "text"))), HEALTH_TEXT_BYTES);
            buf_add_text(page, "</p>\n");
        }
}

#define HEADLINE_RUNS 3u

void section_headline(struct buf *page, const struct report *report)
{
    buf_add_text(page, "<header>\n<h1>");
    for (size_t r = 0; r < report->count && (r < HEADLINE_RUNS || report->count == HEADLINE_RUNS + 1); r++) {
        buf_add_text(page, r > 0 ? ", " : "");
        put_run(page, &report->runs[r]);
    }
    if (report->count > HEADLINE_RUNS + 1)
        buf_addf(page, " and %zu more", report->count - HEADLINE_RUNS);
    const json_t *settings = json_object_get(report->runs[0].record, "settings");
    const char *model = json_string_value(json_object_get(settings, "model"));
    buf_add_text(page, report->count > 1 ? "</h1>\n<p class=\"soft\">Trainings laid over each other"
                                         : "</h1>\n<p class=\"soft\">A training of BERT");
    if (report->count == 1 && model) {
        buf_add_text(page, ", model ");
        html_name(page, model);
    }
    buf_add_text(page, "</p>\n");
    if (report->count == 1)
        put_tiles(page, &report->runs[0]);
    else
        section_comparison(page, report);
    put_health(page, report);
    buf_addf(page,
             "<nav aria-label=\"Sections\">%s<a href=\"#curves\">Curves</a>%s<a href=\"#settings\">Settings</a><a "
             "href=\"#starts\">Starts</a></nav>\n</header>\n",
             report_has_scores(report) ? "<a href=\"#scores\">Scores</a>" : "",
             guesses_are_due(report) ? "<a href=\"#guesses\">Samples with guesses</a>" : "");
}

#define NOTE_LETTERS 500u

/* CSS for what only this page has: curves with a colour per run. The rest is in base/html.c. */
static const char style[] =
    ":root{--r1:#2f6f9f;--r2:#b8591a;--r3:#3c7d3c;--r4:#94498a;--r5:#7d6300;--r6:#b03a3a;--r7:#1b757c;--r8:#5558ab}\n"
    "@media (prefers-color-scheme:dark){:root{--r1:#6ea3cb;--r2:#e09a5a;--r3:#7fbf7f;--r4:#cf95c2;--r5:#d0b048;"
    "--r6:#e58080;--r7:#5fc0c8;--r8:#9a9ee8}}\n"
    ".r1{--run:var(--r1)}.r2{--run:var(--r2)}.r3{--run:var(--r3)}.r4{--run:var(--r4)}"
    ".r5{--run:var(--r5)}.r6{--run:var(--r6)}.r7{--run:var(--r7)}.r8{--run:var(--r8)}\n"
    ".key{display:inline-block;width:.75em;height:.75em;border-radius:2px;background:var(--run);margin-right:.4em}"
    ".curve{display:grid;grid-template-columns:auto 1fr;gap:0 .5rem;padding-top:.5rem}"
    ".curve svg{height:11rem;overflow:visible}"
    ".ticks{display:flex;flex-direction:column-reverse;justify-content:space-between;height:11rem;text-align:right;"
    "font-size:.8rem;line-height:0;color:var(--soft)}"
    ".curve .axis{grid-column:2;padding-top:.15rem}"
    "svg path{fill:none;vector-effect:non-scaling-stroke;stroke-linejoin:round;stroke-linecap:round}"
    ".grid{stroke:var(--line);stroke-width:1px}"
    ".start{stroke:var(--run);stroke-width:1px;stroke-dasharray:2 4;opacity:.7}"
    ".baseline{stroke:var(--soft);stroke-width:1px;stroke-dasharray:6 4}"
    ".train{stroke:var(--run);stroke-width:1.5px}"
    ".valid{stroke:var(--run);stroke-width:2px}.points{stroke:var(--run);stroke-width:7px}"
    ".confusion .right{font-weight:bold}"
    ".finding{border-left:4px solid var(--r6);padding-left:.6rem}"
    ".spike{stroke:var(--r6);stroke-width:8px}"
    ".several .train{stroke-width:1px;opacity:.6}"
    ".one .valid,.one .points{stroke:var(--r2)}\n"
    "tbody th>.key+bdi,.who .key+bdi{display:inline;white-space:nowrap}"
    ".who{margin-top:.8rem}\n"
    /* The axis that is chosen: the buttons come before the figures. */
    "input[name=axis]{margin:.8rem .4rem 0 0;accent-color:var(--bar)}"
    "input[name=axis]+label{margin-right:1.2rem;font-size:.9rem}"
    "#by-tokens:checked~.figures .curve:not(.by-tokens),#by-seconds:checked~.figures .curve:not(.by-seconds),"
    "#by-steps:checked~.figures .curve:not(.by-steps){display:none}\n";

void report_make(struct buf *page, const struct report *report)
{
    html_page(page, report->count > 1 ? "Training runs" : "A training run", style);
    section_headline(page, report);
    buf_add_text(page, "<main>\n");
    if (report->note) {
        buf_add_text(page, "<p>");
        html_text(page, str_of(report->note), NOTE_LETTERS);
        buf_add_text(page, "</p>\n");
    }
    section_scores(page, report);
    section_curves(page, report);
    if (guesses_are_due(report))
        section_guesses(page, report);
    section_settings(page, report);
    section_starts(page, report);
    buf_add_text(
        page,
        "</main>\n<footer>\n<p>Written by <code>dstrain report</code> from <code>run.json</code>, "
        "<code>metrics.jsonl</code> and the newest checkpoint. The page may be sent alone: it holds no script and "
        "fetches nothing.</p>\n</footer>\n");
    html_page_end(page);
}
