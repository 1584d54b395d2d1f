/* Explains one record of a dump: its wikitext with marks, what became of its bytes, its text.
 *
 *     The ⟦'''⟧Danube⟦'''⟧⟦reference: <ref>Map 7</ref>⟧ is ⟦{{convert|2850|km}} → 2,850 km (1,770 mi)⟧ long.
 *
 * On a terminal, colours replace the brackets. Anybody may have written the page, so characters that could control a
 * terminal are replaced. */
#include "pipeline/verbs/explain.h"

#include "base/log.h"
#include "base/output.h"
#include "pipeline/text/trace.h"
#include "pipeline/text/xml/xml.h"

#include <utf8proc.h>

struct screen {
    struct buf out;
    struct buf line;
    bool colours;
    struct str rest; /* the rest of the page's text, in which what is kept appears, except for repairs */
    bool is_lost;    /* the position in the text is not known */
};

static const char *const colours[FATES] = {
    [FATE_MARKUP] = "\033[2m",     [FATE_TEMPLATE] = "\033[35m",  [FATE_TABLE] = "\033[34m",
    [FATE_REFERENCE] = "\033[36m", [FATE_COMMENT] = "\033[90m",   [FATE_FILE] = "\033[33m",
    [FATE_CATEGORY] = "\033[33m",  [FATE_INTERWIKI] = "\033[33m", [FATE_MATH] = "\033[34m",
    [FATE_CODE] = "\033[34m",      [FATE_GALLERY] = "\033[33m",   [FATE_EXTENSION] = "\033[34m",
    [FATE_DELETED] = "\033[31m",   [FATE_INCLUDE] = "\033[35m",   [FATE_URL] = "\033[2m",
    [FATE_MAGIC] = "\033[2m",      [FATE_HEADING] = "\033[31m",   [FATE_SECTION] = "\033[31m",
    [FATE_LIST] = "\033[31m",      [FATE_PRE] = "\033[31m",       [FATE_VARIANT] = "\033[31m",
    [FATE_CONTROL] = "\033[2m",    [FATE_LEAK] = "\033[31m",      [FATE_MENDED] = "\033[31m",
};
#define COLOUR_SHOWN   "\033[32m"
#define COLOUR_HEADING "\033[1m"
#define COLOUR_OFF     "\033[0m"

static void colour(struct screen *screen, const char *code)
{
    if (screen->colours && code)
        buf_add_text(&screen->out, code);
}

/* Adds lines, replacing what could control a terminal. */
static void add_safe(struct screen *screen, struct str text)
{
    for (const char *at = text.data, *end = text.data + text.size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        buf_reset(&screen->line);
        buf_add_str(&screen->line, str_range(at, stop ? stop : end));
        for (size_t i = 0; i < screen->line.size; i++)
            if (screen->line.data[i] == '\t')
                screen->line.data[i] = ' ';
        buf_reserve(&screen->out, screen->line.size + 1);
        char *line = screen->out.data + screen->out.size;
        screen->out.size += strlen(log_safe(buf_text(&screen->line), line, screen->line.size + 1));
        if (stop)
            buf_add_byte(&screen->out, '\n');
        at = stop ? stop + 1 : end;
    }
}

static void add_heading(struct screen *screen, const char *heading)
{
    colour(screen, COLOUR_HEADING);
    buf_addf(&screen->out, "\n--- %s", heading);
    colour(screen, COLOUR_OFF);
    buf_add_byte(&screen->out, '\n');
}

static struct str trim_lines(struct str text)
{
    while (text.size > 0 && text.data[text.size - 1] == '\n')
        text.size--;
    for (; text.size > 0 && text.data[0] == '\n'; text.size--)
        text.data++;
    return text;
}

/* Line ends around what is left out stay outside its brackets. */
static void add_left_out(struct screen *screen, const char *name, const char *code, struct str text)
{
    const struct str core = trim_lines(text);
    add_safe(screen, str_range(text.data, core.data));
    colour(screen, code);
    if (!screen->colours)
        buf_addf(&screen->out, "⟦%s%s", name, *name ? ": " : "");
    add_safe(screen, core);
    if (!screen->colours)
        buf_add_text(&screen->out, "⟧");
    colour(screen, COLOUR_OFF);
    add_safe(screen, str_range(core.data + core.size, text.data + text.size));
}

