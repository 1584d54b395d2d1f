/* What a build counts. Only sums, so the order of adding does not matter. Kept in the journal, shown in the summary
 * and, unless it depends on the run, in the manifest. */
#pragma once

#include "base/opts.h"
#include "pipeline/parts/page_parts.h"
#include "shards/format.h"

/* A set is one sequence length and split; sets are numbered 2 * (index of the length) + split. After them is the set of
 * the documents' hashes (repeats.h). */
#define SETS_MAX (OPT_NUMBERS_MAX * SPLITS + 1)

/* Values of --valid, in millionths, for which the held-out documents are counted too: to say which value would hold out
 * some. */
#define HELD_STEPS 7
extern const uint32_t counts_held_steps[HELD_STEPS];

struct counts {
    uint64_t pages[PAGE_FATES];
    uint64_t fates[FATES];               /* bytes of the page text of kept pages, by what became of them */
    uint64_t dropped[PAGE_FATES];        /* bytes of the page text of all others; with `fates`, the sum is all text
                                          * read */
    uint64_t templates;                  /* without a rendering, in kept pages: how many, */
    uint64_t template_bytes;             /* their bytes in the page text */
    uint64_t template_characters;        /* and in code points */
    uint64_t holes;                      /* those of them inside a sentence */
    uint64_t template_sentences;         /* others, which show because their one argument is a sentence */
    uint64_t leaks;                      /* strings with the form of markup, left out of the text of kept pages */
    uint64_t wiki_bytes;                 /* plain text of the kept pages of wikis */
    uint64_t gaps, gap_bytes;            /* damaged places of the files, and bytes skipped there */
    uint64_t sums_right, sums_wrong;     /* files read to their ends and checked by a SHA-256 */
    uint64_t repaired[REPAIRS];          /* kept documents, by what was ill-formed in them */
    uint64_t repaired_documents;         /* kept documents in which anything was */
    uint64_t documents;                  /* kept pages, both splits */
    uint64_t documents_valid;            /* of these, held out */
    uint64_t held[HELD_STEPS];           /* of these, held out with counts_held_steps */
    uint64_t input_bytes;                /* bytes of records read (decompressed) */
    uint64_t text_bytes;                 /* plain text of kept pages */
    uint64_t sentences, pieces, unknown; /* of kept pages; unknown: [UNK] pieces among them */
    uint64_t pairs_random;               /* nsp: pairs whose second segment is random */
    uint64_t pairs_borrowed;             /* held-out pairs with a training document as random next */
    uint64_t pairs_dropped;              /* single pieces without a partner */
    uint64_t samples[SETS_MAX];
    uint64_t tokens[SETS_MAX]; /* pieces in samples, including [CLS] and [SEP] */
};

/* The struct is nothing but uint64_t: adding and storing are loops. */
#define COUNTS_FIELDS (sizeof(struct counts) / sizeof(uint64_t))

static inline void counts_add(struct counts *into, const struct counts *from)
{
    uint64_t *to = (uint64_t *)into;
    const uint64_t *add = (const uint64_t *)from;
    for (size_t i = 0; i < COUNTS_FIELDS; i++)
        to[i] += add[i];
}

static inline uint64_t counts_pages(const struct counts *counts)
{
    uint64_t sum = 0;
    for (int fate = 0; fate < PAGE_FATES; fate++)
        sum += counts->pages[fate];
    return sum;
}

/* Counts what was left out of a group before its records were read. */
void counts_group(struct counts *counts, const struct group *group);
/* Counts a kept document with a mask of enum repair. */
void counts_repairs(struct counts *counts, uint32_t repairs);

/* Each appends words for screens, and nothing if there is nothing to say. Damage: what could not be read of the files.
 * Dropped: "A redirects, B malformed", the documents that were not kept. Repaired: "A: B with bytes that are not UTF-8,
 * C with …", those that were kept although something in them was ill-formed. */
void counts_damage(const struct counts *counts, struct buf *out);
void counts_dropped(const struct counts *counts, struct buf *out);
void counts_repaired(const struct counts *counts, struct buf *out);

/* The names of reasons: "redirect", "encoding", … as in the manifest; "redirects", "with bytes that are not UTF-8", …
 * for screens. */
const char *page_fate_name(enum page_fate fate);
const char *page_fate_words(enum page_fate fate);
/* "1 list", "2 lists", "3 with too few words": a number of documents with the reason. */
void page_fate_add(const char *name, uint64_t count, struct buf *out);
bool page_fate_is_asked_for(enum page_fate fate); /* only with an option that cleans */
const char *repair_name(enum repair repair);
const char *repair_words(enum repair repair);
/* The words for a name of a manifest; the name itself where a later version has made it. */
const char *page_fate_words_of(const char *name);
const char *repair_words_of(const char *name);
