/* dsdata extract: inputs → plain text on standard output or in files, in the order of the inputs. The same belt as
 * build's, writing text instead of digesting it. */
#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/progress.h"
#include "pipeline/parts/account.h"
#include "pipeline/build/directory.h"
#include "pipeline/build/template_pass.h"
#include "pipeline/verbs/explain.h"
#include "pipeline/verbs/extract_names.h"
#include "pipeline/verbs/extract_work.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct extraction {
    struct feed feed; /* first: see feed.h */
    struct dsdata_settings *settings;
    struct opt_paths bare;
    struct extract_names names;
    struct extract_work work;
    struct inputs inputs;
    struct resource_plan plan;
    struct dataset_recipe recipe; /* what decides about documents */
    struct repeats repeats;       /* to be dropped */
    struct extract_form form;
    struct counts counts;
    struct missing missing;
    double started; /* clock */
};

static int print(void *context, void *slot, struct error *err)
{
    struct extraction *extraction = context;
    struct extract_job *job = slot;
    counts_add(&extraction->counts, &job->counts);
    missing_merge(&extraction->missing, &job->missing);
    const struct buf *out = &job->files[0];
    if (out->size > 0 && fwrite(out->data, 1, out->size, stdout) != out->size)
        return output_failed(err);
    return BELT_NEXT;
}

static int run_to_stream(struct extraction *extraction, struct error *err)
{
    struct feed_work work = extract_feed_work(&extraction->form);
    work.end_name = "print";
    work.end = print;
    extraction->feed = feed_whole(&extraction->inputs, extraction->settings->limit);
    feed_open(&extraction->feed, &work);
    int result = feed_run(&extraction->feed, extraction->plan.depth, extraction->plan.threads, NULL, err);
    feed_close(&extraction->feed);
    if (result == 0 && fflush(stdout) != 0)
        result = output_failed(err);
    if (result == 0 && stop_requested())
        result = fail(err, ERR_STOPPED, "stopped on request; extract starts anew when repeated");
    return result;
}

static void say_holes(const struct extraction *extraction)
{
    SCOPED(buf_release) struct buf worst = {0}, sentences = {0};
    char count[32];
    missing_worst(&extraction->missing.holes, &worst);
    missing_worst(&extraction->missing.sentences, &sentences);
    if (extraction->counts.wiki_bytes > 0)
        log_say("holes      %.0f per MB%s%s",
                1e6 * (double)extraction->counts.holes / (double)extraction->counts.wiki_bytes,
                worst.size ? "; worst: " : "", buf_text(&worst));
    if (sentences.size > 0)
        log_say("sentences  %s templates without a rendering kept as sentences; most: %s",
                format_count(extraction->counts.template_sentences, count), buf_text(&sentences));
}

static uint64_t bytes_written(const struct extraction *extraction)
{
    uint64_t sum = 0;
    struct error ignored;
    for (uint32_t i = 0; extraction->names.whole && i < extraction->names.count; i++) {
        struct file file;
        if (file_open_read(&file, extraction->names.paths[i], &ignored) < 0)
            continue;
        const int64_t bytes = file_size(&file, &ignored);
        sum += bytes > 0 ? (uint64_t)bytes : 0;
        file_close(&file);
    }
    return sum;
}

static void say_done(const struct extraction *extraction)
{
    char time[32], bytes[32], threads[56], files[56];
    const double seconds = extraction->work.facts.earlier_seconds + clock_now() - extraction->started;
    log_say("done in %s on %s   %s   %s", format_seconds(seconds, time),
            format_counted(extraction->plan.threads, "thread", threads), extraction->names.paths[0],
            format_bytes(bytes_written(extraction), bytes));
    if (extraction->names.count > 1)
        log_say("files      %s, the last %s", format_counted(extraction->names.count, "file", files),
                extraction->names.paths[extraction->names.count - 1]);
}

/* The command that comes next: with --out a build of what was written. */
static struct buf next_command(const struct extraction *extraction)
{
    const struct extract_names *names = &extraction->names;
    if (!names->whole)
        return settings_command(extraction->settings, "build", " out files format limit json force ");
    struct buf next = {0};
    buf_addf(&next, "dsdata build %s", extraction->settings->format == EXTRACT_JSONL ? "--jsonl" : "--text");
    for (uint32_t i = 0; i < names->count; i++)
        command_path(&next, names->paths[i]);
    buf_text(&next);
    return next;
}

