#include "pipeline/build/template_pass.h"

#include "base/belt.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "pipeline/input/feed.h"
#include "pipeline/build/resource_plan.h"
#include "pipeline/build/stream_index.h"
#include "pipeline/text/templates/transclusion.h"
#include "pipeline/text/xml/xml.h"
#include "pipeline/text/xml/xml_scan.h"

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
    struct magic magic;
    struct namespaces namespaces;
    struct buf text;
};

struct found {
    enum body_kind kind;
    size_t name_bytes, text_bytes;
};

struct piece {
    size_t at, size;
};

/* The result of a group. */
struct job {
    struct feed_job feed; /* first: see feed.h */
    struct buf text;      /* names and renderings of templates, one after the other */
    struct found *found;
    size_t count, capacity;
    struct buf references; /* names of pages that are inserted, a line each; "": any */
    struct buf others;     /* struct piece: the records of the group that are no templates */
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

    /* Pages that are no templates, as XML, until it is known which are inserted in others. */
    struct buf others, places; /* of struct piece in `others` */
    uint64_t other_bytes;
    struct name_table inserted; /* their names; */
    struct arena names;
    bool inserts_any;      /* or a computed name, which may be any */
    _Atomic bool is_large; /* they are too many: none is inserted */

    /* Then only templates count, so that those streams of the dump are read that hold some. */
    struct stream_index index;
    struct file dump;
    bool has_index;
    size_t next_stream; /* to be read */
};

/* What is between two tags in the head of a page; data NULL: nothing. */
static struct str head_element(struct str record, struct str open, struct str close)
{
    const struct str head = {record.data, record.size < HEAD_BYTES ? record.size : HEAD_BYTES};
    const size_t at = str_find(head, open);
    const struct str rest = at == SIZE_MAX ? STR("") : str_range(head.data + at + open.size, head.data + head.size);
    const size_t size = str_find(rest, close);
    return at == SIZE_MAX || size == SIZE_MAX ? (struct str){0} : (struct str){rest.data, size};
}

/* The namespace of a page; -1: none whose pages are read. */
static int32_t head_namespace(struct str record)
{
    const struct str number = head_element(record, STR("<ns>"), STR("</ns>"));
    int32_t ns = 0;
    for (size_t i = 0; i < number.size; i++) {
        if (number.data[i] < '0' || number.data[i] > '9' || ns > 99999)
            return -1;
        ns = 10 * ns + (number.data[i] - '0');
    }
    return ns % 2 == 0 ? ns : -1;
}

/* Name of a page in the dictionary: a template's own, ":Title" of the main namespace, else with its namespace. */
static struct str name_of(int32_t ns, struct str title, char out[NAME_BYTES_MAX])
{
    const char *colon = memchr(title.data, ':', title.size);
    if (ns == NAMESPACE_TEMPLATE)
        return colon ? name_canonical(str_range(colon + 1, title.data + title.size), out) : STR("");
    const struct str name = name_canonical(title, out);
    if (ns != 0 || name.size == 0)
        return name;
    if (name.size + 1 >= NAME_BYTES_MAX)
        return STR("");
    memmove(out + 1, name.data, name.size);
    out[0] = ':';
    return (struct str){out, name.size + 1};
}

/* Parses a page of wikitext; its name, or "": it is none that is read. */
static struct str parse_page(struct reader *reader, struct str record, struct page *page, char out[NAME_BYTES_MAX])
{
    arena_reset(&reader->arena);
    buf_reset(&reader->text);
    if (page_parse(reader->parser, record, &reader->arena, page) < 0 ||
        (page->model.size > 0 && !str_equal(page->model, STR("wikitext"))))
        return STR("");
    return name_of(page->ns, page->title, out);
}

