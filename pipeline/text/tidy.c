#include "pipeline/text/tidy.h"

#include "base/str.h"

#include <assert.h>

#define LOOSE_BYTES_MAX 64u /* how far an empty bracket may extend on each side of a gap */

enum mark {
    MARK_OTHER,
    MARK_GAP,
    MARK_BLANK,
    MARK_SEPARATOR, /* , ; */
    MARK_LINKING,   /* - / : between two things that were removed */
    MARK_OPEN,
    MARK_CLOSE,
    MARK_QUOTE, /* opens and closes */
    MARK_STOP,  /* . ! ? */
};

struct piece {
    enum mark mark;
    unsigned pair; /* which brackets */
    size_t size;
};

/* The characters of interest, as bytes; brackets of a pair have the same number. */
static const struct sign {
    char text[4];
    enum mark mark;
    unsigned pair;
} signs[] = {
    {"\xC2\xA0", MARK_BLANK, 0}, {"、", MARK_SEPARATOR, 0}, {"，", MARK_SEPARATOR, 0}, {"；", MARK_SEPARATOR, 0},
    {"،", MARK_SEPARATOR, 0},    {"؛", MARK_SEPARATOR, 0},  {"–", MARK_LINKING, 0},    {"—", MARK_LINKING, 0},
    {"：", MARK_LINKING, 0},     {"·", MARK_LINKING, 0},    {"（", MARK_OPEN, 2},      {"）", MARK_CLOSE, 2},
    {"“", MARK_OPEN, 3},         {"”", MARK_CLOSE, 3},      {"„", MARK_OPEN, 4},       {"«", MARK_OPEN, 5},
    {"»", MARK_CLOSE, 5},        {"「", MARK_OPEN, 6},      {"」", MARK_CLOSE, 6},     {"『", MARK_OPEN, 7},
    {"』", MARK_CLOSE, 7},       {"。", MARK_STOP, 0},      {"！", MARK_STOP, 0},      {"？", MARK_STOP, 0},
    {"؟", MARK_STOP, 0},         {"।", MARK_STOP, 0},
};

static const struct piece ascii[128] = {
    [GAP] = {MARK_GAP, 0, 1},     [GAP_SILENT] = {MARK_GAP, 0, 1}, [' '] = {MARK_BLANK, 0, 1},
    ['\t'] = {MARK_BLANK, 0, 1},  [','] = {MARK_SEPARATOR, 0, 1},  [';'] = {MARK_SEPARATOR, 0, 1},
    ['-'] = {MARK_LINKING, 0, 1}, ['/'] = {MARK_LINKING, 0, 1},    [':'] = {MARK_LINKING, 0, 1},
    ['('] = {MARK_OPEN, 0, 1},    [')'] = {MARK_CLOSE, 0, 1},      ['['] = {MARK_OPEN, 1, 1},
    [']'] = {MARK_CLOSE, 1, 1},   ['"'] = {MARK_QUOTE, 8, 1},      ['.'] = {MARK_STOP, 0, 1},
    ['!'] = {MARK_STOP, 0, 1},    ['?'] = {MARK_STOP, 0, 1}};

static struct piece piece_of(const char *text, size_t size)
{
    const unsigned char first = (unsigned char)text[0];
    if (first < 0x80)
        return ascii[first].size > 0 ? ascii[first] : (struct piece){MARK_OTHER, 0, 1};
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (size == strlen(signs[i].text) && memcmp(text, signs[i].text, size) == 0)
            return (struct piece){signs[i].mark, signs[i].pair, size};
    return (struct piece){MARK_OTHER, 0, size};
}

static size_t length_at(const char *text, size_t at, size_t size)
{
    size_t end = at + 1;
    while (end < size && ((unsigned char)text[end] & 0xC0) == 0x80)
        end++;
    return end - at;
}

/* The character that begins at `at` (MARK_OTHER of size 0 at the end of the text). */
static struct piece piece_at(const char *text, size_t at, size_t size)
{
    return at == size ? (struct piece){MARK_OTHER, 0, 0} : piece_of(text + at, length_at(text, at, size));
}

/* The character that ends at `end` (size 0 at the start of the text). */
static struct piece piece_before(const char *text, size_t end)
{
    if (end == 0)
        return (struct piece){MARK_OTHER, 0, 0};
    size_t at = end - 1;
    while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80)
        at--;
    return piece_of(text + at, end - at);
}

/* The end of the run, from `at` on, of gaps and characters whose mark is at most `loosest`. */
static size_t run_right(const char *text, size_t at, size_t size, enum mark loosest, size_t bytes_max)
{
    const size_t from = at;
    for (struct piece piece = piece_at(text, at, size); at < size && at - from < bytes_max;
         piece = piece_at(text, at, size)) {
        if (piece.mark == MARK_OTHER || piece.mark > loosest)
            break;
        at += piece.size;
    }
    return at;
}

static size_t run_left(const char *text, size_t end, enum mark loosest, size_t bytes_max)
{
    const size_t from = end;
    for (struct piece piece = piece_before(text, end); end > 0 && from - end < bytes_max;
         piece = piece_before(text, end)) {
        if (piece.mark == MARK_OTHER || piece.mark > loosest)
            break;
        end -= piece.size;
    }
    return end;
}

/* An empty pair of brackets: only gaps, blanks and signs inside; in straight quotes only gaps. */
static bool is_empty_pair(struct piece open, struct piece close, bool only_gaps)
{
    if (open.mark == MARK_QUOTE && close.mark == MARK_QUOTE)
        return only_gaps;
    return open.mark == MARK_OPEN && close.mark == MARK_CLOSE && open.pair == close.pair;
}

/* The German closing quote is the English opening one. */
static struct piece closing(struct piece piece)
{
    if (piece.mark == MARK_OPEN && piece.pair == 3)
        return (struct piece){MARK_CLOSE, 4, piece.size};
    return piece;
}

