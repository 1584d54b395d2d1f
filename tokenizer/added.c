/* Finding added tokens. Two bytes tell nearly always that no token begins at a place; else the longest one is found by
 * narrowing a range of the sorted tokens byte by byte. */
#include "tokenizer/added.h"

#include "base/mem.h"
#include "tokenizer/ascii.h"
#include "tokenizer/bpe_words.h"

#include <stdlib.h>

/* How some tokens begin. */
struct start {
    char first, second;
    bool any; /* with any second byte */
};
#define STARTS_MAX 4u

struct added_search {
    struct added_token *tokens; /* [count], sorted by content */
    size_t count;
    const uint8_t *facts;
    char *text;                  /* of their contents */
    uint64_t begins[65536 / 64]; /* whether a token may begin with these two bytes */
    struct start starts[STARTS_MAX];
    unsigned start_count; /* 0: there are more */
};

static int compare_tokens(const void *a, const void *b)
{
    const struct added_token *x = a, *y = b;
    const int order = str_compare(x->content, y->content);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

static unsigned two_bytes(const char *at)
{
    return (unsigned)(unsigned char)at[0] << 8 | (unsigned char)at[1];
}

/* The few starts of all tokens, so that many places can be passed over at once. */
static void note_starts(struct added_search *search)
{
    for (size_t i = 0; i < search->count; i++) {
        const struct str content = search->tokens[i].content;
        const struct start start = {content.data[0], content.size > 1 ? content.data[1] : 0, content.size == 1};
        unsigned at = 0;
        while (at < search->start_count && search->starts[at].first != start.first)
            at++;
        if (at == STARTS_MAX) {
            search->start_count = 0;
            return;
        }
        if (at == search->start_count)
            search->starts[search->start_count++] = start;
        else
            search->starts[at].any |= start.any || search->starts[at].second != start.second;
    }
}

/* The next place from `at` on where a token may begin, or one that is near the end. */
static const char *pass_over(const struct added_search *search, const char *at, const char *end)
{
#ifdef __SSE2__
    for (; search->start_count > 0 && end - at > 16; at += 16) {
        const __m128i first = _mm_loadu_si128((const __m128i *)(const void *)at);
        const __m128i second = _mm_loadu_si128((const __m128i *)(const void *)(at + 1));
        __m128i found = _mm_setzero_si128();
        for (unsigned i = 0; i < search->start_count; i++) {
            const struct start *const start = &search->starts[i];
            const __m128i same = _mm_cmpeq_epi8(second, _mm_set1_epi8(start->second));
            found = _mm_or_si128(found, _mm_and_si128(_mm_cmpeq_epi8(first, _mm_set1_epi8(start->first)),
                                                      _mm_or_si128(same, _mm_set1_epi8(start->any ? -1 : 0))));
        }
        const unsigned places = (unsigned)_mm_movemask_epi8(found);
        if (places)
            return at + __builtin_ctz(places);
    }
#else
    (void)search;
    (void)end;
#endif
    return at;
}

/* Notes the first two bytes of a token. */
static void note_first(struct added_search *search, struct str content)
{
    const unsigned first = (unsigned)(unsigned char)content.data[0] << 8;
    const unsigned from = content.size > 1 ? two_bytes(content.data) : first;
    const unsigned to = content.size > 1 ? from : first + 255;
    for (unsigned two = from; two <= to; two++)
        search->begins[two / 64] |= (uint64_t)1 << two % 64;
}

struct added_search *added_search_open(const struct added_tokens *tokens, bool normalized, const uint8_t *facts,
                                       struct str (*normal)(void *context, struct str content), void *context)
{
    struct buf text = {0};
    if (tokens->count == 0)
        return NULL;
    struct added_search *search = mem_clear(1, sizeof *search);
    search->facts = facts;
    search->tokens = mem_array(tokens->count, sizeof *search->tokens);
    for (size_t i = 0; i < tokens->count; i++) {
        if (tokens->items[i].normalized != normalized)
            continue;
        struct added_token *const token = &search->tokens[search->count];
        *token = tokens->items[i];
        if (normal)
            token->content = normal(context, token->content);
        if (token->content.size == 0) /* nothing is left of it, and nothing matches */
            continue;
        token->order = i + (token->special ? 0 : tokens->count);
        note_first(search, token->content);
        buf_add_str(&text, token->content);
        search->count++;
    }
    search->text = text.data;
    for (size_t i = 0, at = 0; i < search->count; at += search->tokens[i++].content.size)
        search->tokens[i].content.data = search->text + at;
    if (search->count == 0) {
        added_search_close(search);
        return NULL;
    }
    qsort(search->tokens, search->count, sizeof *search->tokens, compare_tokens);
    note_starts(search);
    return search;
}

void added_search_close(struct added_search *search)
{
    if (!search)
        return;
    mem_free(search->tokens);
    mem_free(search->text);
    mem_free(search);
}

/* The first of tokens [from, to), which agree before byte `depth`, whose byte there is at least `byte`. */
static size_t lower_bound(const struct added_search *search, size_t from, size_t to, size_t depth, unsigned byte)
{
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        const struct str content = search->tokens[middle].content;
        if (content.size > depth && (unsigned char)content.data[depth] >= byte)
            to = middle;
        else
            from = middle + 1;
    }
    return from;
}

