/* From stop to stop. A stop is a row of marks with the quotes and brackets that close after it; read_stop gathers it,
 * and wide_ends (for scripts with marks of their own) or narrow_ends (". ! ? …") decides whether it ends a sentence. */
#include "pipeline/text/sentences/sentences.h"

#include "base/mem.h"
#include "pipeline/text/sentences/sentences_dots.h"
#include "pipeline/text/sentences/sentences_items.h"
#include "pipeline/text/sentences/sentences_marks.h"

#include <assert.h>

#define QUOTE_BYTES_MAX   600u /* a longer bracket or quotation does not protect its sentences */
#define OPENING_BYTES_MAX 40u  /* no more bytes than this before a word are examined */
#define CLAUSES_BYTES_MAX 400u /* longer sentences are cut at blanks, in scripts where blanks separate clauses */
#define CLAUSES_BYTES_MIN 100u /* the least that such a cut leaves */
#define ITEM_BYTES_MAX    9u   /* of the number of an item: three digits */

/* A quotation that is open. */
struct quotation {
    size_t at;      /* position of its quote; SIZE_MAX: no open quotation */
    size_t close;   /* position of the closing quote; 0: not searched yet, SIZE_MAX: none */
    unsigned style; /* of its quotes */
    bool begins;    /* the sentence begins with it */
};

struct splitter {
    const struct language *language;
    struct str line;
    struct sentences *out;
    size_t start;     /* start of the current sentence */
    size_t wide_open; /* position of the outermost open 「 or （ */
    unsigned wide_depth;
    struct quotation quotation;
    size_t typed_next[TYPED_STOPS_MAX]; /* next position of each of the language's own stops */
    bool dot_ends_nothing;              /* in the current line */
};

/* A row of marks, what closes after them, and what follows. */
struct stop {
    unsigned marks; /* all of them ORed */
    size_t at, end; /* position and end of the marks */
    size_t after;   /* end of the closing quotes and brackets */
    size_t next;    /* end of the blanks */
    size_t word;    /* end of the opening quotes, brackets and dashes: the next word */
    bool quoted;    /* there are opening ones */
    bool is_cjk;    /* one of the marks is Chinese or Japanese */
};

static struct str rest_of(const struct splitter *splitter, size_t at)
{
    return str_from(splitter->line, at);
}

/* Adds a sentence; cuts it if it is too long. Each cut leaves at least half of the bound, so the work stays linear. */
static void add_piece(struct splitter *splitter, struct str rest)
{
    while (rest.size > SENTENCE_BYTES_MAX) {
        size_t cut = 0, blank = 0;
        for (size_t at = SENTENCE_BYTES_MAX; at > SENTENCE_BYTES_MAX / 2 && cut == 0; at--) {
            if (rest.data[at] == ' ' && rest.data[at - 1] == ';')
                cut = at;
            else if (memcmp(rest.data + at - 3, "\xEF\xBC\x9B", 3) == 0) /* ； */
                cut = at;
            else if (rest.data[at] == ' ' && blank == 0)
                blank = at;
        }
        if (cut == 0)
            cut = blank;
        if (cut == 0)
            for (cut = SENTENCE_BYTES_MAX; ((unsigned char)rest.data[cut] & 0xC0) == 0x80; cut--)
                continue;
        sentences_add(splitter->out, str_trim(str_part(rest, 0, cut)));
        rest = str_trim(str_from(rest, cut));
    }
    if (rest.size > 0)
        sentences_add(splitter->out, rest);
}

/* True if the blank at `at` separates two clauses. Thai also writes blanks around numbers, Latin words, quotes and its
 * repetition mark; all its letters are three bytes that begin with 0xE0 or 0xE1. */
static bool parts_clauses(struct str text, size_t at)
{
    const struct str next = {text.data + at + 1, text.size - at - 1};
    LOCAL_WORDS(signs, "ฯ", "ๆ", "ໆ", "ៗ");
    if (at < 3 || next.size < 3 || text.data[at] != ' ' || ((unsigned char)next.data[0] & 0xFE) != 0xE0)
        return false;
    return words_starting(signs, next) == 0 && ((unsigned char)text.data[at - 3] & 0xFE) == 0xE0;
}

/* Where to cut a long sentence of such a script: at the last blank within the bound, else at the first; 0: nowhere. */
static size_t clauses_end(struct str text)
{
    for (size_t at = CLAUSES_BYTES_MAX; at > CLAUSES_BYTES_MIN; at--)
        if (parts_clauses(text, at))
            return at;
    for (size_t at = CLAUSES_BYTES_MAX + 1; at < text.size; at++)
        if (parts_clauses(text, at))
            return at;
    return 0;
}

