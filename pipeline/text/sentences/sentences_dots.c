/* The rules, first to last: a number at the start or after a comma counts an item; a number may be an ordinal; the
 * lists of the language say what is short for something; one letter is an initial. After what may end a sentence or
 * not, it does where the next word is one that begins sentences. */
#include "pipeline/text/sentences/sentences_dots.h"

#include "pipeline/text/sentences/sentences_marks.h"

#include <utf8proc.h>

#define WORD_BYTES_MAX     40u /* of a word that is looked up */
#define PART_BYTES_MAX     8u  /* of the first word of a pair: "z. B.", "EE. UU." */
#define ITEM_DIGITS_MAX    3u  /* "12. Item" */
#define ORDINAL_DIGITS_MAX 3u  /* "150. Jahrestag" */
#define YEAR_DIGITS        4u
#define GLUED_LETTERS_MIN  3u /* of words on both sides of a full stop without a blank: shorter ones are abbreviations */
#define PHRASE_WORDS_MIN   5u /* fewer words than this may be a phrase that opens a sentence: "At 9 a.m." */

/* The word at the end of the text: back to a blank, an opening bracket, a quote, a slash or a dash. */
static struct str last_word(struct str text)
{
    size_t at = text.size;
    for (; at > 0 && text.size - at <= WORD_BYTES_MAX; at--) {
        const char byte = text.data[at - 1];
        if (byte == '(' || byte == '[' || byte == '"' || byte == '/')
            break;
        size_t gap = blank_at(text, at - 1);
        if (gap == 0 && at + 1 < text.size &&
            ((memcmp(text.data + at - 1, "\xE2\x80", 2) == 0 && (unsigned char)text.data[at + 1] >= 0x90) ||
             memcmp(text.data + at - 1, "\xE2\x81\x83", 3) == 0))
            gap = 3; /* the quotes, dashes and bullets of Unicode, not what joins letters */
        if (gap > 0) {
            at += gap - 1;
            break;
        }
    }
    return str_from(text, at);
}

/* The word in front of `word`, without its full stop; empty where it has none or is long. */
static struct str word_before(struct str text, struct str word)
{
    const size_t start = (size_t)(word.data - text.data), blank = blank_before(text, start);
    const size_t stop = start - blank;
    if (blank == 0 || stop < 2 || text.data[stop - 1] != '.')
        return STR("");
    const struct str before = last_word((struct str){text.data, stop - 1});
    return before.size <= PART_BYTES_MAX ? before : STR("");
}

/* A letter with what is written above and below it. */
static bool is_one_letter(struct str word)
{
    if (word.size == 1)
        return ascii_is_letter(word.data[0]);
    if (word.size > 1 && (unsigned char)word.data[0] < 0x80 && (unsigned char)word.data[1] < 0x80)
        return false;
    for (size_t at = 0, size; at < word.size; at += size) {
        const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)code_point_at(word, at, &size));
        const bool letter = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
        const bool sign = category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
        if (at == 0 ? !letter : !sign)
            return false;
    }
    return word.size > 0;
}

bool dot_is_number(struct str word)
{
    for (size_t at = 0, size = 1; at < word.size; at += size) {
        const char byte = word.data[at];
        if (ascii_is_digit(byte) || (byte == '.' && at > 0))
            size = 1;
        else if ((unsigned char)byte < 0x80 ||
                 utf8proc_category((utf8proc_int32_t)code_point_at(word, at, &size)) != UTF8PROC_CATEGORY_ND)
            return false;
    }
    return word.size > 0;
}

/* I to MMM, in the case of `letters`. */
static bool is_roman(struct str word, const char *letters)
{
    for (size_t i = 0; i < word.size; i++)
        if (!memchr(letters, word.data[i], 7))
            return false;
    return word.size > 0;
}

/* True if the number `word` is an item of a list that runs on: "as 1. Lincoln; 2. Washington". */
static bool is_item(struct str text, struct str word)
{
    const size_t start = (size_t)(word.data - text.data), blank = blank_before(text, start);
    if (utf8_characters(word) > ITEM_DIGITS_MAX && !memchr(word.data, '.', word.size))
        return false;
    const bool bullet = (unsigned char)text.data[0] == 0xE2 && start == 3 + blank_at(text, 3);
    return start == 0 || bullet || (blank > 0 && start > blank && memchr(";:,", text.data[start - blank - 1], 3));
}

/* True if the number `word` is a part of a date: "1990. 3. 5. Seoul", "3. 5. 1990". */
static bool is_date(const struct dot *dot, struct str word)
{
    size_t digits = 0;
    while (digits < dot->after.size && ascii_is_digit(dot->after.data[digits]))
        digits++;
    const bool number_after = digits > 0 && digits <= 2 && digits < dot->after.size && dot->after.data[digits] == '.';
    return word.size <= 4 && (number_after || dot_is_number(word_before(dot->before, word)));
}

