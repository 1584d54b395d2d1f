/* A script that only one language uses identifies it. Otherwise the most frequent words of each language are counted:
 * in prose they are at least a tenth of all words, and no other language reaches half as many. */
#include "pipeline/text/words/guess.h"

#include "base/mem.h"

#include <assert.h>
#include <utf8proc.h>

enum script { LATIN, CYRILLIC, ARABIC, HAN, KANA, HANGUL, GREEK, HEBREW, THAI, OTHER, SCRIPTS };

static const struct {
    uint32_t first, last;
    enum script script;
} ranges[] = {{'A', 'Z', LATIN},        {'a', 'z', LATIN},       {0xAA, 0x24F, LATIN},     {0x370, 0x3FF, GREEK},
              {0x400, 0x52F, CYRILLIC}, {0x590, 0x5FF, HEBREW},  {0x600, 0x6FF, ARABIC},   {0x750, 0x77F, ARABIC},
              {0x900, 0xDFF, OTHER},    {0xE00, 0xE7F, THAI},    {0xE80, 0x10FF, OTHER},   {0x1100, 0x11FF, HANGUL},
              {0x1200, 0x1DFF, OTHER},  {0x1E00, 0x1EFF, LATIN}, {0x3040, 0x30FF, KANA},   {0x3400, 0x9FFF, HAN},
              {0xAC00, 0xD7AF, HANGUL}, {0xF900, 0xFAFF, HAN},   {0xFB50, 0xFDFF, ARABIC}, {0xFE70, 0xFEFE, ARABIC},
              {0x20000, 0x3FFFF, HAN}};

#define CANDIDATES_MAX 64u

#define GUESS_BYTES (64u << 10) /* bytes examined */
#define HITS_MIN    4u
#define HITS_SHARE  16u /* the least share of the words: one in this many */

struct counting {
    uint64_t letters[SCRIPTS], words;
    uint32_t hits[CANDIDATES_MAX]; /* of the candidates */
    struct name_table common;      /* their words, whose numbers are the bits of: */
    uint64_t *candidates;          /* those that have the word */
};

static void open_counting(struct counting *counting)
{
    size_t words = 0;
    assert(common_words_count <= CANDIDATES_MAX);
    for (size_t i = 0; i < common_words_count; i++)
        words += common_words[i].words.count;
    *counting = (struct counting){.candidates = mem_clear(words, sizeof *counting->candidates)};
    for (size_t i = 0; i < common_words_count; i++)
        for (size_t k = 0; k < common_words[i].words.count; k++) {
            const struct str word = str_of(common_words[i].words.items[k]);
            uint32_t number;
            if (!name_table_find(&counting->common, word, &number))
                name_table_add(&counting->common, word, number = (uint32_t)counting->common.count);
            counting->candidates[number] |= UINT64_C(1) << i;
        }
}

static void close_counting(struct counting *counting)
{
    name_table_release(&counting->common);
    mem_free(counting->candidates);
}

static enum script script_of(uint32_t code_point)
{
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code_point >= ranges[i].first && code_point <= ranges[i].last)
            return ranges[i].script;
    return SCRIPTS;
}

static void count_word(struct counting *counting, struct str word)
{
    uint32_t number;
    counting->words++;
    if (!name_table_find(&counting->common, word, &number))
        return;
    for (uint64_t left = counting->candidates[number]; left; left &= left - 1)
        counting->hits[__builtin_ctzll(left)]++;
}

static bool is_letter(uint32_t code_point)
{
    const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)code_point);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ME;
}

static void count_text(struct counting *counting, struct str text)
{
    enum { WORD_BYTES_MAX = 24 }; /* a longer word is not among the most frequent */
    char word[WORD_BYTES_MAX];
    size_t size = 0;
    for (size_t at = 0; at <= text.size;) {
        uint32_t code_point = ' ';
        unsigned skip = 1, length = 1;
        if (at < text.size)
            length = utf8_decode(text.data + at, text.size - at, &code_point, &skip);
        at += length ? length : skip;
        if (!length || !is_letter(code_point)) {
            if (size > 0)
                count_word(counting, (struct str){word, size < WORD_BYTES_MAX ? size : 0});
            size = 0;
            continue;
        }
        const enum script script = script_of(code_point);
        if (script < SCRIPTS)
            counting->letters[script]++;
        if (size + 4 < WORD_BYTES_MAX)
            size += utf8_write((uint32_t)utf8proc_tolower((utf8proc_int32_t)code_point), word + size);
        else
            size = WORD_BYTES_MAX;
    }
}

/* The script of more than half of all letters; kana among ideographs count as Japanese. */
static enum script main_script(const uint64_t letters[SCRIPTS])
{
    uint64_t sum = 0;
    for (size_t i = 0; i < SCRIPTS; i++)
        sum += letters[i];
    if (2 * (letters[HAN] + letters[KANA]) > sum)
        return 10 * letters[KANA] > letters[HAN] + letters[KANA] ? KANA : HAN;
    for (size_t i = 0; i < SCRIPTS; i++)
        if (2 * letters[i] > sum)
            return (enum script)i;
    return OTHER;
}

static const char *const by_script[SCRIPTS] = {
    [HAN] = "zh", [KANA] = "ja", [HANGUL] = "ko", [GREEK] = "el", [HEBREW] = "he", [THAI] = "th"};

bool language_is_guessed(struct str code)
{
    bool found = false;
    for (size_t i = 0; i < SCRIPTS; i++)
        found |= by_script[i] && str_equal(code, str_of(by_script[i]));
    for (size_t i = 0; i < common_words_count; i++)
        found |= str_equal(code, str_of(common_words[i].code));
    return found;
}

void language_guessed_codes(struct buf *out)
{
    for (size_t i = 0; i < common_words_count; i++)
        buf_addf(out, "%s%s", i ? ", " : "", common_words[i].code);
    for (size_t i = 0; i < SCRIPTS; i++)
        if (by_script[i])
            buf_addf(out, ", %s", by_script[i]);
}

const char *language_guess(struct str text)
{
    struct counting counting;
    if (text.size > GUESS_BYTES)
        text.size = GUESS_BYTES;
    open_counting(&counting);
    count_text(&counting, text);
    close_counting(&counting);
    const enum script script = main_script(counting.letters);
    if (by_script[script])
        return counting.letters[HAN] + counting.letters[KANA] + counting.letters[script] > 10 ? by_script[script]
                                                                                              : NULL;
    uint32_t best = 0, second = 0;
    size_t first = 0;
    for (size_t i = 0; i < common_words_count; i++) {
        uint32_t letter;
        unsigned skip;
        const struct str word = str_of(common_words[i].words.items[0]);
        utf8_decode(word.data, word.size, &letter, &skip);
        if (script_of(letter) != script)
            continue;
        if (counting.hits[i] > best) {
            second = best;
            best = counting.hits[i];
            first = i;
        } else if (counting.hits[i] > second) {
            second = counting.hits[i];
        }
    }
    const bool clear = best >= HITS_MIN && (uint64_t)best * HITS_SHARE >= counting.words && 2 * best >= 3 * second;
    return clear ? common_words[first].code : NULL;
}
