#include "pipeline/inputs.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

static int open_paths(struct inputs *inputs, const struct settings *settings, const struct opt_paths *paths,
                      enum input_kind kind, struct error *err)
{
    for (size_t i = 0; i < paths->count; i++) {
        const char *path = paths->items[i];
        if (strcmp(path, "-") == 0 && inputs_pipe(inputs))
            return fail(err, ERR_USAGE, "standard input (-) can be read once only");
        struct dump_options options = dump_defaults();
        options.kind = kind;
        options.salvage = settings->salvage;
        if (settings->max_ratio) /* vocab has no such option: it decodes a window up to a bound */
            options.ratio_max = settings->max_ratio;
        options.file = (uint32_t)inputs->count;
        struct dump *dump = NULL;
        TRY(dump_open(&dump, path, &options, err));
        const struct siteinfo *siteinfo = dump_siteinfo(dump);
        struct str language = settings->lang ? str_of(settings->lang) : siteinfo->language;
        const size_t n = inputs->count++;
        inputs->dumps[n] = dump;
        inputs->paths[n] = path;
        inputs->articles[n] =
            (struct article_options){.siteinfo = siteinfo,
                                     .language = language_find(language.size > 0 ? language : STR("en")),
                                     .keep = settings->keep,
                                     .templates = inputs->templates,
                                     .drop = settings->drop};
    }
    return 0;
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
    if (settings->templates)
        TRY(templates_read(&inputs->templates, settings->templates, inputs->templates_hash, err));
    inputs->dumps = mem_clear(count, sizeof *inputs->dumps);
    inputs->paths = mem_clear(count, sizeof *inputs->paths);
    inputs->articles = mem_clear(count, sizeof *inputs->articles);
    TRY(open_paths(inputs, settings, &settings->wiki, INPUT_WIKI, err));
    TRY(open_paths(inputs, settings, &settings->text, INPUT_TEXT, err));
    TRY(open_paths(inputs, settings, &settings->jsonl, INPUT_JSONL, err));
    return open_paths(inputs, settings, &bare, INPUT_SNIFF, err);
}

void inputs_close(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        dump_close(inputs->dumps[i]);
    templates_free(inputs->templates);
    mem_free(inputs->dumps);
    mem_free(inputs->paths);
    mem_free(inputs->articles);
    *inputs = (struct inputs){0};
}

bool inputs_ask_for_pipe(const struct settings *settings, struct opt_paths bare)
{
    const struct opt_paths *const lists[] = {&settings->wiki, &settings->text, &settings->jsonl, &bare};
    for (size_t list = 0; list < sizeof lists / sizeof *lists; list++)
        for (size_t i = 0; i < lists[list]->count; i++)
            if (strcmp(lists[list]->items[i], "-") == 0)
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
    for (size_t i = 0; i < inputs->count; i++)
        sum += dump_windows(inputs->dumps[i]);
    return inputs_pipe(inputs) ? 0 : sum;
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
        sum += dump_bytes(inputs->dumps[i]);
    return inputs_pipe(inputs) ? 0 : sum;
}

bool inputs_english(const struct inputs *inputs, const struct settings *settings)
{
    for (size_t i = 0; i < inputs->count; i++) {
        struct str language = settings->lang ? str_of(settings->lang) : inputs->articles[i].siteinfo->language;
        if (language.size > 0 && !str_equal(language, STR("en")) && !str_equal(language, STR("simple")))
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
    const uint64_t bytes = dump_bytes(inputs->dumps[index]);
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
    static const char *const extensions[] = {".bz2", ".xml", ".txt", ".jsonl", ".json"};
    const struct opt_paths *const lists[] = {&settings->wiki, &settings->text, &settings->jsonl, &bare};
    const char *path = "";
    for (size_t list = 0; list < sizeof lists / sizeof *lists && !*path; list++)
        path = lists[list]->count > 0 ? lists[list]->items[0] : "";
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