static void report_json(const struct extraction *extraction, bool counted)
{
    const struct counts *counts = &extraction->counts;
    const struct extract_names *names = &extraction->names;
    json_auto_t *object = json_object();
    if (counted) {
        json_object_set_new(object, "documents", json_integer((json_int_t)counts->pages[PAGE_KEPT]));
        json_object_set_new(object, "read", json_integer((json_int_t)counts_pages(counts)));
        json_object_set_new(object, "text_bytes", json_integer((json_int_t)counts->text_bytes));
        account_json(counts, &extraction->missing, object);
    }
    if (names->whole) {
        json_t *files = json_array();
        for (uint32_t i = 0; i < names->count; i++)
            json_array_append_new(files, json_name(names->paths[i]));
        json_object_set_new(object, "files", files);
        json_object_set_new(object, "bytes", json_integer((json_int_t)bytes_written(extraction)));
    }
    if (!inputs_pipe(&extraction->inputs) || names->whole) {
        struct buf next = next_command(extraction);
        json_object_set_new(object, "next", json_name(buf_text(&next)));
        buf_release(&next);
    }
    char *text = json_dumps(object, JSON_REAL_PRECISION(9));
    fprintf(stderr, "%s\n", text);
    free(text);
}

/* The text may have standard output, so what is said about it goes to the other one, with --json as one object too. */
static void report(const struct extraction *extraction)
{
    const struct counts *counts = &extraction->counts;
    char bytes[32];
    if (extraction->settings->json) {
        report_json(extraction, true);
        return;
    }
    if (extraction->names.whole && counts->pages[PAGE_KEPT] > 0)
        say_done(extraction);
    account_say(counts, &extraction->missing, inputs_of_pages(&extraction->inputs));
    log_say("text       %s", format_bytes(counts->text_bytes, bytes));
    say_holes(extraction);
}

static int report_over(const struct extraction *extraction)
{
    if (extraction->settings->json) {
        report_json(extraction, false);
        return 0;
    }
    log_say("%s is complete already", extraction->names.paths[0]);
    say_next(next_command(extraction).data);
    return 0;
}

/* What decides the bytes of the output, as directory.h has it. */
static int make_identity(const struct extraction *extraction, json_t **identity, struct error *err)
{
    json_t *inputs, *recipe = dataset_recipe_json(&extraction->recipe);
    if (directory_inputs(&extraction->inputs, &inputs, err) < 0) {
        json_decref(recipe);
        return -1;
    }
    json_object_set_new(recipe, "format", json_integer(extraction->settings->format));
    json_object_set_new(recipe, "files", json_integer(extraction->names.count));
    json_object_set_new(recipe, "compression", json_integer((json_int_t)extraction->names.packing));
    *identity = json_pack("{so ss so}", "inputs", inputs, "vocabulary", "none", "recipe", recipe);
    return 0;
}

/* Standard input that is read twice is stored. */
static int open_folder(struct extraction *extraction, struct error *err)
{
    struct extract_work *work = &extraction->work;
    const struct dsdata_settings *settings = extraction->settings;
    const bool repeats = repeats_wanted(&extraction->recipe);
    const bool explains = settings->explain != NULL;
    if ((!extraction->names.whole || explains) && !repeats)
        return 0;
    if (!explains)
        TRY(extract_names_check(&extraction->names, settings, extraction->bare, err));
    TRY(extract_work_open(work, explains ? NULL : extraction->names.folder, err));
    if (!repeats || !inputs_ask_for_pipe(settings, extraction->bare))
        return 0;
    TRY(spool_take(&work->spool, work->folder, err));
    extraction->settings->spool = work->spool.path;
    return 0;
}

