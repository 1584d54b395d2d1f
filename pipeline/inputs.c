#include "pipeline/inputs.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"

#include <string.h>

/* What no language is called. It stands for text whose language is not clear. */
#define UNDETERMINED "und"

/* FILE, or LANG=FILE: the code of LANG, else "". */
static const char *path_of(const char *typed, char code[CODE_BYTES_MAX])
{
    const char *equals = strchr(typed, '=');
    code[0] = '\0';
    return equals && code_read(str_range(typed, equals), code) ? equals + 1 : typed;
}

/* xx=FILE with a FILE that is there means a language; fi=FILE as the name of a file does not. */
static void hint_language(const char *typed, const char *path, struct error *err)
{
    const char *equals = strchr(typed, '=');
    if (!equals || err->kind != ERR_USAGE)
        return;
    if (path != typed && path_exists(typed)) {
        hint(err, "is the file's name %s? then type ./%s", typed, typed);
    } else if (path == typed && path_exists(equals + 1)) {
        const char *nearest = code_nearest(str_range(typed, equals));
        hint(err, "what stands before the = is no code of a language%s%s", nearest ? "; the nearest is " : "",
             nearest ? nearest : "");
    }
}

static int read_code(const char *typed, char code[CODE_BYTES_MAX], struct error *err)
{
    if (code_read(str_of(typed), code))
        return 0;
    const char *nearest = code_nearest(str_of(typed));
    fail(err, ERR_USAGE, "--lang %s: no code of a Wikipedia or of ISO 639", typed);
    if (!nearest)
        return hint(err, "name one like fi or zh-yue; several inputs: fi=FILE de=FILE");
    return hint(err, "the nearest is %s (%s): --lang %s", nearest, code_name(str_of(nearest)), nearest);
}

static void settle_language(struct input_language *language, const struct settings *settings, const struct dump *dump,
                            const char *lang)
{
    const struct str own = dump_siteinfo(dump)->language;
    if (language->code[0]) {
        language->by = LANGUAGE_OF_INPUT;
    } else if (lang[0]) {
        language->by = LANGUAGE_OF_OPTION;
        strcpy(language->code, lang);
    } else if (dump_kind(dump) == INPUT_WIKI) {
        language->by = LANGUAGE_OF_WIKI;
        if (own.size < CODE_BYTES_MAX)
            memcpy(language->code, own.data, own.size);
    } else if (settings->compat != COMPAT_GOOGLE) {
        const char *guessed = look_language(dump, settings->text_key);
        language->by = LANGUAGE_GUESSED;
        strcpy(language->code, guessed ? guessed : "");
    }
}

/* The tables for it. */
static const struct language *tables_of(const struct input_language *language)
{
    const bool unclear = language->by == LANGUAGE_GUESSED && !language->code[0];
    return language_find(language->code[0] ? str_of(language->code) : unclear ? STR(UNDETERMINED) : STR("en"));
}

/* Of the input that was opened last. Google's program knows one form. */
static void settle_form(struct inputs *inputs, const struct settings *settings)
{
    const size_t n = inputs->count - 1;
    struct look *look = &inputs->looks[n];
    if (settings->compat != COMPAT_GOOGLE)
        look_read(inputs->dumps[n], tables_of(&inputs->languages[n]), (enum text_form)settings->text_form,
                  settings->text_key, look);
    else
        look->form = FORM_SENTENCES;
    if (look->form == FORM_LINES)
        dump_take_lines(inputs->dumps[n]);
}

static int open_paths(struct inputs *inputs, const struct settings *settings, const struct opt_paths *paths,
                      enum input_kind kind, struct error *err)
{
    for (size_t i = 0; i < paths->count; i++) {
        const size_t n = inputs->count;
        struct input_language *language = &inputs->languages[n];
        const char *path = path_of(paths->items[i], language->code);
        if (strcmp(path, "-") == 0) {
            if (inputs_pipe(inputs) || inputs->spool)
                return fail(err, ERR_USAGE, "standard input (-) can be named once only");
            inputs->spool = settings->spool;
            path = inputs->spool ? inputs->spool : path;
        }
        struct dump_options options = dump_defaults();
        options.name = path == inputs->spool ? "standard input" : NULL;
        options.kind = kind;
        options.salvage = settings->salvage;
        if (settings->max_ratio) /* vocab has no such option: it decodes a window up to a bound */
            options.ratio_max = settings->max_ratio;
        options.file = (uint32_t)inputs->count;
        struct dump *dump = NULL;
        if (dump_open(&dump, path, &options, err) < 0) {
            hint_language(paths->items[i], path, err);
            return -1;
        }
        inputs->count++;
        inputs->dumps[n] = dump;
        inputs->paths[n] = path;
        settle_language(language, settings, dump, inputs->lang);
        settle_form(inputs, settings);
        inputs->articles[n] = (struct article_options){.siteinfo = dump_siteinfo(dump),
                                                       .language = tables_of(language),
                                                       .form = inputs->looks[n].form,
                                                       .text_key = settings->text_key,
                                                       .id_key = settings->id_key,
                                                       .keep = settings->keep,
                                                       .templates = inputs->templates,
                                                       .drop = settings->drop,
                                                       .min_words = settings->min_words};
    }
    return 0;
}

