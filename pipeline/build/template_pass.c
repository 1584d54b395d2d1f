#include "pipeline/build/template_pass.h"

#include "base/belt.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "pipeline/input/feed.h"
#include "pipeline/build/resource_plan.h"
#include "pipeline/build/stream_index.h"
#include "pipeline/text/templates/transclusion.h"
#include "pipeline/text/words/links.h"
#include "pipeline/text/xml/xml.h"

#include <assert.h>
#include <stdlib.h>

#define NAMESPACE_TEMPLATE    10
#define HEAD_BYTES            2048u       /* of a page: its title and namespace come before its revision */
#define OTHER_BYTES_MAX       (32u << 20) /* of pages that are no templates */
#define STREAM_FILE_BYTES_MAX (64u << 20)

/* Scratch of one thread. */
struct reader {
    struct page_parser *parser;
    struct arena arena;
    struct body_reader body;
    struct namespaces namespaces;
    struct buf text;
};

/* The result of a group: names and renderings, one after the other in `text`. */
struct found {
    uint64_t id; /* of the page */
    enum body_kind kind;
    bool is_other; /* no template */
    size_t name_bytes, text_bytes;
};

struct job {
    struct feed_job feed; /* first: see feed.h */
    struct buf text;
    struct found *found;
    size_t count, capacity;
    struct buf bytes, xml; /* a stream of the index */
    size_t stream;         /* its number */
    bool is_stream;        /* it is what the index says */
};

struct pass {
    struct feed feed; /* first */
    const struct inputs *inputs;
    struct dictionary *dictionary;
    struct progress progress;
    uint64_t pages;
    uint64_t other_bytes;  /* of pages that are no templates */
    _Atomic bool is_large; /* they are too many: none is inserted in others */

    /* From there on only templates count, so that those streams of the dump are read that hold some. */
    struct stream_index index;
    struct file dump;
    bool has_index;
    uint64_t seen_most; /* the largest of: */
    struct buf seen;    /* uint64_t: the ids of the templates before */
    size_t next_stream; /* to be read */
};

static bool is_template(struct str record)
{
    const struct str head = {record.data, record.size < HEAD_BYTES ? record.size : HEAD_BYTES};
    return str_find(head, STR("<ns>10</ns>")) != SIZE_MAX;
}

static void add(struct job *job, uint64_t id, struct str name, enum body_kind kind, bool is_other, struct str text)
{
    if (job->count == job->capacity) {
        job->capacity = job->capacity ? job->capacity * 2 : 64;
        job->found = mem_grow(job->found, job->capacity, sizeof job->found[0]);
    }
    job->found[job->count++] = (struct found){id, kind, is_other, name.size, text.size};
    buf_add_str(&job->text, name);
    buf_add_str(&job->text, text);
}

/* Name of a page in the dictionary: a template's own, ":Title" of the main namespace, else with its namespace. */
static struct str name_of(const struct page *page, char out[NAME_BYTES_MAX])
{
    const char *colon = memchr(page->title.data, ':', page->title.size);
    if (page->ns == NAMESPACE_TEMPLATE)
        return colon ? name_canonical(str_range(colon + 1, page->title.data + page->title.size), out) : STR("");
    const struct str name = name_canonical(page->title, out);
    if (page->ns != 0 || name.size == 0)
        return name;
    if (name.size + 1 >= NAME_BYTES_MAX)
        return STR("");
    memmove(out + 1, name.data, name.size);
    out[0] = ':';
    return (struct str){out, name.size + 1};
}