static void read_template(struct reader *reader, const struct language *language, struct str record, struct job *job)
{
    struct page page;
    char canonical[NAME_BYTES_MAX];
    const struct str name = parse_page(reader, record, &page, canonical);
    if (name.size == 0 || page.ns != NAMESPACE_TEMPLATE)
        return;
    const enum body_kind kind = body_read(&reader->body, language, page.text, page.is_redirect, &reader->text);
    job->found = mem_room(job->found, job->count + 1, &job->capacity, sizeof job->found[0]);
    job->found[job->count++] = (struct found){kind, name.size, reader->text.size};
    buf_add_str(&job->text, name);
    buf_add_str(&job->text, buf_str(&reader->text));
}

/* ------------------------------------------------------------------------------------------- pages in other pages */

#define IF_EXISTS STR("#ifexist") /* among the names of pages: it is asked which exist */

static bool asks_which_exist(const struct reader *reader, struct str name)
{
    const char *colon = memchr(name.data, ':', name.size);
    const struct str typed = str_range(name.data, colon ? colon : name.data);
    const struct str own = magic_function(&reader->magic, typed);
    return str_equal_ascii_nocase(own.size > 0 ? own : typed, IF_EXISTS);
}

/* Adds the name of a page as name_of does, if the name of a call is that of another page than a template. */
static void add_reference(struct reader *reader, struct str name, bool is_computed, struct buf *out)
{
    char plain[NAME_BYTES_MAX + XML_SCAN_ROOM], canonical[NAME_BYTES_MAX];
    size_t at = 0;
    name.size = name.size < NAME_BYTES_MAX ? name.size : NAME_BYTES_MAX;
    name = str_trim((struct str){plain, xml_scan_characters(name, &at, plain)});
    const bool is_main = name.size > 0 && name.data[0] == ':';
    const int32_t ns = is_main || name.size == 0 ? 0 : namespaces_of_title(&reader->namespaces, name);
    if (!is_main && (ns == 0 || ns == NAMESPACE_TEMPLATE))
        return;
    name = str_range(name.data + is_main, name.data + name.size);
    name = is_computed ? STR("") : namespaces_page(&reader->namespaces, name, canonical);
    if (!is_computed && name.size == 0)
        return;
    buf_add_str(out, name);
    buf_add_byte(out, '\n');
}

/* Adds the names of pages that a page inserts: {{:Page}}, {{User:Name/Page}}. A computed name can be any. */
static void read_references(struct reader *reader, struct str xml, struct buf *out)
{
    static const bool ends[256] = {
        ['|'] = true, ['{'] = true, ['}'] = true, ['<'] = true, ['>'] = true, ['#'] = true, ['\n'] = true};
    const char *end = xml.data + xml.size;
    bool asks = false;
    for (const char *at = xml.data; at < end && (at = memchr(at, '{', (size_t)(end - at))) != NULL;) {
        if (++at == end || *at != '{')
            continue;
        const char *name = ++at, *colon = NULL;
        for (; at < end && !ends[(unsigned char)*at]; at++)
            colon = *at == ':' ? at : colon;
        if (!asks && at < end && *at == '#' && asks_which_exist(reader, str_range(at, end))) {
            asks = true;
            buf_add_str(out, IF_EXISTS);
            buf_add_byte(out, '\n');
        } else if (colon)
            add_reference(reader, str_range(name, at), at < end && *at == '{', out);
    }
}

/* The name of a page that is inserted; "": any. */
static void take_reference(struct pass *pass, struct str name)
{
    uint32_t number;
    pass->inserts_any |= name.size == 0;
    if (name.size == 0 || name_table_find(&pass->inserted, name, &number))
        return;
    name_table_add(&pass->inserted, arena_copy(&pass->names, name), 0);
    pass->other_bytes += NAME_BYTES_MAX;
}

static void release_others(struct pass *pass)
{
    buf_release(&pass->others);
    buf_release(&pass->places);
    name_table_release(&pass->inserted);
    arena_release(&pass->names);
    pass->inserts_any = false;
    pass->other_bytes = 0;
}

