/* The templates that the text did without: the list to work from with --templates. */
#include "pipeline/report/sections.h"

void section_templates(struct buf *page, const struct report *report)
{
    static const char *const columns[] = {"Template", "#Times", "#Bytes", "#Share", "", NULL};
    const struct manifest *m = &report->manifest;
    char count[32], bytes[32];
    html_section(page, "templates", "Templates without a rendering");
    if (m->unknown.count == 0) {
        buf_add_text(page, "<p>None: every template in a kept page has a rendering.</p>\n");
        html_section_end(page);
        return;
    }
    buf_addf(
        page,
        "<p>%s templates in kept pages, %s of wikitext, have no rendering and were left out of the text. These cost "
        "most; a file for <code>dsdata build --templates</code> can render them: "
        "<code>name&#160;=&#160;$1&#160;($2)</code> a "
        "line.</p>\n",
        format_count(m->unknown.count, count), format_bytes(m->unknown.bytes, bytes));
    html_table(page, "Templates by the bytes left out for them", columns);
    for (size_t i = 0; i < m->template_count; i++) {
        const struct manifest_template *t = &m->templates[i];
        buf_add_text(page, "<tr><th scope=\"row\">");
        html_name(page, t->name);
        buf_add_text(page, "</th>");
        html_cell_count(page, t->count);
        html_cell_bytes(page, t->bytes);
        html_cell_share(page, t->bytes, m->unknown.bytes);
        html_cell_bar(page, t->bytes, m->templates[0].bytes);
        buf_add_text(page, "</tr>\n");
    }
    html_table_end(page);
    if (m->unknown.missed)
        buf_addf(page, "<p class=\"soft\">The bytes of a row are at most %s too small.</p>\n",
                 format_bytes(m->unknown.missed, bytes));
    html_section_end(page);
}
