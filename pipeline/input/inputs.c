#include "pipeline/input/inputs.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/parallel.h"
#include "pipeline/clean/filter.h"
#include "pipeline/input/input_names.h"
#include "pipeline/input/inputs_form.h"
#include "pipeline/text/variants.h"
#include "pipeline/text/words/guess.h"

#include <sys/resource.h>

#define OTHER_FILES 1024 /* most of them for spills */
#define OPEN_FILES  256  /* of a text folder; the others are opened when they are read */

/* xx=FILE, where FILE exists, must mean a language; fi=FILE, where that is the name of a file, must not. */
static void hint_language(const struct input_name *named, struct error *err)
{
    const char *typed = named->typed, *equals = strchr(typed, '=');
    if (!equals || err->kind != ERR_USAGE)
        return;
    if (named->code[0] && path_exists(typed)) {
        hint_command(err, "is the file's name %s? then type ./%s", typed, typed);
    } else if (!named->code[0] && path_exists(equals + 1)) {
        const char *nearest = code_nearest(str_range(typed, equals));
        hint(err, "the text before = is not the code of a language%s%s", nearest ? "; the nearest is " : "",
             nearest ? nearest : "");
    }
}

/* "owner/name" in a folder that does not exist. */
static void hint_hub(const char *path, struct error *err)
{
    const char *slash = strchr(path, '/');
    SCOPED(mem_free_at) char *parent = path_parent(path);
    if (!err->hint[0] && err->kind == ERR_USAGE && slash && slash > path && slash[1] && !strchr(slash + 1, '/') &&
        !strchr(path, '.') && !path_exists(parent))
        hint_command(err,
                     "if it is a data set of the Hugging Face hub: python3 -m dsshards jsonl %s | dsdata build --out D "
                     "--jsonl -",
                     path);
}

static int read_code(const char *typed, char code[CODE_BYTES_MAX], struct error *err)
{
    if (code_read(str_of(typed), code))
        return 0;
    const char *nearest = code_nearest(str_of(typed));
    fail(err, ERR_USAGE, "--lang %s: not a code of a Wikipedia or of ISO 639", typed);
    if (!nearest)
        return hint(err, "name one like fi or zh-yue; several inputs: fi=FILE de=FILE");
    return hint(err, "the nearest is %s (%s): --lang %s", nearest, code_name(str_of(nearest)), nearest);
}

/* en, en-GB …; "simple" is the Simple English Wikipedia. */
static bool is_english(const char *code)
{
    return strcmp(code, "simple") == 0 || (strncmp(code, "en", 2) == 0 && (code[2] == '\0' || code[2] == '-'));
}

/* The language that a wiki's first pages are in, if it is clearly not the one that the wiki states: NULL also for
 * languages that a guess takes for others. */
static const char *contradicting(const struct dump *dump, const char *stated)
{
    const char *code = is_english(stated) ? "en" : stated;
    const char *seems = language_is_guessed(str_of(code)) ? probe_language(dump, NULL) : NULL;
    return seems && strcmp(seems, code) != 0 ? seems : NULL;
}

/* The first source that is known counts. A dump's code that is too long for any table stays unknown. */
static void settle_language(struct input_language *language, const struct dsdata_settings *settings,
                            const struct dump *dump, const char *lang)
{
    const struct str own = dump_siteinfo(dump)->language;
    if (language->code[0]) {
        language->by = LANGUAGE_OF_INPUT;
    } else if (lang[0]) {
        language->by = LANGUAGE_OF_OPTION;
        strcpy(language->code, lang);
    } else if (input_kind_of(dump)->of_pages) {
        language->by = LANGUAGE_OF_WIKI;
        if (own.size < CODE_BYTES_MAX)
            memcpy(language->code, own.data, own.size);
        language->seems = contradicting(dump, language->code);
    } else if (settings->compat != COMPAT_GOOGLE) { /* Google's program knows no languages */
        const char *guessed = probe_language(dump, settings->text_key);
        language->by = LANGUAGE_GUESSED;
        strcpy(language->code, guessed ? guessed : "");
    }
}

/* The tables for the language. If a guess was made and nothing was clear, those are used that hold for any language;
 * where no guess was made, as for a dump that states no language, English is assumed. */
