/* Byte-level BPE: text to ids.
 *
 *     text ─► added tokens ─► NFC ─► added tokens ─► blank before ─► words ─► remembered? ─► ids
 *             added.c         nfc.c  (normalized)                    bpe_words.c     │ no
 *                                                                                └─► merges: bpe.c */
#include "tokenizer/kinds.h"

#include "tokenizer/bpe.h"
#include "tokenizer/nfc.h"
#include "tokenizer/recall.h"

struct cutter {
    struct bpe_rules rules; /* without merges and tokens */
    struct bpe *bpe;
    uint32_t *letters; /* [pieces] letters of each piece, one for each of its bytes */
    uint8_t *facts;
    struct added_search *raw, *normal; /* tokens searched for before and after normalisation */
    bool special;                      /* special tokens are searched for too */
    uint32_t mask;                     /* else the only special token searched for, or VOCAB_NONE */
};

struct cutter_state {
    const struct cutter *cutter;
    struct recall recall;
    struct bpe_scratch scratch;
    struct normalizer normalizer;
    struct buf repaired, composed, prefixed;
    struct buf part;         /* scratch of trace() */
    struct ids begins, ends; /* for each byte of `composed`: where its source text begins and ends */
};

/* True for a UTF-8 continuation byte. */
static bool is_inside(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

struct composer {
    const uint8_t *facts;
    struct normalizer normalizer;
    struct buf composed;
};

static struct str compose(void *context, struct str content)
{
    struct composer *composer = context;
    return nfc(&composer->normalizer, composer->facts, content, &composer->composed);
}

static void open_searches(struct cutter *cutter, const struct added_tokens *added)
{
    struct composer composer = {.facts = cutter->facts, .normalizer = {.unicode = &unicode_hf}};
    cutter->raw = added_search_open(added, false, cutter->facts, NULL, NULL);
    cutter->normal = added_search_open(added, true, cutter->facts, cutter->rules.nfc ? compose : NULL, &composer);
    normalizer_release(&composer.normalizer);
    buf_release(&composer.composed);
}

static void *open_cutter(const struct vocab *vocab, const struct tokenizer_options *options)
{
    struct cutter *cutter = mem_clear(1, sizeof *cutter);
    cutter->rules = *vocab->bpe;
    cutter->special = options->special_in_text;
    cutter->mask = options->mask_in_text ? vocab->mask : VOCAB_NONE;
    cutter->facts = split_facts_open();
    cutter->bpe = bpe_open(vocab->bpe, vocab);
    cutter->letters = mem_clear(vocab->count, sizeof *cutter->letters);
    for (uint32_t id = 0; id < vocab->count; id++)
        for (size_t i = 0; i < vocab->pieces[id].size; i++)
            cutter->letters[id] += !is_inside(vocab->pieces[id].data[i]);
    open_searches(cutter, &vocab->added);
    return cutter;
}

static void close_cutter(void *model)
{
    struct cutter *cutter = model;
    added_search_close(cutter->raw);
    added_search_close(cutter->normal);
    bpe_close(cutter->bpe);
    mem_free(cutter->letters);
    mem_free(cutter->facts);
    mem_free(cutter);
}

static void *open_state(const void *model)
{
    struct cutter_state *state = mem_clear(1, sizeof *state);
    state->cutter = model;
    state->normalizer.unicode = &unicode_hf;
    recall_open(&state->recall, 0);
    return state;
}

static void close_state(void *own)
{
    struct cutter_state *state = own;
    recall_close(&state->recall);
    bpe_scratch_release(&state->scratch);
    normalizer_release(&state->normalizer);
    buf_release(&state->repaired);
    buf_release(&state->composed);
    buf_release(&state->prefixed);
    buf_release(&state->part);
    ids_release(&state->begins);
    ids_release(&state->ends);
    mem_free(state);
}

/* Records a word. A key in the memory has no length, only zeros after the word. So the zeros at the end of a word
 * become 0xFF in its key, a byte that no text has. */
static inline void find_word(struct recall *recall, struct found *found, struct str word, const char *end)
{
    if (__builtin_expect(word.data[word.size - 1] == 0 && word.size <= MEMORY_BYTES, 0)) {
        char padded[MEMORY_BYTES] = {0};
        memcpy(padded, word.data, word.size);
        for (size_t i = word.size; i > 0 && padded[i - 1] == 0; i--)
            padded[i - 1] = (char)0xFF;
        find_run(recall->memory, 0, found, 0, word, padded);
    } else
        find_run_near(recall->memory, 0, found, 0, word, end);
}

static __attribute__((noinline)) void cut_word(void *context, const struct found *found, struct ids *out)
{
    struct cutter_state *state = context;
    bpe_word(state->cutter->bpe, &state->scratch, found->run, out);
}

/* Records the words of GPT-2's pattern in the block at `at`, and returns where the next word begins: `at` itself if the
 * block does not suffice. The text is longer than the block. Handles only ASCII. Leaves to split_word an apostrophe
 * that may begin a contraction, and a word that does not end before `before`. A blank before a letter, a number or a
 * sign belongs to its word. */
static inline const char *find_ascii(union memory *memory, const char *at, const char *before, struct found **found)
{
    const struct split_ascii sets = split_look(at);
    unsigned used = sets.rest ? (unsigned)__builtin_ctzll(sets.rest) : ASCII_BLOCK;
    used = before - at < (ptrdiff_t)used ? (unsigned)(before - at) : used;
    if (used < 2)
        return at;
    const uint64_t known = ~(uint64_t)0 >> (ASCII_BLOCK - used);
    const uint64_t spaces = sets.spaces & known, signs = ~(sets.letters | sets.numbers | spaces) & known;
    const uint64_t last = spaces & ~(spaces >> 1) & known >> 1; /* white space before something else */
    uint64_t starts = (sets.letters & ~(sets.letters << 1)) | (sets.numbers & ~(sets.numbers << 1)) |
                      (signs & ~(signs << 1)) | (spaces & ~(spaces << 1)) | last;
    starts = ((starts & ~((last & sets.blanks) << 1)) | 1) & known;
    const uint64_t quotes = starts & sets.quotes;
    if (quotes)
        starts &= quotes ^ (quotes - 1);
    unsigned from = 0;
    for (starts &= starts - 1; starts; starts &= starts - 1) {
        const unsigned to = (unsigned)__builtin_ctzll(starts);
        find_run(memory, 0, (*found)++, 0, (struct str){at + from, to - from}, at + from);
        from = to;
    }
    return at + from;
}

/* The sentences of a text: ends[i] becomes the number of ids up to the end of sentence i. */
struct cuts {
    const char *text;
    const struct str *sentences;
    size_t count, done; /* done: sentences that have an end */
    size_t *ends;
};

/* The work of one call: text to words, and words to ids. */
struct task {
    struct cutter_state *state;
    struct ids *ids;
    struct cuts *cuts;                            /* NULL: ends of sentences are not wanted */
    void (*word)(void *context, struct str word); /* NULL: ids are wanted */
    void *context;
    struct ids *places; /* NULL: they are not wanted */
    struct str within;  /* the text that is being split, or the NFC form of a part of it */
    const uint32_t *begins,
        *ends;     /* for each byte of an NFC form, its offsets in the part; NULL: `within` is source text */
    size_t before; /* the bytes of the text before that part */
};

/* ---- places ---- */

/* Adds the source range of bytes [from, to) of task->within, extended to whole characters. */
static void add_place(const struct task *task, size_t from, size_t to)
{
    const struct str text = task->within;
    assert(from <= to && to <= text.size);
    while (from > 0 && from < text.size && is_inside(text.data[from]))
        from--;
    while (to < text.size && is_inside(text.data[to]))
        to++;
    if (task->begins) {
        const size_t begin = from < text.size ? task->begins[from] : task->ends[from - 1];
        to = from < to ? task->ends[to - 1] : begin;
        from = begin;
    }
    ids_add(task->places, (uint32_t)(task->before + from));
    ids_add(task->places, (uint32_t)(task->before + to));
}

/* The number of bytes of a word, from `at` on, that an id stands for. */
static size_t id_bytes(const struct cutter *cutter, uint32_t id, struct str word, size_t at)
{
    const uint32_t *const of_byte = cutter->rules.of_byte;
    const bool drops = cutter->rules.unknown == VOCAB_NONE;
    size_t to = at;
    while (drops && to < word.size && of_byte[(unsigned char)word.data[to]] == VOCAB_NONE)
        to++;
    if (drops || id != cutter->rules.unknown || to == word.size || of_byte[(unsigned char)word.data[to]] != VOCAB_NONE)
        return to - at + cutter->letters[id];
    for (to++; cutter->rules.fuse_unknown && to < word.size && of_byte[(unsigned char)word.data[to]] == VOCAB_NONE;)
        to++;
    return to - at;
}

/* Adds the ids of a word, and their ranges. The word begins at byte `at` of task->within, which lacks its first
 * `skipped` bytes (an added blank). */
static void add_word_places(const struct task *task, struct str word, size_t at, size_t skipped)
{
    const struct cutter *const cutter = task->state->cutter;
    size_t i = task->ids->count, from = 0;
    bpe_word(cutter->bpe, &task->state->scratch, word, task->ids);
    for (; i < task->ids->count; i++) {
        size_t to = from + id_bytes(cutter, task->ids->data[i], word, from);
        to = to < word.size ? to : word.size;
        add_place(task, at + (from > skipped ? from - skipped : 0), at + (to > skipped ? to - skipped : 0));
        from = to;
    }
}

/* Records the source range of each byte of a composed text. NFC changes each stretch of loose characters (SPLIT_LOOSE),
 * with the character before it, independently. */
static void trace(struct cutter_state *state, struct str text)
{
    const uint8_t *const facts = state->cutter->facts;
    state->begins.count = state->ends.count = 0;
    for (const char *at = text.data, *const end = at + text.size, *stop; at < end; at = stop) {
        unsigned size;
        split_decode(at, &size);
        for (stop = at + size; stop < end && facts[split_decode(stop, &size)] & SPLIT_LOOSE; stop += size)
            ;
        const struct str part = str_range(at, stop), made = nfc(&state->normalizer, facts, part, &state->part);
        const bool same = str_equal(part, made);
        for (size_t i = 0; i < made.size; i++) {
            ids_add(&state->begins, (uint32_t)(at - text.data + (same ? (ptrdiff_t)i : 0)));
            ids_add(&state->ends, (uint32_t)(same ? at - text.data + (ptrdiff_t)i + 1 : stop - text.data));
        }
    }
}

/* ---- sentences ---- */

/* The offset at which the words of the next sentence begin: its first byte, or the blank before it. */
static size_t next_cut(const struct cuts *cuts)
{
    if (cuts->done + 1 >= cuts->count)
        return SIZE_MAX;
    const char *const at = cuts->sentences[cuts->done + 1].data;
    return (size_t)(at - cuts->text) - (at > cuts->text && at[-1] == ' ');
}

/* Ends the sentences before byte `at` of task->within, where a word or token begins. */
static void end_sentences(const struct task *task, size_t at)
{
    if (!task->cuts)
        return;
    const size_t place = task->before + (task->begins ? task->begins[at] : at);
    while (place >= next_cut(task->cuts))
        task->cuts->ends[task->cuts->done++] = task->ids->count;
}

/* The first offset in [from, to) of task->within at which the next sentence has begun; else `to`. */
static size_t cut_within(const struct task *task, size_t from, size_t to)
{
    const size_t cut = task->cuts ? next_cut(task->cuts) : SIZE_MAX;
    if (cut == SIZE_MAX || cut < task->before)
        return cut == SIZE_MAX ? to : from;
    if (!task->begins)
        return cut - task->before < to ? cut - task->before : to;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (task->before + task->begins[middle] < cut)
            from = middle + 1;
        else
            to = middle;
    }
    return to;
}