/* True if the number `word` is the last part of another: "12 34 56", "15/3". */
static bool is_part(struct str text, struct str word)
{
    const size_t start = (size_t)(word.data - text.data), blank = blank_before(text, start);
    return start > blank &&
           ((blank > 0 && ascii_is_digit(text.data[start - blank - 1])) || text.data[start - 1] == '/');
}

/* Letters with dots between, none longer than two: U.S, e.g, Ph.D, J.-P. */
static bool is_acronym(struct str word)
{
    size_t letters = 0;
    bool dots = false;
    for (size_t i = 0; i < word.size; i++) {
        if (word.data[i] == '.') {
            if (letters == 0)
                return false;
            dots = true;
            letters = 0;
        } else if (((unsigned char)word.data[i] & 0xC0) != 0x80 && (ascii_is_digit(word.data[i]) || ++letters > 2)) {
            return false;
        }
    }
    return dots && letters > 0;
}

bool word_starts(const struct language *language, struct str text)
{
    size_t end = 0;
    while (end < text.size && end < WORD_BYTES_MAX) {
        const unsigned char byte = (unsigned char)text.data[end];
        if (!ascii_is_letter((char)byte) && (byte < 0xC3 || byte == 0xE2) && (byte & 0xC0) != 0x80)
            break; /* a blank, an apostrophe, a quote */
        end++;
    }
    size_t first;
    code_point_at(text, 0, &first);
    if (end <= first && end < text.size && (text.data[end] == '.' || text.data[end] == '-'))
        return false;
    char folded[NAME_BYTES_MAX];
    return words_have(language->starters, name_fold((struct str){text.data, end}, folded));
}

bool word_is_one(struct words words, struct str text)
{
    for (size_t i = 0; i < words.count; i++) {
        struct str word = str_of(words.items[i]);
        const bool prefix = str_ends(word, STR("*"));
        word.size -= prefix;
        size_t size;
        if (str_starts(text, word) && (prefix || word.size == text.size || blank_at(text, word.size) ||
                                       marks_of(code_point_at(text, word.size, &size)) & (MARK_GOES_ON | MARKS_STOP)))
            return true;
    }
    return false;
}

bool word_continues(const struct language *language, struct str text)
{
    return word_is_one(language->continuers, text);
}

bool ellipsis_continues(const struct language *language, struct str text)
{
    size_t end = 0;
    char folded[NAME_BYTES_MAX];
    while (end < text.size && end < WORD_BYTES_MAX && !blank_at(text, end) && text.data[end] != '.')
        end++;
    const bool short_form = end < text.size && text.data[end] == '.';
    return word_continues(language, text) ||
           (short_form && words_have(language->finals, name_fold((struct str){text.data, end}, folded)));
}

/* What a number stands after: "No. 5", "vol. IV", "vol. I,". */
static bool is_numeral(struct str text)
{
    size_t size = 0;
    if (text.size > 0 && utf8proc_category((utf8proc_int32_t)code_point_at(text, 0, &size)) == UTF8PROC_CATEGORY_ND)
        return true;
    size = 0;
    while (size < text.size && ascii_is_letter(text.data[size]))
        size++;
    return is_roman((struct str){text.data, size}, "IVXLCDM") && (size > 1 || size == text.size || text.data[1] != ' ');
}

/* True if the number `word` stands after what numbers stand after: "fig. 4", "page 12". It is no ordinal. */
static bool is_counted(const struct language *language, struct str text, struct str word)
{
    char folded[NAME_BYTES_MAX];
    const size_t start = (size_t)(word.data - text.data), blank = blank_before(text, start);
    if (blank == 0 || start <= blank + 1)
        return false;
    struct str before = last_word((struct str){text.data, start - blank - (text.data[start - blank - 1] == '.')});
    return before.size <= WORD_BYTES_MAX && words_have(language->numbered, name_fold(before, folded));
}

/* Symbols of units, which are no abbreviations, so that a full stop after them ends a sentence. */
static const struct words symbols = WORDS("cm", "cm²", "dm", "g", "h", "ha", "hl", "kg", "km", "km²", "kw", "l", "m",
                                          "mg", "ml", "mm", "mw", "m²", "m³", "s");