static const struct language *tables_of(const struct input_language *language)
{
    const bool unclear = language->by == LANGUAGE_GUESSED && !language->code[0];
    return language_find(language->code[0] ? str_of(language->code) : unclear ? STR(UNDETERMINED) : STR("en"));
}

static const char *stated_code(const struct input_language *language)
{
    return language->by == LANGUAGE_GUESSED ? "" : language->code;
}

/* Anew when the inputs have moved. */
static void set_code(struct inputs *inputs, size_t n)
{
    inputs->articles[n].code = inputs->languages[n].code;
    inputs->articles[n].stated = stated_code(&inputs->languages[n]);
}

/* The names of a folder's parts say that they are of one wiki; checks that their contents say so too. */
static int check_wiki(const struct inputs *inputs, size_t n, struct error *err)
{
    const struct str wiki = dump_siteinfo(inputs->dumps[n])->dbname;
    /* `parts` counts down within a folder, so only the next part of the same folder has one less. */
    if (n == 0 || inputs->parts[n] == 0 || inputs->parts[n - 1] != inputs->parts[n] + 1)
        return 0;
    const struct str before = dump_siteinfo(inputs->dumps[n - 1])->dbname;
    if (str_equal(wiki, before))
        return 0;
    fail_at(err, ERR_USAGE, inputs->paths[n], ERROR_NO_OFFSET,
            "is of the wiki %.*s, and %s, in the same folder, of %.*s", (int)wiki.size, wiki.data, inputs->paths[n - 1],
            (int)before.size, before.data);
    return hint(err, "a folder is one dump: name the files of one");
}

static int read_encoding(const char *typed, struct encoding *encoding, struct error *err)
{
    if (encoding_find(typed, encoding))
        return 0;
    fail(err, ERR_USAGE, "--encoding %s: not a known encoding", typed);
    return hint(err,
                "the nearest name is %s; others: windows-1250 to -1258, iso-8859-1 to -16, koi8-r, utf-16, shift_jis, "
                "gb18030, big5, euc-kr, euc-jp",
                encoding_nearest(typed));
}

/* An input that is blank may be left out, except a wiki's; and in Google's program its blank lines end the document
 * before. */
static bool may_be_left_out(const struct dsdata_settings *settings, const struct input_name *named)
{
    return (!input_kinds[named->kind] || !input_kinds[named->kind]->of_pages) && settings->compat != COMPAT_GOOGLE;
}

/* A file of a folder that was not opened as its options say; `opened` is the result of dump_open. True: it is left
 * out, and counted. */
static bool leave_out(struct text_folder *folder, const struct input_name *named, struct dump *dump, int opened,
                      const struct error *err)
{
    const bool unwanted = opened == 0 && named->kind != SOURCE_UNKNOWN && dump_kind(dump) != named->kind;
    if (opened != DUMP_BLANK && opened != DUMP_OTHER && !unwanted)
        return false;
    folder->left_out[opened == DUMP_BLANK ? LEFT_BLANK : LEFT_OTHER]++;
    log_detail("%s %s%s: left out", named->path, unwanted ? "is " : "",
               unwanted ? input_kind_of(dump)->records.called : err->text);
    if (unwanted)
        dump_close(dump);
    return true;
}

/* A number, or the name of a namespace of the wiki. */
static bool find_namespace(const struct namespaces *namespaces, struct str item, int32_t *key)
{
    char text[NAME_BYTES_MAX + 2], *end;
    if (item.size == 0 || item.size >= NAME_BYTES_MAX)
        return false;
    snprintf(text, sizeof text, "%.*s:", (int)item.size, item.data);
    *key = (int32_t)strtol(text, &end, 10);
    if (strcmp(end, ":") == 0 && *key >= 0)
        return true;
    *key = namespaces_of_title(namespaces, str_of(text));
    return *key > 0;
}

