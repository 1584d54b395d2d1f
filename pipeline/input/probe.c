#include "pipeline/input/probe.h"

#include "base/mem.h"
#include "pipeline/dump/guess_encoding.h"
#include "pipeline/input/input_kind.h"
#include "pipeline/text/words/guess.h"

const char *const text_form_names[] = {
    [FORM_AUTO] = "auto",         [FORM_SENTENCES] = "sentences", [FORM_PARAGRAPHS] = "paragraphs",
    [FORM_LINES] = "lines",       [FORM_WRAPPED] = "wrapped",     [FORM_FILE] = "file",
    [FORM_SECTIONS] = "sections",
};
_Static_assert(sizeof text_form_names / sizeof *text_form_names == TEXT_FORMS, "a name for every form");

/* The complete lines of the head, without ill-formed UTF-8, NUL bytes and a byte order mark; and the fraction of bytes
 * that were ill-formed (or NULL). */
static void head_lines(const struct dump *dump, struct buf *out, double *ill_formed)
{
    struct str head = dump_head(dump);
    uint64_t dropped = 0;
    if (head.size == DUMP_HEAD_BYTES) {
        size_t size = head.size;
        while (size > 0 && head.data[size - 1] != '\n')
            size--;
        head.size = size > 0 ? size : head.size;
    }
    if (str_starts(head, STR("\xef\xbb\xbf")))
        head = (struct str){head.data + 3, head.size - 3};
    for (size_t at = 0; at < head.size; at++)
        if (head.data[at])
            buf_add_byte(out, head.data[at]);
    const size_t size = out->size;
    out->size = utf8_repair(out->data, out->size, &dropped);
    if (ill_formed)
        *ill_formed = size > 0 ? (double)dropped / (double)size : 0;
}

const char *probe_language(const struct dump *dump, const char *text_key)
{
    const struct input_kind *kind = input_kind_of(dump);
    SCOPED(buf_release) struct buf lines = {0}, prose = {0};
    head_lines(dump, &lines, NULL);
    if (kind->add_prose)
        kind->add_prose(buf_str(&lines), text_key, &prose);
    return language_guess(buf_str(kind->add_prose ? &prose : &lines));
}

void probe_read(const struct dump *dump, const struct language *language, const char *text_key, struct probe *probe)
{
    const struct input_kind *kind = input_kind_of(dump);
    SCOPED(buf_release) struct buf lines = {0};
    *probe = (struct probe){.form = FORM_SENTENCES};
    if (!kind->probe)
        return;
    head_lines(dump, &lines, &probe->ill_formed);
    if (probe->ill_formed > 0)
        probe->seems_to_be = encoding_guess(dump_head(dump)).encoding;
    probe->bytes = lines.size;
    kind->probe(buf_str(&lines), dump_head(dump).size < DUMP_HEAD_BYTES, language, text_key, probe);
}

void probe_take_form(struct probe *probe, enum text_form form, const struct text_layout *sum)
{
    const struct text_layout *layout = &probe->layout;
    const bool by_rule = form == FORM_FILE || form == FORM_SECTIONS;
    probe->form = form;
    probe->wrapped = form == FORM_WRAPPED || (by_rule && text_layout_is_wrapped(layout->followed >= 3 ? layout : sum));
    probe->documents = layout->documents[text_form_cut(form)];
    probe->sentences = form == FORM_SENTENCES ? layout->documents[CUT_LINES] : layout->sentences;
}
