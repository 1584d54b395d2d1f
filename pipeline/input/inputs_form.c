#include "pipeline/input/inputs_form.h"

#include "base/log.h"
#include "base/mem.h"

#include <stdio.h>

#define FILE_WORDS_MIN (10 * SHORT_WORDS) /* files with fewer words, as far as seen, are short themselves */

static bool is_text(const struct inputs *inputs, size_t i)
{
    return input_kind_of(inputs->dumps[i])->records.plain;
}

/* ----------------------------------------------------------------------------------------------- the decision */

/* Finds a text file that is longer than a document may be: its index plus 1, or 0. */
static int find_too_long(const struct inputs *inputs, size_t *found, struct error *err)
{
    *found = 0;
    for (size_t i = 0; i < inputs->count && *found == 0; i++) {
        const int exceeds = is_text(inputs, i) ? dump_exceeds(inputs->dumps[i], PAGE_BYTES_MAX, err) : 0;
        TRY(exceeds);
        *found = exceeds ? i + 1 : 0;
    }
    return 0;
}

int inputs_settle_forms(struct inputs *inputs, const struct dsdata_settings *settings, struct error *err)
{
    enum text_form form = (enum text_form)settings->text_form;
    for (size_t i = 0; i < inputs->count; i++)
        if (is_text(inputs, i))
            text_layout_add(&inputs->layout, &inputs->probes[i].layout);
    if (settings->compat == COMPAT_GOOGLE) {
        form = FORM_SENTENCES;
    } else if (form == FORM_AUTO) {
        form = text_layout_form(&inputs->layout, false);
        if (form == FORM_FILE)
            TRY(find_too_long(inputs, &inputs->too_long, err));
        if (inputs->too_long > 0)
            form = text_layout_form(&inputs->layout, true);
    }
    for (size_t i = 0; i < inputs->count; i++)
        if (is_text(inputs, i)) {
            struct probe *probe = &inputs->probes[i];
            probe_take_form(probe, form, &inputs->layout);
            probe->recognised = settings->compat != COMPAT_GOOGLE && settings->text_form == FORM_AUTO;
            dump_cut_at(inputs->dumps[i], text_form_blank_lines(form));
            inputs->articles[i].form = form;
            inputs->articles[i].wrapped = probe->wrapped;
        }
    return 0;
}

/* -------------------------------------------------------------------------------------------------- the screen */

static const struct probe *first_probe(const struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (is_text(inputs, i))
            return &inputs->probes[i];
    return NULL;
}

/* "8 documents", "about 1,200 documents"; "documents" if the size of an input is not known. */
static const char *document_words(const struct inputs *inputs, char out[56])
{
    double documents = 0;
    bool exact = true;
    for (size_t i = 0; i < inputs->count; i++) {
        const struct probe *probe = &inputs->probes[i];
        const uint64_t text = dump_text_bytes(inputs->dumps[i]);
        if (!is_text(inputs, i))
            continue;
        if (probe->form == FORM_FILE || probe->layout.whole) {
            documents += (double)probe->documents;
            continue;
        }
        if (text == 0)
            return strcpy(out, "documents");
        exact = false;
        documents += (double)probe->documents * (double)text / (double)(probe->bytes ? probe->bytes : 1);
    }
    uint64_t rounded = (uint64_t)documents, unit = 1;
    while (!exact && rounded / unit >= 1000)
        unit *= 10;
    char counted[56];
    format_counted((rounded + unit / 2) / unit * unit, "document", counted);
    snprintf(out, 56, "%s%.48s", exact ? "" : "about ", counted);
    return out;
}

/* The other form that such text could have, and what it takes for a document. */
static enum text_form other_form(const struct inputs *inputs, enum text_form form)
{
    const struct text_layout *sum = &inputs->layout;
    if (form == FORM_SENTENCES && sum->documents[CUT_BLOCKS] <= sum->documents[CUT_FILES])
        return FORM_LINES; /* a file is a document already */
    if (form != FORM_FILE)
        return inputs->too_long == 0                                                ? FORM_FILE
               : sum->documents[CUT_SECTIONS] > sum->files && form != FORM_SECTIONS ? FORM_SECTIONS
               : text_layout_is_wrapped(sum)                                        ? FORM_WRAPPED
                                                                                    : FORM_PARAGRAPHS;
    if (sum->documents[CUT_BLOCKS] <= sum->documents[CUT_FILES])
        return FORM_LINES;
    return text_layout_is_wrapped(sum) ? FORM_WRAPPED : FORM_PARAGRAPHS;
}