static void read_page(struct reader *reader, const struct article_options *options, struct str fragment,
                      struct job *job)
{
    struct page page;
    char canonical[NAME_BYTES_MAX];
    arena_reset(&reader->arena);
    buf_reset(&reader->text);
    if (page_parse(reader->parser, fragment, &reader->arena, &page) < 0 || page.ns < 0 || page.ns % 2 != 0)
        return;
    if (page.ns == NAMESPACE_TEMPLATE ? !is_template(fragment) : page.is_redirect)
        return;
    if (page.model.size > 0 && !str_equal(page.model, STR("wikitext")))
        return;
    const struct str name = name_of(&page, canonical);
    if (name.size == 0)
        return;
    enum body_kind kind = BODY_WIKITEXT;
    if (page.ns == NAMESPACE_TEMPLATE)
        kind = body_read(&reader->body, options->language, page.text, page.is_redirect, &reader->text);
    else
        transclusion_take(page.text, &reader->text);
    add(job, page.id, name, kind, page.ns != NAMESPACE_TEMPLATE, buf_str(&reader->text));
}

/* Adds the names of pages other than templates that a page inserts: {{:Page}}, {{User:Name/Page}}. A computed name can
 * be any. */
static void read_references(struct reader *reader, struct str text, struct job *job)
{
    while (true) {
        const char *open = text.size > 0 ? memchr(text.data, '{', text.size) : NULL;
        if (!open)
            return;
        const bool is_call = str_starts(str_range(open, text.data + text.size), STR("{{"));
        text = str_range(open + 1 + is_call, text.data + text.size);
        if (!is_call)
            continue;
        size_t size = 0;
        bool has_colon = false;
        while (size < text.size && size < NAME_BYTES_MAX && !strchr("|{}<>\n#", text.data[size]))
            has_colon |= text.data[size++] == ':';
        struct str name = str_trim((struct str){text.data, size});
        const bool is_main = name.size > 0 && name.data[0] == ':';
        const bool is_computed = size < text.size && text.data[size] == '{' && (is_main || has_colon);
        if (!has_colon || (!is_main && (name.data[0] == '#' || namespaces_of_title(&reader->namespaces, name) == 0 ||
                                        namespaces_of_title(&reader->namespaces, name) == NAMESPACE_TEMPLATE)))
            continue;
        char canonical[NAME_BYTES_MAX + 1];
        canonical[0] = ':';
        name = is_main ? (struct str){name.data + 1, name.size - 1} : name;
        struct str title = name_canonical(name, canonical + is_main);
        title = is_main ? (struct str){canonical, title.size + 1} : title;
        if (is_computed)
            add(job, 0, STR(""), BODY_REFERENCE, true, STR(""));
        else if (title.size > is_main)
            add(job, 0, title, BODY_REFERENCE, true, STR(""));
    }
}

static void read_group(const void *context, void *worker, void *slot)
{
    const struct pass *pass = context;
    struct job *job = slot;
    struct reader *reader = worker;
    struct group *group = &job->feed.group;
    const struct article_options *options = &pass->inputs->articles[job->feed.file];
    buf_reset(&job->text);
    job->count = 0;
    for (size_t i = 0; i < group->record_count && options->kind->of_pages; i++) {
        const struct record *record = &group->records[i];
        const struct str bytes = {group->text.data + record->offset, record->size};
        if (!pass->is_large)
            read_references(reader, bytes, job);
        if (!pass->is_large || is_template(bytes))
            read_page(reader, options, bytes, job);
    }
}

static int collect(void *context, void *slot, struct error *err)
{
    struct pass *pass = context;
    const struct job *job = slot;
    const char *at = job->text.data;
    (void)err;
    for (size_t i = 0; i < job->count; i++) {
        const struct found *found = &job->found[i];
        const struct str name = {at, found->name_bytes}, text = {at + found->name_bytes, found->text_bytes};
        pass->other_bytes += found->is_other ? name.size + text.size : 0;
        if (pass->other_bytes > OTHER_BYTES_MAX)
            pass->is_large = true;
        if (!found->is_other) {
            dictionary_add(pass->dictionary, name, found->kind, text);
            if (pass->has_index)
                buf_add(&pass->seen, &found->id, sizeof found->id);
            pass->seen_most = found->id > pass->seen_most ? found->id : pass->seen_most;
        } else if (!pass->is_large)
            dictionary_add_other(pass->dictionary, name, found->kind, text);
        at += found->name_bytes + found->text_bytes;
    }
    assert((size_t)(at - job->text.data) == job->text.size);
    pass->pages += job->feed.group.record_count;
    if (progress_due(&pass->progress)) {
        const uint64_t windows = inputs_windows(pass->inputs);
        const uint64_t done = inputs_row(pass->inputs, (struct place){job->feed.file, job->feed.window});
        char pages[32];
        progress_show(&pass->progress, windows ? (double)done / (double)windows : -1.0, "templates  %s pages",
                      format_count(pass->pages, pages));
    }
    return pass->has_index && pass->is_large ? BELT_END : BELT_NEXT;
}