/* ---- text to words, and those to ids ---- */

static void cut_stretch(const struct task *task, struct str text)
{
    struct cutter_state *const state = task->state;
    const struct cutter *const cutter = state->cutter;
    const bool placed = task->places || task->cuts;
    const size_t base = placed ? (size_t)(text.data - task->within.data) : 0, size = text.size;
    size_t done = base, skipped = 0;
    end_sentences(task, base);
    if (cutter->rules.prefix_space && *text.data != ' ') {
        buf_reset(&state->prefixed);
        buf_add_byte(&state->prefixed, ' ');
        buf_add_str(&state->prefixed, text);
        text = buf_str(&state->prefixed);
        skipped = 1;
    }
    const char *const end = text.data + text.size, *const first = text.data + skipped;
    const char *cut = first + (cut_within(task, base, base + size) - base);
    struct found *found = state->recall.found;
    const bool blocks = !task->word && !task->places && !cutter->rules.pattern->cl100k;
    for (const char *at = text.data, *stop; at < end; at = stop) {
        if (at >= cut) {
            recall(&state->recall, found, task->ids, cut_word, state);
            found = state->recall.found;
            end_sentences(task, base + (size_t)(at - first));
            cut = first + (cut_within(task, base, base + size) - base);
        }
        if (blocks && end - at >= (ptrdiff_t)(ASCII_BLOCK + MEMORY_BYTES)) {
            at = find_ascii(state->recall.memory, at, cut, &found);
            if (found > state->recall.found + FOUND_MAX - ASCII_BLOCK) {
                recall(&state->recall, found, task->ids, cut_word, state);
                found = state->recall.found;
            }
        }
        stop = split_word(cutter->rules.pattern, cutter->facts, at, end);
        if (task->word) {
            task->word(task->context, str_range(at, stop));
            continue;
        }
        if (task->places) {
            add_word_places(task, str_range(at, stop), done, skipped);
            done += (size_t)(stop - at) - skipped;
            skipped = 0;
            continue;
        }
        find_word(&state->recall, found++, str_range(at, stop), end);
        if (found == state->recall.found + FOUND_MAX) {
            recall(&state->recall, found, task->ids, cut_word, state);
            found = state->recall.found;
        }
    }
    if (!task->word && !task->places)
        recall(&state->recall, found, task->ids, cut_word, state);
}