static void add_sentence(struct splitter *splitter, size_t end)
{
    assert(splitter->start <= end && end <= splitter->line.size);
    struct str rest = str_trim(str_part(splitter->line, splitter->start, end));
    for (size_t cut; splitter->language->cuts_at_blanks && rest.size > CLAUSES_BYTES_MAX;) {
        if ((cut = clauses_end(rest)) == 0)
            break;
        add_piece(splitter, str_trim((struct str){rest.data, cut}));
        rest = str_trim(str_from(rest, cut));
    }
    add_piece(splitter, rest);
}

static size_t skip_blanks(const struct splitter *splitter, size_t at)
{
    for (size_t size; (size = blank_at(splitter->line, at)) > 0;)
        at += size;
    return at;
}

/* The size of "[12]" at `at`, the number of a note, or of "[...]" or "[…]"; else 0. */
static size_t bracketed(const struct splitter *splitter, size_t at, bool number)
{
    const struct str rest = rest_of(splitter, at);
    if (rest.size == 0 || (rest.data[0] != '[' && (number || rest.data[0] != '(')))
        return 0;
    size_t i = 1;
    while (i < rest.size && i < 7 &&
           (number ? ascii_is_digit(rest.data[i]) : memchr(" .\xE2\x80\xA6", rest.data[i], 5) != NULL))
        i++;
    return i > 1 && i < rest.size && (rest.data[i] == ']' || rest.data[i] == ')') ? i + 1 : 0;
}

/* Skips the closing quotes, brackets and notes at `at`. In French a blank precedes »; in Chinese “ opens. */
static size_t skip_closings(const struct splitter *splitter, size_t at, bool is_cjk)
{
    for (size_t size, blank;; at += size) {
        const uint32_t code_point = code_point_at(splitter->line, at, &size);
        if (marks_of(code_point) & MARK_CLOSES && !((code_point == 0x201C || code_point == 0x2018) && is_cjk))
            continue;
        if ((blank = blank_at(splitter->line, at)) > 0 && code_point_at(splitter->line, at + blank, &size) == 0xBB) {
            size += blank;
            if (at + size == splitter->line.size || blank_at(splitter->line, at + size))
                continue;
        }
        if ((size = bracketed(splitter, at, true)) == 0)
            return at;
    }
}

/* Skips the quotes, brackets, dashes and "[…]" at `at` that precede a word. */
static size_t skip_openings(const struct splitter *splitter, size_t at)
{
    for (size_t end = at + OPENING_BYTES_MAX, size; at < end; at += size) {
        const unsigned marks = marks_of(code_point_at(splitter->line, at, &size));
        const size_t gap = bracketed(splitter, at, false);
        if (gap > 0)
            size = gap + blank_at(splitter->line, at + gap);
        else if (marks & MARK_DASH)
            size += blank_at(splitter->line, at + size);
        else if (!(marks & MARK_OPENS))
            break;
    }
    return at;
}

/* True if an opening bracket or quote precedes `at`. */
static bool opens_before(const struct splitter *splitter, size_t at)
{
    size_t start = at, size;
    while (start > splitter->start && ((unsigned char)splitter->line.data[--start] & 0xC0) == 0x80)
        continue;
    const unsigned marks = marks_of(code_point_at(splitter->line, start, &size));
    return marks & MARK_OPENS && (!(marks & MARK_CLOSES) || blank_before(splitter->line, start));
}

/* The style of a quote, the same for quotes that form a pair; 0: not a quote. Single quotes are usually apostrophes. */
static unsigned quote_style(uint32_t code_point)
{
    return code_point == '"'                              ? 1
           : code_point == 0xAB || code_point == 0xBB     ? 2
           : code_point >= 0x201C && code_point <= 0x201E ? 3
                                                          : 0;
}

/* True if the quote at `at`, of `size` bytes, opens. Decided by its context, because each of them opens in some
 * language: „…“, “…”, ”…”, »…«, « … ». */