/* Keeps what may be inserted, until it is too much. */
static void take_others(struct pass *pass, const struct job *job)
{
    const struct piece *pieces = (const struct piece *)(const void *)job->others.data;
    if (pass->is_large)
        return;
    struct str names = buf_str(&job->references);
    for (const char *end; names.size > 0; names = str_range(end + 1, names.data + names.size)) {
        end = memchr(names.data, '\n', names.size);
        take_reference(pass, str_range(names.data, end));
    }
    for (size_t i = 0; i < job->others.size / sizeof *pieces && pass->other_bytes <= OTHER_BYTES_MAX; i++) {
        buf_add(&pass->places, &(struct piece){pass->others.size, pieces[i].size}, sizeof *pieces);
        buf_add(&pass->others, job->feed.group.text.data + pieces[i].at, pieces[i].size);
        pass->other_bytes += pieces[i].size;
    }
    if (pass->other_bytes > OTHER_BYTES_MAX) {
        release_others(pass);
        pass->is_large = true;
    }
}

static bool is_inserted(const struct pass *pass, struct str name)
{
    uint32_t number;
    return name.size > 0 && (pass->inserts_any || name_table_find(&pass->inserted, name, &number));
}

/* By its title in the form that MediaWiki writes; data NULL if it is not known. */
static struct str record_name(struct str record, char out[NAME_BYTES_MAX])
{
    char plain[NAME_BYTES_MAX + XML_SCAN_ROOM];
    const struct str title = head_element(record, STR("<title>"), STR("</title>"));
    size_t at = 0;
    if (!title.data || title.size > NAME_BYTES_MAX)
        return (struct str){0};
    const size_t size = xml_scan_characters(title, &at, plain);
    return at < title.size ? (struct str){0} : name_of(head_namespace(record), (struct str){plain, size}, out);
}

static bool may_be_inserted(const struct pass *pass, struct str record)
{
    char canonical[NAME_BYTES_MAX];
    const struct str name = record_name(record, canonical);
    return !name.data || is_inserted(pass, name);
}

/* Adds the name of a page that is not inserted, where it is asked which exist. */
static void add_name(struct pass *pass, struct str record)
{
    char canonical[NAME_BYTES_MAX];
    uint32_t number;
    const struct str name = record_name(record, canonical);
    if (name.size > 0 && name_table_find(&pass->inserted, IF_EXISTS, &number))
        dictionary_add(pass->dictionary, name, BODY_PAGE, STR(""));
}

/* A redirect is another name of its target, which then is inserted too. */
static void add_redirect(struct pass *pass, struct reader *reader, struct str name, struct str wikitext)
{
    char canonical[NAME_BYTES_MAX];
    const struct str title = str_trim(redirect_title(wikitext));
    const struct str target = name_of(namespaces_of_title(&reader->namespaces, title), title, canonical);
    if (target.size == 0)
        return;
    dictionary_add(pass->dictionary, name, BODY_ALIAS, target);
    take_reference(pass, target);
}

static void add_other(struct pass *pass, struct reader *reader, struct str record, bool redirects)
{
    struct page page;
    char canonical[NAME_BYTES_MAX];
    if ((head_element(record, STR("<redirect"), STR(">")).data != NULL) != redirects)
        return;
    if (!may_be_inserted(pass, record)) {
        add_name(pass, record);
        return;
    }
    const struct str name = parse_page(reader, record, &page, canonical);
    if (!is_inserted(pass, name))
        return;
    if (redirects) {
        add_redirect(pass, reader, name, page.text);
    } else {
        transclusion_take(page.text, &reader->text);
        dictionary_add(pass->dictionary, name, BODY_WIKITEXT, buf_str(&reader->text));
    }
}