/* --namespaces for one wiki. */
static int read_namespaces(const char *list, struct article_options *options, struct error *err)
{
    struct namespaces namespaces;
    const struct magic magic = magic_find(options->language, str_of(options->code));
    int result = 0;
    if (!options->kind->of_pages)
        return 0;
    namespaces_init(&namespaces, options->siteinfo, &magic);
    for (struct str rest = str_of(list); result == 0 && rest.data;) {
        const char *comma = memchr(rest.data, ',', rest.size), *end = rest.data + rest.size;
        const struct str item = str_trim(str_range(rest.data, comma ? comma : end));
        int32_t key;
        if (!find_namespace(&namespaces, item, &key))
            result = fail(err, ERR_USAGE, "--namespaces %s: %s has no namespace \"%.*s\"", list, options->name,
                          (int)item.size, item.data);
        else if (options->namespace_count == NAMESPACES_KEPT_MAX)
            result = fail(err, ERR_USAGE, "--namespaces %s: more than %u", list, NAMESPACES_KEPT_MAX);
        else
            options->namespaces[options->namespace_count++] = key;
        rest = comma ? str_range(comma + 1, end) : (struct str){0};
    }
    namespaces_release(&namespaces);
    return result == 0 ? 0 : hint(err, "the head of the dump lists the names; 0 is that of articles");
}

/* For one more input: as many as an archive has are known only when they are opened. */
static void make_room(struct inputs *inputs)
{
    const size_t n = inputs->count;
    if (n < inputs->room)
        return;
    inputs->room = 2 * n + 16;
#define GROW(field)                                                                                                    \
    inputs->field = mem_grow(inputs->field, inputs->room, sizeof *inputs->field);                                      \
    memset(inputs->field + n, 0, (inputs->room - n) * sizeof *inputs->field)
    GROW(dumps);
    GROW(paths);
    GROW(parts);
    GROW(in_folder);
    GROW(articles);
    GROW(languages);
    GROW(probes);
    GROW(ids);
#undef GROW
}

/* 0; < 0; DUMP_BLANK or DUMP_OTHER: it is left out. */
static int open_input(struct inputs *inputs, const struct dsdata_settings *settings, struct input_name *named,
                      struct error *err)
{
    const size_t n = inputs->count;
    make_room(inputs);
    const bool standard = strcmp(named->path, "-") == 0;
    if (standard && (inputs_pipe(inputs) || inputs->spool))
        return fail(err, ERR_USAGE, "standard input (-) can be named once only");
    struct dump_options options = dump_defaults(input_formats);
    if (standard && settings->spool) {
        inputs->spool = settings->spool;
        mem_free(named->path);
        named->path = mem_copy_text(inputs->spool);
        options.name = "standard input"; /* messages name what was typed, not our copy of it */
    }
    options.kind = named->folder ? SOURCE_UNKNOWN : named->kind; /* files of other kinds are left out below */
    options.members = named->folder ? inputs->folders[named->folder - 1].members : NULL;
    options.member = named->member;
    options.member_bytes = named->member_bytes;
    options.salvage = settings->salvage;
    if (settings->max_ratio) /* vocab has no such option: it decodes a window up to a bound */
        options.ratio_max = settings->max_ratio;
    options.file = (uint32_t)n;
    options.encoding = inputs->encoding;
    options.encoding.lossy |= settings->compat == COMPAT_GOOGLE;
    options.has_form = settings->text_form != FORM_AUTO || settings->compat == COMPAT_GOOGLE;
    options.journalled = strcmp(settings->result->verb->name, "build") == 0;
    options.sha256 = named->sha256[0] ? named->sha256 : NULL;
    struct dump *dump = NULL;
    const int opened = dump_open(&dump, named->path, &options, err);
    if (named->folder && leave_out(&inputs->folders[named->folder - 1], named, dump, opened, err))
        return DUMP_OTHER;
    if (opened == DUMP_BLANK && may_be_left_out(settings, named)) {
        log_detail("%s is blank, and is left out", standard ? "standard input" : named->path);
        if (inputs->blank++ == 0)
            inputs->first_blank = mem_copy_text(standard ? "standard input" : named->path);
        return DUMP_BLANK;
    }
    if (opened != 0) {
        hint_language(named, err);
        hint_hub(named->path, err);
        return -1;
    }
    inputs->count++; /* from here on inputs_close frees it, also after an error */
    inputs->dumps[n] = dump;
    inputs->paths[n] = named->path;
    inputs->parts[n] = named->parts;
    inputs->in_folder[n] = named->folder;
    named->path = NULL; /* moved */
    memcpy(inputs->languages[n].code, named->code, sizeof named->code);
    TRY(check_wiki(inputs, n, err));
    settle_language(&inputs->languages[n], settings, dump, inputs->lang);
    probe_read(dump, tables_of(&inputs->languages[n]), settings->text_key, &inputs->probes[n]);
    split_ids_read(&inputs->ids[n], dump, settings->id_key ? settings->id_key : ID_KEY);
    dump_let_head_go(dump);
    if (named->folder && n >= OPEN_FILES)
        dump_park(dump);
    inputs->articles[n] = (struct article_options){.kind = input_kind_of(dump),
                                                   .name = inputs_name(inputs, n),
                                                   .siteinfo = dump_siteinfo(dump),
                                                   .language = tables_of(&inputs->languages[n]),
                                                   .text_key = settings->text_key,
                                                   .id_key = settings->id_key,
                                                   .untyped = dump_is_untyped(dump),
                                                   .variant = settings->variant,
                                                   .keep = settings->keep,
                                                   .templates = inputs->templates,
                                                   .drop = settings->drop,
                                                   .filters = inputs->filters};
    set_code(inputs, n);
    return settings->namespaces ? read_namespaces(settings->namespaces, &inputs->articles[n], err) : 0;
}

