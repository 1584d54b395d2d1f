#include "pipeline/input/input_names.h"

#include "base/file.h"
#include "base/mem.h"
#include "pipeline/dump/codecs.h"
#include "pipeline/dump/members.h"
#include "pipeline/input/inputs.h"

#include <stdlib.h>

/* Splits LANG=FILE: returns FILE, with the code of LANG in `code`; or the argument itself, with "". */
static const char *path_of(const char *typed, char code[CODE_BYTES_MAX])
{
    const char *equals = strchr(typed, '=');
    code[0] = '\0';
    return equals && code_read(str_range(typed, equals), code) ? equals + 1 : typed;
}

static struct input_name *add_name(struct input_names *names, const struct input_name *like, const char *path)
{
    names->items = mem_grow(names->items, names->count + 1, sizeof *names->items);
    struct input_name *named = &names->items[names->count++];
    *named = *like;
    named->path = mem_copy_text(path);
    return named;
}

static void add_parts(struct input_names *names, const struct input_name *like, enum source_kind kind,
                      const struct folder *folder)
{
    for (size_t i = 0; i < folder->count; i++) {
        struct input_name *named = add_name(names, like, folder->parts[i].path);
        named->kind = kind;
        named->parts = folder->count - i;
        memcpy(named->sha256, folder->parts[i].sha256, sizeof named->sha256);
    }
}

static int add_text_folder(struct input_names *names, const struct input_name *like, const char *path,
                           struct error *err)
{
    names->folders = mem_grow(names->folders, names->folder_count + 1, sizeof *names->folders);
    struct text_folder *folder = &names->folders[names->folder_count++];
    TRY(text_folder_read(folder, path, err));
    for (size_t i = 0; i < folder->count; i++)
        add_name(names, like, folder->files[i])->folder = names->folder_count;
    return 0;
}

/* 1 if the file is an archive. */
static int add_archive(struct input_names *names, const struct input_name *like, const char *path,
                       const struct dsdata_settings *settings, struct error *err)
{
    struct dump_options limits = dump_defaults(input_formats);
    struct members_options options = {.ratio_max = settings->max_ratio ? settings->max_ratio : limits.ratio_max,
                                      .ratio_text_min = limits.ratio_text_min};
    struct members *members;
    const int opened = members_open(&members, path, &options, err);
    if (opened <= 0)
        return opened;
    names->folders = mem_grow(names->folders, names->folder_count + 1, sizeof *names->folders);
    names->folders[names->folder_count++] = (struct text_folder){.path = mem_copy_text(path), .members = members};
    struct input_name *named = add_name(names, like, path);
    named->folder = names->folder_count;
    named->archive = true;
    if (!settings->salvage)
        return 1;
    fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "--salvage cannot be combined with an archive");
    return hint(err, "unpack what can be read of it to a folder, and name that");
}

static int add_folder(struct input_names *names, const struct input_name *like, const char *path, bool salvage,
                      struct error *err)
{
    struct folder folder;
    enum source_kind kind = like->kind == SOURCE_UNKNOWN ? SOURCE_UNKNOWN + 1 : like->kind;
    while (like->kind == SOURCE_UNKNOWN && !input_kinds[kind]->read_folder)
        kind++;
    TRY(text_folder_refuse_ours(path, err));
    const bool is_export = folder_is_export(path);
    if (!input_kinds[kind]->read_folder && is_export) {
        fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "holds the parts of a wiki's dump");
        return hint(err, "without an option, the folder is read as that dump");
    }
    if (!input_kinds[kind]->read_folder || (like->kind == SOURCE_UNKNOWN && !is_export))
        return add_text_folder(names, like, path, err);
    TRY(input_kinds[kind]->read_folder(&folder, path, salvage, err));
    add_parts(names, like, kind, &folder);
    folder_release(&folder);
    return 0;
}

static int add_path(struct input_names *names, const struct input_name *named, const char *path,
                    const struct dsdata_settings *settings, struct error *err)
{
    if (strcmp(path, "-") != 0 && path_is_directory(path))
        return add_folder(names, named, path, settings->salvage, err);
    const int archive = strcmp(path, "-") != 0 ? add_archive(names, named, path, settings, err) : 0;
    if (archive == 0)
        add_name(names, named, path);
    return archive < 0 ? -1 : 0;
}