/* True if `word` names a unit of the number before it: "5 km", "5 тыс. руб". A letter after a year is not one. */
static bool is_unit(const struct language *language, struct str text, struct str word, struct str name)
{
    const size_t start = (size_t)(word.data - text.data), blank = blank_before(text, start);
    if (blank == 0 || start == blank)
        return false;
    const char joint = text.data[start - blank - 1];
    size_t size;
    if ((!ascii_is_digit(joint) && language->units.count == 0) || is_upper(code_point_at(word, 0, &size)))
        return false;
    const bool known = words_have(language->units, name);
    if (!known && !words_have(symbols, name))
        return false;
    const bool stopped = joint == '.';
    const struct str before = last_word((struct str){text.data, start - blank - stopped});
    if (before.size == 0 || before.size > WORD_BYTES_MAX)
        return false;
    char folded[NAME_BYTES_MAX];
    if (!ascii_is_digit(before.data[before.size - 1]) || stopped)
        return known && words_have(language->units, name_fold(before, folded));
    return ascii_is_digit(before.data[0]) &&
           !(size == word.size && before.size == YEAR_DIGITS && dot_is_number(before));
}

/* True if the text begins with two equal capitals and a full stop, which stand for a plural: EE. UU., FF. AA. Roman
 * numbers are not among them. */
static bool is_doubled(struct str text)
{
    return text.size > 2 && text.data[2] == '.' && text.data[0] == text.data[1] &&
           is_upper((unsigned char)text.data[0]) && !memchr("IVXLCDM", text.data[0], 7);
}

/* True if the text begins with a title: "Mr. Reed". */
static bool title_begins(const struct language *language, struct str text)
{
    char folded[NAME_BYTES_MAX];
    size_t end = 0;
    while (end < text.size && end < PART_BYTES_MAX && ascii_is_letter(text.data[end]))
        end++;
    return end > 1 && end + 1 < text.size && text.data[end] == '.' && text.data[end + 1] == ' ' &&
           words_have(language->abbreviations, name_fold((struct str){text.data, end}, folded));
}

/* True if "a.m." or "p.m." ends the sentence before a title. It does not in an opening phrase: "At 9 a.m. Mr. Reed
 * left". */
static bool hour_ends(const struct language *language, const struct dot *dot)
{
    const struct str before = dot->before;
    if (before.size < 3 || (before.data[before.size - 1] | 0x20) != 'm' || before.data[before.size - 2] != '.' ||
        !title_begins(language, dot->after))
        return false;
    unsigned words = 1;
    for (size_t i = before.size; i > 0 && words < PHRASE_WORDS_MIN; i--)
        words += before.data[i - 1] == ' ';
    return words >= PHRASE_WORDS_MIN;
}

enum verdict { ENDS, GOES_ON, ENDS_BEFORE_STARTER, UNKNOWN };

static enum verdict look_up(const struct language *language, struct str name, struct str after)
{
    if (words_have(language->finals, name))
        return ENDS;
    if (words_have(language->endings, name))
        return ENDS_BEFORE_STARTER;
    if (words_have(language->abbreviations, name))
        return GOES_ON;
    return is_numeral(after) && words_have(language->numbered, name) ? GOES_ON : UNKNOWN;
}

/* A dot after a number: "3. May", "1. FC", "in 1905." */
static enum verdict judge_number(const struct language *language, const struct dot *dot, struct str word)
{
    if (is_item(dot->before, word))
        return GOES_ON;
    if (is_date(dot, word))
        return word.size == YEAR_DIGITS ? ENDS_BEFORE_STARTER : GOES_ON;
    return language->ordinal_dot && !is_counted(language, dot->before, word) && !is_part(dot->before, word) &&
                   word.size <= ORDINAL_DIGITS_MAX
               ? ENDS_BEFORE_STARTER
               : ENDS;
}

/* What the language's lists say of a word, folded in `name`, and of the word before it. */
static enum verdict judge_listed(const struct language *language, const struct dot *dot, struct str word,
                                 struct str name, struct str before)
{
    char folded[2 * NAME_BYTES_MAX];
    if (before.size > 0) {
        struct str both = name_fold(before, folded);
        folded[both.size] = '.';
        both.size += 1 + name_fold(word, folded + both.size + 1).size;
        const enum verdict of_both = look_up(language, both, dot->after);
        if (of_both != UNKNOWN)
            return of_both;
    }
    size_t first, second;
    if (is_unit(language, dot->before, word, name) && is_upper(code_point_at(dot->after, 0, &first)) &&
        !is_upper(code_point_at(dot->after, first, &second)))
        return dot->after.size > first && dot->after.data[first] != '.' ? ENDS : ENDS_BEFORE_STARTER;
    return look_up(language, name, dot->after);
}