static bool quote_opens(const struct splitter *splitter, size_t at, size_t size, uint32_t code_point)
{
    const struct str line = splitter->line;
    if (code_point == 0x201E)
        return true;
    size_t next;
    const bool blank_after = at + size == line.size || blank_at(line, at + size);
    if ((marks_of(code_point_at(line, at + size, &next)) & (MARK_GOES_ON | MARKS_STOP)) == MARK_GOES_ON)
        return false; /* « Oui », */
    const bool opens = at == 0 || blank_before(line, at) || line.data[at - 1] == '(' || line.data[at - 1] == '[' ||
                       (at >= 3 && memcmp(line.data + at - 3, "\xE2\x80", 2) == 0 &&
                        (unsigned char)line.data[at - 1] <= 0x95); /* a dash */
    return opens && (!blank_after || code_point == 0xAB);
}

/* Records the quote at `at`, so that "…. …." stays in one sentence. Quotes inside a quotation do not count. */
static void note_quote(struct splitter *splitter, size_t at, size_t size, uint32_t code_point)
{
    struct quotation *open = &splitter->quotation;
    const unsigned style = quote_style(code_point);
    if (style == 0 || (open->at != SIZE_MAX && open->style != style && at - open->at < QUOTE_BYTES_MAX))
        return;
    if (quote_opens(splitter, at, size, code_point))
        *open = (struct quotation){.at = at, .style = style, .begins = skip_openings(splitter, splitter->start) > at};
    else
        open->at = SIZE_MAX;
}

/* Keeps the contents of 「…。…」 and （…。…） in one sentence, and records quotes. */
static void note_quotes(struct splitter *splitter, size_t from, size_t to)
{
    for (size_t at = from, size; at < to; at += size) {
        const uint32_t code_point = code_point_at(splitter->line, at, &size);
        const unsigned marks = marks_of(code_point);
        note_quote(splitter, at, size, code_point);
        if (marks & MARK_HOLDS && splitter->wide_depth++ == 0)
            splitter->wide_open = at;
        if (marks & MARK_RELEASES && splitter->wide_depth > 0)
            splitter->wide_depth--;
    }
}

/* Where the open quotation closes: at the first quote of its style that does not open. SIZE_MAX: it does not close. */
static size_t quotation_close(const struct splitter *splitter)
{
    const struct quotation *open = &splitter->quotation;
    const size_t end =
        splitter->line.size - open->at < QUOTE_BYTES_MAX ? splitter->line.size : open->at + QUOTE_BYTES_MAX;
    size_t size;
    code_point_at(splitter->line, open->at, &size);
    for (size_t at = open->at + size; (at = marks_next(splitter->line, at)) < end; at += size) {
        const uint32_t code_point = code_point_at(splitter->line, at, &size);
        if (quote_style(code_point) == open->style)
            return quote_opens(splitter, at, size, code_point) ? SIZE_MAX : at;
    }
    return SIZE_MAX;
}

static bool may_begin(const struct splitter *splitter, size_t at);

/* True if the sentence goes on at `at`, after a quotation. */
static bool goes_on(const struct splitter *splitter, size_t at)
{
    const struct quotation *open = &splitter->quotation;
    const bool is_whole =
        open->at != SIZE_MAX ? open->begins : skip_openings(splitter, splitter->start) > splitter->start;
    return word_continues(splitter->language, rest_of(splitter, at)) || saying_follows(rest_of(splitter, at), is_whole);
}

/* True if a quotation continues the sentence at the stop. One that was opened inside the sentence does, up to its end;
 * one that begins the sentence does if the sentence continues after it: "Go. Now," she said. */
static bool in_quotation(struct splitter *splitter, const struct stop *stop)
{
    struct quotation *open = &splitter->quotation;
    if (open->at == SIZE_MAX || stop->at - open->at >= QUOTE_BYTES_MAX)
        return false;
    if (open->close == 0)
        open->close = quotation_close(splitter);
    if (open->close == SIZE_MAX || open->close < stop->after)
        return false;
    if (!open->begins)
        return true;
    size_t size;
    code_point_at(splitter->line, open->close, &size);
    const size_t next = skip_blanks(splitter, open->close + size);
    return next < splitter->line.size &&
           (!may_begin(splitter, skip_openings(splitter, next)) || goes_on(splitter, next));
}

/* True if a quotation closes at the stop while its sentence continues. For scripts without case. */
static bool goes_on_after_quote(const struct splitter *splitter, const struct stop *stop)
{
    return stop->after > stop->end && goes_on(splitter, stop->next);
}

static bool is_hiragana(uint32_t code_point)
{
    return code_point >= 0x3041 && code_point <= 0x309F;
}

/* True if a Japanese particle stands at `at`, and no word that begins like one: the mark before it is part of a name:
 * モーニング娘。は. */
