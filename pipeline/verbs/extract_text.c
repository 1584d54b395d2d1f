#include "pipeline/verbs/extract_text.h"

#include "base/hash.h"
#include "base/log.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#define GZIP_LEVEL 6
#define ZSTD_LEVEL 3

/* Scratch of one thread. */
struct extractor {
    const struct extract_form *form;
    struct article_reader *reader;
    struct sentences sentences;
    struct buf text; /* of one file, before it is packed */
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

static void add_member(struct buf *out, const char *key, struct str text)
{
    if (text.size == 0)
        return;
    buf_addf(out, ",\"%s\":", key);
    buf_add_json(out, text);
}

/* The last part of a path: where the file stands is of no use to whoever reads the text. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void add_source(struct buf *out, struct str name)
{
    char safe[NAME_MAX + 1];
    add_member(out, "source", utf8_valid(name) ? name : str_of(log_safe(name.data, safe, sizeof safe)));
}

static void add_json(struct buf *out, const struct inputs *inputs, uint32_t file, const struct article *article)
{
    SCOPED(buf_release) struct buf url = {0};
    add_url(inputs->articles[file].siteinfo, article->title, &url);
    buf_addf(out, "{\"id\":%" PRIu64 ",\"revid\":%" PRIu64 ",\"title\":", article->id, article->revision_id);
    buf_add_json(out, article->title);
    buf_add_text(out, ",\"text\":");
    buf_add_json(out, article->text);
    add_member(out, "source_id", article->source_id);
    add_member(out, "url", article->url.size > 0 ? article->url : buf_str(&url));
    add_member(out, "timestamp", article->timestamp);
    add_member(out, "lang", article->language.size > 0 ? article->language : str_of(inputs->languages[file].code));
    if (article->source.size > 0) /* where the text came from at first */
        add_member(out, "source", article->source);
    else
        add_source(out, str_of(base_name(inputs_name(inputs, file))));
    buf_add_text(out, "}\n");
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

static void begin_job(struct extract_job *job, const struct extract_form *form)
{
    if (!job->files) {
        job->files = mem_clear(form->files, sizeof *job->files);
        job->file_count = form->files;
    }
    for (uint32_t i = 0; i < job->file_count; i++)
        buf_reset(&job->files[i]);
    job->counts = (struct counts){0};
    missing_reset(&job->missing);
}

static void pack_job(struct extractor *extractor, struct extract_job *job)
{
    for (uint32_t i = 0; i < job->file_count; i++) {
        if (job->files[i].size == 0)
            continue;
        buf_reset(&extractor->text);
        buf_add_str(&extractor->text, buf_str(&job->files[i]));
        buf_reset(&job->files[i]);
        extract_gzip(buf_str(&extractor->text), &job->files[i]);
    }
}

/* The documents of a group go to one file after the other, from one that the group's name decides. So a file is nearly
 * as long as another, and no thread has to know what others do. */
static uint32_t first_file(const struct group *group, uint32_t files)
{
    const uint32_t name[] = {group->file, group->window, group->part};
    return (uint32_t)(hash64(name, sizeof name) % files);
}

static void extract_group(const void *context, void *worker, void *slot)
{
    struct extractor *extractor = worker;
    struct extract_job *job = slot;
    (void)context;
    const struct extract_form *form = extractor->form;
    struct group *group = &job->feed.group;
    const struct article_options *options = &form->inputs->articles[job->feed.file];
    begin_job(job, form);
    article_count_group(options, group, &job->counts, &job->missing);
    uint32_t file = first_file(group, form->files);
    for (size_t i = 0; i < group->record_count; i++) {
        struct article article;
        job->counts.input_bytes += group->records[i].size;
        article_read(extractor->reader, options, group, i, &article);
        article.fate = repeats_fate(form->repeats, group, i, extractor->reader, &article);
        article_count(extractor->reader, &article, &job->counts, &job->missing);
        if (article.fate != PAGE_KEPT)
            continue;
        job->counts.text_bytes += article.text.size;
        if (form->format == EXTRACT_JSONL)
            add_json(&job->files[file], form->inputs, job->feed.file, &article);
        else
            add_sentences(extractor, options, &article, &job->files[file]);
        file = file + 1 < form->files ? file + 1 : 0;
    }
    if (form->packing == CONTAINER_GZIP)
        pack_job(extractor, job);
}

static void release_job(void *slot)
{
    struct extract_job *job = slot;
    feed_job_release(&job->feed);
    missing_release(&job->missing);
    for (uint32_t i = 0; i < job->file_count; i++)
        buf_release(&job->files[i]);
    mem_free(job->files);
}

static void *extractor_open(const void *form)
{
    struct extractor *extractor = mem_clear(1, sizeof *extractor);
    extractor->form = form;
    extractor->reader = article_open();
    return extractor;
}

static void extractor_close(void *worker)
{
    SCOPED(mem_free_at) struct extractor *extractor = worker;
    article_close(extractor->reader);
    sentences_release(&extractor->sentences);
    buf_release(&extractor->text);
}

struct feed_work extract_feed_work(const struct extract_form *form)
{
    return (struct feed_work){.work_name = "extract",
                              .work = extract_group,
                              .job_size = sizeof(struct extract_job),
                              .job_release = release_job,
                              .worker_open = extractor_open,
                              .worker_close = extractor_close,
                              .worker_options = form};
}

void extract_gzip(struct str text, struct buf *out)
{
    enum { MEMBER = 16 + MAX_WBITS }; /* zlib: gzip, the largest window */
    z_stream stream = {0};
    int result = deflateInit2(&stream, GZIP_LEVEL, Z_DEFLATED, MEMBER, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY);
    if (result == Z_OK) {
        assert(text.size < UINT32_MAX);
        const size_t bound = deflateBound(&stream, text.size);
        buf_reserve(out, bound);
        stream.next_in = (Bytef *)(uintptr_t)text.data;
        stream.avail_in = (uInt)text.size;
        stream.next_out = (Bytef *)out->data + out->size;
        stream.avail_out = (uInt)bound;
        result = deflate(&stream, Z_FINISH);
        out->size += stream.total_out;
        deflateEnd(&stream);
    }
    if (result != Z_STREAM_END)
        die(ERR_RESOURCE, "out of memory");
}

int extract_zstd(const char *from, const char *path, struct error *err)
{
    SCOPED(file_close) struct file in = FILE_CLOSED, out = FILE_CLOSED;
    ZSTD_CCtx *context = ZSTD_createCCtx();
    const size_t in_max = ZSTD_CStreamInSize(), out_max = ZSTD_CStreamOutSize();
    SCOPED(mem_free_at) char *text = mem_alloc(in_max), *packed = mem_alloc(out_max);
    int result = context ? file_open_read(&in, from, err) : fail(err, ERR_RESOURCE, "out of memory");
    if (result == 0)
        result = file_create(&out, path, err);
    if (result == 0)
        ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, ZSTD_LEVEL);
    for (bool ended = false; result == 0 && !ended;) {
        const int64_t bytes = file_read(&in, text, in_max, err);
        ZSTD_inBuffer step = {text, bytes < 0 ? 0 : (size_t)bytes, 0};
        result = bytes < 0 ? -1 : 0;
        ended = bytes < (int64_t)in_max;
        for (size_t left = 1; result == 0 && (ended ? left > 0 : step.pos < step.size);) {
            ZSTD_outBuffer made = {packed, out_max, 0};
            left = ZSTD_compressStream2(context, &made, &step, ended ? ZSTD_e_end : ZSTD_e_continue);
            result = ZSTD_isError(left) ? fail(err, ERR_RESOURCE, "Zstandard: %s", ZSTD_getErrorName(left))
                                        : file_write(&out, packed, made.pos, err);
        }
    }
    if (result == 0)
        result = file_commit(&out, err);
    ZSTD_freeCCtx(context);
    return result;
}
