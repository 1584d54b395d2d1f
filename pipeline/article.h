/* A record of any input → the text of one document. Comes in: a group (page_parts.h). Goes out: per record its fate and
 * its plain text. build, extract and the vocabulary pass all read through here, so they see the same text. */
#ifndef PIPELINE_ARTICLE_H
#define PIPELINE_ARTICLE_H

#include "base/str.h"
#include "pipeline/counts.h"
#include "pipeline/missing.h"
#include "pipeline/page_parts.h"
#include "pipeline/text/sentences/sentences.h"
#include "pipeline/text/words/languages.h"

struct templates;
struct trace;

/* Where options name no others. */
#define TEXT_KEY "text"
#define ID_KEY   "id"

struct article_options {
    const struct siteinfo *siteinfo; /* of the input; NULL for text and JSON lines */
    const struct language *language;
    const char *code;                  /* of the language; "": not known */
    const char *variant;               /* of the wiki's spellings; NULL: its own */
    enum text_form form;               /* of text; not FORM_AUTO */
    const char *text_key, *id_key;     /* of JSON lines; NULL: TEXT_KEY, ID_KEY */
    uint32_t keep;                     /* enum keep of text/wikitext.h */
    const struct templates *templates; /* --templates, or NULL */
    struct trace *trace;               /* see text/wikitext.h; NULL but for an explanation */
    uint32_t drop;                     /* enum kind of text/page_kinds.h */
    uint64_t min_words;                /* a document of fewer is left out */
};

struct article {
    enum page_fate fate;
    bool is_wiki;             /* it is a page of a wiki */
    bool has_id;              /* id was in the input, not made of a hash */
    uint64_t id, revision_id; /* of an id that is a text: 52 bits of its hash; without one: of the document's text */
    struct str source_id;     /* the text that the id is made of; "" where it is a number */
    struct str timestamp;     /* of the page, or under this key of a JSON line; "" where the input has none */
    struct str url, language; /* of a JSON line, under these keys; else "" */
    struct str title;         /* "" where the input has none */
    struct str text;          /* paragraphs, each ended by '\n'; of kept pages only */
    uint64_t ill_formed;      /* bytes dropped because they were not UTF-8 */
    uint64_t nul_bytes;       /* dropped from a record of text */
    uint64_t bytes;           /* of page text: wikitext, or the text of other inputs; 0 where none could be read */
};

/* Scratch of one thread. */
struct article_reader;
struct article_reader *article_open(void);
/* Reads record `index`, by the options of the group's input (which live as long as the reader); the views in *article
 * hold until the next call. The group's bytes may be repaired in place. */
void article_read(struct article_reader *reader, const struct article_options *options, struct group *group,
                  size_t index, struct article *article);
/* Counts the article read last as a page of its fate: what became of its bytes, and what it did without. */
void article_count(const struct article_reader *reader, const struct article *article, struct counts *counts,
                   struct missing *missing);
/* The sentences of an article: by rule, or the lines themselves of FORM_SENTENCES. Replaces *out. */
void article_sentences(const struct article_options *options, const struct group *group, const struct article *article,
                       struct sentences *out);
/* 64 bits of the hash of an article's text, every run of white space in it taken for one blank. */
uint64_t article_hash(struct article_reader *reader, const struct article *article);
void article_close(struct article_reader *reader);

#endif
