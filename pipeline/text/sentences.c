#include "pipeline/text/sentences.h"

#include "base/mem.h"
#include "pipeline/text/sentences_dots.h"
#include "pipeline/text/sentences_marks.h"

#define QUOTE_BYTES_MAX   600u /* a bracket or quotation that is longer does not keep sentences together */
#define OPENING_BYTES_MAX 40u  /* more in front of a word are not looked through */

struct splitter {
    const struct language *language;
    struct str line;
    struct sentences *out;
    size_t start;     /* of the sentence that is open */
    size_t wide_open; /* where the outermost open 「 or （ is */
    unsigned wide_depth;
};

/* Marks in a row, what closes behind them, and what comes next. */
struct stop {
    unsigned marks; /* of all of them */
    size_t at, end; /* the marks */
    size_t behind;  /* the quotes and brackets that close */
    size_t next;    /* the blanks */
    size_t word;    /* the quotes, brackets and dashes that open: where the next word is */
    bool quoted;    /* there are some */
};

static struct str rest_of(const struct splitter *splitter, size_t at)
{
    return str_range(splitter->line.data + at, splitter->line.data + splitter->line.size);
}

/* Cuts what is too long; each cut leaves at least half of the bound, so the work stays linear. */
static void add_sentence(struct splitter *splitter, size_t end)
{
    struct str rest = str_trim(str_range(splitter->line.data + splitter->start, splitter->line.data + end));
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
        sentences_add(splitter->out, str_trim(str_range(rest.data, rest.data + cut)));
        rest = str_trim(str_range(rest.data + cut, rest.data + rest.size));
    }
    if (rest.size > 0)
        sentences_add(splitter->out, rest);
}

static size_t skip_blanks(const struct splitter *splitter, size_t at)
{
    for (size_t size; (size = blank_at(splitter->line, at)) > 0;)
        at += size;
    return at;
}

/* The size of "[12]" at `at`, the number of a note, or of "[...]" and "[…]"; else 0. */
static size_t bracketed(const struct splitter *splitter, size_t at, bool number)
{
    const struct str rest = rest_of(splitter, at);
    if (rest.size == 0 || (rest.data[0] != '[' && (number || rest.data[0] != '(')))
        return 0;
    size_t i = 1;
    while (i < rest.size && i < 7 &&
           (number ? is_digit(rest.data[i]) : memchr(" .\xE2\x80\xA6", rest.data[i], 5) != NULL))
        i++;
    return i > 1 && i < rest.size && (rest.data[i] == ']' || rest.data[i] == ')') ? i + 1 : 0;
}