/* Cuts a text at the tokens of a search; `next` takes what is between them. */
static void cut_at_tokens(const struct task *task, const struct added_search *search, struct str text,
                          void (*next)(const struct task *task, struct str text))
{
    struct str part;
    const struct added_token *token;
    if (!search) {
        next(task, text);
        return;
    }
    const struct cutter *const cutter = task->state->cutter;
    struct added_cursor cursor = {.search = search, .text = text, .special = cutter->special, .even = cutter->mask};
    size_t done = 0;
    while (added_next(&cursor, &part, &token)) {
        const size_t from = done;
        done = token ? cursor.from : (size_t)(part.data - text.data) + part.size;
        if (!token) {
            next(task, part);
        } else if (!task->word) {
            if (task->cuts)
                end_sentences(task, (size_t)(text.data - task->within.data) + from);
            ids_add(task->ids, token->id);
            if (task->places)
                add_place(task, (size_t)(text.data - task->within.data) + from,
                          (size_t)(text.data - task->within.data) + done);
        }
    }
}

static void cut_normal(const struct task *task, struct str text)
{
    struct cutter_state *const state = task->state;
    struct task part = *task;
    const struct str as_it_is = text;
    if (state->cutter->rules.nfc)
        text = nfc(&state->normalizer, state->cutter->facts, text, &state->composed);
    if (task->places || task->cuts) {
        part.before = (size_t)(as_it_is.data - task->within.data);
        part.within = text;
        if (text.data != as_it_is.data) {
            trace(state, as_it_is);
            assert(state->begins.count == text.size);
            part.begins = state->begins.data;
            part.ends = state->ends.data;
        }
    }
    cut_at_tokens(&part, state->cutter->normal, text, cut_stretch);
}

