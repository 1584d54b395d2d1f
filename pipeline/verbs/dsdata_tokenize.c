/* dsdata tokenize: for each line of standard input or files, prints a line of pieces on standard output. Blocks of
 * whole lines go over a belt: read in order, tokenized by all threads, printed in order. The blocks bound the
 * memory. */
#include "base/belt.h"
#include "base/cores.h"
#include "base/file.h"
#include "base/output.h"
#include "base/progress.h"
#include "pipeline/dump/sniff.h"
#include "pipeline/build/published.h"
#include "pipeline/input/workers.h"
#include "tokenizer/lines.h"

#include <stdio.h>

#define BLOCK_BYTES    ((size_t)1 << 20)
#define LINE_BYTES_MAX ((size_t)16 << 20)

_Static_assert((int)TOKENIZE_IDS == (int)LINES_IDS && (int)TOKENIZE_PIECES == (int)LINES_PIECES &&
                   (int)TOKENIZE_JSON == (int)LINES_JSON,
               "the option's choices are the formats");

struct tokenization {
    struct vocab *vocab;
    struct lines *lines;
    struct tokenizer *tokenizer;
    struct workers states;
    const char *const *paths; /* [path_count] */
    size_t path_count, path;  /* path: the one being read */
    struct file file;         /* open while fd >= 0 */
    uint64_t offset;          /* of `rest` in that file */
    struct buf rest;          /* the incomplete line after the last block */
};

struct job {
    struct buf text, out;
    struct ids ids;
};

/* Opens the next file if none is open: 1; 0: there is none left. */
static int open_next(struct tokenization *work, struct error *err)
{
    if (work->file.fd >= 0)
        return 1;
    if (work->path == work->path_count)
        return 0;
    TRY(file_open_input(&work->file, work->paths[work->path], err));
    work->offset = 0;
    return 1;
}

/* Reads until `text`, which begins with the rest of the previous block, contains the end of a line or the file ends. */
static int read_lines(struct tokenization *work, struct buf *text, struct error *err)
{
    size_t searched = 0;
    for (;;) {
        buf_reserve(text, BLOCK_BYTES);
        const int64_t got = file_read(&work->file, text->data + text->size, BLOCK_BYTES, err);
        if (got < 0)
            return -1;
        text->size += (size_t)got;
        if ((size_t)got < BLOCK_BYTES) {
            file_close(&work->file);
            work->path++;
            return 0;
        }
        const char *const newline = memrchr(text->data + searched, '\n', text->size - searched);
        if (newline) {
            const size_t lines = (size_t)(newline + 1 - text->data);
            buf_add(&work->rest, newline + 1, text->size - lines);
            text->size = lines;
            work->offset += lines;
            return 0;
        }
        searched = text->size;
        if (text->size > LINE_BYTES_MAX)
            return fail_at(err, ERR_UNSAFE, work->paths[work->path], work->offset, "a line of more than %zu MiB",
                           LINE_BYTES_MAX >> 20);
    }
}

/* Compressed bytes and archives would be tokenized as lines of nonsense. */
static int refuse_packed(const char *name, struct str head, struct error *err)
{
    enum container container;
    struct error kind = {0};
    if (sniff_container(name, head, &container, &kind) == 0 && container == CONTAINER_NONE)
        return 0;
    fail_at(err, ERR_UNSAFE, name, ERROR_NO_OFFSET, "is not plain text; tokenize reads lines");
    return hint(err, "unpack it into a pipe, as in: gzip -dc FILE | dsdata tokenize --vocab VOCAB");
}

static int read_block(void *context, void *slot, uint64_t number, struct error *err)
{
    struct tokenization *work = context;
    struct job *job = slot;
    (void)number;
    buf_reset(&job->text);
    while (job->text.size == 0) {
        const int open = open_next(work, err);
        if (open < 0)
            return -1;
        if (!open || stop_requested())
            return BELT_END;
        buf_add_str(&job->text, buf_str(&work->rest));
        buf_reset(&work->rest);
        const bool begins = work->offset == 0;
        const char *name = work->paths[work->path];
        TRY(read_lines(work, &job->text, err));
        if (begins)
            TRY(refuse_packed(name, buf_str(&job->text), err));
    }
    return BELT_NEXT;
}

static int tokenize(void *context, void *slot, uint64_t number, struct error *err)
{
    struct tokenization *work = context;
    struct job *job = slot;
    (void)number;
    (void)err;
    buf_reset(&job->out);
    struct tokenizer_state *state = workers_take(&work->states);
    lines_tokenize(work->lines, state, buf_str(&job->text), &job->ids, &job->out);
    workers_give(&work->states, state);
    return BELT_NEXT;
}

static int print(void *context, void *slot, uint64_t number, struct error *err)
{
    struct job *job = slot;
    (void)context;
    (void)number;
    if (fwrite(job->out.data, 1, job->out.size, stdout) != job->out.size)
        return output_failed(err);
    return BELT_NEXT;
}

static void release_job(void *slot)
{
    struct job *job = slot;
    buf_release(&job->text);
    buf_release(&job->out);
    ids_release(&job->ids);
}

static void *open_state(const void *tokenizer)
{
    return tokenizer_state_open(tokenizer);
}

static void close_state(void *state)
{
    tokenizer_state_close(state);
}

static int run(struct tokenization *work, size_t threads, struct error *err)
{
    static const struct belt_step steps[] = {{"read", 1, read_block}, {"tokenize", 0, tokenize}, {"print", 1, print}};
    const struct belt_options belt = {.steps = steps,
                                      .step_count = sizeof steps / sizeof *steps,
                                      .depth = 2 * threads,
                                      .threads = threads,
                                      .job_size = sizeof(struct job),
                                      .job_release = release_job,
                                      .context = work};
    workers_open(&work->states, open_state, close_state, work->tokenizer);
    int result = belt_run(&belt, NULL, err);
    workers_close(&work->states);
    if (result == 0 && fflush(stdout) != 0)
        result = output_failed(err);
    if (result == 0 && stop_requested())
        result = fail(err, ERR_STOPPED, "stopped on request; tokenize starts anew when repeated");
    return result;
}

int dsdata_tokenize(void *settings, struct opt_paths bare, struct error *err)
{
    struct dsdata_settings *given = settings;
    static const char *const standard_input[] = {"-"};
    struct tokenization work = {.paths = bare.count ? bare.items : standard_input,
                                .path_count = bare.count ? bare.count : 1,
                                .file = FILE_CLOSED};
    if (!given->vocab) {
        fail(err, ERR_USAGE, "tokenize needs --vocab FILE");
        return hint(err, "dsdata vocab INPUT --out vocab.txt learns one");
    }
    stop_on_signals();
    TRY(published_vocab(given, &work.vocab, err));
    struct tokenizer_options words = published_words(given);
    words.special_in_text = true; /* as AutoTokenizer */
    work.tokenizer = tokenizer_open(work.vocab, &words);
    work.lines = lines_open(work.vocab, &(struct lines_options){(enum lines_format)given->format, given->special});
    const int result = run(&work, given->threads ? (size_t)given->threads : cores_allowed(), err);
    file_close(&work.file);
    buf_release(&work.rest);
    lines_close(work.lines);
    tokenizer_close(work.tokenizer);
    vocab_close(work.vocab);
    return result;
}
