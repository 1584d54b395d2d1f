#include "base/html.h"

#include "base/file.h"
#include "base/output.h"

#include <inttypes.h>
#include <stdio.h>

const char html_style[] =
    /* Palettes. Text on every ground has a contrast of at least 4.5 to 1. */
    ":root{color-scheme:light dark;"
    "--ground:#f7f7f4;--card:#fff;--ink:#1f2428;--soft:#59626a;--line:#dfe0da;--rest:#e7e9e4;"
    "--bar:#4a7fa7;--bar2:#8fb3cc;--bar3:#c98f4e;--drop:#b9bfb9;"
    "--a:#2b7d86;--b:#9a5b8c;--hidden:#fbe3a1;--random:#f6cfc4;--kept:#d5ead0;--answer:#6a4b00}\n"
    "@media (prefers-color-scheme:dark){:root{"
    "--ground:#15181b;--card:#1d2125;--ink:#dfe3e6;--soft:#9aa5ad;--line:#31373c;--rest:#2b3136;"
    "--bar:#6ea3cb;--bar2:#3f6a8a;--bar3:#d39a5c;--drop:#565e63;"
    "--a:#5fb6bf;--b:#cf95c2;--hidden:#5b4a16;--random:#643629;--kept:#2b4a2b;--answer:#e9c873}}\n"
    /* The page. */
    "*{box-sizing:border-box}"
    "body{margin:0;background:var(--ground);color:var(--ink);"
    "font:1rem/1.55 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\",sans-serif;"
    "font-variant-numeric:tabular-nums;-webkit-text-size-adjust:100%}"
    "header,main,footer{max-width:62rem;margin:0 auto;padding:0 1.25rem}"
    "header{padding-top:2.75rem}"
    "h1{font-size:1.9rem;line-height:1.2;font-weight:650;letter-spacing:-.015em;margin:0 0 "
    ".4rem;overflow-wrap:anywhere}"
    "h2{font-size:1.3rem;line-height:1.3;font-weight:650;margin:0 0 .6rem}"
    "h3{font-size:1rem;font-weight:650;margin:1.6rem 0 .4rem}"
    "p{margin:.5rem 0;max-width:44rem}"
    ".soft,caption,figcaption,footer{color:var(--soft)}"
    "code{font:.92em ui-monospace,\"SF Mono\",Menlo,Consolas,\"Liberation Mono\",monospace;overflow-wrap:anywhere}"
    "a{color:inherit;text-underline-offset:.2em;text-decoration-color:var(--drop)}"
    "a:hover{text-decoration-color:currentColor}"
    ":focus-visible{outline:2px solid var(--bar);outline-offset:2px}"
    "nav{margin:1.2rem 0 0;display:flex;flex-wrap:wrap;gap:.25rem 1.1rem;font-size:.92rem}"
    "section{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:1.4rem 1.5rem 1.5rem;"
    "margin:1.5rem 0}"
    "footer{padding-top:.25rem;padding-bottom:3rem;font-size:.88rem}\n"
    /* Headline figures. */
    ".tiles{display:grid;grid-template-columns:repeat(3,1fr);gap:1px;background:var(--line);"
    "border:1px solid var(--line);border-radius:.6rem;overflow:hidden;margin:1.6rem 0 0}"
    ".tiles div{background:var(--card);padding:1rem 1.25rem}"
    ".tiles dt{font-size:.85rem;color:var(--soft)}"
    ".tiles dd{margin:0}"
    ".tiles .figure{font-size:1.6rem;line-height:1.3;font-weight:600;letter-spacing:-.01em}"
    ".tiles .small{font-size:.85rem;color:var(--soft)}\n"
    /* Tables. */
    ".wide{overflow-x:auto;margin:1rem 0 0}"
    "table{border-collapse:collapse;width:100%;font-size:.92rem}"
    "caption{text-align:left;font-size:.88rem;padding:0 0 .4rem}"
    "th,td{padding:.32rem .9rem .32rem 0;text-align:left;vertical-align:baseline;border-bottom:1px solid var(--line)}"
    "thead th{font-weight:500;font-size:.85rem;color:var(--soft);white-space:nowrap;vertical-align:bottom}"
    "tbody th{font-weight:400;white-space:nowrap}"
    "tbody th>bdi{display:block;min-width:7.5rem;white-space:normal;overflow-wrap:anywhere}"
    "tbody tr:last-child>*{border-bottom:0}"
    ".n{text-align:right;white-space:nowrap}"
    ".b{width:30%;min-width:6rem}"
    ".b i,.stack i{display:block;height:.62rem;background:var(--bar);border-radius:2px;min-width:1px}"
    "tr.sum>*{font-weight:600}"
    "details{margin:.6rem 0 0}"
    "summary{cursor:pointer;color:var(--soft);font-size:.9rem}\n"
    /* Histograms. */
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,21rem),1fr));gap:1.5rem 2rem;"
    "margin:1.25rem 0 0}"
    "figure{margin:0}"
    "figcaption{font-size:.9rem;margin-bottom:.4rem}figcaption b{color:var(--ink);font-weight:600}"
    "svg{display:block;width:100%;height:8rem}"
    "svg rect{fill:var(--bar)}svg rect:hover{fill:var(--bar3)}"
    ".axis{display:flex;justify-content:space-between;border-top:1px solid var(--drop);font-size:.8rem;"
    "color:var(--soft)}\n"
    /* Samples: what a model sees or guesses, with the original above. */
    ".legend{display:flex;flex-wrap:wrap;gap:.3rem 1.4rem;font-size:.9rem;margin:.8rem 0 0;padding:0;list-style:none;"
    "line-height:2.1}"
    ".text{font:1.06rem/2.35 Charter,\"Bitstream Charter\",\"Iowan Old Style\",Georgia,\"Noto Serif\",serif;"
    "margin:.5rem 0;max-width:none;padding-block:.1rem;padding-inline-start:1rem;border-inline-start:3px solid "
    "var(--a);overflow-wrap:anywhere;"
    "overflow-x:auto}"
    ".text.second{border-inline-start-color:var(--b)}"
    ".tag{font:600 .8rem/1 system-ui,sans-serif;color:var(--a)}.tag.second{color:var(--b)}"
    ".special{font:.78rem ui-monospace,monospace;color:var(--soft)}"
    "ruby{white-space:nowrap;ruby-align:center;margin:0 .06em}"
    "ruby.hidden,ruby.random{margin:0 .25em}" /* a label that is wider than its word covers the blanks beside it */
    "rt{font:500 .7rem/1.1 "
    "system-ui,sans-serif;padding-bottom:.28em;color:var(--answer);-webkit-user-select:none;user-select:none}"
    "ruby>b{font-weight:400;border-radius:.25em;padding:.04em .22em}"
    ".hidden>b{background:var(--hidden);font:.74rem ui-monospace,monospace;padding:.2em .3em}"
    ".random>b{background:var(--random);border-bottom:2px dotted var(--soft)}"
    ".kept>b{background:var(--kept);border-bottom:2px solid var(--soft)}\n"
    "@media (max-width:36rem){header{padding-top:1.6rem}section{padding:1.1rem 1rem 1.2rem;border-radius:0;"
    "margin-left:-1.25rem;margin-right:-1.25rem;border-left:0;border-right:0}h1{font-size:1.5rem}"
    ".tiles{grid-template-columns:1fr 1fr}.tiles div{padding:.7rem .9rem}.tiles .figure{font-size:1.25rem}"
    ".b{display:none}thead th.n{white-space:normal}th,td{padding-right:.6rem}thead .key{display:none}}\n"
    "@media print{body{background:#fff}section{break-inside:avoid;border:0;padding:0}nav{display:none}}\n";

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
    return output_write(buf_str(page), err);
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