static bool is_particle(const struct splitter *splitter, size_t at)
{
    LOCAL_WORDS(particles, "が", "で", "と", "に", "の", "は", "も", "を");
    const size_t particle = words_starting(particles, rest_of(splitter, at));
    size_t size;
    const uint32_t next = code_point_at(splitter->line, at + particle, &size);
    return particle > 0 && next > 0x3000 && !is_hiragana(next) && !(marks_of(next) & MARK_GOES_ON);
}

static bool is_any_digit(uint32_t code_point)
{
    return (code_point >= '0' && code_point <= '9') || (code_point >= 0xFF10 && code_point <= 0xFF19);
}

/* Stops of other scripts that do not end a sentence: those after the number of an item (१।) and in a time of day
 * (15։30), Urdu's after an initial or an abbreviation (بی۔ اے۔), Khmer's in ។ល។, "etc.". */
static bool wide_dot_goes_on(const struct splitter *splitter, const struct stop *stop)
{
    size_t size;
    const uint32_t mark = code_point_at(splitter->line, stop->at, &size);
    const struct str before = str_part(splitter->line, splitter->start, stop->at);
    if (mark != 0x061F && before.size <= ITEM_BYTES_MAX && dot_is_number(before))
        return true;
    if (stop->at > splitter->start && ascii_is_digit(splitter->line.data[stop->at - 1]) &&
        stop->end < splitter->line.size && ascii_is_digit(splitter->line.data[stop->end]))
        return true;
    if (mark == 0x17D4)
        return str_starts(rest_of(splitter, stop->end), STR("ល។"));
    if (mark != 0x06D4 || stop->after > stop->end)
        return false;
    size_t at = stop->at;
    while (at > splitter->start && !blank_before(splitter->line, at) &&
           !(at >= 2 && memcmp(splitter->line.data + at - 2, "\xDB\x94", 2) == 0))
        at--;
    return dot_is_short(splitter->language, str_part(splitter->line, at, stop->at));
}

/* A wide stop ends a sentence unless a quotation continues, or the sentence continues after it: 「はい。」と言った, え？と. ． is
 * also used in numbers. */
static bool wide_ends(struct splitter *splitter, const struct stop *stop)
{
    size_t size;
    if (!stop->is_cjk)
        return !in_quotation(splitter, stop) && !goes_on_after_quote(splitter, stop) &&
               !wide_dot_goes_on(splitter, stop);
    if (splitter->wide_depth > 0 && stop->end - splitter->wide_open < QUOTE_BYTES_MAX && stop->after == stop->end)
        return false;
    const uint32_t next = code_point_at(splitter->line, stop->after, &size);
    if (stop->after > stop->end) {
        const bool in_bracket = splitter->wide_depth > 0 && splitter->wide_open > splitter->start &&
                                str_starts(rest_of(splitter, stop->end), STR("）"));
        return !is_hiragana(next) && !goes_on_after_quote(splitter, stop) && !(in_bracket && next != 0);
    }
    if (is_particle(splitter, stop->after))
        return false;
    if (next == 0x3068) /* と */
        return code_point_at(splitter->line, stop->at, &size) == 0x3002;
    return !(is_any_digit(next) && code_point_at(splitter->line, stop->at, &size) == 0xFF0E);
}

/* True if a sentence can begin with the word at `at`: none in lower case, except words like iPhone. */
static bool may_begin(const struct splitter *splitter, size_t at)
{
    size_t size, second;
    const uint32_t code_point = code_point_at(splitter->line, at, &size);
    if (code_point == 0 || marks_of(code_point) & MARK_GOES_ON)
        return false;
    if (is_lower(code_point) && at > 0 && splitter->line.data[at - 1] == '\'' && blank_at(splitter->line, at + size))
        return is_upper(code_point_at(splitter->line, at + size + 1, &second)); /* 's Middags */
    return !is_lower(code_point) || is_upper(code_point_at(splitter->line, at + size, &second));
}

/* True if a bracket inside the sentence, opened before `at`, continues it; one that begins the sentence does not. */
static bool in_brackets(const struct splitter *splitter, size_t at)
{
    const char *text = splitter->line.data;
    const size_t from = at - splitter->start > QUOTE_BYTES_MAX ? at - QUOTE_BYTES_MAX : splitter->start;
    if (!memrchr(text + from, '(', at - from) && !memrchr(text + from, '[', at - from))
        return false;
    unsigned closed = 0;
    size_t open = at;
    while (open > from) {
        const char byte = text[--open];
        if (byte == ')' || byte == ']')
            closed++;
        else if ((byte == '(' || byte == '[') && closed-- == 0)
            return open >= skip_openings(splitter, splitter->start);
    }
    return false;
}

