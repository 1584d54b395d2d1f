/* The inputs of a command: opened, recognised, their heads read. */
#ifndef PIPELINE_INPUTS_H
#define PIPELINE_INPUTS_H

#include "pipeline/article.h"
#include "pipeline/dump/dump.h"
#include "pipeline/settings.h"
#include "pipeline/text/templates.h"

struct inputs {
    struct dump **dumps;              /* [count] */
    const char **paths;               /* [count] as typed */
    struct article_options *articles; /* [count] how each is read */
    size_t count;
    struct templates *templates; /* of --templates, or NULL */
    char templates_hash[17];     /* of that file, or "" */
};

/* Opens --wiki, --text, --jsonl and the bare arguments, in this order. No input: ERR_USAGE. */
int inputs_open(struct inputs *inputs, const struct settings *settings, struct opt_paths bare, struct error *err);
void inputs_close(struct inputs *inputs);

/* The windows of all inputs form one row: all of the first input, all of the second, … A place stands before a window; that
 * behind the last window of an input is the one before the first of the next. Not with a pipe. */
struct place {
    uint32_t file; /* index of the input; all of them: the row's end */
    uint64_t window;
};
int place_compare(struct place a, struct place b);                    /* < 0, 0, > 0 as a stands before, at, behind b */
struct place inputs_place(const struct inputs *inputs, uint64_t row); /* UINT64_MAX: the end, with a pipe too */
uint64_t inputs_row(const struct inputs *inputs, struct place place);

uint64_t inputs_windows(const struct inputs *inputs); /* over all; 0 where a pipe is among them */
uint64_t inputs_bytes(const struct inputs *inputs);   /* as stored; 0 where a pipe is among them */
bool inputs_pipe(const struct inputs *inputs);        /* is standard input among them? */
/* The same before anything is opened (opening a pipe waits for its first bytes). */
bool inputs_ask_for_pipe(const struct settings *settings, struct opt_paths bare);
bool inputs_english(const struct inputs *inputs, const struct settings *settings); /* all in English, or not known */

/* A quick hash of the file's first and last 64 KiB: enough to see that a file was exchanged; 0 for a pipe. */
int inputs_fingerprint(const struct inputs *inputs, size_t index, uint64_t *fingerprint, struct error *err);

/* "enwiki-latest-pages-articles" where the first input is "/dumps/enwiki-latest-pages-articles.xml.bz2"; "" where there is
 * none. Freed with mem_free. */
char *inputs_stem(const struct settings *settings, struct opt_paths bare);

#endif
