#include "pipeline/input/text_layout.h"

#include "base/text_lines.h"
#include "base/mem.h"
#include "pipeline/text/sentences/sentences.h"
#include "pipeline/text/words/count.h"

#include <utf8proc.h>

#define WIDTH_MIN   30u /* of wrapped lines, in characters */
#define WIDTH_MAX   200u
#define WIDTH_SLACK 8u /* a full line may lack this part of the width: editors wrap loosely */

/* ------------------------------------------------------------------------------------------------------- lines */

/* Takes the next line of *rest, without blanks at its ends, empty if it is blank; false at the end of the text. */
static bool next_line(struct str *rest, struct str *line)
{
    if (!str_line(rest, line))
        return false;
    *line = str_trim(*line);
    if (str_is_blank(*line))
        line->size = 0;
    return true;
}

static size_t characters(struct str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.size; i++)
        count += ((unsigned char)text.data[i] & 0xC0) != 0x80;
    return count;
}

/* Of scripts without blanks between words: a line may be broken after any character. */
static bool breaks_anywhere(uint32_t c)
{
    return (c >= 0x0E00 && c <= 0x0EFF) || (c >= 0x1000 && c <= 0x109F) || (c >= 0x1780 && c <= 0x17FF) ||
           (c >= 0x2E80 && c <= 0x9FFF) || (c >= 0xFF00 && c <= 0xFFEF) || (c >= 0x20000 && c <= 0x3FFFF);
}

/* The width, in characters, that the preceding line would have needed for this line's first word. */
static size_t first_word(struct str line)
{
    uint32_t first = 0;
    unsigned skip;
    size_t size = 0;
    if (utf8_decode(line.data, line.size, &first, &skip) > 0 && breaks_anywhere(first))
        return 1;
    while (size < line.size && line.data[size] != ' ')
        size++;
    return characters((struct str){line.data, size});
}

/* True if the line ends with an address or a tag, as posts do. */
static bool is_post(struct str line)
{
    const char *blank = line.size > 0 ? memrchr(line.data, ' ', line.size) : NULL;
    const struct str word = blank ? str_range(blank + 1, line.data + line.size) : STR("");
    return (word.size > 1 && (word.data[0] == '#' || word.data[0] == '@')) || str_starts(word, STR("www.")) ||
           str_find(word, STR("://")) != SIZE_MAX;
}

/* True if the line ends like a sentence. Quotes and brackets may follow the mark. */
static bool ends_sentence(struct str line)
{
    static const char *const marks[] = {".", "!", "?", "…", "。", "！", "？", "．", "؟",
                                        "۔", "।", "॥", "։", "።",  "។",  "။",  ":"};
    static const char *const closing[] = {"\"", "'", ")", "]", "”", "’", "»", "“", "«", "」", "』", "）", "*", "_"};
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < sizeof closing / sizeof *closing; i++)
            if (str_ends(line, str_of(closing[i]))) {
                line.size -= strlen(closing[i]);
                again = true;
            }
    }
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (str_ends(line, str_of(marks[i])))
            return true;
    return is_post(line);
}

/* True if the line's first letter is a capital. */
static bool begins_large(struct str line)
{
    uint32_t c = 0;
    unsigned skip;
    for (size_t at = 0; at < line.size;) {
        const unsigned bytes = utf8_decode(line.data + at, line.size - at, &c, &skip);
        const utf8proc_category_t category = bytes ? utf8proc_category((utf8proc_int32_t)c) : UTF8PROC_CATEGORY_CN;
        if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO)
            return category <= UTF8PROC_CATEGORY_LU;
        at += bytes ? bytes : skip;
    }
    return false;
}

/* Finds the next two consecutive lines that are not blank. */
static bool next_pair(struct str *rest, struct str *line, struct str *after)
{
    *line = *after;
    while (next_line(rest, after)) {
        if (line->size > 0 && after->size > 0)
            return true;
        *line = *after;
    }
    return false;
}

/* The width exceeded by one in 20 of the lines that another line follows, at most WIDTH_MAX + 1. */
static size_t width_of(struct str text)
{
    uint64_t lines[WIDTH_MAX + 2] = {0}, count = 0, beyond = 0;
    struct str line = {0}, after = {0};
    while (next_pair(&text, &line, &after)) {
        const size_t width = characters(line);
        lines[width < WIDTH_MAX ? width : WIDTH_MAX + 1]++;
        count++;
    }
    size_t width = WIDTH_MAX + 1;
    while (width > 0 && 20 * (beyond + lines[width]) <= count)
        beyond += lines[width--];
    return width;
}

bool line_is_indented(struct str line)
{
    size_t at = 0;
    while (at < line.size && (line.data[at] == ' ' || line.data[at] == '\t'))
        at++;
    return str_starts((struct str){line.data + at, line.size - at}, STR("\xe3\x80\x80"));
}

/* ---------------------------------------------------------------------------------------------------- a file */

static void read_pairs(struct str text, struct text_layout *layout)
{
    const size_t width = width_of(text);
    struct str rest = text, line = {0}, after = {0};
    while (next_pair(&rest, &line, &after)) {
        layout->followed++;
        layout->full += width >= WIDTH_MIN && width <= WIDTH_MAX &&
                        characters(line) + 1 + first_word(after) > width - width / WIDTH_SLACK;
        layout->followed_ends += ends_sentence(line);
        layout->followed_large += begins_large(after);
    }
}