/* True if a stop that is followed by a blank ends the sentence. */
static bool stop_ends(const struct splitter *splitter, const struct stop *stop)
{
    const struct language *language = splitter->language;
    const char *text = splitter->line.data;
    const struct str after = rest_of(splitter, stop->word);
    if (!may_begin(splitter, stop->word))
        return false;
    const char closing = stop->after > stop->end ? text[stop->end] : 0;
    const bool bracket_closes = closing == ')' || closing == ']', bracket_opens = text[stop->next] == '(';
    if (closing != 0 && !bracket_closes && bracket_opens)
        return false; /* "Who are you?" (WRU) */
    if (in_brackets(splitter, stop->at)) {
        const size_t ahead = after.size < QUOTE_BYTES_MAX ? after.size : QUOTE_BYTES_MAX;
        if (!bracket_closes && memchr(after.data, ')', ahead))
            return false; /* (one. Two.) */
        if (bracket_closes && stop->marks & MARK_STRONG && !word_starts(language, after))
            return false; /* (why?) */
    }
    /* "!" and "?" end a sentence unless they are part of a name or stand alone; a dot may belong to the word. */
    if (stop->marks & MARK_STRONG) {
        if (stop->at == skip_openings(splitter, splitter->start) || opens_before(splitter, stop->at))
            return false; /* "... and", "(!)", "[...]" */
        if (bracket_opens && after.size > 0 && ascii_is_digit(after.data[0]))
            return false; /* "Help! (1965)" */
        return !mark_is_name(language, str_range(text + splitter->start, text + stop->end)) ||
               word_starts(language, after);
    }
    if (splitter->dot_ends_nothing)
        return false;
    const struct dot dot = {str_range(text + splitter->start, text + stop->at), after, stop->quoted};
    return (closing != 0 && !bracket_closes) || dot_ends(language, &dot);
}

/* True if a sentence begins after the stop although no blank follows it. */
static bool is_glued(const struct splitter *splitter, const struct stop *stop)
{
    const char *text = splitter->line.data;
    const struct dot dot = {str_range(text + splitter->start, text + stop->at), rest_of(splitter, stop->next), false};
    const bool strong = text[stop->at] == '!' || text[stop->at] == '?';
    if (strong && stop->after == stop->end && glued_caseless(&dot, true))
        return true;
    if (splitter->dot_ends_nothing)
        return false;
    return (glued_ends(splitter->language, &dot) || (stop->marks == MARK_DOT && glued_caseless(&dot, false))) &&
           !in_brackets(splitter, stop->at);
}

/* True if there is a " ." at `at`, as in ". . .", or the second half of "། །" or "။ ။". */
static bool is_spaced_dot(const struct splitter *splitter, size_t at)
{
    const struct str rest = rest_of(splitter, at);
    if (str_starts(rest, STR(" །")) || str_starts(rest, STR(" ။")))
        return true; /* Tibetan and Burmese */
    if (rest.size < 2 || rest.data[0] != ' ' || rest.data[1] != '.')
        return false;
    return rest.size == 2 || rest.data[2] == ' ' || rest.data[2] == ']' || rest.data[2] == ')';
}

/* The marks of the stop at `at`, and its size; 0: there is none. The language's own stops are strong ones, those of its
 * script wide ones. */
static unsigned stop_marks(const struct splitter *splitter, size_t at, size_t *size)
{
    const struct words typed = splitter->language->typed_stops;
    for (size_t i = 0; i < typed.count; i++) {
        const struct str stop = str_of(typed.items[i]);
        *size = stop.size;
        if (str_starts(rest_of(splitter, at), stop))
            return (unsigned char)stop.data[0] >= 0x80 ? MARK_WIDE : MARK_STRONG;
    }
    return marks_of(code_point_at(splitter->line, at, size)) & MARKS_STOP;
}