/* A guess of English is not noted, because text of unknown language has always been read as English. */
static bool is_noted(const struct input_language *language)
{
    return language->by == LANGUAGE_OF_INPUT || (language->by == LANGUAGE_GUESSED && strcmp(language->code, "en") != 0);
}

/* The lists of forms and languages enter the recipe. NULL where all inputs are as usual, so that such datasets have the
 * identity and the root hash that they had before these options existed. */
static void note_forms(struct inputs *inputs)
{
    SCOPED(buf_release) struct buf list = {0};
    bool any = false;
    for (size_t i = 0; i < inputs->count; i++) {
        const bool noted = inputs->probes[i].form != FORM_SENTENCES;
        buf_addf(&list, "%s%s", i ? "," : "", noted ? text_form_names[inputs->probes[i].form] : "-");
        any |= noted;
    }
    inputs->forms = any ? mem_copy_text(buf_text(&list)) : NULL;
}

static void note_languages(struct inputs *inputs)
{
    SCOPED(buf_release) struct buf list = {0};
    bool any = false;
    for (size_t i = 0; i < inputs->count; i++) {
        const struct input_language *language = &inputs->languages[i];
        const char *code = !is_noted(language) ? "-" : language->code[0] ? language->code : UNDETERMINED;
        any |= is_noted(language);
        buf_addf(&list, "%s%s", i ? "," : "", code);
    }
    inputs->named = any ? mem_copy_text(buf_text(&list)) : NULL;
}

/* Every input stays open, and a folder may have more parts than a process may open files by default. If the system
 * allows no more, opening will fail with a message. */