static void add_shown_otherwise(struct screen *screen, struct str text, struct str shown)
{
    if (!screen->colours)
        buf_add_text(&screen->out, text.size > 0 ? "⟦" : "⟦+ ");
    colour(screen, colours[FATE_MARKUP]);
    add_safe(screen, text);
    colour(screen, COLOUR_OFF);
    if (!screen->colours && text.size > 0)
        buf_add_text(&screen->out, " → ");
    colour(screen, COLOUR_SHOWN);
    add_safe(screen, shown);
    colour(screen, COLOUR_OFF);
    if (!screen->colours)
        buf_add_text(&screen->out, "⟧");
}

/* Takes the first character of the text. */
static struct str take_character(struct str *text, uint32_t *code_point)
{
    unsigned skip;
    const unsigned size = utf8_decode(text->data, text->size, code_point, &skip);
    const struct str taken = {text->data, size ? size : skip};
    *text = str_range(text->data + taken.size, text->data + text->size);
    return taken;
}

static bool is_blank(uint32_t code_point)
{
    return code_point == ' ' || code_point == '\t' || code_point == '\n' || code_point == 0xA0;
}

/* True if the next character of what was kept is also next in the text. If not, tidying has removed it; but tidying
 * removes only signs, so after a letter the text continues elsewhere (captions follow their paragraph), and the search
 * ends. */
static bool is_in_text(struct screen *screen, struct str character, uint32_t code_point)
{
    struct str rest = screen->rest, next = STR("");
    uint32_t other = ' ';
    while (rest.size > 0 && is_blank(other))
        next = take_character(&rest, &other);
    if (is_blank(code_point) || screen->is_lost)
        return true;
    if (str_equal(next, character)) {
        screen->rest = rest;
        return true;
    }
    const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)code_point);
    screen->is_lost = category < UTF8PROC_CATEGORY_PC || category > UTF8PROC_CATEGORY_SO;
    return screen->is_lost;
}

/* The number of bytes at the start of text that are all in the text, or all not. */
static size_t run_in_text(struct screen *screen, struct str text, bool *in_text)
{
    struct str left = text;
    *in_text = true;
    while (left.size > 0) {
        uint32_t code_point;
        const struct str rest = screen->rest;
        const struct str character = take_character(&left, &code_point);
        const bool is_in = is_in_text(screen, character, code_point);
        if (character.data == text.data) {
            *in_text = is_in;
        } else if (is_in != *in_text) {
            screen->rest = rest;
            return (size_t)(character.data - text.data);
        }
    }
    return text.size;
}

static void add_kept(struct screen *screen, struct str text)
{
    while (text.size > 0) {
        bool in_text;
        const size_t size = run_in_text(screen, text, &in_text);
        if (in_text)
            add_safe(screen, (struct str){text.data, size});
        else
            add_left_out(screen, fate_name(FATE_MENDED), colours[FATE_MENDED], (struct str){text.data, size});
        text = str_range(text.data + size, text.data + text.size);
    }
}

static void add_step(struct screen *screen, const struct trace *trace, const struct trace_step *step, struct str page)
{
    const struct str text = {page.data + step->from, step->to - step->from};
    const struct str shown = {trace->shown.data + step->shown_at, step->shown_size};
    const bool is_all_blank = str_trim(text).size == 0;
    bool in_text = true;
    if (step->fate == FATE_KEPT && !step->is_shown_otherwise) {
        add_kept(screen, text);
        return;
    }
    for (struct str left = shown; step->fate == FATE_KEPT && left.size > 0 && in_text;)
        left = str_range(left.data + run_in_text(screen, left, &in_text), left.data + left.size);
    if (step->fate == FATE_KEPT && in_text && (text.size == 0 || !is_all_blank))
        add_shown_otherwise(screen, text, shown);
    else if (is_all_blank)
        add_safe(screen, text);
    else if (!in_text)
        add_left_out(screen, fate_name(FATE_MENDED), colours[FATE_MENDED], text);
    else
        add_left_out(screen, step->fate == FATE_MARKUP ? "" : fate_name(step->fate), colours[step->fate], text);
}