/* A page is explained whatever follows it, so that damage elsewhere costs the templates only. */
static int read_templates(struct extraction *extraction, struct error *err)
{
    const int result = template_pass_run(extraction->settings, &extraction->inputs, err);
    if (result == 0 || !extraction->settings->explain || err->kind != ERR_INPUT)
        return result;
    log_say("templates: none of the dump's own (%s)", err->text);
    *err = (struct error){0};
    for (size_t i = 0; i < extraction->inputs.count; i++)
        dump_rewind(extraction->inputs.dumps[i]);
    return 0;
}

static int prepare(struct extraction *extraction, struct error *err)
{
    struct dsdata_settings *settings = extraction->settings;
    dataset_recipe_make_words(settings, true, &extraction->recipe);
    TRY(dataset_recipe_check(&extraction->recipe, err));
    TRY(extract_names_make(&extraction->names, settings, extraction->bare, err));
    TRY(open_folder(extraction, err));
    TRY(inputs_open(&extraction->inputs, settings, extraction->bare, err));
    inputs_say_guesses(&extraction->inputs);
    inputs_warn(settings, &extraction->inputs);
    TRY(read_templates(extraction, err));
    TRY(resource_plan_threads(settings, &extraction->inputs, &extraction->plan, err));
    dataset_recipe_take_inputs(&extraction->recipe, &extraction->inputs);
    memcpy(extraction->recipe.templates, extraction->inputs.templates_hash, sizeof extraction->recipe.templates);
    extraction->form = (struct extract_form){.inputs = &extraction->inputs,
                                             .repeats = &extraction->repeats,
                                             .format = settings->format,
                                             .files = extraction->names.count,
                                             .packing = extraction->names.packing};
    return 0;
}

/* Claims the files of --out, and finds documents that repeat others. */
static int begin(struct extraction *extraction, struct error *err)
{
    struct extract_work *work = &extraction->work;
    if (work->folder && !work->temporary) {
        json_t *identity;
        TRY(make_identity(extraction, &identity, err));
        TRY(extract_work_begin(work, identity, &extraction->inputs, err));
    }
    return repeats_wanted(&extraction->recipe) ? extract_work_repeats(work, &extraction->inputs, &extraction->recipe,
                                                                      &extraction->plan, &extraction->repeats, err)
                                               : 0;
}

static int run(struct extraction *extraction, struct error *err)
{
    TRY(prepare(extraction, err));
    TRY(begin(extraction, err));
    const int over = extract_work_is_over(&extraction->work, &extraction->form, extraction->names.paths, err);
    TRY(over);
    if (over)
        return report_over(extraction);
    if (extraction->settings->explain)
        return explain(extraction->settings, &extraction->inputs, &extraction->plan, &extraction->repeats, err);
    TRY(extraction->names.whole
            ? extract_work_write(&extraction->work, &extraction->form, &extraction->recipe, &extraction->plan,
                                 extraction->names.paths, &extraction->counts, &extraction->missing, err)
            : run_to_stream(extraction, err));
    const bool nothing = extraction->counts.pages[PAGE_KEPT] == 0;
    const int result = nothing ? inputs_gave_nothing(&extraction->inputs, &extraction->counts, err) : 0;
    report(extraction);
    if (result == 0 && (!inputs_pipe(&extraction->inputs) || extraction->names.whole) && !extraction->settings->json)
        say_next(next_command(extraction).data);
    return result;
}

int dsdata_extract(void *settings, struct opt_paths bare, struct error *err)
{
    struct extraction extraction = {
        .settings = settings, .bare = bare, .work = {.lock.fd = -1, .spool.lock.fd = -1}, .started = clock_now()};
    stop_on_signals();
    const int result = run(&extraction, err);
    const bool nothing = result < 0 && err->kind == ERR_INPUT && extraction.counts.pages[PAGE_KEPT] == 0;
    if (result < 0 && (err->kind == ERR_STOPPED || err->kind == ERR_RESOURCE) && !err->hint[0] &&
        extraction.work.folder && !extraction.work.temporary)
        hint_command(err, "what was done is safe in %s; the same command continues from there", extraction.work.folder);
    repeats_close(&extraction.repeats);
    extract_work_close(&extraction.work, result == 0 || nothing);
    missing_release(&extraction.missing);
    inputs_close(&extraction.inputs);
    extract_names_release(&extraction.names);
    return result;
}