static void add_others(struct pass *pass)
{
    const struct piece *places = (const struct piece *)(const void *)pass->places.data;
    const size_t count = pass->inserts_any || pass->inserted.count > 0 ? pass->places.size / sizeof *places : 0;
    struct reader *reader = workers_take(&pass->feed.workers);
    for (size_t i = 0; i < 2 * count; i++) {
        const struct piece place = places[i % count];
        add_other(pass, reader, (struct str){pass->others.data + place.at, place.size}, i < count);
    }
    uint32_t number;
    if (name_table_find(&pass->inserted, IF_EXISTS, &number))
        dictionary_add(pass->dictionary, STR(":"), BODY_PAGE, STR(""));
    workers_give(&pass->feed.workers, reader);
}

/* -------------------------------------------------------------------------------------------------- all of a dump */

static void begin_job(struct job *job)
{
    job->count = 0;
    buf_reset(&job->text);
    buf_reset(&job->references);
    buf_reset(&job->others);
}

static void read_group(const void *context, void *worker, void *slot)
{
    const struct pass *pass = context;
    struct job *job = slot;
    struct reader *reader = worker;
    struct group *group = &job->feed.group;
    const struct article_options *options = &pass->inputs->articles[job->feed.file];
    begin_job(job);
    for (size_t i = 0; i < group->record_count && options->kind->of_pages; i++) {
        const struct piece piece = {group->records[i].offset, group->records[i].size};
        const struct str record = {group->text.data + piece.at, piece.size};
        const int32_t ns = head_namespace(record);
        if (ns == NAMESPACE_TEMPLATE)
            read_template(reader, options->language, record, job);
        if (ns < 0 || pass->is_large)
            continue;
        read_references(reader, record, &job->references);
        if (ns != NAMESPACE_TEMPLATE)
            buf_add(&job->others, &piece, sizeof piece);
    }
}

static void collect_templates(struct pass *pass, const struct job *job)
{
    const char *at = job->text.data;
    for (size_t i = 0; i < job->count; i++) {
        const struct found *found = &job->found[i];
        const struct str name = {at, found->name_bytes}, text = {at + found->name_bytes, found->text_bytes};
        dictionary_add(pass->dictionary, name, found->kind, text);
        at += found->name_bytes + found->text_bytes;
    }
    assert((size_t)(at - job->text.data) == job->text.size);
}

static int collect(void *context, void *slot, struct error *err)
{
    struct pass *pass = context;
    const struct job *job = slot;
    (void)err;
    take_others(pass, job);
    collect_templates(pass, job);
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
    buf_release(&job->references);
    buf_release(&job->others);
    buf_release(&job->bytes);
    buf_release(&job->xml);
    mem_free(job->found);
}

/* ---------------------------------------------------------------------------------------- by the index of streams */

/* Bytes of the dump's streams without templates. Their pages have as many as XML, or more: bzip2 adds at most a
 * hundredth and 600 bytes to what cannot be compressed. */
static uint64_t other_streams(const struct pass *pass)
{
    struct error ignored;
    const int64_t size = file_size(&pass->dump, &ignored);
    uint64_t bytes = size < 0 ? 0 : (uint64_t)size;
    for (size_t i = 0; i < pass->index.count; i++)
        bytes -= pass->index.streams[i].to - pass->index.streams[i].from;
    return bytes;
}