/* A run of blanks and separators around gaps. */
struct seam {
    bool blank;           /* there was one */
    bool blank_separator; /* a blank came before the first separator, with no gap between: " ;" was typed like that */
    size_t separator_size;
    char separator[4];
};

static void read_seam(struct seam *seam, const char *text, size_t from, size_t to)
{
    bool after_blank = false;
    while (from < to) {
        const struct piece piece = piece_at(text, from, to);
        if (piece.mark == MARK_SEPARATOR && seam->separator_size == 0) {
            memcpy(seam->separator, text + from, piece.size);
            seam->separator_size = piece.size;
            seam->blank_separator = after_blank;
        }
        seam->blank |= piece.mark == MARK_BLANK;
        after_blank = piece.mark == MARK_BLANK;
        from += piece.size;
    }
}

/* A seam disappears at either end of a paragraph or bracket, and before a full stop. */
static bool seam_vanishes(struct piece left, struct piece right, const char *text, size_t at, size_t size)
{
    if (left.size == 0 || left.mark == MARK_OPEN || right.size == 0 || right.mark == MARK_CLOSE)
        return true;
    const bool touches = is_gap(text[at - 1]);
    if (right.mark == MARK_STOP) {
        const struct piece after = piece_at(text, at + right.size, size);
        return touches || after.size == 0 || after.mark == MARK_BLANK || after.mark == MARK_GAP;
    }
    return touches && text[at] == ':';
}

/* Skips the full stop or colon that ended the removed text: at the start of a paragraph ("GAP. First of"), or after
 * another sentence ("was. GAP."); after a dash only at the start ("GAP – a film"). */
static size_t skip_orphan(struct piece left, const char *text, size_t at, size_t size)
{
    const struct piece first = piece_at(text, at, size);
    if (left.size == 0 && first.mark == MARK_LINKING && piece_at(text, at + first.size, size).mark == MARK_BLANK)
        return at + first.size;
    const bool alone = left.size == 0 || left.mark == MARK_STOP;
    if (!alone || at == size || !is_gap(text[at - 1]) || (text[at] != '.' && text[at] != ':'))
        return at;
    const struct piece after = piece_at(text, at + 1, size);
    return after.size == 0 || after.mark == MARK_BLANK || after.mark == MARK_GAP ? at + 1 : at;
}

static size_t find_gap(const char *text, size_t at, size_t size)
{
    while (at < size && !is_gap(text[at]))
        at++;
    return at;
}

/* Around a gap without words: a blank stays where there was one, but not at either end of a paragraph or bracket, nor
 * before a mark that directly followed it. Moves *out and *in past what is removed. */
static void join_silently(char *text, size_t size, size_t *out, size_t *in, uint64_t *steps)
{
    const size_t right = run_right(text, *in, size, MARK_BLANK, size), left = run_left(text, *out, MARK_BLANK, size);
    struct seam seam = {0};
    read_seam(&seam, text, left, *out);
    read_seam(&seam, text, *in, right);
    *steps += 2 * (right - *in + *out - left);
    const struct piece before = piece_before(text, left), after = piece_at(text, right, size);
    const bool at_mark = is_gap(text[right - 1]) && (after.mark == MARK_SEPARATOR || after.mark == MARK_STOP);
    *out = left;
    *in = right;
    if (seam.blank && before.size > 0 && before.mark != MARK_OPEN && after.size > 0 && after.mark != MARK_CLOSE &&
        !at_mark)
        text[(*out)++] = ' ';
}

size_t tidy(char *text, size_t size, uint64_t *steps)
{
    size_t in = 0, out = 0;
    *steps += size;
    for (;;) {
        const size_t gap = find_gap(text, in, size);
        assert(out <= in && in <= gap && gap <= size); /* text moves towards the front only */
        memmove(text + out, text + in, gap - in);
        out += gap - in;
        if (gap == size)
            return out;

        size_t right = run_right(text, gap, size, MARK_LINKING, LOOSE_BYTES_MAX);
        size_t left = run_left(text, out, MARK_LINKING, LOOSE_BYTES_MAX);
        *steps += (right - gap) + (out - left);
        const struct piece open = piece_before(text, left);
        const struct piece close = closing(piece_at(text, right, size));
        const bool is_last = right == size && text[size - 1] == GAP; /* only signs between gaps follow */
        const bool only_gaps = left == out && run_right(text, gap, right, MARK_GAP, right) == right;
        if (is_empty_pair(open, close, only_gaps) || is_empty_pair(open, piece_at(text, right, size), only_gaps)) {
            out = left - open.size;
            in = right + close.size - 1;
            text[in] = GAP; /* the bracket is gone; the text around it is mended next */
            continue;
        }
        right = run_right(text, gap, size, MARK_SEPARATOR, size);
        if (!memchr(text + gap, GAP, right - gap)) {
            in = gap;
            join_silently(text, size, &out, &in, steps);
            continue;
        }

        right = is_last ? size : right;
        left = run_left(text, out, MARK_SEPARATOR, size);
        *steps += 2 * ((right - gap) + (out - left));
        struct seam seam = {0};
        read_seam(&seam, text, left, out);
        read_seam(&seam, text, gap, right);
        const struct piece before = piece_before(text, left);
        out = left;
        in = right;
        if (seam_vanishes(before, piece_at(text, right, size), text, right, size)) {
            in = skip_orphan(before, text, right, size);
            continue;
        }
        if (seam.separator_size > 0 && seam.blank_separator)
            text[out++] = ' ';
        memcpy(text + out, seam.separator, seam.separator_size);
        out += seam.separator_size;
        if (seam.blank)
            text[out++] = ' ';
    }
}
