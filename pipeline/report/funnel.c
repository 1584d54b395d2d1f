/* From the bytes of the sources to samples: what is left after each step, and why the rest was dropped. */
#include "pipeline/report/corpus_sections.h"

#include "base/mem.h"
#include "pipeline/parts/counts.h"

#include <stdlib.h>

#define ROWS_MAX 64u    /* of a table of reasons: a build has fewer */
#define KEPT     "kept" /* as in the manifest */

/* "pages" of a corpus of wikis, else "documents". */
static const char *records(const struct manifest *m)
{
    return manifest_of_pages(m) ? "pages" : "documents";
}

/* The words for a name in the manifest's table; an unknown name (of a later version) is shown as it is. Text without
 * markup loses blanks and line ends only. */
static const char *words_of_fate(const struct manifest *m, const char *name)
{
    if (m->language_count == 0 && strcmp(name, fate_name(FATE_MARKUP)) == 0)
        return "blanks and line ends";
    for (int fate = 0; fate < FATES; fate++)
        if (strcmp(fate_name((enum fate)fate), name) == 0)
            return fate_words((enum fate)fate);
    return name;
}

/* ------------------------------------------------------------------------------------------------- the steps */

static void step(struct buf *page, const char *figure, const char *what)
{
    buf_addf(page, "<li><div class=\"step\"><span><b>%s</b> %s</span></div>\n", figure, what);
}

static void bar(struct buf *page, const char *class, uint64_t part, uint64_t of)
{
    buf_addf(page, "<i class=\"%s\" style=\"width:%.2f%%\"></i>", class, html_percent(part, of));
}

static void step_bytes(struct buf *page, uint64_t bytes, const char *what, uint64_t widest)
{
    char figure[32];
    step(page, format_bytes(bytes, figure), what);
    buf_add_text(page, "<div class=\"stack\" aria-hidden=\"true\">");
    bar(page, "first", bytes, widest);
    buf_add_text(page, "</div></li>\n");
}

/* The text of all pages: kept, left out of kept pages, in dropped pages. */
static void step_text(struct buf *page, const struct manifest *m, uint64_t kept, uint64_t dropped, uint64_t widest)
{
    const uint64_t all = manifest_text_bytes(m);
    uint64_t pages = m->pages_kept;
    char figure[32], count[32], share[32];
    SCOPED(buf_release) struct buf what = {0};
    for (size_t i = 0; i < m->dropped_count; i++)
        pages += m->dropped[i].pages;
    buf_addf(&what, "of text in %s %s", format_count(pages, count), records(m));
    step(page, format_bytes(all, figure), buf_text(&what));
    buf_add_text(page, "<div class=\"stack\" aria-hidden=\"true\">");
    bar(page, "first", kept, widest);
    bar(page, "second", all - kept - dropped, widest);
    bar(page, "drop", dropped, widest);
    buf_addf(page, "</div>\n<div class=\"soft\"><span class=\"key\"></span>kept %s", html_share(kept, all, share));
    buf_addf(page, " · <span class=\"key second\"></span>left out of kept %s %s", records(m),
             html_share(all - kept - dropped, all, share));
    buf_addf(page, " · <span class=\"key drop\"></span>in dropped %s %s</div></li>\n", records(m),
             html_share(dropped, all, share));
}

static void step_samples(struct buf *page, const struct manifest *m, uint32_t seq)
{
    const struct manifest_length *train = manifest_find(m, seq, SPLIT_TRAIN),
                                 *valid = manifest_find(m, seq, SPLIT_VALID);
    char samples[32], tokens[32], held[32], filled[32];
    const uint64_t all = train->samples + valid->samples, used = train->tokens + valid->tokens;
    SCOPED(buf_release) struct buf what = {0};
    buf_addf(&what, "samples of length %u <span class=\"soft\">· %s of them held out · %s tokens, %s filled</span>",
             seq, format_count(valid->samples, held), format_count(used, tokens), html_share(used, all * seq, filled));
    step(page, format_count(all, samples), buf_text(&what));
    buf_add_text(page, "</li>\n");
}

static void put_steps(struct buf *page, const struct corpus_report *report, uint64_t kept, uint64_t dropped)
{
    const struct manifest *m = &report->manifest;
    const json_int_t decoded = json_integer_value(json_object_get(report->build, "xml_bytes"));
    const uint64_t unpacked = decoded > 0 ? (uint64_t)decoded : 0;
    uint64_t sources = 0, widest = manifest_text_bytes(m);
    char count[32];
    SCOPED(buf_release) struct buf what = {0};
    for (size_t i = 0; i < m->source_count; i++)
        sources += m->sources[i].bytes;
    widest = sources > widest ? sources : widest;
    widest = unpacked > widest ? unpacked : widest;
    buf_add_text(page, "<ol class=\"funnel\">\n");
    step_bytes(page, sources, "of sources, as they lie on disk", widest);
    if (unpacked)
        step_bytes(page, unpacked, "of them, decompressed", widest);
    step_text(page, m, kept, dropped, widest);
    buf_addf(&what, "of text kept, in %s documents", format_count(m->documents, count));
    step_bytes(page, kept, buf_text(&what), widest);
    for (size_t i = 0; i < m->length_count && i < FIGURES_LENGTHS; i += SPLITS)
        step_samples(page, m, m->lengths[i].seq);
    buf_add_text(page, "</ol>\n");
}