static void release_job(void *slot)
{
    struct job *job = slot;
    feed_job_release(&job->feed);
    buf_release(&job->text);
    buf_release(&job->bytes);
    buf_release(&job->xml);
    mem_free(job->found);
}

/* ---------------------------------------------------------------------------------------- by the index of streams */

/* Of a dump alone, as Wikimedia offers it: what the index says of a part must hold for all that is read. */
static void find_index(struct pass *pass)
{
    const struct inputs *inputs = pass->inputs;
    const struct siteinfo *site = inputs->articles[0].siteinfo;
    struct str name = STR("");
    struct error ignored;
    const char *wrong;
    if (inputs->count != 1 || dump_container(inputs->dumps[0]) != CONTAINER_BZIP2 || dump_is_made(inputs->dumps[0]) ||
        file_open_read(&pass->dump, inputs->paths[0], &ignored) < 0)
        return;
    for (size_t i = 0; site && i < site->namespace_count; i++)
        if (site->namespaces[i].key == NAMESPACE_TEMPLATE)
            name = site->namespaces[i].name;
    pass->has_index = stream_index_read(&pass->index, inputs->paths[0], &pass->dump, name, &wrong);
    if (wrong)
        log_say("templates: the index beside %s %s, so all of the dump is read", inputs->paths[0], wrong);
}

static int take_stream(void *context, void *slot, uint64_t number, struct error *err)
{
    struct pass *pass = context;
    struct job *job = slot;
    (void)number;
    if (pass->next_stream == pass->index.count)
        return BELT_END;
    job->stream = pass->next_stream++;
    const struct stream *stream = &pass->index.streams[job->stream];
    const uint64_t bytes = stream->to - stream->from;
    buf_reset(&job->bytes);
    job->is_stream = bytes <= STREAM_FILE_BYTES_MAX;
    if (!job->is_stream)
        return BELT_NEXT;
    buf_reserve(&job->bytes, bytes);
    const int64_t got = file_read_at(&pass->dump, job->bytes.data, bytes, stream->from, err);
    job->bytes.size = got < 0 ? 0 : (size_t)got;
    return got < 0 ? -1 : BELT_NEXT;
}

/* Reads the stream's templates, and compares the ids of its pages with those of the index. */
static int read_stream(void *context, void *slot, uint64_t number, struct error *err)
{
    struct pass *pass = context;
    struct job *job = slot;
    struct bzip2_memory memory = bzip2_take();
    struct reader *reader = workers_take(&pass->feed.workers);
    uint64_t ids = 0;
    (void)number;
    (void)err;
    buf_reset(&job->text);
    job->count = 0;
    job->is_stream = job->is_stream && stream_decode(&memory, buf_str(&job->bytes), &job->xml);
    struct str rest = job->is_stream ? buf_str(&job->xml) : STR("");
    for (size_t from; (from = str_find(rest, STR("<page>"))) != SIZE_MAX;) {
        const struct str page = {rest.data + from, rest.size - from};
        const size_t end = str_find(page, STR("</page>")), id = str_find(page, STR("<id>"));
        const size_t size = end == SIZE_MAX ? page.size : end + strlen("</page>");
        rest = (struct str){page.data + size, page.size - size};
        ids = page_ids_add(ids, id < size ? strtoull(page.data + id + strlen("<id>"), NULL, 10) : 0);
        if (size <= PAGE_BYTES_MAX && is_template((struct str){page.data, size}))
            read_page(reader, &pass->inputs->articles[0], (struct str){page.data, size}, job);
    }
    job->is_stream = job->is_stream && ids == pass->index.streams[job->stream].ids;
    workers_give(&pass->feed.workers, reader);
    bzip2_give(&memory);
    return BELT_NEXT;
}

