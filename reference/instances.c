/* From a dump to masked samples, written to be read: what `dsdata build` does, for plain pages, one step after the
 * other.
 *
 *     pages → text → sentences → pieces → pairs → masks → order
 *
 * Sections: random numbers; text and sentences; pieces; pairs; samples, masks and their order; files, where the XML is
 * read. README.md lists the functions of dsdata that compute the same.
 *
 *     cc -D_GNU_SOURCE -o instances reference/instances.c
 *     ./instances DUMP VOCAB [--seq N] [--copies N] [--valid MILLIONTHS] [--seed N] [--masking token|whole-word]
 *         [--split train|valid] > FILE
 *
 * prints the samples of a split as these two commands write them; DUMP is XML, VOCAB has a piece on each line, and
 * `build` takes the other options too (its --valid is a fraction, not millionths):
 *
 *     dsdata build --wiki DUMP --vocab VOCAB --lang en --seq N --out DIR
 *     dsdata export DIR --seq N --split train --out FILE
 *
 * Any page is read; the samples are the same where the pages are plain: paragraphs with emphasis, links and headings,
 * in the letters that `letter_of` knows; sentences of at most 2,000 bytes that begin with A to Z, after one blank; no
 * templates, tables, lists, tags, HTML entities in the wikitext (&nbsp;), quotations, brackets, abbreviations, pictures
 * or categories, and no section that dsdata leaves out, such as References; different ids, and pages of wikitext only;
 * at most 4 MiB in all, which is one window (docs/DESIGN.md, Law 2). docs/TEXT.md and docs/FORMULAS.md have all rules.
 * Pairs and masks are those of Google's create_pretraining_data.py (Devlin et al. 2019), but see
 * pipeline/pairs/README.md. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MILLION 1000000u

static void *grown(void *array, size_t count, size_t size)
{
    void *memory = realloc(array, (count + 1) * size);
    if (!memory)
        abort();
    return memory;
}

/* Adds an item to an array that grows by one. */
#define ADD(array, count, item)                                                                                        \
    do {                                                                                                               \
        (array) = grown((array), (count), sizeof *(array));                                                            \
        (array)[(count)++] = (item);                                                                                   \
    } while (0)

/* ---------------------------------------------------------------------------------- random numbers that have names */

static uint64_t word_at(const unsigned char *bytes) /* little-endian */
{
    uint64_t word = 0;
    for (int i = 7; i >= 0; i--)
        word = word << 8 | bytes[i];
    return word;
}

/* The first bytes of XXH3's secret (the specification at https://xxhash.com). */
static const unsigned char secret[64] = {0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7,
                                         0x21, 0xad, 0x1c, 0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40,
                                         0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f, 0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5,
                                         0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21, 0xb8, 0x08, 0x46, 0x74,
                                         0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c};

/* XXH3-64 of 8 bytes with seed 0, given as a word. The factors here and below are the specification's primes. */
static uint64_t hash_of_word(uint64_t word)
{
    uint64_t h = (word << 32 | word >> 32) ^ word_at(secret + 8) ^ word_at(secret + 16);
    h ^= (h << 49 | h >> 15) ^ (h << 24 | h >> 40);
    h *= 0x9FB21C651E98DF25u;
    h ^= (h >> 35) + 8;
    h *= 0x9FB21C651E98DF25u;
    return h ^ h >> 28;
}