/* The longest token that the text begins with, or NULL. */
static const struct added_token *longest(const struct added_search *search, const char *at, const char *end)
{
    const struct added_token *best = NULL;
    size_t from = 0, to = search->count;
    for (size_t depth = 0; at + depth < end; depth++) {
        const unsigned byte = (unsigned char)at[depth];
        from = lower_bound(search, from, to, depth, byte);
        to = lower_bound(search, from, to, depth, byte + 1);
        if (from == to)
            break;
        if (search->tokens[from].content.size == depth + 1)
            best = &search->tokens[from];
    }
    return best;
}

static const struct added_token *find(const struct added_search *search, const char *at, const char *end,
                                      const char **found)
{
    for (; at + 1 < end; at++) {
        at = pass_over(search, at, end);
        if (at + 1 == end)
            break;
        const unsigned two = two_bytes(at);
        if (search->begins[two / 64] >> two % 64 & 1) {
            const struct added_token *token = longest(search, at, end);
            if (token) {
                *found = at;
                return token;
            }
        }
    }
    *found = at;
    return at < end ? longest(search, at, end) : NULL;
}

/* The start of the code point before `at`. */
static const char *back(const char *at, const char *start)
{
    do
        at--;
    while (at > start && ((unsigned char)*at & 0xC0) == 0x80);
    return at;
}

static bool is_single(const struct added_search *search, const char *start, const char *at, const char *stop,
                      const char *end)
{
    unsigned size;
    if (at > start && search->facts[split_decode(back(at, start), &size)] & SPLIT_WORD)
        return false;
    return stop == end || !(search->facts[split_decode(stop, &size)] & SPLIT_WORD);
}

static bool is_space(const struct added_search *search, const char *at, unsigned *size)
{
    return (search->facts[split_decode(at, size)] & SPLIT_CLASS) == SPLIT_SPACE;
}

bool added_next(struct added_cursor *cursor, struct str *part, const struct added_token **token)
{
    const char *const start = cursor->text.data, *const end = start + cursor->text.size;
    unsigned size;
    if (cursor->pending) {
        *token = cursor->pending;
        cursor->pending = NULL;
        return true;
    }
    *token = NULL;
    for (const char *at; cursor->at < cursor->text.size;) {
        const struct added_token *found = find(cursor->search, start + cursor->at, end, &at);
        if (!found)
            break;
        const char *stop = at + found->content.size;
        cursor->at = (size_t)(stop - start);
        if ((found->special && !cursor->special && found->id != cursor->even) ||
            (found->single_word && !is_single(cursor->search, start, at, stop, end)))
            continue;
        /* As in tokenizers, the search goes on after the token itself, not after the white space that it takes: a
         * token of white space may be found again in there, and is dropped if it takes what is before it. */
        const char *const done = start + cursor->from;
        while (found->lstrip && at > done && is_space(cursor->search, back(at, start), &size))
            at = back(at, start);
        while (found->rstrip && stop < end && is_space(cursor->search, stop, &size))
            stop += size;
        cursor->from = (size_t)(stop - start);
        if (found->lstrip && stop <= done)
            continue;
        if (done < at) {
            *part = str_range(done, at);
            cursor->pending = found;
        } else
            *token = found;
        return true;
    }
    cursor->at = cursor->text.size;
    if (cursor->from == cursor->text.size)
        return false;
    *part = (struct str){start + cursor->from, cursor->text.size - cursor->from};
    cursor->from = cursor->text.size;
    return true;
}
