/* dsdata extract: inputs → plain text on standard output, in the order of the inputs. The same belt as build's,
 * printing instead of digesting. */
#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/progress.h"
#include "pipeline/parts/account.h"
#include "pipeline/parts/dsdata_settings.h"
#include "pipeline/input/feed.h"
#include "pipeline/build/resource_plan.h"
#include "pipeline/build/template_pass.h"
#include "pipeline/verbs/explain.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Scratch of one thread. */
struct extractor {
    struct article_reader *reader;
    struct sentences sentences;
};

struct extraction {
    struct feed feed; /* first: see feed.h */
    const struct dsdata_settings *settings;
    struct inputs inputs;
    struct counts counts;
    struct missing missing;
};

struct job {
    struct feed_job feed; /* first */
    struct buf out;
    struct counts counts;
    struct missing missing;
};

/* The URL of a wiki's page as MediaWiki forms it: blanks as '_', characters reserved by RFC 3986 escaped. */
static void add_url(const struct siteinfo *siteinfo, struct str title, struct buf *out)
{
    static const char plain[] = "-_.~!$()*,;:@/";
    struct str base = siteinfo->base;
    while (base.size > 0 && base.data[base.size - 1] != '/')
        base.size--;
    if (base.size == 0 || title.size == 0)
        return;
    buf_add_str(out, base);
    for (size_t i = 0; i < title.size; i++) {
        const unsigned char c = (unsigned char)title.data[i];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (letter || (c && strchr(plain, c)))
            buf_add_byte(out, (char)c);
        else if (c == ' ')
            buf_add_byte(out, '_');
        else
            buf_addf(out, "%%%02X", c);
    }
}

static void set_text(json_t *object, const char *key, struct str text)
{
    if (text.size > 0)
        json_object_set_new(object, key, json_stringn(text.data, text.size));
}

static void add_json(struct buf *out, const struct inputs *inputs, uint32_t file, const struct article *article)
{
    struct buf url = {0};
    json_t *object =
        json_pack("{sI sI ss% ss%}", "id", (json_int_t)article->id, "revid", (json_int_t)article->revision_id, "title",
                  article->title.data, article->title.size, "text", article->text.data, article->text.size);
    add_url(inputs->articles[file].siteinfo, article->title, &url);
    set_text(object, "source_id", article->source_id);
    set_text(object, "url", article->url.size > 0 ? article->url : buf_str(&url));
    set_text(object, "timestamp", article->timestamp);
    set_text(object, "lang", article->language.size > 0 ? article->language : str_of(inputs->languages[file].code));
    char *line = object ? json_dumps(object, JSON_COMPACT) : NULL;
    if (line) {
        buf_add_text(out, line);
        buf_add_byte(out, '\n');
    }
    free(line);
    json_decref(object);
    buf_release(&url);
}

static void add_sentences(struct extractor *extractor, const struct article_options *options,
                          const struct article *article, struct buf *out)
{
    article_sentences(options, article, &extractor->sentences);
    for (size_t i = 0; i < extractor->sentences.count; i++) {
        buf_add_str(out, extractor->sentences.items[i]);
        buf_add_byte(out, '\n');
    }
    if (extractor->sentences.count > 0)
        buf_add_byte(out, '\n');
}

static void extract_group(const void *context, void *worker, void *slot)
{
    const struct extraction *extraction = context;
    struct extractor *extractor = worker;
    struct job *job = slot;
    buf_reset(&job->out);
    job->counts = (struct counts){0};
    missing_reset(&job->missing);
    struct group *group = &job->feed.group;
    const struct article_options *options = &extraction->inputs.articles[job->feed.file];
    article_count_group(options, group, &job->counts, &job->missing);
    for (size_t i = 0; i < group->record_count; i++) {
        struct article article;
        article_read(extractor->reader, options, group, i, &article);
        article_count(extractor->reader, &article, &job->counts, &job->missing);
        job->counts.text_bytes += article.text.size;
        if (article.fate != PAGE_KEPT)
            continue;
        if (extraction->settings->format == EXTRACT_JSONL)
            add_json(&job->out, &extraction->inputs, job->feed.file, &article);
        else
            add_sentences(extractor, options, &article, &job->out);
    }
}

