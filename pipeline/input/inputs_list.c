/* The lines that say what the inputs are. */
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "pipeline/dump/codecs.h"
#include "pipeline/input/inputs.h"
#include "pipeline/input/inputs_form.h"

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

#define LISTED_MAX 3 /* more inputs of a kind are one line */

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

/* "NAME/" of a folder of texts, without what is before it; "NAME" of an archive. */
static const char *folder_name(const struct inputs *inputs, size_t folder, struct buf *out)
{
    struct str path = str_of(inputs->folders[folder - 1].path);
    while (path.size > 1 && path.data[path.size - 1] == '/')
        path.size--;
    const char *slash = memrchr(path.data, '/', path.size);
    buf_reset(out);
    buf_add_str(out, slash && path.size > 1 ? str_range(slash + 1, path.data + path.size) : path);
    buf_add_text(out, inputs->folders[folder - 1].members ? "" : "/");
    return buf_text(out);
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

/* "CSV", "text". */
static const char *called(const struct dump *dump)
{
    return dump_format(dump) ? dump_format(dump) : input_kind_of(dump)->name;
}

/* "NAME   text, Finnish (guessed; --lang overrides), 12 kB" */
static void add_one(const struct inputs *inputs, size_t i, struct buf *line)
{
    char bytes[32], language[128], parts[96];
    const struct dump *dump = inputs->dumps[i];
    const struct str name = name_of(inputs, i);
    const uint64_t stored = stored_bytes(inputs, i);
    const struct codec *codec = codec_of(dump_container(dump));
    buf_addf(line, "%.*s   %s%s%s%s%s, %s", (int)name.size, name.data, called(dump),
             language_words(&inputs->languages[i], language), codec ? ", " : "", codec ? codec->tool : "",
             parts_words(inputs, i, parts), stored ? format_bytes(stored, bytes) : "a pipe");
}

/* The inputs of one kind, in one line. */
struct crowd {
    size_t first, count;
    size_t folder; /* of all of them; 0: they are not in one */
    uint64_t stored;
    bool pipe, same_container;
    const char *called; /* all of them */
    size_t listed;      /* languages found; the last row counts those that do not fit */
    struct {
        size_t of; /* the first input in it */
        size_t count;
    } languages[5];
};

static void count_language(struct crowd *crowd, const struct inputs *inputs, size_t i)
{
    size_t row = 0;
    while (row < crowd->listed &&
           strcmp(inputs->languages[crowd->languages[row].of].code, inputs->languages[i].code) != 0)
        row++;
    const size_t rows = sizeof crowd->languages / sizeof *crowd->languages;
    if (row == crowd->listed && row < rows) {
        crowd->languages[row].of = i;
        crowd->listed++;
    }
    crowd->languages[row < rows ? row : rows - 1].count++;
}

static struct crowd crowd_of(const struct inputs *inputs, size_t first)
{
    struct crowd crowd = {.first = first, .folder = inputs->in_folder[first], .same_container = true};
    crowd.called = called(inputs->dumps[first]);
    const enum source_kind kind = dump_kind(inputs->dumps[first]);
    for (size_t i = first; i < inputs->count; i += together(inputs, i)) {
        if (dump_kind(inputs->dumps[i]) != kind)
            continue;
        crowd.count++;
        if (strcmp(called(inputs->dumps[i]), crowd.called) != 0)
            crowd.called = input_kind_of(inputs->dumps[i])->name;
        crowd.folder = inputs->in_folder[i] == crowd.folder ? crowd.folder : 0;
        crowd.stored += stored_bytes(inputs, i);
        crowd.pipe |= stored_bytes(inputs, i) == 0;
        crowd.same_container &= dump_container(inputs->dumps[i]) == dump_container(inputs->dumps[first]);
        count_language(&crowd, inputs, i);
    }
    return crowd;
}

/* "NAME and 1,199 more   text, Finnish (guessed; --lang overrides), 12 MB"; several: ", Finnish 1,180, unclear 20"; of
 * a folder "FOLDER/ (1,200 files)   text" */
static void add_crowd(const struct inputs *inputs, const struct crowd *crowd, struct buf *line)
{
    char bytes[32], count[32], language[128];
    const struct dump *dump = inputs->dumps[crowd->first];
    const struct str name = name_of(inputs, crowd->first);
    SCOPED(buf_release) struct buf folder = {0};
    bool guessed = false;
    if (crowd->folder)
        buf_addf(line, "%s (%s files)   %s", folder_name(inputs, crowd->folder, &folder),
                 format_count(crowd->count, count), crowd->called);
    else
        buf_addf(line, "%.*s and %s more   %s", (int)name.size, name.data, format_count(crowd->count - 1, count),
                 crowd->called);
    if (crowd->listed == 1)
        buf_add_text(line, language_words(&inputs->languages[crowd->first], language));
    for (size_t row = 0; crowd->listed > 1 && row < crowd->listed; row++) {
        const struct input_language *of = &inputs->languages[crowd->languages[row].of];
        const char *known = code_name(str_of(of->code));
        const bool last = row + 1 == sizeof crowd->languages / sizeof *crowd->languages;
        guessed |= of->by == LANGUAGE_GUESSED;
        buf_addf(line, ", %s %s",
                 last           ? "others"
                 : !of->code[0] ? "unclear"
                 : known        ? known
                                : of->code,
                 format_count(crowd->languages[row].count, count));
    }
    buf_add_text(line, guessed ? " (guessed; --lang overrides)" : "");
    const struct codec *codec = crowd->same_container ? codec_of(dump_container(dump)) : NULL;
    if (codec)
        buf_addf(line, ", %s", codec->tool);
    buf_addf(line, ", %s%s", format_bytes(crowd->stored, bytes), crowd->pipe ? " and a pipe" : "");
}

static void warn_languages(const struct inputs *inputs)
{
    size_t first = 0, count = 0;
    for (size_t i = 0; i < inputs->count; i += together(inputs, i))
        if (inputs->languages[i].seems)
            first = count++ == 0 ? i : first;
    if (count == 0)
        return;
    const struct str name = name_of(inputs, first);
    const char *seems = inputs->languages[first].seems;
    char more[48] = "";
    if (count > 1)
        snprintf(more, sizeof more, " (and %zu more like it)", count - 1);
    log_warn("%.*s states the language %s, but its first pages seem to be %s%s: if they are, use --lang %s",
             (int)name.size, name.data, inputs->languages[first].code, code_name(str_of(seems)), more, seems);
}

static void say_left_out(const struct inputs *inputs)
{
    SCOPED(buf_release) struct buf left_out = {0}, name = {0};
    for (size_t i = 0; i < inputs->folder_count; i++) {
        buf_reset(&left_out);
        text_folder_left_out(&inputs->folders[i], &left_out);
        if (left_out.size > 0)
            log_say("left out   of %s: %s (-v names them)", folder_name(inputs, i + 1, &name), buf_text(&left_out));
    }
}

/* The inputs, or only those of which something was guessed; what was left out of folders; the form of the text. */
static void say_inputs(const struct inputs *inputs, const char *directory, bool only_guesses)
{
    SCOPED(buf_release) struct buf line = {0};
    struct crowd crowds[SOURCE_KINDS] = {0};
    size_t last = 0;
    for (size_t i = 0; i < inputs->count; i += together(inputs, i)) {
        struct crowd *crowd = &crowds[dump_kind(inputs->dumps[i])];
        if (crowd->count == 0)
            *crowd = crowd_of(inputs, i);
        last = i;
    }
    for (size_t i = 0; i < inputs->count; i += together(inputs, i)) {
        const struct crowd *crowd = &crowds[dump_kind(inputs->dumps[i])];
        const bool many = crowd->count > LISTED_MAX, first = crowd->first == i;
        const bool ends =
            directory && (many ? dump_kind(inputs->dumps[last]) == dump_kind(inputs->dumps[i]) : i == last);
        if (only_guesses && inputs->languages[i].by != LANGUAGE_GUESSED && !inputs->languages[i].seems &&
            !inputs->probes[i].recognised)
            continue;
        if (many && first) {
            add_crowd(inputs, crowd, &line);
            log_say("%s%s%s", buf_text(&line), ends ? "  →  " : "", ends ? directory : "");
            buf_reset(&line);
        }
        add_one(inputs, i, &line);
        if (many)
            log_detail("%s", buf_text(&line));
        else
            log_say("%s%s%s", buf_text(&line), ends ? "  →  " : "", ends ? directory : "");
        buf_reset(&line);
    }
    warn_languages(inputs);
    say_left_out(inputs);
    inputs_say_form(inputs);
}

void inputs_say(const struct inputs *inputs, const char *directory)
{
    say_inputs(inputs, directory, false);
}

void inputs_say_guesses(const struct inputs *inputs)
{
    say_inputs(inputs, NULL, true);
}