/* True if a stop of `count` marks, none of them wide, ends the sentence. Sets what follows it. */
static bool narrow_ends(struct splitter *splitter, struct stop *stop, size_t count)
{
    /* In the order of their cost: the word after the stop, what the dot may belong to, and only then quotations, for
     * which the text ahead is searched. */
    const bool glued = stop->next == stop->after;
    if (glued && !is_glued(splitter, stop))
        return false;
    stop->word = skip_openings(splitter, stop->next);
    stop->quoted = stop->word > stop->next;
    if (!glued && !stop_ends(splitter, stop))
        return false;
    if (in_quotation(splitter, stop) || goes_on_after_quote(splitter, stop))
        return false;
    const bool ellipsis =
        splitter->line.data[stop->at] == '.' ? count > 1 : str_starts(rest_of(splitter, stop->at), STR("…"));
    return !(ellipsis && ellipsis_continues(splitter->language, rest_of(splitter, stop->next)));
}

/* Handles the stop or bracket at `at` and returns where to continue. */
static size_t read_stop(struct splitter *splitter, size_t at)
{
    if (splitter->line.data[at] == '"') {
        note_quote(splitter, at, 1, '"');
        return at + 1;
    }
    /* All marks in a row are one stop: "?!", ". . .". */
    struct stop stop = {.at = at, .end = at};
    size_t size, count = 0;
    for (unsigned marks; (marks = stop_marks(splitter, stop.end, &size)) != 0; count++) {
        stop.marks |= marks;
        stop.is_cjk |= marks & MARK_WIDE && (unsigned char)splitter->line.data[stop.end] >= 0xE3;
        stop.end += size;
        if (is_spaced_dot(splitter, stop.end))
            stop.end++;
    }
    if (count == 0) {
        note_quotes(splitter, at, at + size);
        return at + size;
    }
    if (stop.marks == MARK_DOT && count > 1) /* "..." ends no abbreviation */
        stop.marks = MARK_STRONG;
    /* Quotes and brackets that close here belong to this sentence. They are noted only after the decision, which
     * depends on what was open at the stop, but in any case, because later stops depend on them. */
    stop.after = skip_closings(splitter, stop.end, stop.is_cjk);
    stop.next = skip_blanks(splitter, stop.after);
    const bool is_wide = stop.marks & MARK_WIDE;
    const bool ends = is_wide ? wide_ends(splitter, &stop) : narrow_ends(splitter, &stop, count);
    note_quotes(splitter, stop.end, stop.after);
    if (!ends)
        return is_wide ? stop.after : stop.next;
    if (is_wide)
        splitter->wide_depth = 0;
    assert(at < stop.end && stop.end <= stop.after && stop.after <= stop.next && stop.next <= splitter->line.size);
    add_sentence(splitter, stop.after);
    splitter->start = stop.next;
    return stop.next;
}

/* The next position, from `at` on, that may be a stop, quote or bracket. */
static size_t next_mark(struct splitter *splitter, size_t at)
{
    size_t next = marks_next(splitter->line, at);
    for (size_t i = 0; i < splitter->language->typed_stops.count; i++) {
        size_t *typed = &splitter->typed_next[i];
        if (*typed != SIZE_MAX && *typed < at) {
            const size_t found = str_find(rest_of(splitter, at), str_of(splitter->language->typed_stops.items[i]));
            *typed = found == SIZE_MAX ? SIZE_MAX : at + found;
        }
        next = *typed < next ? *typed : next;
    }
    return next;
}

static void split_item(const struct language *language, struct str line, struct sentences *out)
{
    struct splitter splitter = {.language = language, .line = str_trim(line), .out = out, .quotation.at = SIZE_MAX};
    splitter.dot_ends_nothing =
        language->dot_ends_nothing || (language->own_stop && str_find(line, str_of(language->own_stop)) != SIZE_MAX);
    for (size_t at = next_mark(&splitter, 0); at < splitter.line.size; at = next_mark(&splitter, at))
        at = read_stop(&splitter, at);
    add_sentence(&splitter, splitter.line.size);
}

/* Splits each item of "1) … 2) … 3) …" separately. */
static void split_line(const struct language *language, struct str line, struct sentences *out)
{
    struct items items = items_begin(language, str_trim(line));
    for (struct str item; items_next(&items, &item);)
        split_item(language, item, out);
}

void sentences_split(const struct language *language, struct str paragraphs, struct sentences *out)
{
    for (const char *at = paragraphs.data, *end = at + paragraphs.size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        split_line(language, str_range(at, stop), out);
        at = stop + 1;
    }
}

void sentences_add(struct sentences *sentences, struct str sentence)
{
    sentences->items =
        mem_room(sentences->items, sentences->count + 1, &sentences->capacity, sizeof sentences->items[0]);
    sentences->items[sentences->count++] = sentence;
}

void sentences_release(struct sentences *sentences)
{
    mem_free(sentences->items);
    *sentences = (struct sentences){0};
}