/* --------------------------------------------------------------------------------------------- the reasons */

/* A row of a table that says what became of pages or bytes. */
struct reason {
    const char *words;
    uint64_t pages, bytes;
    bool kept;
};

struct reasons {
    struct reason rows[ROWS_MAX + 1];
    size_t count;
    uint64_t pages, bytes; /* total, including those without a row */
};

static void add_reason(struct reasons *reasons, struct reason reason)
{
    reasons->pages += reason.pages;
    reasons->bytes += reason.bytes;
    if ((reason.pages || reason.bytes) && reasons->count < ROWS_MAX)
        reasons->rows[reasons->count++] = reason;
}

static int by_size(const void *a, const void *b)
{
    const struct reason *x = a, *y = b;
    if (x->pages != y->pages)
        return x->pages < y->pages ? 1 : -1;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : strcmp(x->words, y->words);
}

static void begin_row(struct buf *page, const struct reason *reason)
{
    buf_addf(page, "<tr%s><th scope=\"row\">", reason->kept ? " class=\"sum\"" : "");
    html_name(page, reason->words);
    buf_add_text(page, "</th>");
}

static void put_pages(struct buf *page, const struct manifest *m)
{
    const bool pages = manifest_of_pages(m);
    const char *const columns[] = {pages ? "Pages" : "Documents", "#Number", "#Share", "#Text", "", NULL};
    struct reasons reasons = {.count = 0};
    uint64_t bytes = manifest_text_bytes(m);
    for (size_t i = 0; i < m->dropped_count; i++) {
        const struct manifest_dropped *d = &m->dropped[i];
        bytes -= d->bytes;
        add_reason(&reasons, (struct reason){page_fate_words_of(d->name), d->pages, d->bytes, false});
    }
    qsort(reasons.rows, reasons.count, sizeof *reasons.rows, by_size);
    reasons.rows[reasons.count++] = (struct reason){"kept", m->pages_kept, bytes, true};
    html_table(page, pages ? "Why pages were dropped" : "Why documents were dropped", columns);
    for (size_t i = 0; i < reasons.count; i++) {
        const struct reason *reason = &reasons.rows[i];
        begin_row(page, reason);
        html_cell_count(page, reason->pages);
        html_cell_share(page, reason->pages, reasons.pages + m->pages_kept);
        html_cell_bytes(page, reason->bytes);
        html_cell_bar(page, reason->pages, reasons.pages + m->pages_kept);
        buf_add_text(page, "</tr>\n");
    }
    html_table_end(page);
}

static void put_text(struct buf *page, const struct manifest *m)
{
    static const char *const columns[] = {"Text", "#Bytes", "#Share", "", NULL};
    struct reasons reasons = {.count = 0};
    for (size_t i = 0; i < m->fate_count; i++) {
        const struct manifest_fate *fate = &m->fates[i];
        const bool kept = strcmp(fate->name, KEPT) == 0;
        add_reason(&reasons, (struct reason){kept ? "kept" : words_of_fate(m, fate->name), 0, fate->bytes, kept});
    }
    qsort(reasons.rows, reasons.count, sizeof *reasons.rows, by_size);
    html_table(page,
               manifest_of_pages(m) ? "What became of the text of kept pages; every byte has one place"
                                    : "What became of the text of kept documents; every byte has one place",
               columns);
    for (size_t i = 0; i < reasons.count; i++) {
        const struct reason *reason = &reasons.rows[i];
        begin_row(page, reason);
        html_cell_bytes(page, reason->bytes);
        html_cell_share(page, reason->bytes, reasons.bytes);
        html_cell_bar(page, reason->bytes, reasons.bytes);
        buf_add_text(page, "</tr>\n");
    }
    html_table_end(page);
}

static void put_repaired(struct buf *page, const struct manifest *m)
{
    static const char *const columns[] = {"Repaired", "#Number", "#Share", "", NULL};
    if (m->repaired_count == 0)
        return;
    html_table(page, "Documents that were kept although something in them was ill-formed", columns);
    for (size_t i = 0; i < m->repaired_count && i < ROWS_MAX; i++) {
        section_row(page, repair_words_of(m->repaired[i].name));
        html_cell_count(page, m->repaired[i].documents);
        html_cell_share(page, m->repaired[i].documents, m->pages_kept);
        html_cell_bar(page, m->repaired[i].documents, m->pages_kept);
        buf_add_text(page, "</tr>\n");
    }
    html_table_end(page);
}

void section_funnel(struct buf *page, const struct corpus_report *report)
{
    const struct manifest *m = &report->manifest;
    uint64_t kept = 0, dropped = 0;
    for (size_t i = 0; i < m->fate_count; i++)
        kept += strcmp(m->fates[i].name, KEPT) == 0 ? m->fates[i].bytes : 0;
    for (size_t i = 0; i < m->dropped_count; i++)
        dropped += m->dropped[i].bytes;
    html_section(page, "funnel", "From sources to samples");
    put_steps(page, report, kept, dropped);
    put_pages(page, m);
    put_text(page, m);
    put_repaired(page, m);
    html_section_end(page);
}