static void add_row(struct screen *screen, uint64_t bytes, uint64_t all, const char *code, const char *name,
                    const char *words)
{
    char count[32];
    colour(screen, code);
    buf_addf(&screen->out, "%12s %5.1f %%  %-*s%s", format_count(bytes, count),
             all ? 100.0 * (double)bytes / (double)all : 0.0, *words ? 12 : 0, name, words);
    colour(screen, COLOUR_OFF);
    buf_add_byte(&screen->out, '\n');
}

static void add_table(struct screen *screen, const struct counts *counts, const struct article *article)
{
    add_heading(screen, "bytes");
    for (int fate = 0; fate < FATES; fate++)
        if (counts->fates[fate] > 0)
            add_row(screen, counts->fates[fate], article->bytes, colours[fate], fate_name((enum fate)fate),
                    fate_words((enum fate)fate));
    if (counts->dropped[article->fate] > 0)
        add_row(screen, counts->dropped[article->fate], article->bytes, NULL, page_fate_name(article->fate),
                "the whole page");
    add_row(screen, article->bytes, article->bytes, NULL, "all", "");
}

static void add_title(struct screen *screen, const struct page *page, enum page_fate fate)
{
    colour(screen, COLOUR_HEADING);
    add_safe(screen, page->title);
    colour(screen, COLOUR_OFF);
    buf_addf(&screen->out, "   page %llu, revision %llu%s%s\n", (unsigned long long)page->id,
             (unsigned long long)page->revision_id,
             fate == PAGE_KEPT ? "" : ", left out as a whole: ", fate == PAGE_KEPT ? "" : page_fate_words(fate));
}

static void add_wikitext(struct screen *screen, const struct page *page, const struct trace *trace,
                         const struct article *article)
{
    add_heading(screen, screen->colours ? "wikitext: coloured parts are left out, green ones show instead"
                                        : "wikitext: ⟦reason: left out⟧ ⟦shows → otherwise⟧ ⟦+ added⟧");
    screen->rest = article->text;
    screen->is_lost = article->fate != PAGE_KEPT;
    for (size_t i = 0; i < trace->count; i++)
        add_step(screen, trace, &trace->steps[i], page->text);
    if (trace->count == 0)
        add_left_out(screen, page_fate_name(article->fate), colours[FATE_MARKUP], page->text);
    buf_add_text(&screen->out, str_ends(buf_str(&screen->out), STR("\n")) ? "" : "\n");
}

void explain_page(const struct article_options *options, const struct repeats *repeats, struct group *group,
                  size_t index, struct buf *out)
{
    struct screen screen = {.out = *out, .colours = output_colours()};
    struct trace trace = {0};
    struct article_options traced = *options;
    traced.trace = &trace;
    struct article_reader *reader = article_open();
    struct page_parser *parser = page_parser_open();
    struct arena arena = {0};
    struct counts counts = {0};
    struct missing missing = {0};
    struct article article;
    struct page page;
    article_read(reader, &traced, group, index, &article);
    article.fate = repeats_fate(repeats, group, index, reader, &article);
    const struct record *record = &group->records[index];
    page_parse(parser, (struct str){group->text.data + record->offset, record->size}, &arena, &page);

    add_title(&screen, &page, article.fate);
    add_wikitext(&screen, &page, &trace, &article);
    /* If a page is left out because of something in it, the table shows what the marks show. */
    if (trace.count > 0)
        article.fate = PAGE_KEPT;
    article_count(reader, &article, &counts, &missing);
    add_table(&screen, &counts, &article);
    if (article.text.size > 0)
        add_heading(&screen, "text");
    add_safe(&screen, article.text);

    *out = screen.out;
    buf_release(&screen.line);
    missing_release(&missing);
    arena_release(&arena);
    page_parser_close(parser);
    article_close(reader);
    trace_release(&trace);
}
