/* The lines about the inputs that are logged before reading. */
#include "base/file.h"
#include "base/log.h"
#include "pipeline/inputs.h"

#include <stdio.h>
#include <string.h>

/* ", Finnish (guessed; --lang overrides)". Returns out. */
static const char *language_words(const struct input_language *language, char out[128])
{
    const struct str code = str_of(language->code);
    const char *name = code_name(code) ? code_name(code) : language->code;
    if (language->by == LANGUAGE_OF_WIKI)
        name = language->code; /* as the dump writes it */
    if (language->by == LANGUAGE_GUESSED && code.size == 0)
        snprintf(out, 128, ", language unclear (--lang sets it)");
    else
        snprintf(out, 128, "%s%s%s", code.size ? ", " : "", name,
                 language->by == LANGUAGE_GUESSED ? " (guessed; --lang overrides)" : "");
    return out;
}

/* ", one paragraph per line (detected; --text-form overrides)". Returns out. */
static const char *form_words(const struct look *look, char out[128])
{
    static const char *const words[] = {[FORM_SENTENCES] = "one sentence per line",
                                        [FORM_PARAGRAPHS] = "one paragraph per line",
                                        [FORM_LINES] = "one document per line",
                                        [FORM_WRAPPED] = "wrapped lines"};
    _Static_assert(sizeof words / sizeof *words == TEXT_FORMS, "words for every form");
    snprintf(out, 128, ", %s%s", words[look->form], look->recognised ? " (detected; --text-form overrides)" : "");
    return out;
}

/* The number of inputs, from this one on, that are one dump. */
static size_t together(const struct inputs *inputs, size_t i)
{
    return inputs->parts[i] ? inputs->parts[i] : 1;
}

/* The name of a file; of a folder "enwiki-2026-11-01/". */
static struct str name_of(const struct inputs *inputs, size_t i)
{
    struct str path = str_of(inputs_name(inputs, i));
    if (str_equal(path, STR("-")))
        return STR("standard input");
    const char *slash = memrchr(path.data, '/', path.size);
    if (inputs->parts[i]) {
        path.size = (size_t)(slash + 1 - path.data);
        slash = memrchr(path.data, '/', path.size - 1);
    }
    return slash ? str_range(slash + 1, path.data + path.size) : path;
}

/* For a folder: ", 12 parts, 11 of them with a sum". Returns out. */
static const char *parts_words(const struct inputs *inputs, size_t i, char out[96])
{
    const size_t parts = inputs->parts[i];
    size_t summed = 0;
    for (size_t part = i; part < i + parts; part++)
        summed += dump_is_summed(inputs->dumps[part]);
    out[0] = '\0';
    if (parts == 0)
        return out;
    const int size = snprintf(out, 96, ", %zu part%s", parts, parts == 1 ? "" : "s");
    if (summed > 0 && summed < parts)
        snprintf(out + size, 96 - (size_t)size, ", SHA256SUMS has %zu of them", summed);
    else if (summed > 0)
        snprintf(out + size, 96 - (size_t)size, " with SHA256SUMS");
    return out;
}

static uint64_t stored_bytes(const struct inputs *inputs, size_t i)
{
    uint64_t sum = 0;
    for (size_t part = i; part < i + together(inputs, i); part++)
        sum += dump_stored_bytes(inputs->dumps[part]);
    return sum;
}

static void say(const struct inputs *inputs, size_t i, const char *directory)
{
    static const char *const containers[] = {[CONTAINER_NONE] = "",
                                             [CONTAINER_BZIP2] = ", bzip2",
                                             [CONTAINER_GZIP] = ", gzip",
                                             [CONTAINER_ZSTD] = ", zstd",
                                             [CONTAINER_XZ] = ", xz"};
    _Static_assert(sizeof containers / sizeof *containers == CONTAINERS, "a name for every container");
    char bytes[32], language[128], form[128] = "", parts[96];
    const struct dump *dump = inputs->dumps[i];
    const char *kind = dump_kind(dump) == INPUT_WIKI ? "wiki" : dump_kind(dump) == INPUT_TEXT ? "text" : "JSON lines";
    if (dump_kind(dump) == INPUT_TEXT)
        form_words(&inputs->looks[i], form);
    const struct str name = name_of(inputs, i);
    const uint64_t stored = stored_bytes(inputs, i);
    log_say("%.*s   %s%s%s%s%s, %s%s%s", (int)name.size, name.data, kind, form,
            language_words(&inputs->languages[i], language), containers[dump_container(dump)],
            parts_words(inputs, i, parts), stored ? format_bytes(stored, bytes) : "a pipe", directory ? "  →  " : "",
            directory ? directory : "");
    const char *seems = inputs->languages[i].seems;
    if (seems)
        log_warn("%.*s states the language %s, but its first pages seem to be %s: if they are, use --lang %s",
                 (int)name.size, name.data, inputs->languages[i].code, code_name(str_of(seems)), seems);
}

void inputs_say(const struct inputs *inputs, const char *directory)
{
    for (size_t i = 0; i < inputs->count; i += together(inputs, i))
        say(inputs, i, i + together(inputs, i) == inputs->count ? directory : NULL);
}

void inputs_say_guesses(const struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i += together(inputs, i))
        if (inputs->languages[i].by == LANGUAGE_GUESSED || inputs->languages[i].seems || inputs->looks[i].recognised)
            say(inputs, i, NULL);
}

