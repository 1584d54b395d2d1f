/* --exclude: documents that share 13 words in a row (grams.h) with the texts of other files, such as those of a test.
 * A line that is a JSON object gives a text for each string in it; everything else in a file is one text. */
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "pipeline/clean/filter.h"

#include <stdlib.h>

#define EXCLUDE_WORDS  13                /* Brown et al., "Language models are few-shot learners", 2020, appendix C */
#define FILE_BYTES_MAX ((size_t)1 << 30) /* of a file */

/* A set of hashes by open addressing, at most half full; 0 is a free slot. */
struct excluded {
    uint64_t *slots; /* [slot_count] */
    size_t slot_count, count;
    uint64_t grams;       /* read so far, with repetitions */
    struct hash *content; /* of all files and their sizes, for the identity */
};

static size_t slot_of(const struct excluded *excluded, uint64_t hash)
{
    size_t at = hash & (excluded->slot_count - 1);
    while (excluded->slots[at] != 0 && excluded->slots[at] != hash)
        at = (at + 1) & (excluded->slot_count - 1);
    return at;
}

static void add_hash(struct excluded *excluded, uint64_t hash)
{
    if (2 * (excluded->count + 1) > excluded->slot_count) {
        const struct excluded old = *excluded;
        excluded->slot_count = 2 * old.slot_count;
        excluded->slots = mem_clear(excluded->slot_count, sizeof *excluded->slots);
        for (size_t i = 0; i < old.slot_count; i++)
            if (old.slots[i] != 0)
                excluded->slots[slot_of(excluded, old.slots[i])] = old.slots[i];
        mem_free(old.slots);
    }
    hash += hash == 0;
    const size_t at = slot_of(excluded, hash);
    excluded->count += excluded->slots[at] == 0;
    excluded->slots[at] = hash;
}

static void add_text(struct excluded *excluded, struct gram_scratch *scratch, struct str text)
{
    const struct grams grams = grams_of(scratch, text, EXCLUDE_WORDS);
    excluded->grams += grams.count;
    for (size_t i = 0; i < grams.count; i++)
        add_hash(excluded, grams.hashes[i]);
}

static void add_strings(struct excluded *excluded, struct gram_scratch *scratch, const json_t *value)
{
    const char *key;
    size_t i;
    json_t *item;
    if (json_is_string(value))
        add_text(excluded, scratch, (struct str){json_string_value(value), json_string_length(value)});
    json_array_foreach(value, i, item) add_strings(excluded, scratch, item);
    json_object_foreach((json_t *)(uintptr_t)value, key, item) add_strings(excluded, scratch, item);
}

/* Lines that are JSON objects are taken out of the text; what is left is one text. */
static void add_lines(struct excluded *excluded, struct gram_scratch *scratch, struct str text)
{
    SCOPED(buf_release) struct buf rest = {0};
    for (const char *at = text.data, *end = text.data + text.size; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        json_error_t ignored;
        json_t *object = *at == '{' ? json_loadb(at, (size_t)(stop - at), JSON_ALLOW_NUL, &ignored) : NULL;
        if (object)
            add_strings(excluded, scratch, object);
        else
            buf_add_str(&rest, str_range(at, newline ? stop + 1 : stop));
        json_decref(object);
        at = newline ? stop + 1 : end;
    }
    add_text(excluded, scratch, buf_str(&rest));
}

static int add_file(struct excluded *excluded, struct gram_scratch *scratch, const char *path, struct error *err)
{
    SCOPED(buf_release) struct buf text = {0};
    const uint64_t before = excluded->grams;
    TRY(file_read_all(path, FILE_BYTES_MAX, &text, err));
    const struct str bytes = buf_str(&text);
    if (!utf8_valid(bytes)) {
        fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "is no text in UTF-8");
        return hint(err, "if it is compressed, unpack it; --exclude reads text and JSON lines");
    }
    const uint64_t size = bytes.size;
    hash_add(excluded->content, &size, sizeof size);
    hash_add(excluded->content, bytes.data, bytes.size);
    add_lines(excluded, scratch, str_without_mark(bytes));
    if (excluded->grams > before)
        return 0;
    fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET, "has no text of %d words", EXCLUDE_WORDS);
    return hint(err, "--exclude finds documents that share %d words in a row with it", EXCLUDE_WORDS);
}

static void close_excluded(void *state)
{
    struct excluded *excluded = state;
    hash_close(excluded->content);
    mem_free(excluded->slots);
    mem_free(excluded);
}

static int open_excluded(const struct dsdata_settings *settings, void **state, struct error *err)
{
    if (settings->exclude.count == 0)
        return 0;
    struct excluded *excluded = mem_clear(1, sizeof *excluded);
    struct gram_scratch scratch = {0};
    int result = 0;
    *excluded = (struct excluded){.slot_count = 1024, .content = hash_open()};
    excluded->slots = mem_clear(excluded->slot_count, sizeof *excluded->slots);
    for (size_t i = 0; result == 0 && i < settings->exclude.count; i++)
        result = add_file(excluded, &scratch, settings->exclude.items[i], err);
    gram_scratch_release(&scratch);
    *state = excluded; /* filters_open closes it after an error */
    return result;
}

static enum page_fate judge(const void *state, struct filter_scratch *scratch, struct str text, const char *language)
{
    const struct excluded *excluded = state;
    const struct grams grams = grams_of(&scratch->grams, text, EXCLUDE_WORDS);
    (void)language;
    for (size_t i = 0; i < grams.count; i++) {
        const uint64_t hash = grams.hashes[i] + (grams.hashes[i] == 0);
        if (excluded->slots[slot_of(excluded, hash)] == hash)
            return PAGE_EXCLUDED;
    }
    return PAGE_KEPT;
}

static void identify(const void *state, json_t *recipe)
{
    const struct excluded *excluded = state;
    char text[17];
    json_object_set_new(recipe, "exclude", json_string(hash_text(hash_value(excluded->content), text)));
}

const struct filter exclude_filter = {
    .open = open_excluded, .close = close_excluded, .judge = judge, .identify = identify};