/* What is open while lines are counted. */
struct open_documents {
    uint64_t words[TEXT_CUTS];
    uint64_t block_lines;
    bool several, ended; /* the last line: of several sentences; it ends as one */
};

static void end_documents(struct open_documents *open, enum text_cut cut, struct text_layout *layout)
{
    if (open->words[cut] > 0) {
        layout->documents[cut]++;
        layout->brief[cut] += open->words[cut] < SHORT_WORDS;
    }
    open->words[cut] = 0;
}

static void end_block(struct open_documents *open, struct text_layout *layout)
{
    layout->alone += open->block_lines == 1 && open->several;
    if (open->block_lines > 1) { /* the last line of the block was counted as an inner one */
        layout->inner--;
        layout->inner_ends -= open->ended;
    }
    open->block_lines = 0;
    end_documents(open, CUT_BLOCKS, layout);
}

static void take_line(struct open_documents *open, struct str line, uint64_t sentences, struct text_layout *layout)
{
    uint64_t words = words_count(line, UINT64_MAX);
    words += words == 0; /* a line of marks only */
    for (int cut = 0; cut < TEXT_CUTS; cut++)
        open->words[cut] += words;
    open->several = sentences > 1;
    open->ended = ends_sentence(line);
    open->block_lines++;
    layout->words += words;
    layout->sentences += sentences;
    layout->several += open->several;
    layout->posts += is_post(line);
    layout->ends += open->ended;
    layout->inner += open->block_lines > 1;
    layout->inner_ends += open->block_lines > 1 && open->ended;
    end_documents(open, CUT_LINES, layout);
}

void text_layout_read(struct str text, bool whole, const struct language *language, struct text_layout *layout)
{
    SCOPED(sentences_release) struct sentences sentences = {0};
    struct open_documents open = {0};
    struct str rest = text, line;
    unsigned blank = 0;
    *layout = (struct text_layout){.files = 1, .whole = whole};
    read_pairs(text, layout);
    for (const char *at = text.data; next_line(&rest, &line); at = rest.data) {
        if (line.size == 0) {
            blank++;
            end_block(&open, layout);
            if (blank == 2)
                end_documents(&open, CUT_SECTIONS, layout);
            continue;
        }
        blank = 0;
        sentences.count = 0;
        sentences_split(language, line, &sentences);
        layout->indented += line_is_indented(str_range(at, line.data + line.size));
        take_line(&open, line, sentences.count, layout);
    }
    end_block(&open, layout);
    end_documents(&open, CUT_SECTIONS, layout);
    end_documents(&open, CUT_FILES, layout);
}

void text_layout_add(struct text_layout *sum, const struct text_layout *layout)
{
    sum->files += layout->files;
    sum->whole += layout->whole;
    sum->words += layout->words;
    for (int cut = 0; cut < TEXT_CUTS; cut++) {
        sum->documents[cut] += layout->documents[cut];
        sum->brief[cut] += layout->brief[cut];
    }
    sum->sentences += layout->sentences;
    sum->several += layout->several;
    sum->alone += layout->alone;
    sum->indented += layout->indented;
    sum->posts += layout->posts;
    sum->ends += layout->ends;
    sum->inner += layout->inner;
    sum->inner_ends += layout->inner_ends;
    sum->followed += layout->followed;
    sum->full += layout->full;
    sum->followed_ends += layout->followed_ends;
    sum->followed_large += layout->followed_large;
}

/* --------------------------------------------------------------------------------------------------- the form */

bool text_layout_is_wrapped(const struct text_layout *layout)
{
    return layout->followed >= 3 && 2 * layout->full >= layout->followed &&
           2 * layout->followed_ends < layout->followed && 2 * layout->followed_large < layout->followed;
}

/* Lines have one sentence or less, end inside sentences, and the text has marks where sentences end. */
static bool is_verse(const struct text_layout *sum)
{
    return sum->inner >= 3 && 2 * sum->inner_ends < sum->inner && 20 * sum->ends >= sum->documents[CUT_LINES];
}

enum text_form text_layout_form(const struct text_layout *sum, bool too_long)
{
    const uint64_t lines = sum->documents[CUT_LINES];
    const bool wrapped = text_layout_is_wrapped(sum), several = 10 * sum->sentences >= 13 * lines && lines > 0;
    const bool blank_lines = sum->documents[CUT_BLOCKS] > sum->documents[CUT_FILES];
    if (lines >= 3 && 2 * sum->posts >= lines)
        return FORM_LINES;
    bool file = wrapped || (2 * sum->indented >= lines && lines > 0);
    if (!file && several && blank_lines)
        file = 4 * sum->alone >= 3 * sum->several;
    else if (!file && several)
        file = sum->files >= MANY_TEXT_FILES && sum->whole == sum->files;
    else if (!file)
        file = blank_lines && is_verse(sum);
    if (file && !too_long)
        return FORM_FILE;
    if (file && sum->documents[CUT_SECTIONS] > sum->documents[CUT_FILES])
        return FORM_SECTIONS;
    if (wrapped)
        return FORM_WRAPPED;
    if (several || file)
        return blank_lines ? FORM_PARAGRAPHS : FORM_LINES;
    return blank_lines || sum->whole == sum->files ? FORM_SENTENCES : FORM_LINES;
}

enum text_cut text_form_cut(enum text_form form)
{
    return form == FORM_LINES      ? CUT_LINES
           : form == FORM_FILE     ? CUT_FILES
           : form == FORM_SECTIONS ? CUT_SECTIONS
                                   : CUT_BLOCKS;
}