static const char *document_of(enum text_form form)
{
    return form == FORM_LINES      ? "a line is a document"
           : form == FORM_FILE     ? "a file is a document"
           : form == FORM_SECTIONS ? "two blank lines end a document"
                                   : "a blank line ends a document";
}

static const char *line_words(const struct probe *probe, const struct text_layout *sum)
{
    static const char *const words[] = {
        [FORM_SENTENCES] = "one sentence per line", [FORM_PARAGRAPHS] = "one paragraph per line",
        [FORM_LINES] = "one document per line",     [FORM_WRAPPED] = "wrapped lines",
        [FORM_FILE] = "one paragraph per line",     [FORM_SECTIONS] = "one paragraph per line"};
    _Static_assert(sizeof words / sizeof *words == TEXT_FORMS, "words for every form");
    const bool divided = probe->form == FORM_FILE || probe->form == FORM_SECTIONS;
    return divided && text_layout_is_wrapped(sum) ? "wrapped paragraphs" : words[probe->form];
}

void inputs_say_form(const struct inputs *inputs)
{
    const struct probe *probe = first_probe(inputs);
    const struct text_layout *sum = &inputs->layout;
    char files[56], documents[56], otherwise[96];
    if (!probe || sum->files == 0)
        return;
    const enum text_form other = other_form(inputs, probe->form);
    const bool blank_lines = probe->form != FORM_LINES && sum->documents[CUT_BLOCKS] > sum->documents[CUT_FILES];
    snprintf(otherwise, sizeof otherwise, other == probe->form ? " (detected)" : " (detected; --text-form %s: %s)",
             text_form_names[other], document_of(other));
    log_say("text       %s, %s%s: %s, %s%s", format_counted(sum->files, "file", files), line_words(probe, sum),
            blank_lines ? " with blank lines between" : "", document_words(inputs, documents), document_of(probe->form),
            probe->recognised ? otherwise : "");
}

/* -------------------------------------------------------------------------------------------------- warnings */

static const char *shown_name(const struct inputs *inputs, size_t i)
{
    const char *name = inputs_name(inputs, i);
    return strcmp(name, "-") == 0 ? "standard input" : name;
}

static void warn_too_long(const struct inputs *inputs, const struct probe *probe)
{
    if (inputs->too_long > 0)
        log_warn("%s is longer than a document may be (16 MiB), so files are not taken for documents: %s",
                 shown_name(inputs, inputs->too_long - 1), document_of(probe->form));
    if (probe->form != FORM_FILE)
        return;
    size_t first = 0, count = 0;
    for (size_t i = 0; i < inputs->count; i++)
        if (is_text(inputs, i) && dump_text_bytes(inputs->dumps[i]) > PAGE_BYTES_MAX &&
            dump_container(inputs->dumps[i]) == CONTAINER_NONE) {
            first = count++ == 0 ? i : first;
        }
    const char *other = text_form_names[other_form(inputs, FORM_FILE)];
    if (count == 1)
        log_warn("%s is longer than a document may be (16 MiB), and is dropped; --text-form %s divides it",
                 shown_name(inputs, first), other);
    else if (count > 1)
        log_warn("%s and %zu more are longer than a document may be (16 MiB), and are dropped; --text-form %s divides "
                 "them",
                 shown_name(inputs, first), count - 1, other);
}

/* Half of the documents are short, and the files are far longer. */
static bool are_short(const struct inputs *inputs, enum text_cut cut)
{
    const struct text_layout *sum = &inputs->layout;
    return 2 * sum->brief[cut] > sum->documents[cut] && sum->words >= FILE_WORDS_MIN * sum->files;
}

void inputs_warn_form(const struct dsdata_settings *settings, const struct inputs *inputs)
{
    const struct probe *probe = first_probe(inputs);
    char documents[56];
    if (!probe || inputs->layout.files == 0)
        return;
    warn_too_long(inputs, probe);
    if (!probe->recognised || !are_short(inputs, text_form_cut(probe->form)))
        return;
    const enum text_form other = other_form(inputs, probe->form);
    if (other == probe->form)
        return;
    const struct option_change to_keep = {"text-form", text_form_names[probe->form]};
    const struct option_change to_change = {"text-form", text_form_names[other]};
    SCOPED(mem_free_at) char *keep = changed_command(settings, &to_keep, 1, false);
    SCOPED(mem_free_at) char *change = changed_command(settings, &to_change, 1, true);
    log_warn("half of the documents have fewer than %u words: %s were found, because %s. If that is right: %s; if %s: "
             "%s",
             SHORT_WORDS, document_words(inputs, documents), document_of(probe->form), keep, document_of(other),
             change);
}