static bool was_seen(const struct pass *pass, uint64_t id)
{
    const uint64_t *seen = (const uint64_t *)(const void *)pass->seen.data;
    for (size_t i = 0; id <= pass->seen_most && i < pass->seen.size / sizeof *seen; i++)
        if (seen[i] == id)
            return true;
    return false;
}

static int collect_stream(void *context, void *slot, uint64_t number, struct error *err)
{
    struct pass *pass = context;
    const struct job *job = slot;
    const char *at = job->text.data;
    (void)number;
    if (!job->is_stream)
        return fail(err, ERR_MISMATCH, "is of another dump");
    for (size_t i = 0; i < job->count; i++) {
        const struct found *found = &job->found[i];
        const struct str name = {at, found->name_bytes}, text = {at + found->name_bytes, found->text_bytes};
        if (!was_seen(pass, found->id))
            dictionary_add(pass->dictionary, name, found->kind, text);
        at += found->name_bytes + found->text_bytes;
    }
    if (progress_due(&pass->progress))
        progress_show(&pass->progress, (double)job->stream / (double)pass->index.count, "templates");
    return BELT_NEXT;
}

static int read_streams(struct pass *pass, const struct resource_plan *plan, struct error *err)
{
    static const struct belt_step steps[] = {
        {"read", 1, take_stream}, {"templates", 0, read_stream}, {"collect", 1, collect_stream}};
    return belt_run(&(struct belt_options){.steps = steps,
                                           .step_count = sizeof steps / sizeof *steps,
                                           .depth = plan->depth,
                                           .threads = plan->threads,
                                           .job_size = sizeof(struct job),
                                           .job_release = release_job,
                                           .context = pass},
                    NULL, err);
}

static void *open_reader(const void *context)
{
    struct reader *reader = mem_clear(1, sizeof *reader);
    const struct siteinfo *siteinfo = context;
    const struct str code = siteinfo ? siteinfo->language : STR("");
    const struct magic magic = magic_find(language_find(code), code);
    namespaces_init(&reader->namespaces, siteinfo, &magic);
    reader->parser = page_parser_open();
    return reader;
}

static void close_reader(void *worker)
{
    struct reader *reader = worker;
    page_parser_close(reader->parser);
    arena_release(&reader->arena);
    body_reader_release(&reader->body);
    namespaces_release(&reader->namespaces);
    buf_release(&reader->text);
    mem_free(reader);
}

bool template_pass_wanted(const struct dsdata_settings *settings, const struct inputs *inputs)
{
    const struct siteinfo *first = NULL;
    if (settings->templates && strcmp(settings->templates, "auto") != 0)
        return false;
    for (size_t i = 0; i < inputs->count; i++) {
        const struct siteinfo *site = inputs->articles[i].siteinfo;
        if (!input_kind_of(inputs->dumps[i])->of_pages)
            continue;
        if (inputs_pipe(inputs) || inputs->spool) {
            log_say("templates: standard input is not searched for templates of its own (--templates FILE gives some)");
            return false;
        }
        if (first && site && !str_equal(first->dbname, site->dbname)) {
            log_say("templates: the inputs are of several wikis, so that none has those of its own (dsdata templates "
                    "makes them of one)");
            return false;
        }
        if (!first)
            first = site;
    }
    return first != NULL;
}