static void cut_text(struct task *task, struct str text)
{
    struct cutter_state *const state = task->state;
    if (!utf8_valid(text)) {
        buf_reset(&state->repaired);
        buf_add_str(&state->repaired, text);
        text = (struct str){state->repaired.data, utf8_repair(state->repaired.data, text.size, NULL)};
    }
    task->within = text;
    if (text.size > 0)
        cut_at_tokens(task, state->cutter->raw, text, cut_normal);
}

static void ids_of(void *own, struct str text, struct ids *out)
{
    cut_text(&(struct task){.state = own, .ids = out}, text);
}

static void places_of(void *own, struct str text, struct ids *out, struct ids *places)
{
    assert(utf8_valid(text) && text.size <= UINT32_MAX);
    cut_text(&(struct task){.state = own, .ids = out, .places = places}, text);
}

static void sentences_of(void *own, struct str text, const struct str *sentences, size_t count, struct ids *out,
                         size_t *ends)
{
    struct cuts cuts = {text.data, sentences, count, 0, ends};
    assert(text.size <= UINT32_MAX);
    cut_text(&(struct task){.state = own, .ids = out, .cuts = &cuts}, text);
    while (cuts.done < count)
        ends[cuts.done++] = out->count;
}

static void words_of(void *own, struct str text, void (*word)(void *context, struct str word), void *context)
{
    cut_text(&(struct task){.state = own, .word = word, .context = context}, text);
}

const struct tokenizer_kind kind_bpe_bytes = {open_cutter, close_cutter, open_state,   close_state,
                                              ids_of,      places_of,    sentences_of, words_of};
