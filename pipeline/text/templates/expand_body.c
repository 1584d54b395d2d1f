/* A body is one piece of memory: its calls, pieces and spans follow one another. */
#include "pipeline/text/templates/expand_body.h"

#include "base/mem.h"
#include "pipeline/text/templates/expand_call.h"

struct body_cache {
    size_t rows;
    _Atomic size_t bytes;
    _Atomic(const void *) words;     /* what functions are called on the first wiki; others do not use the cache */
    _Atomic(struct body *) bodies[]; /* [rows]; NULL: not called yet */
};

struct body_cache *body_cache_open(size_t rows)
{
    struct body_cache *cache = mem_clear(1, sizeof *cache + rows * sizeof cache->bodies[0]);
    cache->rows = rows;
    return cache;
}

void body_cache_close(struct body_cache *cache)
{
    for (size_t i = 0; cache && i < cache->rows; i++)
        mem_free(atomic_load_explicit(&cache->bodies[i], memory_order_relaxed));
    mem_free(cache);
}

void body_scratch_release(struct body_scratch *scratch)
{
    spans_release(&scratch->spans);
    buf_release(&scratch->calls);
    buf_release(&scratch->pieces);
}

size_t call_read_pieces(struct str text, const struct spans *spans, uint32_t index, struct buf *pieces, uint64_t *steps)
{
    struct span_walk walk = span_walk(text, spans, index);
    size_t count = 0;
    for (bool more = true; more; count++) {
        struct call_piece piece = {.from = walk.at, .child = walk.child};
        uint32_t equals;
        more = span_walk_to_bar(&walk, &equals);
        piece.to = walk.at;
        piece.equals = equals < walk.at ? equals : walk.at;
        buf_add(pieces, &piece, sizeof piece);
        if (more)
            walk.at = walk.bar_end;
    }
    *steps += walk.steps + count;
    return count;
}

/* What the call is, if its name says that whatever page it is for. */
static void find_meaning(const struct templates *templates, const struct magic *magic, struct str text,
                         const struct spans *spans, const struct call_piece *name, struct body_call *call)
{
    char canonical[NAME_BYTES_MAX];
    const bool is_plain = name->child >= spans->count || spans->items[name->child].start >= name->to;
    const uint32_t end = is_plain ? name->to : spans->items[name->child].start;
    const struct str typed = str_trim(str_part(text, name->from, end));
    const char *colon = memchr(typed.data, ':', typed.size);
    if (colon && typed.data[0] == '#') {
        call->function = choice_find(name_fold(str_range(typed.data, colon + 1), canonical));
    } else if (is_plain && !colon && typed.size > 0 && typed.data[0] != '/' && !memchr(typed.data, '#', typed.size) &&
               (call->count > 1 || magic_function(magic, typed).size == 0)) {
        struct str title = name_canonical(typed, canonical);
        const struct rendering_row *row = templates_find(templates, &title);
        if (row && row->kind == RENDERING_WIKITEXT)
            call->row = 1 + (uint32_t)templates_index(templates, row);
    }
}

static struct body *read_body(const struct templates *templates, struct str text, const struct magic *magic,
                              struct body_scratch *scratch, size_t *size)
{
    struct spans *spans = &scratch->spans;
    uint64_t steps = 0;
    spans->is_strict = true; /* in an open link a }} is text */
    spans_find(spans, magic, false, text);
    buf_reset(&scratch->calls);
    buf_reset(&scratch->pieces);
    for (uint32_t i = 0; i < spans->count; i++) {
        const enum span_kind kind = spans->items[i].kind;
        struct body_call call = {.first = (uint32_t)(scratch->pieces.size / sizeof(struct call_piece))};
        if (kind == SPAN_TEMPLATE || kind == SPAN_ARGUMENT) {
            call.count = (uint32_t)call_read_pieces(text, spans, i, &scratch->pieces, &steps);
            const struct call_piece *pieces = (const struct call_piece *)(const void *)scratch->pieces.data;
            if (kind == SPAN_TEMPLATE)
                find_meaning(templates, magic, text, spans, &pieces[call.first], &call);
        }
        buf_add(&scratch->calls, &call, sizeof call);
    }
    const size_t span_bytes = spans->count * sizeof spans->items[0];
    *size = sizeof(struct body) + scratch->calls.size + scratch->pieces.size + span_bytes;
    struct body *body = mem_alloc(*size);
    char *calls = (char *)(body + 1), *pieces = calls + scratch->calls.size, *items = pieces + scratch->pieces.size;
    if (spans->count > 0) {
        memcpy(calls, scratch->calls.data, scratch->calls.size);
        memcpy(items, spans->items, span_bytes);
    }
    if (scratch->pieces.size > 0)
        memcpy(pieces, scratch->pieces.data, scratch->pieces.size);
    *body = (struct body){.spans = {.items = (struct span *)(void *)items, .count = spans->count},
                          .calls = (const struct body_call *)(const void *)calls,
                          .pieces = (const struct call_piece *)(const void *)pieces};
    return body;
}

const struct body *body_get(const struct templates *templates, const struct rendering_row *row,
                            const struct magic *magic, struct body_scratch *scratch, bool *own)
{
    struct body_cache *cache = templates_bodies(templates);
    _Atomic(struct body *) *slot = &cache->bodies[templates_index(templates, row)];
    struct body *known = atomic_load_explicit(slot, memory_order_acquire);
    const void *words = magic->count > 0 ? (const void *)magic->of[0] : cache, *first = NULL;
    const bool fits = atomic_load_explicit(&cache->words, memory_order_relaxed) == words ||
                      atomic_compare_exchange_strong(&cache->words, &first, words) || first == words;
    size_t size;
    *own = false;
    if (known && fits)
        return known;
    struct body *body = read_body(templates, row->pattern, magic, scratch, &size);
    *own = !fits || atomic_fetch_add(&cache->bytes, size) + size > BODY_CACHE_BYTES_MAX;
    if (*own) {
        atomic_fetch_sub(&cache->bytes, fits ? size : 0);
        return body;
    }
    if (atomic_compare_exchange_strong(slot, &known, body))
        return body;
    atomic_fetch_sub(&cache->bytes, size); /* another thread was first */
    mem_free(body);
    return known;
}
