/* Finds the first page with a title in dumps and explains it. Uses the belt of extract, and stops at that page. */
#include "pipeline/verbs/explain.h"

#include "base/output.h"
#include "base/progress.h"
#include "pipeline/text/xml/xml.h"

#include <utf8proc.h>

/* Scratch of one thread. */
struct finder {
    struct page_parser *parser;
    struct arena arena;
};

struct explanation {
    struct feed feed; /* first: see feed.h */
    const struct inputs *inputs;
    const struct repeats *repeats;
    struct str title; /* as in the dump, except perhaps for its first letter */
    bool found;
};

#define NOT_HERE SIZE_MAX

struct job {
    struct feed_job feed; /* first */
    size_t index;         /* of the record, or NOT_HERE */
};

/* The wiki's own rule: titles are compared exactly, except for the case of the first letter on wikis that ignore it. */
static bool is_title(const struct siteinfo *siteinfo, struct str wanted, struct str title)
{
    uint32_t a, b;
    unsigned skip;
    if (str_equal(wanted, title))
        return true;
    if (siteinfo->case_sensitive || title.size == 0)
        return false;
    const unsigned a_size = utf8_decode(wanted.data, wanted.size, &a, &skip);
    const unsigned b_size = utf8_decode(title.data, title.size, &b, &skip);
    return a_size > 0 && b_size > 0 && utf8proc_toupper((utf8proc_int32_t)a) == utf8proc_toupper((utf8proc_int32_t)b) &&
           str_equal(str_range(wanted.data + a_size, wanted.data + wanted.size),
                     str_range(title.data + b_size, title.data + title.size));
}

static void find(const void *context, void *worker, void *slot)
{
    const struct explanation *explanation = context;
    struct finder *finder = worker;
    struct job *job = slot;
    struct group *group = &job->feed.group;
    job->index = NOT_HERE;
    const struct article_options *options = &explanation->inputs->articles[job->feed.file];
    if (!options->kind->of_pages)
        return;
    for (size_t i = 0; i < group->record_count && job->index == NOT_HERE; i++) {
        const struct record *record = &group->records[i];
        struct page page;
        arena_reset(&finder->arena);
        const struct str bytes = {group->text.data + record->offset, record->size};
        if (page_parse(finder->parser, bytes, &finder->arena, &page) == 0 &&
            is_title(options->siteinfo, explanation->title, page.title))
            job->index = i;
    }
}

static int print(void *context, void *slot, struct error *err)
{
    struct explanation *explanation = context;
    struct job *job = slot;
    if (job->index == NOT_HERE)
        return BELT_NEXT;
    SCOPED(buf_release) struct buf out = {0};
    explain_page(&explanation->inputs->articles[job->feed.file], explanation->repeats, &job->feed.group, job->index,
                 &out);
    explanation->found = true;
    TRY(output_write(buf_str(&out), err));
    return BELT_END;
}

static void release_job(void *slot)
{
    struct job *job = slot;
    feed_job_release(&job->feed);
}

static void *open_finder(const void *options)
{
    (void)options;
    struct finder *finder = mem_clear(1, sizeof *finder);
    finder->parser = page_parser_open();
    return finder;
}

static void close_finder(void *worker)
{
    struct finder *finder = worker;
    page_parser_close(finder->parser);
    arena_release(&finder->arena);
    mem_free(finder);
}

static int search(struct explanation *explanation, const struct resource_plan *plan, struct error *err)
{
    static const struct feed_work work = {.work_name = "find",
                                          .end_name = "print",
                                          .work = find,
                                          .end = print,
                                          .job_size = sizeof(struct job),
                                          .job_release = release_job,
                                          .worker_open = open_finder,
                                          .worker_close = close_finder};
    feed_open(&explanation->feed, &work);
    const int result = feed_run(&explanation->feed, plan->depth, plan->threads, NULL, err);
    feed_close(&explanation->feed);
    return result;
}

static bool any_dump(const struct inputs *inputs)
{
    bool any = false;
    for (size_t i = 0; i < inputs->count; i++)
        any |= input_kind_of(inputs->dumps[i])->of_pages;
    return any;
}

int explain(const struct dsdata_settings *settings, const struct inputs *inputs, const struct resource_plan *plan,
            const struct repeats *repeats, struct error *err)
{
    SCOPED(mem_free_at) char *typed = mem_copy_text(settings->explain);
    for (char *at = typed; *at; at++)
        if (*at == '_')
            *at = ' ';
    struct explanation explanation = {.feed = feed_whole(inputs, settings->limit),
                                      .inputs = inputs,
                                      .repeats = repeats,
                                      .title = str_trim(str_of(typed))};
    if (settings_given(settings, "format"))
        return fail(err, ERR_USAGE, "--explain and --format exclude each other: an explanation has its own format");
    if (!any_dump(inputs))
        return fail(err, ERR_USAGE, "--explain is for dumps: other inputs have no markup to explain");
    TRY(search(&explanation, plan, err));
    if (explanation.found)
        return 0;
    if (stop_requested())
        return fail(err, ERR_STOPPED, "stopped on request; extract starts anew when repeated");
    fail(err, ERR_USAGE, "no page has the title \"%s\"", settings->explain);
    return hint(err, "titles are case-sensitive except for the first letter");
}
