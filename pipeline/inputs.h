/* The inputs of a command: opened, recognised, their heads read. */
#ifndef PIPELINE_INPUTS_H
#define PIPELINE_INPUTS_H

#include "pipeline/article.h"
#include "pipeline/dsdata_settings.h"
#include "pipeline/dump/dump.h"
#include "pipeline/look.h"
#include "pipeline/text/templates/templates.h"
#include "pipeline/text/words/codes.h"

#define UNDETERMINED "und" /* a language that is not known, on screens and in the journal */

/* The language of an input, and who says so. */
struct input_language {
    char code[CODE_BYTES_MAX]; /* "": not known */
    enum { LANGUAGE_OF_OPTION, LANGUAGE_OF_INPUT, LANGUAGE_OF_WIKI, LANGUAGE_GUESSED } by;
};

struct inputs {
    struct dump **dumps; /* [count] */
    char **paths;        /* [count] as typed, without LANG=; FOLDER/NAME; of a spooled "-" its file. Owned. */
    size_t *parts;       /* [count] parts of its folder from this input on, itself among them; 0: a file of its own */
    struct input_language *languages; /* [count] */
    struct look *looks;               /* [count] at their beginnings */
    char *forms;                      /* "-,lines": of text that is not FORM_SENTENCES; NULL: there is none */
    char *named; /* "-,fi,und": the languages that the inputs do not get by --lang or their wiki; NULL: none do */
    struct article_options *articles; /* [count] how each is read */
    size_t count;
    const char *spool;           /* the settings', where "-" is among the inputs; else NULL */
    struct templates *templates; /* of --templates, or NULL */
    char templates_hash[17];     /* of that file, or "" */
    char lang[CODE_BYTES_MAX];   /* of --lang, or "" */
};

/* Opens --wiki, --text, --jsonl and the bare arguments, in this order; of a folder its parts (folder.h), which are
 * checked by its SHA256SUMS when they are read to their ends. No input, a --lang that is no code, a folder of --text or
 * --jsonl, or one with the parts of two wikis: ERR_USAGE.
 *
 * A file has the language that is typed before it (fi=FILE), else that of --lang, else what its dump says, else, text
 * and JSON lines, the one that its beginning is guessed to be in. What stands before a '=' is a language wherever it is
 * a code: a file of such a name is typed with its folder, ./fi=FILE. */
int inputs_open(struct inputs *inputs, const struct dsdata_settings *settings, struct opt_paths bare,
                struct error *err);
void inputs_close(struct inputs *inputs);

/* The windows of all inputs form one row: all of the first input, all of the second, … A place stands before a window;
 * that after the last window of an input is the one before the first of the next. Not with a pipe. */
struct place {
    uint32_t file; /* index of the input; all of them: the row's end */
    uint64_t window;
};
int place_compare(struct place a, struct place b);                    /* < 0, 0, > 0 as a stands before, at, after b */
struct place inputs_place(const struct inputs *inputs, uint64_t row); /* UINT64_MAX: the end, with a pipe too */
uint64_t inputs_row(const struct inputs *inputs, struct place place);

uint64_t
inputs_windows(const struct inputs *inputs); /* over all; 0 where a pipe is among them, or what is not measured */
uint64_t inputs_bytes(const struct inputs *inputs); /* as stored; 0 where a pipe is among them */
/* Makes the windows of compressed inputs known, which only decoding them tells; says so where that takes a pass. */
int inputs_measure(const struct inputs *inputs, struct error *err);
size_t inputs_memory(const struct inputs *inputs); /* bytes that decoding compressed inputs takes, one at a time */
const char *inputs_name(const struct inputs *inputs, size_t i); /* its path as typed, "-" of standard input */
bool inputs_pipe(const struct inputs *inputs);                  /* is standard input among them? */
/* The same before anything is opened (opening a pipe waits for its first bytes). */
bool inputs_ask_for_pipe(const struct dsdata_settings *settings, struct opt_paths bare);
bool inputs_have_wiki(const struct inputs *inputs); /* is a dump among them? */
/* Are all in English (or dumps that do not say)? */
bool inputs_english(const struct inputs *inputs);

/* Says of all inputs what they are, in a line each or one for a folder: kind, language, size. `directory`: where the
 * dataset will be. */
void inputs_say(const struct inputs *inputs, const char *directory);
/* The same of those of which something was guessed. */
void inputs_say_guesses(const struct inputs *inputs);

/* Warns of JSON lines whose beginning has no text. */
void inputs_warn_keys(const struct inputs *inputs);
/* Of inputs that gave no document: ERR_INPUT, with what became of their pages (`counts`, or NULL) and, of JSON lines,
 * the keys that they have. */
int inputs_gave_nothing(const struct inputs *inputs, const struct counts *counts, struct error *err);

/* A quick hash of the file's first and last 64 KiB: enough to see that a file was exchanged; 0 for a pipe. */
int inputs_fingerprint(const struct inputs *inputs, size_t index, uint64_t *fingerprint, struct error *err);

/* "enwiki-latest-pages-articles" where the first input is "/dumps/enwiki-latest-pages-articles.xml.bz2",
 * "enwiki-2026-11-01" of "/dumps/enwiki-2026-11-01/", with "-shards" after it where that is the folder itself; "" where
 * there is none. Freed with mem_free. */
char *inputs_stem(const struct dsdata_settings *settings, struct opt_paths bare);

#endif