/* The first input of JSON lines whose beginning has no text, or NULL. */
static const struct look *without_text(const struct inputs *inputs, const char **path)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (dump_kind(inputs->dumps[i]) == INPUT_JSONL && inputs->looks[i].documents == 0) {
            *path = inputs_name(inputs, i);
            return &inputs->looks[i];
        }
    return NULL;
}

static const char *text_key(const struct inputs *inputs)
{
    return inputs->articles[0].text_key;
}

/* What a user can do about JSON lines without a text. The names are those of keys in the file. */
static void advise_keys(const char *key, const struct look *look, struct buf *out)
{
    if (look->text_is && strcmp(look->text_is, "an array") == 0)
        buf_addf(out, "jq -c '.[\"%s\"] |= join(\" \")' makes one text of an array", key);
    else if (look->nested[0])
        buf_addf(out, "jq -c '.[\"%s\"]' takes the object that holds it", look->nested);
    else
        buf_addf(out, "--text-key NAME says which is the text");
}

static void warn_keys(const struct inputs *inputs)
{
    const char *path = "";
    const struct look *look = without_text(inputs, &path);
    struct buf advice = {0};
    if (!look || !look->keys[0])
        return;
    advise_keys(text_key(inputs), look, &advice);
    if (look->text_is)
        log_warn("%s: in the first lines the key %s has no text, but %s (%s)", path, text_key(inputs), look->text_is,
                 buf_text(&advice));
    else
        log_warn("%s: none of the first lines has a text under the key %s; their keys are %s (%s)", path,
                 text_key(inputs), look->keys, buf_text(&advice));
    buf_release(&advice);
}

/* Ill-formed bytes are dropped, which takes most letters with accents from text in an older encoding. */
static void warn_encoding(const struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (inputs->looks[i].ill_formed > 0.001)
            log_warn("%s: %.1f %% of its first bytes are not UTF-8 and are left out; if it is Latin-1: iconv -f "
                     "ISO-8859-1 -t UTF-8",
                     inputs_name(inputs, i), 100 * inputs->looks[i].ill_formed);
}

static void warn_repeated(const struct inputs *inputs)
{
    for (size_t i = 1; i < inputs->count; i++)
        for (size_t before = 0; before < i; before++)
            if (dump_stored_bytes(inputs->dumps[i]) == dump_stored_bytes(inputs->dumps[before]) &&
                path_same(inputs->paths[i], inputs->paths[before])) {
                log_warn("%s is named twice, and is read twice", inputs_name(inputs, i));
                break;
            }
}

static bool have_kind(const struct inputs *inputs, enum input_kind kind)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (dump_kind(inputs->dumps[i]) == kind)
            return true;
    return false;
}

static void note_idle_options(const struct dsdata_settings *settings, const struct inputs *inputs)
{
    static const struct {
        const char *name;
        enum input_kind kind;
        const char *what;
    } options[] = {{"text-form", INPUT_TEXT, "plain text"}, {"text-key", INPUT_JSONL, "JSON lines"},
                   {"id-key", INPUT_JSONL, "JSON lines"},   {"keep", INPUT_WIKI, "a wiki"},
                   {"drop", INPUT_WIKI, "a wiki"},          {"variant", INPUT_WIKI, "a wiki"},
                   {"templates", INPUT_WIKI, "a wiki"}};
    static const char *const learning[] = {"vocab-size", "algo", "unused", "min-frequency", "limit-alphabet"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (settings_given(settings, options[i].name) && !have_kind(inputs, options[i].kind))
            log_say("note       --%s has no effect: no input is %s", options[i].name, options[i].what);
    for (size_t i = 0; settings->vocab && i < sizeof learning / sizeof *learning; i++)
        if (settings_given(settings, learning[i]))
            log_say("note       --%s has no effect: the vocabulary is given, not learned", learning[i]);
}

void inputs_warn(const struct dsdata_settings *settings, const struct inputs *inputs)
{
    warn_keys(inputs);
    warn_encoding(inputs);
    warn_repeated(inputs);
    note_idle_options(settings, inputs);
}

int inputs_gave_nothing(const struct inputs *inputs, const struct counts *counts, struct error *err)
{
    const char *path = "";
    const struct look *look = without_text(inputs, &path);
    struct buf dropped = {0}, advice = {0};
    if (counts)
        counts_dropped(counts, &dropped);
    fail(err, ERR_INPUT, "no text was kept%s%s", dropped.size ? "; dropped " : "",
         dropped.size ? buf_text(&dropped) : "");
    buf_release(&dropped);
    if (look && look->keys[0]) {
        advise_keys(text_key(inputs), look, &advice);
        if (look->text_is)
            hint(err, "JSON lines need a text under the key %s; in the first line of %s it is %s: %s", text_key(inputs),
                 path, look->text_is, buf_text(&advice));
        else
            hint(err, "JSON lines need a text under the key %s; the first line of %s has the keys %s: %s",
                 text_key(inputs), path, look->keys, buf_text(&advice));
        buf_release(&advice);
        return -1;
    }
    if (look)
        return hint(err, "%s: its first line is not a JSON object; JSON lines have one in every line", path);
    if (counts && counts->pages[PAGE_OVERSIZE] > 0)
        return hint(err, "a document has 16 MiB at most: divide the text into lines, with an empty line between "
                         "documents");
    return -1;
}