/* The upper and lower half of a product, combined. */
static uint64_t folded(uint64_t a, uint64_t b)
{
    const unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

/* XXH3-64 of 48 bytes with seed 0, given as six words. */
static uint64_t hash_of_6_words(const uint64_t words[6])
{
    uint64_t h = 48 * 0x9E3779B185EBCA87u;
    h += folded(words[2] ^ word_at(secret + 32), words[3] ^ word_at(secret + 40));
    h += folded(words[2] ^ word_at(secret + 48), words[3] ^ word_at(secret + 56));
    h += folded(words[0] ^ word_at(secret), words[1] ^ word_at(secret + 8));
    h += folded(words[4] ^ word_at(secret + 16), words[5] ^ word_at(secret + 24));
    h ^= h >> 37;
    h *= 0x165667919E3779F9u;
    return h ^ h >> 32;
}

enum purpose { OF_PAIRS = 1, OF_MASKS = 2, OF_ORDER = 3 };

/* Random numbers, each a function of (seed, purpose, length, copy, index, draw) alone. `name`: the hash of the middle
 * three; `index`: the document for pairs, the sample for masks and order; `draw`: a count, for masks the position. */
struct random {
    uint64_t seed, name;
};

static struct random random_of(uint64_t seed, enum purpose purpose, unsigned length, unsigned copy)
{
    const uint64_t words[6] = {purpose, 0, 0, 0, length, copy}; /* the zeros: first file, window and part */
    return (struct random){seed, hash_of_6_words(words)};
}

/* Philox 4x32-10 (Salmon et al., SC 2011): four random words. Counter: name, index, draw; key: the seed. */
static void draw4(struct random random, uint32_t index, uint32_t draw, uint32_t out[4])
{
    uint32_t a = (uint32_t)random.name, b = (uint32_t)(random.name >> 32), c = index, d = draw;
    uint32_t key0 = (uint32_t)random.seed, key1 = (uint32_t)(random.seed >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t p = (uint64_t)0xD2511F53u * a, q = (uint64_t)0xCD9E8D57u * c;
        a = (uint32_t)(q >> 32) ^ b ^ key0;
        b = (uint32_t)q;
        c = (uint32_t)(p >> 32) ^ d ^ key1;
        d = (uint32_t)p;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    out[0] = a, out[1] = b, out[2] = c, out[3] = d;
}

/* True with this probability, in millionths. */
static bool happens(uint32_t random, uint32_t millionths)
{
    return (uint64_t)random * MILLION >> 32 < millionths;
}

/* A choice from 0 … n - 1. */
static uint32_t choice(uint32_t random, size_t n)
{
    return (uint32_t)((uint64_t)random * n >> 32);
}

/* -------------------------------------------------------------------------------------------------- pages and text */

/* The part of [from, end) between two strings; *from moves to the end of the second. NULL: not there. */
static const char *between(const char **from, const char *end, const char *open, const char *close, size_t *size)
{
    const char *start = memmem(*from, (size_t)(end - *from), open, strlen(open));
    if (!start)
        return NULL;
    start += strlen(open);
    const char *stop = memmem(start, (size_t)(end - start), close, strlen(close));
    if (!stop)
        return NULL;
    *size = (size_t)(stop - start);
    *from = stop + strlen(close);
    return start;
}

/* XML's five entities become characters. */
static char *unescaped(const char *text, size_t size)
{
    static const char *const names[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"};
    char *out = grown(NULL, size, 1), *to = out;
    for (size_t i = 0; i < size;) {
        size_t step = 1;
        *to = text[i];
        for (int n = 0; n < 5; n++)
            if (strncmp(text + i, names[n], strlen(names[n])) == 0) {
                *to = "<>&\"'"[n];
                step = strlen(names[n]);
            }
        to++;
        i += step;
    }
    *to = 0;
    return out;
}

/* Removes marks of wikitext, in place: runs of two or more apostrophes, [[link]] and [[page|link]]. */
static void drop_wiki_marks(char *text)
{
    char *to = text;
    for (char *at = text; *at;) {
        if (at[0] == '\'' && at[1] == '\'') {
            at += strspn(at, "'");
        } else if (strncmp(at, "[[", 2) == 0) {
            char *close = strstr(at, "]]"), *bar = strchr(at, '|');
            at = bar && close && bar < close ? bar + 1 : at + 2;
        } else if (strncmp(at, "]]", 2) == 0) {
            at += 2;
        } else {
            *to++ = *at++;
        }
    }
    *to = 0;
}

struct sentences {
    char **items;
    size_t count;
};

static void add_sentence(struct sentences *sentences, const char *text, size_t size)
{
    while (size > 0 && *text == ' ')
        text++, size--;
    if (size > 0)
        ADD(sentences->items, sentences->count, strndup(text, size));
}

/* A paragraph is cut after each ". ", "! " or "? " before one of A to Z. */
static void cut_paragraph(const char *text, struct sentences *sentences)
{
    const char *start = text;
    for (const char *at = text; *at; at++)
        if (strchr(".!?", *at) && at[1] == ' ' && at[2] >= 'A' && at[2] <= 'Z') {
            add_sentence(sentences, start, (size_t)(at + 1 - start));
            start = at + 1;
        }
    add_sentence(sentences, start, strlen(start));
}

/* Lines that follow one another are one paragraph; an empty line or a heading, which begins with '=', ends it. Headings
 * are left out. */
static struct sentences sentences_of(char *wikitext)
{
    struct sentences sentences = {0};
    char *paragraph = strdup("");
    drop_wiki_marks(wikitext);
    for (char *line = wikitext; line;) {
        char *end = strchr(line, '\n');
        const size_t size = end ? (size_t)(end - line) : strlen(line);
        if (size == 0 || *line == '=') {
            cut_paragraph(paragraph, &sentences);
            *paragraph = 0;
        } else {
            const size_t before = strlen(paragraph);
            paragraph = grown(paragraph, before + size + 1, 1);
            sprintf(paragraph + before, "%s%.*s", before > 0 ? " " : "", (int)size, line);
        }
        line = end ? end + 1 : NULL;
    }
    cut_paragraph(paragraph, &sentences);
    free(paragraph);
    return sentences;
}

/* --------------------------------------------------------------------------------------------------------- pieces */

struct vocabulary {
    char **pieces; /* [count] by id */
    size_t count;
    uint32_t unk, cls, sep, mask;
};

static bool find_piece(const struct vocabulary *vocabulary, const char *piece, uint32_t *id)
{
    for (size_t i = vocabulary->count; i-- > 0;) /* of equal pieces the last one counts */
        if (strcmp(vocabulary->pieces[i], piece) == 0) {
            *id = (uint32_t)i;
            return true;
        }
    return false;
}

enum letter { BLANK, PUNCTUATION, LETTER };

/* The next character of a text: its kind, and in out[] its lower case without an accent. Returns its bytes. Known are
 * printable ASCII and line ends, the letters from U+00C0 to U+00FF and the dashes and quotes from U+2010 to U+2027. */
static size_t letter_of(const char *text, enum letter *kind, char out[4])
{
    static const char plain[] = "aaaaaa\0ceeeeiiii\0nooooo\0\0uuuuy\0\0aaaaaa\0ceeeeiiii\0nooooo\0\0uuuuy\0y";
    const unsigned char *const at = (const unsigned char *)text;
    *kind = LETTER;
    memset(out, 0, 4);
    if (at[0] < 0x80) {
        const bool digit = at[0] >= '0' && at[0] <= '9', capital = at[0] >= 'A' && at[0] <= 'Z';
        out[0] = (char)(capital ? at[0] + 32 : at[0]);
        *kind = at[0] <= ' ' ? BLANK : digit || (out[0] >= 'a' && out[0] <= 'z') ? LETTER : PUNCTUATION;
        return 1;
    }
    if (at[0] == 0xC3) { /* U+00C0 to U+00FF */
        const bool capital = at[1] < 0x9F && at[1] != 0x97;
        out[0] = plain[at[1] - 0x80];
        if (out[0] == 0) { /* æ, ð, ø, þ and ß have no accent; × and ÷ are no punctuation */
            out[0] = text[0];
            out[1] = (char)(at[1] + (capital ? 0x20 : 0));
        }
        return 2;
    }
    memcpy(out, text, 3);
    *kind = PUNCTUATION;
    return 3;
}

struct pieces {
    uint32_t *ids;
    size_t count;
};

/* WordPiece (Wu et al. 2016 as in BERT): from the left, always the longest piece that fits. A word with a place where
 * none fits, or of more than 100 characters (transformers' limit; Google's is 200), is one [UNK]. */
static void cut_word(const struct vocabulary *vocabulary, const char *word, size_t letters, struct pieces *out)
{
    const size_t size = strlen(word), before = out->count;
    char piece[512];
    bool unknown = letters > 100;
    for (size_t from = 0; from < size && !unknown;) {
        uint32_t id = 0;
        size_t to = size;
        for (; to > from; to--) {
            snprintf(piece, sizeof piece, "%s%.*s", from > 0 ? "##" : "", (int)(to - from), word + from);
            if (find_piece(vocabulary, piece, &id))
                break;
        }
        if (to == from)
            unknown = true;
        else
            ADD(out->ids, out->count, id);
        from = to;
    }
    if (unknown) {
        out->count = before;
        ADD(out->ids, out->count, vocabulary->unk);
    }
}

/* Words are separated by blanks; a punctuation character is a word of its own. */
static void cut_sentence(const struct vocabulary *vocabulary, const char *text, struct pieces *out)
{
    char word[512] = "";
    size_t letters = 0, size = strlen(text);
    for (size_t at = 0; at <= size;) {
        enum letter kind = BLANK;
        char letter[5] = "";
        at += at < size ? letter_of(text + at, &kind, letter) : 1;
        if (kind != LETTER && letters > 0) {
            cut_word(vocabulary, word, letters, out);
            *word = 0;
            letters = 0;
        }
        if (kind == PUNCTUATION)
            cut_word(vocabulary, letter, 1, out);
        if (kind == LETTER && letters++ < 101)
            strcat(word, letter);
    }
}

/* ---------------------------------------------------------------------------------------------------------- pairs */

struct document {
    uint64_t id;
    bool held_out;
    size_t sentence, end; /* its sentences are [sentence, end) */
};

/* All pieces, end to end. starts[s] is the first of sentence s; start_of also gives the end of the last one. */
struct corpus {
    struct pieces pieces;
    size_t *starts, sentence_count;
    struct document *documents;
    size_t document_count;
};

/* A page is held out for validation if the hash of its <id> falls below the fraction, so the split stays the same from
 * dump to dump and for every seed. (Where ids repeat, dsdata hashes texts.) */
static bool is_held_out(uint64_t id, uint32_t millionths)
{
    return happens((uint32_t)(hash_of_word(id) >> 32), millionths);
}

static void add_document(struct corpus *corpus, const struct vocabulary *vocabulary, uint64_t id, bool held_out,
                         char *wikitext)
{
    const struct sentences sentences = sentences_of(wikitext);
    struct document document = {id, held_out, corpus->sentence_count, 0};
    for (size_t i = 0; i < sentences.count; i++) {
        const size_t before = corpus->pieces.count;
        cut_sentence(vocabulary, sentences.items[i], &corpus->pieces);
        if (corpus->pieces.count > before)
            ADD(corpus->starts, corpus->sentence_count, before);
        free(sentences.items[i]);
    }
    free(sentences.items);
    document.end = corpus->sentence_count;
    if (document.end > document.sentence)
        ADD(corpus->documents, corpus->document_count, document);
}

struct pair {
    size_t a, a_size, b, b_size; /* pieces */
    size_t document_a;
    bool is_random_next;
};

/* The state of drawing a document's pairs. The order of draws is part of the format. See pairs_of_document first. */
struct drawing {
    const struct corpus *corpus;
    struct random random;
    uint32_t document, draw; /* index and number of the next draw */
    uint32_t room, target;   /* pieces that fit, and that a pair should have */
    struct pair *pairs;
    size_t count;
};

static uint32_t next_draw(struct drawing *drawing)
{
    uint32_t words[4];
    draw4(drawing->random, drawing->document, drawing->draw++, words);
    return words[0];
}

static size_t start_of(const struct corpus *corpus, size_t sentence)
{
    return sentence < corpus->sentence_count ? corpus->starts[sentence] : corpus->pieces.count;
}

static size_t size_of(const struct corpus *corpus, size_t from, size_t to)
{
    return start_of(corpus, to) - start_of(corpus, from);
}

/* A pair that is too long loses pieces of its longer segment, of B if both are equal: with each random bit one piece, 1
 * from the front, 0 from the end. A draw has 128 bits. */
static void add_pair(struct drawing *drawing, struct pair pair)
{
    uint32_t bits[4] = {0};
    for (unsigned toss = 0; pair.a_size + pair.b_size > drawing->room; toss = (toss + 1) % 128) {
        if (toss == 0)
            draw4(drawing->random, drawing->document, drawing->draw++, bits);
        const bool front = bits[toss / 32] >> toss % 32 & 1, from_a = pair.a_size > pair.b_size;
        *(from_a ? &pair.a : &pair.b) += front;
        *(from_a ? &pair.a_size : &pair.b_size) -= 1;
    }
    ADD(drawing->pairs, drawing->count, pair);
}

/* Chooses a sentence of another document of the same split, else, for a held-out document, of any training document,
 * else of this document, with at least 100 sentences between it and A. B is within [*from, *last). False: there is
 * none. */
static bool find_random_next(struct drawing *drawing, size_t a_from, size_t a_end, size_t *from, size_t *last)
{
    const struct corpus *const corpus = drawing->corpus;
    const struct document *const own = &corpus->documents[drawing->document];
    const struct document **others = NULL, *other;
    size_t count = 0;
    for (size_t i = 0; i < corpus->document_count; i++)
        if (i != drawing->document && corpus->documents[i].held_out == own->held_out)
            ADD(others, count, &corpus->documents[i]);
    const bool borrows = count == 0 && own->held_out;
    for (size_t i = 0; borrows && i < corpus->document_count; i++)
        if (!corpus->documents[i].held_out)
            ADD(others, count, &corpus->documents[i]);
    if (count > 0) {
        other = others[choice(next_draw(drawing), count)];
        *from = other->sentence + choice(next_draw(drawing), other->end - other->sentence);
        *last = other->end;
        free(others);
        return true;
    }
    const size_t before = a_from - own->sentence > 100 ? a_from - own->sentence - 100 : 0;
    const size_t after = own->end - a_end > 100 ? own->end - a_end - 100 : 0;
    if (before + after == 0)
        return false;
    const size_t at = choice(next_draw(drawing), before + after); /* first those before A, then those after it */
    *from = at < before ? own->sentence + at : a_end + 100 + (at - before);
    *last = at < before ? a_from : own->end;
    return true;
}

/* Makes a pair of a chunk of sentences. Segment A ends after a random sentence other than the last. A chunk of one
 * sentence gets a random B; if there is none, it is cut at a random piece. Returns where the next chunk begins: after A
 * if B is from elsewhere, so that the other sentences are used. */
static size_t pair_of_chunk(struct drawing *drawing, size_t from, size_t to)
{
    const struct corpus *const corpus = drawing->corpus;
    const size_t count = to - from, first = start_of(corpus, from), end = start_of(corpus, to);
    const size_t a_end = count > 1 ? from + 1 + choice(next_draw(drawing), count - 1) : from + 1;
    struct pair pair = {.a = first, .a_size = size_of(corpus, from, a_end), .document_a = drawing->document};
    size_t b, last;
    if ((count == 1 || happens(next_draw(drawing), MILLION / 2)) && find_random_next(drawing, from, a_end, &b, &last)) {
        size_t b_end = b + 1;
        while (b_end < last && pair.a_size + size_of(corpus, b, b_end) < drawing->target)
            b_end++;
        pair.b = start_of(corpus, b);
        pair.b_size = size_of(corpus, b, b_end);
        pair.is_random_next = true;
        add_pair(drawing, pair);
        return a_end;
    }
    if (count == 1 && end - first == 1)
        return to; /* a single piece makes no pair */
    if (count == 1)
        pair.a_size = 1 + choice(next_draw(drawing), end - first - 1);
    pair.b = first + pair.a_size;
    pair.b_size = end - pair.b;
    add_pair(drawing, pair);
    return to;
}

/* Chunks are whole sentences until the target is reached; one document in ten has a target from 2 to `room` tokens. */
static void pairs_of_document(struct drawing *drawing, uint32_t document)
{
    const struct corpus *const corpus = drawing->corpus;
    const struct document *const own = &corpus->documents[document];
    drawing->document = document;
    drawing->draw = 0;
    drawing->target = drawing->room;
    if (happens(next_draw(drawing), MILLION / 10))
        drawing->target = 2 + choice(next_draw(drawing), drawing->room - 1);
    for (size_t from = own->sentence; from < own->end;) {
        size_t to = from + 1;
        while (to < own->end && size_of(corpus, from, to) < drawing->target)
            to++;
        from = pair_of_chunk(drawing, from, to);
    }
}

/* --------------------------------------------------------------------------------------- samples, masks and order */

struct settings {
    unsigned seq, copies;
    uint32_t valid; /* millionths */
    uint64_t seed;
    bool whole_word, held_out; /* whole words are masked; print the held-out samples */
};

struct sample {
    uint64_t key, page;
    unsigned copy, index, length, a_length, masked;
    bool is_random_next;
    uint32_t *ids, *labels;
    unsigned *positions;
};

/* [CLS] A [SEP] B [SEP] */
static struct sample sample_of(const struct corpus *corpus, const struct vocabulary *vocabulary,
                               const struct pair *pair)
{
    struct sample sample = {.page = corpus->documents[pair->document_a].id, .is_random_next = pair->is_random_next};
    ADD(sample.ids, sample.length, vocabulary->cls);
    for (size_t i = 0; i < pair->a_size; i++)
        ADD(sample.ids, sample.length, corpus->pieces.ids[pair->a + i]);
    ADD(sample.ids, sample.length, vocabulary->sep);
    sample.a_length = sample.length;
    for (size_t i = 0; i < pair->b_size; i++)
        ADD(sample.ids, sample.length, corpus->pieces.ids[pair->b + i]);
    ADD(sample.ids, sample.length, vocabulary->sep);
    return sample;
}

/* The places for masks in a sample: 15 % of the length, rounded up to a multiple of four, dsdata's default. */
static unsigned mask_limit(unsigned seq)
{
    return ((seq * 15 + 99) / 100 + 3) / 4 * 4;
}

/* Of n tokens 15 % are masked, rounded half to even, as Python's round(): at least one, at most what has a place. */
static unsigned mask_count(unsigned tokens, unsigned seq)
{
    const unsigned rest = tokens * 15 % 100;
    unsigned count = tokens * 15 / 100;
    count += rest > 50 || (rest == 50 && count % 2 == 1);
    count = count < 1 ? 1 : count;
    return count < mask_limit(seq) ? count : mask_limit(seq);
}

/* Takes words by ascending random number; one that would exceed the count is skipped. A word is a piece, or with
 * whole_word a piece and the ## pieces after it. A chosen piece becomes [MASK] (80 %), stays or becomes any piece (10 %
 * each). Of a piece's draw, 0 orders words, 1 decides about [MASK], 2 whether it stays, 3 is the other piece. */
static void mask(struct sample *sample, struct random random, unsigned index, const struct vocabulary *vocabulary,
                 const struct settings *settings)
{
    bool *chosen = calloc(sample->length, sizeof *chosen), *tried = calloc(sample->length, sizeof *tried);
    unsigned *ends = calloc(sample->length, sizeof *ends); /* where the word that begins here ends; 0: none begins */
    uint32_t(*draws)[4] = calloc(sample->length, sizeof *draws);
    if (!chosen || !tried || !ends || !draws)
        abort();
    for (unsigned i = 0, word = 0; i < sample->length; i++) {
        const uint32_t id = sample->ids[i];
        draw4(random, index, i, draws[i]);
        if (id == vocabulary->cls || id == vocabulary->sep) {
            word = 0;
            continue;
        }
        if (word == 0 || !settings->whole_word || strncmp(vocabulary->pieces[id], "##", 2) != 0)
            word = i; /* never 0, where [CLS] is */
        ends[word] = i + 1;
    }
    for (unsigned left = mask_count(sample->length, settings->seq); left > 0;) {
        unsigned best = 0; /* none; [CLS] is there */
        for (unsigned i = 0; i < sample->length; i++)
            if (ends[i] > 0 && !tried[i] && (best == 0 || draws[i][0] < draws[best][0]))
                best = i;
        if (best == 0)
            break;
        tried[best] = true;
        if (ends[best] - best > left)
            continue;
        for (unsigned i = best; i < ends[best]; i++)
            chosen[i] = true;
        left -= ends[best] - best;
    }
    for (unsigned i = 0, count = 0; i < sample->length; i++) {
        if (!chosen[i])
            continue;
        ADD(sample->labels, count, sample->ids[i]);
        ADD(sample->positions, sample->masked, i);
        if (happens(draws[i][1], 800000))
            sample->ids[i] = vocabulary->mask;
        else if (!happens(draws[i][2], 500000))
            sample->ids[i] = choice(draws[i][3], vocabulary->count);
    }
    free(chosen);
    free(tried);
    free(ends);
    free(draws);
}

/* Samples are written in the order of random keys. */
static int by_key(const void *left, const void *right)
{
    const struct sample *const a = left, *const b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->copy != b->copy ? (a->copy < b->copy ? -1 : 1) : (a->index > b->index) - (a->index < b->index);
}

/* Prints `count` values, and zeros up to `places`. */
static void print_row(const char *name, const uint32_t *values, unsigned count, unsigned places)
{
    printf("\"%s\":[", name);
    for (unsigned i = 0; i < places; i++)
        printf("%s%u", i > 0 ? "," : "", i < count ? values[i] : 0);
    printf("],");
}

static void print_sample(const struct sample *sample, unsigned seq)
{
    uint32_t *input_mask = grown(NULL, seq, sizeof *input_mask), *segment = grown(NULL, seq, sizeof *segment);
    for (unsigned i = 0; i < seq; i++) {
        input_mask[i] = i < sample->length;
        segment[i] = i >= sample->a_length && i < sample->length;
    }
    putchar('{');
    print_row("input_ids", sample->ids, sample->length, seq);
    print_row("input_mask", input_mask, sample->length, seq);
    print_row("segment_ids", segment, sample->length, seq);
    print_row("masked_lm_positions", sample->positions, sample->masked, mask_limit(seq));
    print_row("masked_lm_ids", sample->labels, sample->masked, mask_limit(seq));
    printf("\"masked_lm_weights\":[");
    for (unsigned i = 0; i < mask_limit(seq); i++)
        printf("%s%s", i > 0 ? "," : "", i < sample->masked ? "1.0" : "0.0");
    printf("],\"next_sentence_labels\":%d,\"page_id\":%llu}\n", sample->is_random_next,
           (unsigned long long)sample->page);
    free(input_mask);
    free(segment);
}

static void print_samples(const struct corpus *corpus, const struct vocabulary *vocabulary,
                          const struct settings *settings)
{
    struct sample *samples = NULL;
    size_t count = 0;
    for (unsigned copy = 0; copy < settings->copies; copy++) {
        const struct random masks = random_of(settings->seed, OF_MASKS, settings->seq, copy);
        const struct random order = random_of(settings->seed, OF_ORDER, settings->seq, copy);
        struct drawing drawing = {.corpus = corpus,
                                  .random = random_of(settings->seed, OF_PAIRS, settings->seq, copy),
                                  .room = settings->seq - 3};
        for (uint32_t i = 0; i < corpus->document_count; i++)
            if (copy == 0 || !corpus->documents[i].held_out) /* held-out documents are in the first copy only */
                pairs_of_document(&drawing, i);
        for (unsigned i = 0; i < drawing.count; i++) {
            uint32_t words[4];
            struct sample sample = sample_of(corpus, vocabulary, &drawing.pairs[i]);
            mask(&sample, masks, i, vocabulary, settings);
            draw4(order, i, 0, words);
            sample.key = (uint64_t)words[1] << 32 | words[0];
            sample.copy = copy;
            sample.index = i;
            if (corpus->documents[drawing.pairs[i].document_a].held_out == settings->held_out)
                ADD(samples, count, sample); /* the other split's are left to the end of the process */
        }
        free(drawing.pairs);
    }
    if (count > 0)
        qsort(samples, count, sizeof *samples, by_key);
    for (size_t i = 0; i < count; i++) {
        print_sample(&samples[i], settings->seq);
        free(samples[i].ids);
        free(samples[i].labels);
        free(samples[i].positions);
    }
    free(samples);
}

/* ---------------------------------------------------------------------------------------------------------- files */

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    *size = 0;
    if (!file) {
        perror(path);
        exit(2);
    }
    for (int byte; (byte = getc(file)) != EOF;) {
        if ((*size & (*size - 1)) == 0 && !(bytes = realloc(bytes, 2 * *size + 2)))
            abort();
        bytes[(*size)++] = (char)byte;
    }
    fclose(file);
    bytes = grown(bytes, *size, 1);
    bytes[*size] = 0;
    return bytes;
}

/* vocab.txt: one piece a line, the first line has id 0; no line is empty. */
static struct vocabulary read_vocabulary(const char *path)
{
    struct vocabulary vocabulary = {0};
    size_t size;
    char *text = read_file(path, &size);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        ADD(vocabulary.pieces, vocabulary.count, line);
    if (!find_piece(&vocabulary, "[UNK]", &vocabulary.unk) || !find_piece(&vocabulary, "[CLS]", &vocabulary.cls) ||
        !find_piece(&vocabulary, "[SEP]", &vocabulary.sep) || !find_piece(&vocabulary, "[MASK]", &vocabulary.mask)) {
        fprintf(stderr, "%s has no [UNK], [CLS], [SEP] or [MASK]\n", path);
        exit(3);
    }
    return vocabulary;
}

/* Articles are the pages of namespace 0 that are not redirects. */
static void read_pages(const char *path, const struct vocabulary *vocabulary, uint32_t valid, struct corpus *corpus)
{
    size_t size;
    char *bytes = read_file(path, &size);
    const char *at = bytes, *const end = bytes + size, *page;
    for (size_t page_size; (page = between(&at, end, "<page>", "</page>", &page_size)) != NULL;) {
        const char *from = page, *const page_end = page + page_size;
        size_t ns_size, id_size, text_size;
        const char *ns = between(&from, page_end, "<ns>", "</ns>", &ns_size);
        const char *id = between(&from, page_end, "<id>", "</id>", &id_size);
        const char *redirect = memmem(page, page_size, "<redirect", 9);
        const char *text = between(&from, page_end, "<text", "</text>", &text_size);
        if (!ns || !id || !text || redirect || atoi(ns) != 0)
            continue;
        const char *const body = strchr(text, '>') + 1; /* after the attributes */
        char *wikitext = unescaped(body, text_size - (size_t)(body - text));
        const uint64_t number = strtoull(id, NULL, 10);
        add_document(corpus, vocabulary, number, is_held_out(number, valid), wikitext);
        free(wikitext);
    }
    free(bytes);
}

int main(int count, char **words)
{
    struct settings settings = {.seq = 128, .copies = 1, .valid = 5000, .seed = 12345};
    struct corpus corpus = {0};
    for (int i = 3; i + 1 < count; i += 2) {
        const unsigned long long value = strtoull(words[i + 1], NULL, 10);
        if (strcmp(words[i], "--seq") == 0)
            settings.seq = (unsigned)value;
        else if (strcmp(words[i], "--copies") == 0)
            settings.copies = (unsigned)value;
        else if (strcmp(words[i], "--valid") == 0)
            settings.valid = (uint32_t)value;
        else if (strcmp(words[i], "--seed") == 0)
            settings.seed = value;
        else if (strcmp(words[i], "--masking") == 0)
            settings.whole_word = strcmp(words[i + 1], "whole-word") == 0;
        else if (strcmp(words[i], "--split") == 0)
            settings.held_out = strcmp(words[i + 1], "valid") == 0;
        else
            count = 0; /* shows the usage below */
    }
    if (count < 3 || count % 2 == 0 || settings.seq < 16) {
        fprintf(stderr, "usage: instances DUMP VOCAB [--seq N] [--copies N] [--valid MILLIONTHS] [--seed N] "
                        "[--masking token|whole-word] [--split train|valid]\n");
        return 2;
    }
    const struct vocabulary vocabulary = read_vocabulary(words[2]);
    read_pages(words[1], &vocabulary, settings.valid, &corpus);
    print_samples(&corpus, &vocabulary, &settings);
    return 0;
}
