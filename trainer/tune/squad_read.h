/* Files of questions in SQuAD's form (Rajpurkar et al. 2016, 2018): data[].paragraphs[].context and .qas[] with id,
 * question, answers[] {text, answer_start} and, in version 2, is_impossible. Places in a context count code points. Or
 * JSON lines: an object for each question, with context, question and, if there are such, id, answers and
 * is_impossible; answers may be {text[], answer_start[]} too, and a question without an id has its number from 1.
 * Files and standard input as input.h reads them.
 *
 *     squad_read(&file, "train-v1.1.json", err) → file.questions[i] … → squad_release
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#define SQUAD_BYTES_MAX (512u << 20)

/* A context and its words: what is between blanks, tabs, CR, LF and U+202F. */
struct squad_context {
    struct str text;
    struct str *words; /* [word_count] views */
    uint32_t word_count;
    uint32_t
        *word_at;    /* [length] the word of each code point, that before it for a blank; UINT32_MAX before the first */
    uint32_t length; /* code points */
};

struct squad_answer {
    struct str text;
    uint32_t start;  /* code points into the context */
    uint32_t length; /* code points */
};

struct squad_question {
    struct str id; /* a number is its decimal digits */
    struct str text;
    const struct squad_context *context;
    struct squad_answer *answers; /* [answer_count] */
    uint32_t answer_count;
    bool impossible;
    json_t *json; /* the object that it was read from */
};

struct squad_file {
    json_t *json; /* holds all texts */
    struct arena arena;
    struct squad_question *questions;
    size_t count;
    bool lines;     /* JSON lines: each question is the only one of its paragraph, and has the keys of its line */
    bool version_2; /* some question says whether it is impossible */
};

/* ERR_INPUT, naming the id or line: not JSON, not of this form, a repeated id, an answer that begins outside its
 * context. ERR_UNSAFE: more than SQUAD_BYTES_MAX. */
int squad_read(struct squad_file *file, const char *path, struct error *err);
bool squad_has_answers(const struct squad_file *file); /* some question has one, or says that it is impossible */
void squad_release(struct squad_file *file);           /* also where squad_read failed */

/* White space here is that of Python's str.split(). */
struct str squad_trim(struct str text); /* without white space at its ends */
/* Takes the next word off the text; false: there is none. */
bool squad_next_word(struct str *rest, struct str *word);
/* Appends the words of a text, with one blank between. */
void squad_add_words(struct str text, struct buf *out);