/* Of a dump alone, as Wikimedia offers it: what the index says of a part must hold for all that is read. */
static int find_index(struct pass *pass, struct error *err)
{
    const struct inputs *inputs = pass->inputs;
    const struct siteinfo *site = inputs->articles[0].siteinfo;
    struct str name = STR("");
    const char *wrong;
    if (inputs->count != 1 || dump_container(inputs->dumps[0]) != CONTAINER_BZIP2 || dump_is_made(inputs->dumps[0]))
        return 0;
    TRY(file_open_read(&pass->dump, inputs->paths[0], err));
    for (size_t i = 0; site && i < site->namespace_count; i++)
        if (site->namespaces[i].key == NAMESPACE_TEMPLATE)
            name = site->namespaces[i].name;
    pass->has_index = stream_index_read(&pass->index, inputs->paths[0], &pass->dump, name, &wrong);
    if (wrong)
        log_say("templates: the index beside %s %s, so all of the dump is read", inputs->paths[0], wrong);
    pass->is_large = pass->has_index && other_streams(pass) > OTHER_BYTES_MAX + OTHER_BYTES_MAX / 8;
    return 0;
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
    begin_job(job);
    job->is_stream = job->is_stream && stream_decode(&memory, buf_str(&job->bytes), &job->xml);
    struct str rest = job->is_stream ? buf_str(&job->xml) : STR("");
    for (size_t from; (from = str_find(rest, STR("<page>"))) != SIZE_MAX;) {
        const struct str page = {rest.data + from, rest.size - from};
        const size_t end = str_find(page, STR("</page>")), id = str_find(page, STR("<id>"));
        const size_t size = end == SIZE_MAX ? page.size : end + strlen("</page>");
        rest = (struct str){page.data + size, page.size - size};
        ids = page_ids_add(ids, id < size ? strtoull(page.data + id + strlen("<id>"), NULL, 10) : 0);
        const struct str record = {page.data, size};
        if (size <= PAGE_BYTES_MAX && head_namespace(record) == NAMESPACE_TEMPLATE)
            read_template(reader, pass->inputs->articles[0].language, record, job);
    }
    job->is_stream = job->is_stream && ids == pass->index.streams[job->stream].ids;
    workers_give(&pass->feed.workers, reader);
    bzip2_give(&memory);
    return BELT_NEXT;
}

static int collect_stream(void *context, void *slot, uint64_t number, struct error *err)
{
    struct pass *pass = context;
    const struct job *job = slot;
    (void)number;
    if (!job->is_stream)
        return fail(err, ERR_MISMATCH, "is of another dump");
    collect_templates(pass, job);
    if (progress_due(&pass->progress))
        progress_show(&pass->progress, (double)job->stream / (double)pass->index.count, "templates");
    return BELT_NEXT;
}

/* Instead of what was read until the dump proved to be large. */
static int read_streams(struct pass *pass, const struct resource_plan *plan, struct error *err)
{
    static const struct belt_step steps[] = {
        {"read", 1, take_stream}, {"templates", 0, read_stream}, {"collect", 1, collect_stream}};
    dictionary_close(pass->dictionary);
    pass->dictionary = dictionary_open(TEMPLATES_BYTES_MAX);
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
    reader->magic = magic_find(language_find(code), code);
    namespaces_init(&reader->namespaces, siteinfo, &reader->magic);
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
    int result = pass->is_large ? 0 : feed_run(&pass->feed, plan->depth, plan->threads, NULL, err);
    if (result == 0 && pass->has_index && pass->is_large && !stop_requested())
        result = read_streams(pass, plan, &wrong);
    else if (result == 0)
        add_others(pass);
    release_others(pass);
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
    TRY(find_index(&pass, err));
    progress_open(&pass.progress);
    int result = read_inputs(&pass, &plan, err);
    if (result > 0) {
        log_say("templates: the index beside %s is of another dump, so all of the dump is read", inputs->paths[0]);
        dictionary_close(pass.dictionary);
        pass.has_index = false;
        pass.is_large = false;
        pass.pages = 0;
        result = read_inputs(&pass, &plan, err);
    }
    progress_close(&pass.progress);
    if (result == 0)
        *facts = dictionary_print(pass.dictionary, str_of(inputs->articles[0].code), out);
    if (facts->rendered == 0)
        out->size = 0;
    dictionary_close(pass.dictionary);
    stream_index_release(&pass.index);
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
    SCOPED(buf_release) struct buf text = {0};
    struct dictionary_facts facts;
    if (!template_pass_wanted(settings, inputs))
        return 0;
    TRY(template_pass(settings, inputs, &text, &facts, err));
    template_pass_say(&facts);
    return template_pass_use(inputs, buf_str(&text), "the dump's templates", err);
}
