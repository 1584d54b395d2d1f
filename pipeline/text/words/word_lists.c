#include "pipeline/text/words/word_lists.h"

#include "base/hash.h"
#include "base/mem.h"

#include <assert.h>
#include <utf8proc.h>

struct str name_canonical(struct str name, char out[NAME_BYTES_MAX])
{
    size_t size = 0;
    bool blank = false; /* a blank comes before the next letter */
    for (size_t at = 0; at < name.size;) {
        uint32_t code_point = (unsigned char)name.data[at];
        unsigned length = 1, skip = 1;
        if (code_point >= 0x80)
            length = utf8_decode(name.data + at, name.size - at, &code_point, &skip);
        at += length ? length : skip;
        if (code_point == ' ' || code_point == '_' || code_point == '\t' || code_point == '\n') {
            blank = size > 0;
            continue;
        }
        if (!length || code_point < ' ' || code_point == 0x200E || code_point == 0x200F)
            continue;
        if (size + 5 > NAME_BYTES_MAX)
            return STR("");
        if (blank)
            out[size++] = ' ';
        blank = false;
        if (size == 0 && (code_point < 0x10D0 || code_point > 0x10FF)) /* Georgian names have no capitals */
            code_point = (uint32_t)utf8proc_toupper((utf8proc_int32_t)code_point);
        size += utf8_write(code_point, out + size);
    }
    return (struct str){out, size};
}

struct str name_fold(struct str name, char out[NAME_BYTES_MAX])
{
    size_t size = 0;
    bool blank = false; /* a blank comes before the next letter */
    for (size_t at = 0; at < name.size;) {
        const unsigned char byte = (unsigned char)name.data[at];
        if (byte > ' ' && byte < 0x80 && byte != '_' && size + 5 <= NAME_BYTES_MAX) { /* the common case */
            if (blank)
                out[size++] = ' ';
            blank = false;
            out[size++] = ascii_lower((char)byte);
            at++;
            continue;
        }
        if (byte == ' ' || byte == '_' || byte == '\t' || byte == '\n') {
            blank = size > 0;
            at++;
            continue;
        }
        uint32_t code_point = byte;
        unsigned length = 1, skip = 1;
        if (byte >= 0x80)
            length = utf8_decode(name.data + at, name.size - at, &code_point, &skip);
        at += length ? length : skip;
        if (!length || code_point < ' ' || code_point == 0x200E || code_point == 0x200F)
            continue; /* direction marks around names are invisible */
        if (size + 5 > NAME_BYTES_MAX)
            return STR("");
        if (blank)
            out[size++] = ' ';
        blank = false;
        size += utf8_write((uint32_t)utf8proc_tolower((utf8proc_int32_t)code_point), out + size);
    }
    return (struct str){out, size};
}

/* < 0, 0, > 0 if the item is before, equal to, after the word. */
static int compare(const char *item, struct str word)
{
    for (size_t i = 0; i < word.size; i++)
        if (item[i] != word.data[i] || !item[i])
            return item[i] ? (unsigned char)item[i] - (unsigned char)word.data[i] : -1;
    return (unsigned char)item[word.size];
}

size_t row_find(const char *const *names, size_t count, size_t size, struct str name)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const char *const *row = (const void *)((const char *)names + middle * size);
        const int order = compare(*row, name);
        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return count;
}

bool words_have(struct words words, struct str word)
{
    return row_find(words.items, words.count, sizeof *words.items, word) < words.count;
}

size_t words_starting(struct words words, struct str text)
{
    for (size_t i = 0; i < words.count; i++)
        if (str_starts(text, str_of(words.items[i])))
            return strlen(words.items[i]);
    return 0;
}

size_t words_ending(struct words words, struct str text)
{
    for (size_t i = 0; i < words.count; i++)
        if (str_ends(text, str_of(words.items[i])))
            return strlen(words.items[i]);
    return 0;
}

const char *names_find(struct names names, struct str code)
{
    if (names.count == 0) /* then it may have no items to point to */
        return NULL;
    const size_t row = row_find(&names.items->code, names.count, sizeof *names.items, code);
    return row < names.count ? names.items[row].name : NULL;
}

struct name_slot {
    struct str name; /* data NULL: the slot is free */
    uint32_t number;
};

/* The slot of the name, or the free slot where it belongs. */
static struct name_slot *find_slot(const struct name_table *table, struct str name)
{
    size_t at = hash64(name.data, name.size) & (table->size - 1);
    while (table->slots[at].name.data && !str_equal(table->slots[at].name, name))
        at = (at + 1) & (table->size - 1);
    return &table->slots[at];
}

static void grow(struct name_table *table)
{
    const struct name_table old = *table;
    table->size = old.size > 0 ? 2 * old.size : 64;
    table->slots = mem_clear(table->size, sizeof *table->slots);
    for (size_t i = 0; i < old.size; i++)
        if (old.slots[i].name.data)
            *find_slot(table, old.slots[i].name) = old.slots[i];
    mem_free(old.slots);
}

void name_table_add(struct name_table *table, struct str name, uint32_t number)
{
    if (3 * table->count >= table->size)
        grow(table);
    assert(table->count < table->size); /* a search ends at a free slot */
    struct name_slot *slot = find_slot(table, name);
    if (slot->name.data)
        return;
    *slot = (struct name_slot){name, number};
    table->count++;
}

bool name_table_find(const struct name_table *table, struct str name, uint32_t *number)
{
    if (table->count == 0)
        return false;
    const struct name_slot *slot = find_slot(table, name);
    *number = slot->number;
    return slot->name.data != NULL;
}

void name_table_release(struct name_table *table)
{
    mem_free(table->slots);
    *table = (struct name_table){0};
}