/* English by a guess is what text without a language was always read as: nothing is noted of it. */
static bool is_noted(const struct input_language *language)
{
    return language->by == LANGUAGE_OF_INPUT || (language->by == LANGUAGE_GUESSED && strcmp(language->code, "en") != 0);
}

static void note_forms(struct inputs *inputs)
{
    struct buf list = {0};
    bool any = false;
    for (size_t i = 0; i < inputs->count; i++) {
        const bool noted = inputs->looks[i].form != FORM_SENTENCES;
        buf_addf(&list, "%s%s", i ? "," : "", noted ? text_form_names[inputs->looks[i].form] : "-");
        any |= noted;
    }
    inputs->forms = any ? mem_copy_text(buf_text(&list)) : NULL;
    buf_release(&list);
}

static void note_languages(struct inputs *inputs)
{
    struct buf list = {0};
    bool any = false;
    for (size_t i = 0; i < inputs->count; i++) {
        const struct input_language *language = &inputs->languages[i];
        const char *code = !is_noted(language) ? "-" : language->code[0] ? language->code : UNDETERMINED;
        any |= is_noted(language);
        buf_addf(&list, "%s%s", i ? "," : "", code);
    }
    inputs->named = any ? mem_copy_text(buf_text(&list)) : NULL;
    buf_release(&list);
}

int inputs_open(struct inputs *inputs, const struct settings *settings, struct opt_paths bare, struct error *err)
{
    const size_t count = settings->wiki.count + settings->text.count + settings->jsonl.count + bare.count;
    *inputs = (struct inputs){0};
    if (count == 0) {
        fail(err, ERR_USAGE, "no input");
        return hint(err, "name a dump: %s %s enwiki.xml.bz2, or use --wiki, --text, --jsonl", settings->program->name,
                    settings->result->verb->name);
    }
    if (settings->lang)
        TRY(read_code(settings->lang, inputs->lang, err));
    if (settings->templates)
        TRY(templates_read(&inputs->templates, settings->templates, inputs->templates_hash, err));
    inputs->dumps = mem_clear(count, sizeof *inputs->dumps);
    inputs->paths = mem_clear(count, sizeof *inputs->paths);
    inputs->articles = mem_clear(count, sizeof *inputs->articles);
    inputs->languages = mem_clear(count, sizeof *inputs->languages);
    inputs->looks = mem_clear(count, sizeof *inputs->looks);
    TRY(open_paths(inputs, settings, &settings->wiki, INPUT_WIKI, err));
    TRY(open_paths(inputs, settings, &settings->text, INPUT_TEXT, err));
    TRY(open_paths(inputs, settings, &settings->jsonl, INPUT_JSONL, err));
    TRY(open_paths(inputs, settings, &bare, INPUT_SNIFF, err));
    note_languages(inputs);
    note_forms(inputs);
    return 0;
}

void inputs_close(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        dump_close(inputs->dumps[i]);
    templates_free(inputs->templates);
    mem_free(inputs->dumps);
    mem_free(inputs->paths);
    mem_free(inputs->articles);
    mem_free(inputs->languages);
    mem_free(inputs->looks);
    mem_free(inputs->named);
    mem_free(inputs->forms);
    *inputs = (struct inputs){0};
}

const char *inputs_name(const struct inputs *inputs, size_t i)
{
    return inputs->paths[i] == inputs->spool ? "-" : inputs->paths[i];
}

bool inputs_ask_for_pipe(const struct settings *settings, struct opt_paths bare)
{
    const struct opt_paths *const lists[] = {&settings->wiki, &settings->text, &settings->jsonl, &bare};
    char code[CODE_BYTES_MAX];
    for (size_t list = 0; list < sizeof lists / sizeof *lists; list++)
        for (size_t i = 0; i < lists[list]->count; i++)
            if (strcmp(path_of(lists[list]->items[i], code), "-") == 0)
                return true;
    return false;
}

bool inputs_pipe(const struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (strcmp(inputs->paths[i], "-") == 0)
            return true;
    return false;
}

