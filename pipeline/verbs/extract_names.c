#include "pipeline/verbs/extract_names.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "pipeline/dump/codecs.h"
#include "pipeline/input/inputs.h"
#include "pipeline/verbs/extract_text.h"
#include "pipeline/verbs/output_file.h"

#include <assert.h>

static const struct {
    const char *ending;
    enum container packing;
} packings[] = {{".gz", CONTAINER_GZIP}, {".zst", CONTAINER_ZSTD}};

static int find_packing(const char *path, enum container *packing, struct error *err)
{
    struct str name = str_of(path);
    *packing = CONTAINER_NONE;
    for (size_t i = 0; i < sizeof packings / sizeof *packings; i++)
        if (str_ends(name, str_of(packings[i].ending)))
            *packing = packings[i].packing;
    if (*packing != CONTAINER_NONE || !codec_cut_extension(&name))
        return 0;
    fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "extract writes .gz and .zst, no other compression");
    return hint(err, "choose another ending");
}

/* Refuses a name that promises what extract does not write. */
static int check_ending(const char *path, int format, struct error *err)
{
    static const char *const tables[] = {".parquet", ".arrow", ".feather", ".csv", ".tsv"};
    struct str name = str_of(path);
    codec_cut_extension(&name);
    if (str_ends(name, STR(".txt")) && format == EXTRACT_JSONL)
        log_warn("%s will hold JSON lines; --format sentences writes text", path);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (str_ends(name, str_of(tables[i]))) {
            fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "extract writes JSON lines or text, no %s", tables[i] + 1);
            return hint(err,
                        "write a .jsonl; python -m dsshards parquet FILE.jsonl --out FILE.parquet makes a table of it");
        }
    return 0;
}

static int name_whole(struct extract_names *names, const struct dsdata_settings *settings, struct opt_paths bare,
                      struct error *err)
{
    const char *out = settings->out;
    const size_t size = strlen(out);
    if (size == 0 || (out[size - 1] != '/' && !path_is_directory(out))) {
        names->whole = mem_copy_text(out);
        return 0;
    }
    SCOPED(mem_free_at) char *stem = inputs_stem(settings, bare);
    SCOPED(buf_release) struct buf name = {0};
    buf_addf(&name, "%s%s", stem[0] ? stem : "text", settings->format == EXTRACT_JSONL ? ".jsonl" : ".txt");
    names->whole = path_join(out, buf_text(&name));
    return path_make_directory(out, err);
}

int extract_names_make(struct extract_names *names, const struct dsdata_settings *settings, struct opt_paths bare,
                       struct error *err)
{
    *names = (struct extract_names){.count = settings->files > 0 ? (uint32_t)settings->files : 1};
    assert(names->count <= EXTRACT_FILES_MAX); /* the option's row has no more */
    if (!settings_out(settings))
        return names->count == 1 ? 0 : fail(err, ERR_USAGE, "--files needs --out: standard output is one file");
    TRY(name_whole(names, settings, bare, err));
    TRY(find_packing(names->whole, &names->packing, err));
    TRY(check_ending(names->whole, settings->format, err));
    struct buf folder = {0};
    buf_addf(&folder, "%s%s", names->whole, TARGET_UNFINISHED);
    buf_text(&folder);
    names->folder = folder.data;
    names->paths = mem_clear(names->count, sizeof *names->paths);
    for (uint32_t i = 0; i < names->count; i++)
        names->paths[i] = output_file_numbered(names->whole, i, names->count);
    return 0;
}

int extract_names_check(const struct extract_names *names, const struct dsdata_settings *settings,
                        struct opt_paths bare, struct error *err)
{
    static const char *const keys[] = {"\"revid\":", "\"title\":", "\"text\":", NULL};
    static const struct target_form jsonl = {"{\"id\":", keys};
    if (names->whole && path_exists(names->folder))
        return 0;
    const bool plain = settings->format == EXTRACT_JSONL && names->packing == CONTAINER_NONE;
    for (uint32_t i = 0; i < names->count && names->whole; i++)
        TRY(output_file_check(settings, bare, names->paths[i], plain ? &jsonl : NULL, err));
    return 0;
}

void extract_names_release(struct extract_names *names)
{
    for (uint32_t i = 0; names->paths && i < names->count; i++)
        mem_free(names->paths[i]);
    mem_free(names->paths);
    mem_free(names->whole);
    mem_free(names->folder);
}