/* What the form of a word says that is in no list: initials, acronyms, numerals, compounds. */
static enum verdict judge_form(const struct language *language, const struct dot *dot, struct str word, struct str name,
                               struct str before)
{
    size_t size;
    if (word.size == 2 && is_doubled(str_range(word.data, dot->after.data)))
        return before.size == 2 && before.data[0] == before.data[1] && !is_doubled(dot->after) ? ENDS_BEFORE_STARTER
                                                                                               : GOES_ON;
    if (is_one_letter(word) && is_one_letter(before))
        return is_lower(code_point_at(word, 0, &size)) ? ENDS_BEFORE_STARTER : GOES_ON;
    if (is_one_letter(word) || is_acronym(word))
        return dot->quoted ? GOES_ON : ENDS_BEFORE_STARTER;
    if (language->ordinal_dot && is_roman(word, "IVXLCDM"))
        return ENDS_BEFORE_STARTER;
    if (str_ends(name, STR("str")) && is_numeral(dot->after))
        return GOES_ON; /* Goethestr. 5 */
    const char *joint = memrchr(name.data, '-', name.size);
    if (!joint)
        joint = memrchr(name.data, '\'', name.size); /* l'ing. */
    return joint ? look_up(language, str_range(joint + 1, name.data + name.size), dot->after) : UNKNOWN;
}

static enum verdict judge(const struct language *language, const struct dot *dot)
{
    const struct str word = last_word(dot->before);
    if (word.size == 0 || word.size > WORD_BYTES_MAX)
        return ENDS;
    if (dot_is_number(word))
        return judge_number(language, dot, word);
    const char last = word.data[word.size - 1];
    if ((unsigned char)last < 0x80 && !ascii_is_letter(last) && !ascii_is_digit(last))
        return ENDS;
    const bool is_first = word.data == dot->before.data;
    if (is_first && (is_one_letter(word) || is_roman(word, "IVXLCDM") || is_roman(word, "ivxlcdm")))
        return GOES_ON;

    char folded[NAME_BYTES_MAX];
    const struct str name = name_fold(word, folded), before = word_before(dot->before, word);
    const enum verdict listed = judge_listed(language, dot, word, name, before);
    return listed != UNKNOWN ? listed : judge_form(language, dot, word, name, before);
}

bool dot_ends(const struct language *language, const struct dot *dot)
{
    const enum verdict verdict = judge(language, dot);
    if (verdict == ENDS_BEFORE_STARTER)
        return word_starts(language, dot->after) || hour_ends(language, dot);
    return verdict != GOES_ON;
}

bool dot_is_short(const struct language *language, struct str word)
{
    char folded[NAME_BYTES_MAX];
    return is_one_letter(word) ||
           (word.size <= WORD_BYTES_MAX && words_have(language->abbreviations, name_fold(word, folded)));
}

/* A letter of a script without case, or what is written above and below it. */
static bool is_caseless(uint32_t code_point, bool *letter)
{
    const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)code_point);
    *letter = category == UTF8PROC_CATEGORY_LO || (code_point >= 0x10D0 && code_point <= 0x10FF);
    return *letter || category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC;
}

static bool is_kana(uint32_t code_point)
{
    return code_point >= 0x3041 && code_point <= 0x30FF;
}

bool glued_caseless(const struct dot *dot, bool strong)
{
    const size_t least = strong ? 1 : GLUED_LETTERS_MIN;
    size_t before = 0, after = 0, size;
    bool letter;
    uint32_t code_point;
    for (size_t at = dot->before.size; at > 0 && before < least; before += letter) {
        while (--at > 0 && ((unsigned char)dot->before.data[at] & 0xC0) == 0x80)
            continue;
        code_point = code_point_at(dot->before, at, &size);
        if (code_point < 0x80 || !is_caseless(code_point, &letter) || (strong && is_kana(code_point)))
            return false;
    }
    for (size_t at = 0; at < dot->after.size && after < least; at += size, after += letter) {
        code_point = code_point_at(dot->after, at, &size);
        if (code_point < 0x80 || !is_caseless(code_point, &letter) || (strong && is_kana(code_point)))
            return false;
    }
    return before == least && after == least;
}

bool glued_ends(const struct language *language, const struct dot *dot)
{
    const struct str word = last_word(dot->before);
    if (dot->after.size < 2 || !is_upper((unsigned char)dot->after.data[0]) ||
        !is_lower((unsigned char)dot->after.data[1]) ||
        !(word_starts(language, dot->after) ||
          (utf8_characters(word) >= GLUED_LETTERS_MIN && title_begins(language, dot->after))))
        return false;
    if (word.size > 0 && ascii_is_digit(word.data[0]) && word.data != dot->before.data) {
        size_t i = 1;
        while (i < word.size && (ascii_is_digit(word.data[i]) || word.data[i] == ',' || word.data[i] == '.'))
            i++;
        return i == word.size && (word.size > ORDINAL_DIGITS_MAX || !language->ordinal_dot);
    }
    for (size_t i = 0; i < word.size; i++)
        if ((unsigned char)word.data[i] < 0x80 && !is_lower((unsigned char)word.data[i]) && (i > 0 || word.size < 3))
            return false; /* www.example, a.B, node1 */
    return word.size > 1;
}

bool mark_is_name(const struct language *language, struct str text)
{
    char folded[NAME_BYTES_MAX];
    return words_have(language->endings, name_fold(last_word(text), folded));
}