uint64_t inputs_windows(const struct inputs *inputs)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < inputs->count; i++) {
        if (dump_windows(inputs->dumps[i]) == 0)
            return 0;
        sum += dump_windows(inputs->dumps[i]);
    }
    return sum;
}

int place_compare(struct place a, struct place b)
{
    if (a.file != b.file)
        return a.file < b.file ? -1 : 1;
    return a.window < b.window ? -1 : a.window > b.window;
}

struct place inputs_place(const struct inputs *inputs, uint64_t row)
{
    if (row == UINT64_MAX)
        return (struct place){.file = (uint32_t)inputs->count};
    struct place place = {.window = row};
    while (place.file < inputs->count && place.window > 0 && place.window >= dump_windows(inputs->dumps[place.file]))
        place.window -= dump_windows(inputs->dumps[place.file++]);
    return place;
}

uint64_t inputs_row(const struct inputs *inputs, struct place place)
{
    uint64_t row = place.window;
    for (uint32_t i = 0; i < place.file; i++)
        row += dump_windows(inputs->dumps[i]);
    return row;
}

uint64_t inputs_bytes(const struct inputs *inputs)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < inputs->count; i++)
        sum += dump_stored_bytes(inputs->dumps[i]);
    return inputs_pipe(inputs) ? 0 : sum;
}

int inputs_measure(const struct inputs *inputs, struct error *err)
{
    char bytes[32];
    for (size_t i = 0; i < inputs->count; i++) {
        struct dump *dump = inputs->dumps[i];
        if (dump_bytes(dump) > 0 || dump_stored_bytes(dump) == 0)
            continue;
        log_detail("%s: %s are decompressed once to count their windows", inputs->paths[i],
                   format_bytes(dump_stored_bytes(dump), bytes));
        TRY(dump_measure(dump, err));
    }
    return 0;
}

size_t inputs_memory(const struct inputs *inputs)
{
    size_t most = 0;
    for (size_t i = 0; i < inputs->count; i++)
        if (dump_memory(inputs->dumps[i]) > most)
            most = dump_memory(inputs->dumps[i]);
    return most;
}

bool inputs_english(const struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++) {
        const struct input_language *language = &inputs->languages[i];
        if (language->code[0] ? strcmp(language->code, "en") != 0 && strcmp(language->code, "simple") != 0
                              : language->by == LANGUAGE_GUESSED)
            return false;
    }
    return true;
}

#define FINGERPRINT_BYTES (64u << 10)

int inputs_fingerprint(const struct inputs *inputs, size_t index, uint64_t *fingerprint, struct error *err)
{
    *fingerprint = 0;
    if (strcmp(inputs->paths[index], "-") == 0)
        return 0;
    const uint64_t bytes = dump_stored_bytes(inputs->dumps[index]);
    struct file file = FILE_CLOSED;
    TRY(file_open_input(&file, inputs->paths[index], err));
    char *ends = mem_clear(2, FINGERPRINT_BYTES);
    int64_t first = file_read_at(&file, ends, FINGERPRINT_BYTES, 0, err), last = 0;
    if (first >= 0)
        last = file_read_at(&file, ends + FINGERPRINT_BYTES, FINGERPRINT_BYTES,
                            bytes > FINGERPRINT_BYTES ? bytes - FINGERPRINT_BYTES : 0, err);
    if (first >= 0 && last >= 0)
        *fingerprint = hash64(ends, 2 * FINGERPRINT_BYTES);
    mem_free(ends);
    file_close(&file);
    return first < 0 || last < 0 ? -1 : 0;
}

char *inputs_stem(const struct settings *settings, struct opt_paths bare)
{
    static const char *const extensions[] = {".bz2", ".xml", ".txt", ".jsonl", ".json", ".gz", ".zst", ".xz"};
    const struct opt_paths *const lists[] = {&settings->wiki, &settings->text, &settings->jsonl, &bare};
    const char *path = "";
    char code[CODE_BYTES_MAX];
    for (size_t list = 0; list < sizeof lists / sizeof *lists && !*path; list++)
        path = lists[list]->count > 0 ? path_of(lists[list]->items[0], code) : "";
    const char *slash = strrchr(path, '/');
    char *stem = mem_copy_text(slash ? slash + 1 : path);
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++) {
        const size_t size = strlen(stem), cut = strlen(extensions[i]);
        if (size > cut && strcmp(stem + size - cut, extensions[i]) == 0) {
            stem[size - cut] = '\0';
            i = (size_t)-1; /* another may stand before it */
        }
    }
    return stem;
}
