#include "pipeline/text/sentences/sayings.h"

#include "pipeline/text/sentences/sentences_dots.h"
#include "pipeline/text/sentences/sentences_marks.h"

#define CLAUSE_WORDS_MAX 6u /* of "Ram, the brother of the king, said" no more are read */
#define CLAUSE_BYTES_MAX 120u

static bool is_apostrophe(struct str text, size_t at, uint32_t code_point, size_t size)
{
    return (code_point == 0x2019 || code_point == '\'') && at > 0 && at + size < text.size &&
           !blank_at(text, at + size);
}

/* The text up to a blank or a mark, or to the bound. */
static struct str first_word(struct str text)
{
    size_t end = 0;
    for (size_t size; end < text.size && end < CLAUSE_BYTES_MAX && !blank_at(text, end); end += size) {
        const uint32_t code_point = code_point_at(text, end, &size);
        if (marks_of(code_point) && !is_apostrophe(text, end, code_point, size))
            break;
    }
    return (struct str){text.data, end};
}

/* Scripts without blanks between words: such a verb stands anywhere before the next blank or mark, but not before a
 * word for "that", after which the sentence says what was said. */
static bool has_inside(struct str word)
{
    for (size_t i = 0; i < sayings_that.count; i++)
        if (str_ends(word, str_of(sayings_that.items[i])))
            return false;
    for (size_t i = 0; i < sayings_inside.count; i++)
        if (str_find(word, str_of(sayings_inside.items[i])) != SIZE_MAX)
            return true;
    return false;
}

/* Chinese: a clause ends with such a verb. */
static bool has_at_end(struct str word)
{
    for (size_t i = 0; i < sayings_at_end.count; i++)
        if (str_ends(word, str_of(sayings_at_end.items[i])))
            return true;
    return false;
}

bool saying_follows(struct str text, bool is_whole)
{
    if (text.size == 0 || (unsigned char)text.data[0] < 0xD6) /* Latin, Greek, Cyrillic, Armenian */
        return false;
    if (word_is_one(sayings, text))
        return true;
    if (!is_whole || word_is_one(sayings_nobody, text))
        return false;
    if (has_inside(first_word(text)))
        return true;
    bool last = false, before = false; /* that word is a verb of saying; `before`: the last one is an auxiliary */
    size_t at = 0, size;
    for (unsigned words = 0; words < CLAUSE_WORDS_MAX && at < CLAUSE_BYTES_MAX; words++) {
        const struct str rest = {text.data + at, text.size - at}, word = first_word(rest);
        if (word.size == 0)
            break;
        before = last;
        last = word_is_one(sayings, rest) || has_inside(word) || has_at_end(word);
        for (at += word.size; at < text.size && (size = blank_at(text, at)) > 0;)
            at += size;
    }
    return (last || before) && (at == text.size || marks_of(code_point_at(text, at, &size)) & MARKS_STOP);
}
