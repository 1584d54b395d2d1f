/* Warnings about the inputs, before reading and where they gave nothing. */
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "pipeline/input/inputs.h"
#include "pipeline/input/inputs_form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The first input whose texts stand under a key, and whose beginning has none; or NULL. */
static const struct probe *without_text(const struct inputs *inputs, const char **path)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (input_kind_of(inputs->dumps[i])->of_keys && inputs->probes[i].documents == 0) {
            *path = inputs_name(inputs, i);
            return &inputs->probes[i];
        }
    return NULL;
}

static const char *text_key(const struct inputs *inputs)
{
    return inputs->articles[0].text_key;
}

/* What a user can do about JSON lines without a text. The names are those of keys in the file. */
static void advise_keys(const char *key, const struct probe *probe, struct buf *out)
{
    if (probe->text_is && strcmp(probe->text_is, "an array") == 0)
        buf_addf(out, "jq -c '.[\"%s\"] |= join(\" \")' makes one text of an array", key);
    else if (probe->text_is && strcmp(probe->text_is, "an empty string") == 0)
        buf_add_text(out, "if another key has the text, --text-key NAME says which");
    else if (probe->nested[0])
        buf_addf(out, "jq -c '.[\"%s\"]' takes the object that holds it", probe->nested);
    else
        buf_addf(out, "--text-key NAME says which is the text");
}

static void warn_keys(const struct inputs *inputs)
{
    const char *path = "";
    const struct probe *probe = without_text(inputs, &path);
    SCOPED(buf_release) struct buf advice = {0};
    if (!probe || !probe->keys[0])
        return;
    advise_keys(text_key(inputs), probe, &advice);
    if (probe->text_is)
        log_warn("%s: none of the first lines has a text under the key %s; in the first it is %s (%s)", path,
                 text_key(inputs), probe->text_is, buf_text(&advice));
    else
        log_warn("%s: none of the first lines has a text under the key %s; their keys are %s (%s)", path,
                 text_key(inputs), probe->keys, buf_text(&advice));
}

/* Of JSON lines, or of text that is read in spite of it. */
static void warn_encoding(const struct dsdata_settings *settings, const struct inputs *inputs)
{
    const char *become = settings->compat == COMPAT_GOOGLE ? "are left out" : "become U+FFFD";
    for (size_t i = 0; i < inputs->count; i++) {
        const struct probe *probe = &inputs->probes[i];
        const bool likely = probe->seems_to_be && strncmp(probe->seems_to_be, "utf-8", 5) != 0;
        if (probe->ill_formed > 0.001)
            log_warn("%s: %.1f %% of its first bytes are not UTF-8 and %s%s%s", inputs_name(inputs, i),
                     100 * probe->ill_formed, become, likely ? "; to read them: --encoding " : "",
                     likely ? probe->seems_to_be : "");
    }
}

static void warn_blank(const struct inputs *inputs)
{
    if (inputs->blank == 1)
        log_warn("%s is blank, and is left out", inputs->first_blank);
    else if (inputs->blank > 1)
        log_warn("%s and %zu more are blank, and are left out (-v lists them)", inputs->first_blank, inputs->blank - 1);
}

struct identity {
    dev_t device;
    ino_t node;
    size_t index;
};

static int by_node(const void *a, const void *b)
{
    const struct identity *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void warn_repeated(const struct inputs *inputs)
{
    struct identity *files = mem_array(inputs->count + 1, sizeof *files);
    size_t first = SIZE_MAX, count = 0, known = 0;
    for (size_t i = 0; i < inputs->count; i++) {
        struct stat status;
        if (stat(inputs->paths[i], &status) == 0)
            files[known++] = (struct identity){status.st_dev, status.st_ino, i};
    }
    qsort(files, known, sizeof *files, by_node);
    for (size_t k = 1; k < known; k++)
        if (files[k].device == files[k - 1].device && files[k].node == files[k - 1].node) {
            first = files[k].index < first ? files[k].index : first;
            count++;
        }
    mem_free(files);
    if (count == 1)
        log_warn("%s is named twice, and is read twice", inputs_name(inputs, first));
    else if (count > 1)
        log_warn("%s and %zu more are named twice, and are read twice", inputs_name(inputs, first), count - 1);
}

static bool is_listed(const char *const *options, const char *name)
{
    while (*options && strcmp(*options, name) != 0)
        options++;
    return *options;
}

static bool any_uses(const struct inputs *inputs, const char *option)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (is_listed(input_kind_of(inputs->dumps[i])->options, option))
            return true;
    return false;
}

static void note_idle_options(const struct dsdata_settings *settings, const struct inputs *inputs)
{
    static const char *const learning[] = {"vocab-size", "algo", "unused", "min-frequency", "limit-alphabet"};
    for (size_t kind = 1; kind < SOURCE_KINDS; kind++)
        for (const char *const *option = input_kinds[kind]->options; *option; option++)
            if (settings_given(settings, *option) && !any_uses(inputs, *option))
                log_say("note       --%s has no effect: no input is %s", *option, input_kinds[kind]->one);
    for (size_t i = 0; settings->vocab && i < sizeof learning / sizeof *learning; i++)
        if (settings_given(settings, learning[i]))
            log_say("note       --%s has no effect: the vocabulary is given, not learned", learning[i]);
}

void inputs_warn(const struct dsdata_settings *settings, const struct inputs *inputs)
{
    warn_keys(inputs);
    warn_encoding(settings, inputs);
    warn_blank(inputs);
    warn_repeated(inputs);
    inputs_warn_form(settings, inputs);
    note_idle_options(settings, inputs);
}

int inputs_gave_nothing(const struct inputs *inputs, const struct counts *counts, struct error *err)
{
    const char *path = "";
    const struct probe *probe = without_text(inputs, &path);
    SCOPED(buf_release) struct buf dropped = {0}, advice = {0};
    if (counts)
        counts_dropped(counts, &dropped);
    fail(err, ERR_INPUT, "no text was kept%s%s", dropped.size ? "; dropped " : "",
         dropped.size ? buf_text(&dropped) : "");
    if (probe && probe->keys[0]) {
        advise_keys(text_key(inputs), probe, &advice);
        if (probe->text_is)
            return hint(err, "JSON lines need a text under the key %s; in the first line of %s it is %s: %s",
                        text_key(inputs), path, probe->text_is, buf_text(&advice));
        return hint(err, "JSON lines need a text under the key %s; the first line of %s has the keys %s: %s",
                    text_key(inputs), path, probe->keys, buf_text(&advice));
    }
    if (probe && !probe->object)
        return hint(err, "%s: its first line is not a JSON object; JSON lines have one in every line", path);
    if (probe)
        return hint(err, "JSON lines need a text under the key %s; the first line of %s has no keys", text_key(inputs),
                    path);
    if (counts && counts->pages[PAGE_OVERSIZE] > 0 && inputs->articles[0].form == FORM_FILE)
        return hint(err, "a document has 16 MiB at most; let a blank line end a document: --text-form %s",
                    inputs->articles[0].wrapped ? "wrapped" : "paragraphs");
    if (counts && counts->pages[PAGE_OVERSIZE] > 0)
        return hint(err, "a document has 16 MiB at most: divide the text into lines, with an empty line between "
                         "documents");
    return -1;
}
