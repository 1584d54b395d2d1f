#include "base/html.h"

#include "base/file.h"
#include "base/output.h"

#include <inttypes.h>
#include <stdio.h>

/* Characters that are invisible or change the text around them: controls, directions (Unicode annex 9), separators,
 * zero widths except the two joiners that scripts need, tags, and what XML cannot hold. */
static bool is_hidden(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0xAD || c == 0x061C || c == 0x180E || c == 0x200B ||
           c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF ||
           (c >= 0xFFF0 && c <= 0xFFFB) || (c & 0xFFFE) == 0xFFFE || (c >= 0xE0000 && c <= 0xE0FFF);
}

static void add_letter(struct buf *page, uint32_t c, struct str bytes)
{
    static const struct {
        char letter;
        const char *entity;
    } entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
        if (c == (unsigned char)entities[i].letter) {
            buf_add_text(page, entities[i].entity);
            return;
        }
    if (is_hidden(c))
        buf_addf(page, "⟨U+%04" PRIX32 "⟩", c);
    else
        buf_add_str(page, bytes);
}

void html_text(struct buf *page, struct str text, size_t letters)
{
    for (size_t at = 0; at < text.size; letters--) {
        uint32_t c;
        unsigned skip;
        if (letters == 0) {
            buf_add_text(page, "…");
            return;
        }
        const unsigned length = utf8_decode(text.data + at, text.size - at, &c, &skip);
        if (length)
            add_letter(page, c, (struct str){text.data + at, length});
        else
            buf_add_text(page, "\xEF\xBF\xBD"); /* U+FFFD */
        at += length ? length : skip;
    }
}

/* Pages of earlier versions begin with the same lines, so it needs no mark of its own. */
#define PAGE_BEGIN                                                                                                     \
    "<!DOCTYPE html>\n"                                                                                                \
    "<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\" xml:lang=\"en\">\n<head>\n"                              \
    "<meta charset=\"utf-8\"/>\n"                                                                                      \
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n"

const struct target_form html_form = {.begins = PAGE_BEGIN};

void html_page(struct buf *page, const char *title, const char *style)
{
    buf_addf(page,
             PAGE_BEGIN "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                        "<title>%s</title>\n<style>\n%s%s</style>\n</head>\n<body>\n",
             title, html_style, style);
}

void html_page_end(struct buf *page)
{
    buf_add_text(page, "</body>\n</html>\n");
}

int html_page_write(const struct buf *page, const char *path, struct error *err)
{
    if (strcmp(path, "-") != 0)
        return file_write_all(path, page->data, page->size, err);
    if (fwrite(page->data, 1, page->size, stdout) != page->size || fflush(stdout) != 0)
        return output_failed(err);
    return 0;
}

void html_name(struct buf *page, const char *name)
{
    buf_add_text(page, "<bdi>");
    html_text(page, str_of(name), HTML_NAME_LETTERS);
    buf_add_text(page, "</bdi>");
}

void html_section(struct buf *page, const char *id, const char *title)
{
    buf_addf(page, "\n<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">%s</h2>\n", id, id, id,
             title);
}

void html_section_end(struct buf *page)
{
    buf_add_text(page, "</section>\n");
}

void html_table(struct buf *page, const char *caption, const char *const *columns)
{
    buf_addf(page, "<div class=\"wide\"><table>\n<caption>%s</caption>\n<thead><tr>", caption);
    for (; *columns; columns++)
        if (**columns == '#')
            buf_addf(page, "<th scope=\"col\" class=\"n\">%s</th>", *columns + 1);
        else if (**columns)
            buf_addf(page, "<th scope=\"col\">%s</th>", *columns);
        else
            buf_add_text(page, "<td class=\"b\"></td>"); /* the column of bars; its figures are beside it */
    buf_add_text(page, "</tr></thead>\n<tbody>\n");
}

void html_table_end(struct buf *page)
{
    buf_add_text(page, "</tbody></table></div>\n");
}

void html_tile(struct buf *page, const char *name, const char *figure, const char *small)
{
    buf_addf(page, "<div><dt>%s</dt><dd class=\"figure\">%s</dd><dd class=\"small\">%s</dd></div>\n", name, figure,
             small);
}

char *html_share(uint64_t part, uint64_t of, char out[32])
{
    if (of == 0)
        snprintf(out, 32, "–");
    else
        snprintf(out, 32, "%.2f\u00A0%%", 100.0 * (double)part / (double)of);
    return out;
}

double html_percent(uint64_t part, uint64_t of)
{
    return of == 0 ? 0.0 : part >= of ? 100.0 : 100.0 * (double)part / (double)of;
}

void html_cell_count(struct buf *page, uint64_t count)
{
    char text[32];
    buf_addf(page, "<td class=\"n\">%s</td>", format_count(count, text));
}

void html_cell_bytes(struct buf *page, uint64_t bytes)
{
    char text[32], exact[32];
    buf_addf(page, "<td class=\"n\" title=\"%s bytes\">%s</td>", format_count(bytes, exact), format_bytes(bytes, text));
}

void html_cell_share(struct buf *page, uint64_t part, uint64_t of)
{
    char text[32];
    buf_addf(page, "<td class=\"n\">%s</td>", html_share(part, of, text));
}

void html_cell_bar(struct buf *page, uint64_t part, uint64_t of)
{
    buf_addf(page, "<td class=\"b\" aria-hidden=\"true\"><i style=\"width:%.2f%%\"></i></td>", html_percent(part, of));
}
