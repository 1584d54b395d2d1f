/* The inputs of a command: opened, recognised, with their heads read. */
#pragma once

#include "pipeline/input/text_folder.h"
#include "pipeline/input/input_kind.h"
#include "pipeline/parts/dsdata_settings.h"
#include "pipeline/text/templates/templates.h"
#include "pipeline/text/words/codes.h"

#define UNDETERMINED "und" /* a language that is not known, on screens and in the journal */

/* The language of an input, and where that is known from. */
struct input_language {
    char code[CODE_BYTES_MAX]; /* "": not known */
    enum { LANGUAGE_OF_OPTION, LANGUAGE_OF_INPUT, LANGUAGE_OF_WIKI, LANGUAGE_GUESSED } by;
    const char *seems; /* LANGUAGE_OF_WIKI: what its first pages are clearly written in instead; else NULL */
};

struct inputs {
    struct dump **dumps; /* [count] */
    char **paths;        /* [count] as typed, without LANG=; FOLDER/NAME; the file of a spooled "-". Owned. */
    size_t *parts;       /* [count] parts of its folder from this input on, including itself; 0: not in a folder */
    struct input_language *languages; /* [count] */
    struct probe *probes;             /* [count] what their beginnings look like */
    struct text_layout layout;        /* of all text */
    size_t too_long; /* 1 + the index of a text file that is too long to be a document, if that mattered; else 0 */
    struct split_ids *ids; /* [count] the ids at their beginnings */
    char *forms;           /* "-,lines": of text that is not FORM_SENTENCES; NULL: none */
    char *named;           /* "-,fi,und": languages that are neither from --lang nor from a wiki; NULL: none */
    struct article_options *articles; /* [count] options for reading each input */
    size_t count, room;
    struct text_folder *folders; /* [folder_count] folders of texts, with what was left out of them */
    size_t folder_count;
    size_t *in_folder;           /* [count] 1 + the index of the one that the input is in; 0: none */
    size_t blank;                /* further inputs that were left out because nothing on them shows */
    char *first_blank;           /* the first of them; or NULL */
    const char *spool;           /* from the settings, if "-" is among the inputs; else NULL */
    struct templates *templates; /* of --templates, or NULL */
    char templates_hash[17];     /* of that file, or "" */
    char lang[CODE_BYTES_MAX];   /* of --lang, or "" */
    struct encoding encoding;    /* of --encoding */
    struct filters *filters;     /* clean/filter.h; NULL: none */
};

/* Opens the inputs named by the option of each kind (--wiki, --text, …) and the bare arguments, in this order. A
 * folder gives its parts (folder.h), which are checked by its SHA256SUMS once they are read to their ends, or the
 * texts in it (text_folder.h). ERR_INPUT: there are none. ERR_USAGE: no input, a --lang that is not a code, an
 * --encoding that is none, a folder with parts of two wikis, or one that is a dataset.
 *
 * The language of a file is the one typed before it (fi=FILE), else that of --lang, else the one its dump states,
 * else, for text and JSON lines, a guess by its beginning. Any code before a '=' is taken for a language, so a file
 * whose own name looks like that must be typed with its folder: ./fi=FILE.
 *
 * --encoding holds for every input. Google's program leaves out ill-formed bytes, so --compat google does not
 * refuse them. */
int inputs_open(struct inputs *inputs, const struct dsdata_settings *settings, struct opt_paths bare,
                struct error *err);
void inputs_close(struct inputs *inputs);

/* The windows of all inputs form one row: those of the first input, then those of the second, … A place is before a
 * window; the place after the last window of an input is that before the first of the next. Not available with a
 * pipe. */
struct place {
    uint32_t file; /* index of the input; all of them: the row's end */
    uint64_t window;
};
int place_compare(struct place a, struct place b);                    /* < 0, 0, > 0 if a is before, at, after b */
struct place inputs_place(const struct inputs *inputs, uint64_t row); /* UINT64_MAX: the end, also with a pipe */
uint64_t inputs_row(const struct inputs *inputs, struct place place);

uint64_t
inputs_windows(const struct inputs *inputs);        /* of all inputs; 0 with a pipe or an input that was not measured */
uint64_t inputs_bytes(const struct inputs *inputs); /* as stored; 0 with a pipe */
/* Makes the windows of compressed inputs known, which requires decoding them; logs a line if that takes a pass. */
int inputs_measure(const struct inputs *inputs, struct error *err);
size_t inputs_memory(const struct inputs *inputs); /* memory for decoding compressed inputs, one at a time */
const char *inputs_name(const struct inputs *inputs, size_t i); /* its path as typed; "-" for standard input */
bool inputs_pipe(const struct inputs *inputs);                  /* standard input is among them */
/* The path of an input as typed, without the LANG= before it. */
const char *inputs_path_of(const char *typed);
/* True if standard input is among them; before anything is opened, because a pipe waits for its first bytes. */
bool inputs_ask_for_pipe(const struct dsdata_settings *settings, struct opt_paths bare);
bool inputs_of_pages(const struct inputs *inputs); /* all of them are dumps, whose documents are called pages */
/* True if all are in English, or dumps that do not state a language. */
bool inputs_english(const struct inputs *inputs);

/* Logs what the inputs are: kind, language, size; in a line for each or for each folder, or, of more than a few files,
 * one line for all of a kind (under -v a line for each); and what a document is. `directory`: where the dataset will
 * be. */
void inputs_say(const struct inputs *inputs, const char *directory);
/* The same for inputs of which something was guessed. */
void inputs_say_guesses(const struct inputs *inputs);

/* Warns about what the beginnings of the inputs show: JSON lines without a text, other encodings, an input that is
 * named twice, options that no input uses. */
void inputs_warn(const struct dsdata_settings *settings, const struct inputs *inputs);
/* For inputs that gave no document: ERR_INPUT, with what became of their pages (`counts`, or NULL) and, for JSON lines,
 * the keys that they have. */
int inputs_gave_nothing(const struct inputs *inputs, const struct counts *counts, struct error *err);

/* A fast hash of the first and last 64 KiB of the file, or of its archive, which detects that it was exchanged; 0 for a
 * pipe. */
int inputs_fingerprint(const struct inputs *inputs, size_t index, uint64_t *fingerprint, struct error *err);

/* "enwiki-latest-pages-articles" if the first input is "/dumps/enwiki-latest-pages-articles.xml.bz2",
 * "enwiki-2026-11-01" for "/dumps/enwiki-2026-11-01/", and for several inputs in that folder; with "-shards"
 * appended if that name is the folder itself; "" if there is none. Freed with mem_free. */
char *inputs_stem(const struct dsdata_settings *settings, struct opt_paths bare);
