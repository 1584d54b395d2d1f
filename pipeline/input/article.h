/* Reads one record of any input: a group (page_parts.h) comes in, and each record of it gives a fate and plain text.
 * build, extract and the vocabulary pass all read through here, so they see the same text. */
#pragma once

#include "base/str.h"
#include "pipeline/parts/counts.h"
#include "pipeline/parts/missing.h"
#include "pipeline/parts/page_parts.h"
#include "pipeline/text/sentences/sentences.h"
#include "pipeline/text/words/languages.h"

struct input_kind;
struct filters;
struct templates;
struct trace;

/* Defaults of the options. */
#define TEXT_KEY "text"
#define ID_KEY   "id"

#define NAMESPACES_KEPT_MAX 32u

struct article_options {
    const struct input_kind *kind;   /* of the input */
    const char *name;                /* of the input, for examples; lives as long as the input */
    const struct siteinfo *siteinfo; /* of the input; empty unless a wiki's */
    const struct language *language;
    const char *code;                        /* of the language; "": not known */
    const char *variant;                     /* of the wiki's spellings; NULL: none */
    int32_t namespaces[NAMESPACES_KEPT_MAX]; /* of wikis: pages of these are documents; */
    size_t namespace_count;                  /* 0: articles */
    enum text_form form;                     /* of text, where it is not FORM_AUTO; else FORM_AUTO */
    bool wrapped;                      /* of text: lines are broken anywhere, so those of a paragraph are joined */
    const char *text_key, *id_key;     /* of JSON lines; NULL: TEXT_KEY, ID_KEY */
    bool untyped;                      /* their values are texts: an id of digits is a number all the same */
    uint32_t keep;                     /* enum keep of text/wikitext.h */
    const struct templates *templates; /* --templates, or NULL */
    struct trace *trace;               /* see text/wikitext.h; NULL unless a page is explained */
    uint32_t drop;                     /* enum kind of text/wikitext.h */
    const struct filters *filters;     /* clean/filter.h; NULL: none */
    const char *stated;                /* for them: `code`, unless it was guessed; else "" */
    bool held_by_text;                 /* ids do not decide what is held out (split.h) */
};

struct article {
    enum page_fate fate;
    bool has_id;              /* id comes from the input, rather than from a hash */
    uint64_t id, revision_id; /* a textual id gives 52 bits of its hash; no id, 52 bits of the hash of the text */
    uint64_t held_by;         /* what decides whether it is held out: the id, or 52 bits of the hash of the text */
    struct str source_id;     /* the text that the id is a hash of; "" if the id is a number */
    struct str timestamp;     /* of the page, or of a JSON line's member of this name; "" if there is none */
    struct str url, language, source; /* of a JSON line's members of these names; else "" */
    struct str title;                 /* "" if the input has none */
    struct str text;                  /* paragraphs, each ended by '\n'; only for kept pages */
    struct str record;                /* all of it, as read */
    uint64_t at;                      /* as record.at */
    uint32_t repairs;                 /* bits of enum repair */
    uint64_t bytes; /* of page text: wikitext, or the text of other inputs; 0 if it could not be read */
};

/* Scratch of one thread. */
struct article_reader;
struct article_reader *article_open(void);
/* Reads record `index` by the options of the group's input (which must live as long as the reader). The views in
 * *article are valid until the next call. */
void article_read(struct article_reader *reader, const struct article_options *options, struct group *group,
                  size_t index, struct article *article);
/* Counts the last article read as a page of its fate, with what became of its bytes and the templates it lacked. */
void article_count(const struct article_reader *reader, const struct article *article, struct counts *counts,
                   struct missing *missing);
/* Counts what was left out of a group before its records were read. */
void article_count_group(const struct article_options *options, const struct group *group, struct counts *counts,
                         struct missing *missing);
/* The sentences of an article: found by rule, or its lines for FORM_SENTENCES. Replaces *out. */
void article_sentences(const struct article_options *options, const struct article *article, struct sentences *out);
/* 64 bits of the hash of an article's text, with every run of white space counted as one blank. */
uint64_t article_hash(struct article_reader *reader, const struct article *article);
void article_close(struct article_reader *reader);
