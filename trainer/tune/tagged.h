/* Sentences of words with tags, as corpora have them:
 *
 *     CoNLL       a line per word, columns between blanks or tabs; the word first, its tag last or in another column; a
 *                 blank line ends a sentence; lines that begin with -DOCSTART- are none
 *     CoNLL-U     ten columns between tabs (https://universaldependencies.org/format.html); comments, ranges of words
 *                 (3-4) and empty words (5.1) are no words
 *     JSON lines  {"tokens": [...], "tags": [...]}
 *
 * A file or "-", plain or packed by bzip2; read once.
 *
 *     tagged_open → tagged_next … → tagged_close */
#pragma once

#include "trainer/data/input.h"

#define TAGGED_WORDS_MAX 100000u /* of a sentence */

struct tagged_word {
    struct str word, tag; /* the tag is empty where tags are not wanted or missing */
};
struct tagged_line {
    struct str text;
    bool word; /* it is the next word's */
};

struct tagged {
    const char *path; /* borrowed */
    bool wanted;      /* tags must be there */
    bool json, conllu;
    bool placed;     /* a tag was there */
    const char *end; /* "\n" or "\r\n": how lines end */
    size_t place;    /* of the tag's column; SIZE_MAX: the last */
    uint64_t line;   /* where the sentence begins */
    struct tagged_word *words;
    size_t word_count, word_room;
    struct tagged_line *lines; /* of the file, up to the blank one that ends the sentence */
    size_t line_count, line_room;

    struct input in;
    struct buf bytes; /* of the sentence; while it grows, texts are offsets in it */
    bool begun;
};

/* `column`: a number from 1, or a name of CoNLL-U; NULL: the last. `wanted`: a word without a tag is an error. The
 * caller calls tagged_close, on error too. ERR_USAGE: no such name. */
int tagged_open(struct tagged *tagged, const char *path, const char *column, bool wanted, struct error *err);
/* The next sentence, possibly without words (comments at the end): 1; 0 after the last. ERR_INPUT names the line;
 * ERR_USAGE: the first word lacks the column that is wanted. */
int tagged_next(struct tagged *tagged, struct error *err);
void tagged_close(struct tagged *tagged);