static void allow_files(size_t inputs)
{
    struct rlimit limit;
    const rlim_t wanted = inputs + OTHER_FILES;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Decides for each input whether the text decides what is held out, for all of a kind whose ids are shared together. */
static void settle_split(struct inputs *inputs, const struct dsdata_settings *settings)
{
    SCOPED(mem_free_at) const struct split_ids **ids = mem_array(inputs->count + 1, sizeof *ids);
    bool settled[SOURCE_KINDS] = {false}, by_text[SOURCE_KINDS];
    for (size_t i = 0; i < inputs->count; i++) {
        const enum source_kind kind = dump_kind(inputs->dumps[i]);
        size_t count = 0;
        for (size_t other = i; !settled[kind] && input_kinds[kind]->ids_are_shared && other < inputs->count; other++)
            if (dump_kind(inputs->dumps[other]) == kind)
                ids[count++] = &inputs->ids[other];
        if (!input_kinds[kind]->ids_are_shared)
            ids[count++] = &inputs->ids[i];
        by_text[kind] = settled[kind] ? by_text[kind] : split_by_text(ids, count);
        settled[kind] = input_kinds[kind]->ids_are_shared;
        inputs->articles[i].held_by_text = settings->valid_by ? settings->valid_by == VALID_BY_TEXT : by_text[kind];
    }
}

/* Nothing was opened. Of files that were named the error says so of the last. */
static int refuse_nothing(const struct inputs *inputs, struct error *err)
{
    SCOPED(buf_release) struct buf left_out = {0};
    for (size_t i = 0; i < inputs->folder_count; i++)
        text_folder_left_out(&inputs->folders[i], &left_out);
    if (inputs->folder_count > 0 && inputs->blank == 0) {
        fail_at(err, ERR_INPUT, inputs->folders[0].path, ERROR_NO_OFFSET, "no file below it is an input%s%s",
                left_out.size ? ": " : "", left_out.size ? buf_text(&left_out) : "");
        hint(err, "-v says what each is; a file that is named says how to make text of it");
    }
    return -1;
}

static int open_archive(struct inputs *inputs, const struct dsdata_settings *settings, const struct input_name *archive,
                        struct error *err)
{
    struct text_folder *folder = &inputs->folders[archive->folder - 1];
    struct input_name named = *archive;
    int more;
    while ((more = text_folder_next(folder, &named.path, &named.member, &named.member_bytes, err)) > 0) {
        const int result = open_input(inputs, settings, &named, err);
        mem_free(named.path); /* NULL if it was taken */
        TRY(result);
    }
    return more;
}

static int open_names(struct inputs *inputs, const struct dsdata_settings *settings, struct input_names *names,
                      struct error *err)
{
    inputs->folders = names->folders; /* moved */
    inputs->folder_count = names->folder_count;
    names->folders = NULL;
    names->folder_count = 0;
    allow_files(names->count);
    for (size_t i = 0; i < names->count; i++) {
        struct input_name *named = &names->items[i];
        TRY(named->archive ? open_archive(inputs, settings, named, err) : open_input(inputs, settings, named, err));
    }
    if (inputs->count == 0)
        return refuse_nothing(inputs, err);
    for (size_t i = 0; i < inputs->count; i++)
        set_code(inputs, i);
    *err = (struct error){0};
    TRY(inputs_settle_forms(inputs, settings, err));
    note_languages(inputs);
    note_forms(inputs);
    settle_split(inputs, settings);
    return 0;
}

static int refuse_none(const struct dsdata_settings *settings, struct error *err)
{
    SCOPED(buf_release) struct buf options = {0};
    for (size_t kind = 1; kind < SOURCE_KINDS; kind++)
        buf_addf(&options, "%s--%s", kind == 1 ? "" : ", ", source_kinds[kind]);
    fail(err, ERR_USAGE, "no input");
    return hint(err, "name a dump: %s %s enwiki.xml.bz2, or use %s", settings->program->name,
                settings->result->verb->name, buf_text(&options));
}

int inputs_open(struct inputs *inputs, const struct dsdata_settings *settings, struct opt_paths bare, struct error *err)
{
    SCOPED(input_names_release) struct input_names names = {0};
    *inputs = (struct inputs){0};
    if (settings_named_inputs(settings) + bare.count == 0)
        return refuse_none(settings, err);
    if (settings->threads > 0) /* opening already decodes the head of a compressed input, which may use threads */
        parallel_set_threads((int)settings->threads);
    if (settings->lang)
        TRY(read_code(settings->lang, inputs->lang, err));
    if (settings->encoding)
        TRY(read_encoding(settings->encoding, &inputs->encoding, err));
    if (settings->variant && !variant_is_code(str_of(settings->variant))) {
        SCOPED(buf_release) struct buf codes = {0};
        variant_add_codes(&codes);
        fail(err, ERR_USAGE, "--variant %s: no wiki offers this spelling", settings->variant);
        return hint(err, "name one of %s", buf_text(&codes));
    }
    if (settings_templates_file(settings)) /* before the inputs, whose article_options point to it */
        TRY(templates_read(&inputs->templates, settings_templates_file(settings), inputs->templates_hash, err));
    TRY(filters_open(&inputs->filters, settings, err)); /* the same */
    TRY(input_names_read(&names, settings, &bare, err));
    return open_names(inputs, settings, &names, err);
}

void inputs_close(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        dump_close(inputs->dumps[i]);
    for (size_t i = 0; i < inputs->count; i++)
        mem_free(inputs->paths[i]);
    for (size_t i = 0; inputs->ids && i < inputs->count; i++)
        split_ids_release(&inputs->ids[i]);
    templates_free(inputs->templates);
    filters_close(inputs->filters);
    mem_free(inputs->dumps);
    mem_free(inputs->paths);
    mem_free(inputs->parts);
    mem_free(inputs->in_folder);
    for (size_t i = 0; i < inputs->folder_count; i++)
        text_folder_release(&inputs->folders[i]);
    mem_free(inputs->folders);
    mem_free(inputs->articles);
    mem_free(inputs->languages);
    mem_free(inputs->probes);
    mem_free(inputs->ids);
    mem_free(inputs->named);
    mem_free(inputs->forms);
    mem_free(inputs->first_blank);
    *inputs = (struct inputs){0};
}

const char *inputs_name(const struct inputs *inputs, size_t i)
{
    return inputs->spool && strcmp(inputs->paths[i], inputs->spool) == 0 ? "-" : inputs->paths[i];
}

bool inputs_pipe(const struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (strcmp(inputs->paths[i], "-") == 0)
            return true;
    return false;
}

bool inputs_of_pages(const struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (!input_kind_of(inputs->dumps[i])->of_pages)
            return false;
    return true;
}

uint64_t inputs_windows(const struct inputs *inputs)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < inputs->count; i++) {
        if (dump_windows(inputs->dumps[i]) == 0) /* unknown, and so is the sum */
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
    /* The place after the last window of an input becomes that before the first of the next. */
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
        if (dump_bytes(dump) > 0 || dump_stored_bytes(dump) == 0) /* known already, or a pipe */
            continue;
        log_detail("%s: %s are decompressed once to count their windows", inputs->paths[i],
                   format_bytes(dump_stored_bytes(dump), bytes));
        TRY(dump_measure(dump, err));
    }
    return 0;
}