static int add_paths(struct input_names *names, const struct opt_paths *paths, enum source_kind kind,
                     const struct dsdata_settings *settings, struct error *err)
{
    for (size_t i = 0; i < paths->count; i++) {
        struct input_name named = {.typed = paths->items[i], .kind = kind};
        const char *path = path_of(paths->items[i], named.code);
        TRY(add_path(names, &named, path, settings, err));
    }
    return 0;
}

int input_names_read(struct input_names *names, const struct dsdata_settings *settings, const struct opt_paths *bare,
                     struct error *err)
{
    for (enum source_kind kind = SOURCE_UNKNOWN + 1; kind < SOURCE_KINDS; kind++)
        TRY(add_paths(names, &settings->inputs[kind], kind, settings, err));
    return add_paths(names, bare, SOURCE_UNKNOWN, settings, err);
}

void input_names_release(struct input_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        mem_free(names->items[i].path);
    mem_free(names->items);
    for (size_t i = 0; i < names->folder_count; i++)
        text_folder_release(&names->folders[i]);
    mem_free(names->folders);
    *names = (struct input_names){0};
}

const char *inputs_path_of(const char *typed)
{
    char code[CODE_BYTES_MAX];
    return path_of(typed, code);
}

bool inputs_ask_for_pipe(const struct dsdata_settings *settings, struct opt_paths bare)
{
    for (size_t i = 0; i < settings_named_inputs(settings) + bare.count; i++)
        if (strcmp(inputs_path_of(settings_input(settings, &bare, i)), "-") == 0)
            return true;
    return false;
}

/* "name" for "/a/name", "/a/name/", and for "." in /a/name. */
static char *base_name(const char *path)
{
    char *whole = path_is_directory(path) ? realpath(path, NULL) : NULL;
    const char *from = whole ? whole : path, *slash = strrchr(from, '/');
    char *name = mem_copy_text(slash ? slash + 1 : from);
    free(whole);
    return name;
}

/* Removes one of the extensions, which end with NULL. False: the name has none of them. */
static bool cut_one(struct str *name, const char *const *extensions)
{
    for (; *extensions; extensions++)
        if (name->size > strlen(*extensions) && str_ends(*name, str_of(*extensions))) {
            name->size -= strlen(*extensions);
            return true;
        }
    return false;
}

/* Removes an extension of a container or of a kind. False: there is none. */
static bool cut_extension(struct str *name)
{
    static const char *const archives[] = {".zip", ".tar", ".tgz", ".tbz2", ".txz", ".tzst", NULL};
    for (size_t kind = SOURCE_UNKNOWN + 1; kind < SOURCE_KINDS; kind++)
        if (cut_one(name, input_kinds[kind]->extensions))
            return true;
    return cut_one(name, archives) || codec_cut_extension(name);
}

/* The folder of all inputs, if there are several and they are in one; else NULL. */
static char *common_folder(const struct dsdata_settings *settings, const struct opt_paths *bare)
{
    const size_t count = settings_named_inputs(settings) + bare->count;
    char *common = count > 1 ? path_parent(inputs_path_of(settings_input(settings, bare, 0))) : NULL;
    for (size_t i = 0; common && i < count; i++) {
        const char *path = inputs_path_of(settings_input(settings, bare, i));
        SCOPED(mem_free_at) char *parent = path_parent(path);
        if (strcmp(path, "-") == 0 || strcmp(parent, common) != 0) {
            mem_free(common);
            common = NULL;
        }
    }
    return common;
}

char *inputs_stem(const struct dsdata_settings *settings, struct opt_paths bare)
{
    const bool any = settings_named_inputs(settings) + bare.count > 0;
    SCOPED(mem_free_at) char *folder = common_folder(settings, &bare);
    const char *path = folder ? folder : any ? inputs_path_of(settings_input(settings, &bare, 0)) : "";
    char *stem = base_name(path);
    struct str without = str_of(stem);
    while (!folder && cut_extension(&without))
        continue;
    stem[without.size] = '\0';
    if (stem[0] && path_same(path, stem)) {
        SCOPED(buf_release) struct buf other = {0};
        buf_addf(&other, "%s-shards", stem);
        mem_free(stem);
        stem = mem_copy_text(buf_text(&other));
    }
    return stem;
}