static int print(void *context, void *slot, struct error *err)
{
    struct extraction *extraction = context;
    struct job *job = slot;
    counts_add(&extraction->counts, &job->counts);
    missing_merge(&extraction->missing, &job->missing);
    if (job->out.size > 0 && fwrite(job->out.data, 1, job->out.size, stdout) != job->out.size)
        return output_failed(err);
    return BELT_NEXT;
}

static void release_job(void *slot)
{
    struct job *job = slot;
    feed_job_release(&job->feed);
    missing_release(&job->missing);
    buf_release(&job->out);
}

static void *open_extractor(const void *options)
{
    (void)options;
    struct extractor *extractor = mem_clear(1, sizeof *extractor);
    extractor->reader = article_open();
    return extractor;
}

static void close_extractor(void *worker)
{
    struct extractor *extractor = worker;
    article_close(extractor->reader);
    sentences_release(&extractor->sentences);
    mem_free(extractor);
}

static int run(struct extraction *extraction, const struct resource_plan *plan, struct error *err)
{
    static const struct feed_work work = {.work_name = "extract",
                                          .end_name = "print",
                                          .work = extract_group,
                                          .end = print,
                                          .job_size = sizeof(struct job),
                                          .job_release = release_job,
                                          .worker_open = open_extractor,
                                          .worker_close = close_extractor};
    extraction->feed = feed_whole(&extraction->inputs, extraction->settings->limit);
    feed_open(&extraction->feed, &work);
    int result = feed_run(&extraction->feed, plan->depth, plan->threads, NULL, err);
    feed_close(&extraction->feed);
    if (result == 0 && fflush(stdout) != 0)
        result = output_failed(err);
    if (result == 0 && stop_requested())
        result = fail(err, ERR_STOPPED, "stopped on request; extract starts anew when repeated");
    return result;
}

static void say_holes(const struct extraction *extraction)
{
    struct buf worst = {0}, sentences = {0};
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
    buf_release(&worst);
    buf_release(&sentences);
}

/* The text has standard output, so what is said about it goes to the other one, with --json as one object too. */
static void report(const struct extraction *extraction)
{
    const struct counts *counts = &extraction->counts;
    char bytes[32];
    if (!extraction->settings->json) {
        account_say(counts, &extraction->missing, inputs_of_pages(&extraction->inputs));
        log_say("text       %s", format_bytes(counts->text_bytes, bytes));
        say_holes(extraction);
        return;
    }
    json_t *object = json_pack("{sI sI sI}", "documents", (json_int_t)counts->pages[PAGE_KEPT], "read",
                               (json_int_t)counts_pages(counts), "text_bytes", (json_int_t)counts->text_bytes);
    account_json(counts, &extraction->missing, object);
    if (!inputs_pipe(&extraction->inputs)) {
        struct buf next = settings_command(extraction->settings, "build", " out format limit json ");
        json_object_set_new(object, "next", json_name(buf_text(&next)));
        buf_release(&next);
    }
    char *text = json_dumps(object, JSON_REAL_PRECISION(9));
    fprintf(stderr, "%s\n", text);
    free(text);
    json_decref(object);
}

int dsdata_extract(void *settings, struct opt_paths bare, struct error *err)
{
    struct extraction extraction = {.settings = settings};
    struct resource_plan plan;
    stop_on_signals();
    int result = inputs_open(&extraction.inputs, settings, bare, err);
    if (result == 0) {
        inputs_say_guesses(&extraction.inputs);
        inputs_warn(settings, &extraction.inputs);
        if (!extraction.settings->explain) /* which is of one page, whatever follows */
            result = template_pass_run(extraction.settings, &extraction.inputs, err);
    }
    if (result == 0) {
        result = resource_plan_threads(settings, &extraction.inputs, &plan, err);
    }
    const bool explains = extraction.settings->explain != NULL;
    if (result == 0)
        result = explains ? explain(extraction.settings, &extraction.inputs, &plan, err) : run(&extraction, &plan, err);
    if (result == 0 && !explains) {
        if (extraction.counts.pages[PAGE_KEPT] == 0)
            result = inputs_gave_nothing(&extraction.inputs, &extraction.counts, err);
        report(&extraction);
        if (result == 0 && !inputs_pipe(&extraction.inputs) && !extraction.settings->json)
            say_next(settings_command(extraction.settings, "build", " out format limit ").data);
    }
    missing_release(&extraction.missing);
    inputs_close(&extraction.inputs);
    return result;
}