static int read_inputs(struct pass *pass, const struct resource_plan *plan, struct error *err)
{
    const struct feed_work work = {.work_name = "templates",
                                   .end_name = "collect",
                                   .work = read_group,
                                   .end = collect,
                                   .job_size = sizeof(struct job),
                                   .job_release = release_job,
                                   .worker_open = open_reader,
                                   .worker_close = close_reader,
                                   .worker_options = pass->inputs->articles[0].siteinfo};
    const struct dump_state start = {0};
    struct error wrong = {0};
    pass->feed = feed_whole(pass->inputs, 0);
    pass->dictionary = dictionary_open(TEMPLATES_BYTES_MAX);
    feed_open(&pass->feed, &work);
    progress_begin(&pass->progress, 0);
    int result = feed_run(&pass->feed, plan->depth, plan->threads, NULL, err);
    if (result == 0 && pass->has_index && pass->is_large && !stop_requested())
        result = read_streams(pass, plan, &wrong);
    feed_close(&pass->feed);
    if (result == 0 && stop_requested())
        result = fail(err, ERR_STOPPED, "stopped on request");
    else if (result < 0 && wrong.kind == ERR_MISMATCH)
        result = 1;
    else if (result < 0 && wrong.text[0])
        *err = wrong;
    return result >= 0 && feed_begin(&pass->feed, (struct place){0}, &start, err) < 0 ? -1 : result;
}

int template_pass(const struct dsdata_settings *settings, const struct inputs *inputs, struct buf *out,
                  struct dictionary_facts *facts, struct error *err)
{
    struct pass pass = {.inputs = inputs, .dump = FILE_CLOSED};
    struct resource_plan plan;
    *facts = (struct dictionary_facts){0};
    TRY(resource_plan_threads(settings, inputs, &plan, err));
    find_index(&pass);
    progress_open(&pass.progress);
    int result = read_inputs(&pass, &plan, err);
    if (result > 0) {
        log_say("templates: the index beside %s is of another dump, so all of the dump is read", inputs->paths[0]);
        dictionary_close(pass.dictionary);
        pass.has_index = false;
        pass.is_large = false;
        pass.other_bytes = pass.pages = 0;
        result = read_inputs(&pass, &plan, err);
    }
    progress_close(&pass.progress);
    if (result == 0)
        *facts = dictionary_print(pass.dictionary, str_of(inputs->articles[0].code), !pass.is_large, out);
    if (facts->rendered == 0)
        out->size = 0;
    dictionary_close(pass.dictionary);
    stream_index_release(&pass.index);
    buf_release(&pass.seen);
    file_close(&pass.dump);
    return result;
}

int template_pass_use(struct inputs *inputs, struct str text, const char *path, struct error *err)
{
    if (text.size == 0)
        return 0;
    TRY(templates_parse(&inputs->templates, text, path, inputs->templates_hash, err));
    for (size_t i = 0; i < inputs->count; i++)
        inputs->articles[i].templates = inputs->templates;
    return 0;
}

void template_pass_say(const struct dictionary_facts *facts)
{
    char read[32], rendered[32];
    if (facts->read > 0)
        log_say("templates  %s read, %s can be rendered", format_count(facts->read, read),
                format_count(facts->rendered, rendered));
    if (facts->left_out > 0)
        log_say("templates  %s of the longest are left out: all together exceed %s",
                format_count(facts->left_out, read), format_bytes(TEMPLATES_BYTES_MAX, rendered));
}

int template_pass_run(const struct dsdata_settings *settings, struct inputs *inputs, struct error *err)
{
    struct buf text = {0};
    struct dictionary_facts facts;
    if (!template_pass_wanted(settings, inputs))
        return 0;
    int result = template_pass(settings, inputs, &text, &facts, err);
    if (result == 0)
        template_pass_say(&facts);
    if (result == 0)
        result = template_pass_use(inputs, buf_str(&text), "the dump's templates", err);
    buf_release(&text);
    return result;
}