size_t inputs_memory(const struct inputs *inputs)
{
    size_t most = 0; /* inputs are read one after the other, and each frees its decoder at its end */
    for (size_t i = 0; i < inputs->count; i++)
        if (dump_memory(inputs->dumps[i]) > most)
            most = dump_memory(inputs->dumps[i]);
    return most;
}

bool inputs_english(const struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++) {
        const struct input_language *language = &inputs->languages[i];
        /* Without a code: a guess that found nothing is not English. */
        if (language->code[0] ? !is_english(language->code) : language->by == LANGUAGE_GUESSED)
            return false;
    }
    return true;
}

#define FINGERPRINT_BYTES (64u << 10)

static int hash_ends(const char *path, uint64_t *fingerprint, struct error *err)
{
    SCOPED(file_close) struct file file = FILE_CLOSED;
    TRY(file_open_input(&file, path, err));
    /* Zeros after the bytes of a shorter file, which is read twice. */
    SCOPED(mem_free_at) char *ends = mem_clear(2, FINGERPRINT_BYTES);
    const int64_t bytes = file_size(&file, err);
    TRY(bytes);
    TRY(file_read_at(&file, ends, FINGERPRINT_BYTES, 0, err));
    TRY(file_read_at(&file, ends + FINGERPRINT_BYTES, FINGERPRINT_BYTES,
                     bytes > (int64_t)FINGERPRINT_BYTES ? (uint64_t)bytes - FINGERPRINT_BYTES : 0, err));
    *fingerprint = hash64(ends, 2 * FINGERPRINT_BYTES);
    return 0;
}

int inputs_fingerprint(const struct inputs *inputs, size_t index, uint64_t *fingerprint, struct error *err)
{
    struct text_folder *folder = inputs->in_folder[index] ? &inputs->folders[inputs->in_folder[index] - 1] : NULL;
    *fingerprint = 0;
    if (strcmp(inputs->paths[index], "-") == 0)
        return 0;
    if (!folder || !folder->members)
        return hash_ends(inputs->paths[index], fingerprint, err);
    if (folder->fingerprint == 0)
        TRY(hash_ends(folder->path, &folder->fingerprint, err));
    *fingerprint = folder->fingerprint;
    return 0;
}