/* Behind the closing quotes, brackets and notes at `at`. In French a blank stands before »; in Chinese “ opens. */
static size_t skip_closings(const struct splitter *splitter, size_t at, unsigned stop)
{
    for (size_t size, blank;; at += size) {
        const uint32_t code_point = code_point_at(splitter->line, at, &size);
        if (marks_of(code_point) & MARK_CLOSES && !((code_point == 0x201C || code_point == 0x2018) && stop & MARK_WIDE))
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

/* Behind the quotes, brackets, dashes and "[…]" at `at` that stand in front of a word. */
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

/* Does a bracket or quote that opens stand in front of `at`? */
static bool opens_before(const struct splitter *splitter, size_t at)
{
    size_t start = at, size;
    while (start > splitter->start && ((unsigned char)splitter->line.data[--start] & 0xC0) == 0x80)
        continue;
    const unsigned marks = marks_of(code_point_at(splitter->line, start, &size));
    return marks & MARK_OPENS && (!(marks & MARK_CLOSES) || blank_before(splitter->line, start));
}

/* Keeps what 「…。…」 and （…。…） hold in one sentence. */
static void note_brackets(struct splitter *splitter, size_t from, size_t to)
{
    for (size_t at = from, size; at < to; at += size) {
        const unsigned marks = marks_of(code_point_at(splitter->line, at, &size));
        if (marks & MARK_HOLDS && splitter->wide_depth++ == 0)
            splitter->wide_open = at;
        if (marks & MARK_RELEASES && splitter->wide_depth > 0)
            splitter->wide_depth--;
    }
}

static bool is_hiragana(uint32_t code_point)
{
    return code_point >= 0x3041 && code_point <= 0x309F;
}

static bool is_any_digit(uint32_t code_point)
{
    return (code_point >= '0' && code_point <= '9') || (code_point >= 0xFF10 && code_point <= 0xFF19);
}

/* A wide stop ends a sentence unless a quotation goes on around it, or the sentence behind it: 「はい。」と言った, え？と.
 * ． stands in numbers too. */
static bool wide_ends(const struct splitter *splitter, const struct stop *stop)
{
    size_t size;
    if (splitter->wide_depth > 0 && stop->end - splitter->wide_open < QUOTE_BYTES_MAX && stop->behind == stop->end)
        return false;
    const uint32_t next = code_point_at(splitter->line, stop->behind, &size);
    if (stop->behind > stop->end)
        return !is_hiragana(next);
    if (next == 0x3068) /* と */
        return code_point_at(splitter->line, stop->at, &size) == 0x3002;
    return !(is_any_digit(next) && code_point_at(splitter->line, stop->at, &size) == 0xFF0E);
}

/* Does a sentence begin with the word at `at`? Not in lower case, unless it is an iPhone. */
static bool may_begin(const struct splitter *splitter, size_t at)
{
    size_t size, second;
    const uint32_t code_point = code_point_at(splitter->line, at, &size);
    if (code_point == 0 || marks_of(code_point) & MARK_GOES_ON)
        return false;
    return !is_lower(code_point) || is_upper(code_point_at(splitter->line, at + size, &second));
}

/* Does a bracket that was opened within the sentence, in front of `at`, hold it together? One that the sentence begins
 * with does not. */
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

/* Does a stop with a blank behind it end the sentence? */
static bool stop_ends(const struct splitter *splitter, const struct stop *stop)
{
    const struct language *language = splitter->language;
    const char *text = splitter->line.data;
    const struct str after = rest_of(splitter, stop->word);
    if (!may_begin(splitter, stop->word))
        return false;
    const char closing = stop->behind > stop->end ? text[stop->end] : 0;
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
    if (stop->marks & MARK_STRONG) {
        if (stop->at == skip_openings(splitter, splitter->start) || opens_before(splitter, stop->at))
            return false; /* "... and", "(!)", "[...]" */
        if (bracket_opens && after.size > 0 && is_digit(after.data[0]))
            return false; /* "Help! (1965)" */
        return !mark_is_name(language, str_range(text + splitter->start, text + stop->end)) ||
               word_starts(language, after);
    }
    const struct dot dot = {str_range(text + splitter->start, text + stop->at), after, stop->quoted};
    return (closing != 0 && !bracket_closes) || dot_ends(language, &dot);
}

/* Does a sentence begin behind the stop, though no blank stands there? */
static bool is_glued(const struct splitter *splitter, const struct stop *stop)
{
    const char *text = splitter->line.data;
    const struct dot dot = {str_range(text + splitter->start, text + stop->at), rest_of(splitter, stop->next), false};
    return glued_ends(splitter->language, &dot) && !in_brackets(splitter, stop->at);
}

/* Does " ." stand at `at`, as in ". . ."? */
static bool is_spaced_dot(const struct splitter *splitter, size_t at)
{
    const struct str rest = rest_of(splitter, at);
    if (rest.size < 2 || rest.data[0] != ' ' || rest.data[1] != '.')
        return false;
    return rest.size == 2 || rest.data[2] == ' ' || rest.data[2] == ']' || rest.data[2] == ')';
}

/* Looks at the stop or bracket at `at` and returns where to go on. */
static size_t read_stop(struct splitter *splitter, size_t at)
{
    struct stop stop = {.at = at, .end = at};
    size_t size, count = 0;
    for (unsigned marks; (marks = marks_of(code_point_at(splitter->line, stop.end, &size))) & MARKS_STOP; count++) {
        stop.marks |= marks & MARKS_STOP;
        stop.end += size;
        if (is_spaced_dot(splitter, stop.end))
            stop.end++;
    }
    if (count == 0) {
        note_brackets(splitter, at, at + size);
        return at + size;
    }
    if (stop.marks == MARK_DOT && count > 1)
        stop.marks = MARK_STRONG;
    stop.behind = skip_closings(splitter, stop.end, stop.marks);
    stop.next = skip_blanks(splitter, stop.behind);
    if (stop.marks & MARK_WIDE) {
        const bool ends = wide_ends(splitter, &stop);
        note_brackets(splitter, stop.end, stop.behind);
        if (!ends)
            return stop.behind;
        splitter->wide_depth = 0;
    } else {
        if (stop.next == stop.behind && !is_glued(splitter, &stop))
            return stop.behind;
        stop.word = skip_openings(splitter, stop.next);
        stop.quoted = stop.word > stop.next;
        if (stop.next > stop.behind && !stop_ends(splitter, &stop))
            return stop.next;
    }
    add_sentence(splitter, stop.behind);
    splitter->start = stop.next;
    return stop.next;
}

static void split_line(const struct language *language, struct str line, struct sentences *out)
{
    struct splitter splitter = {.language = language, .line = str_trim(line), .out = out};
    for (size_t at = marks_next(splitter.line, 0); at < splitter.line.size; at = marks_next(splitter.line, at))
        at = read_stop(&splitter, at);
    add_sentence(&splitter, splitter.line.size);
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
    if (sentences->count == sentences->capacity) {
        sentences->capacity = sentences->capacity ? sentences->capacity * 2 : 64;
        sentences->items = mem_grow(sentences->items, sentences->capacity, sizeof sentences->items[0]);
    }
    sentences->items[sentences->count++] = sentence;
}

void sentences_release(struct sentences *sentences)
{
    mem_free(sentences->items);
    *sentences = (struct sentences){0};
}
