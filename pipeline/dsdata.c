/* dsdata: the command line, from argv to an exit code. */
#include "base/cores.h"
#include "base/error.h"
#include "base/file.h"
#include "base/launcher.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "pipeline/build/fresh.h"
#include "pipeline/dsdata_options.h"
#include "pipeline/parts/dsdata_settings.h"
#include "pipeline/store/journal.h"
#include "pipeline/store/spill.h"
#include "shards/manifest.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

static bool holds(const char *directory, const char *name)
{
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    return path_exists(path);
}

/* The pages and documents that are in the spills, according to the journals of the extents. */
static uint64_t pages_read(const char *site)
{
    struct error ignored;
    SCOPED(path_list_release) struct path_list list = {0};
    uint64_t pages = 0, extent;
    SCOPED(mem_free_at) char *folder = path_join(site, SPILL_NAME);
    if (path_is_directory(folder) && path_list(&list, folder, &ignored) == 0)
        for (size_t i = 0; i < list.count; i++) {
            if (!spill_journal_name(list.names[i], &extent))
                continue;
            SCOPED(mem_free_at) char *path = path_join(folder, list.names[i]);
            json_auto_t *object = journal_get(path, &ignored);
            const json_int_t count = json_integer_value(json_object_get(object, "pages"));
            pages += count > 0 ? (uint64_t)count : 0;
        }
    return pages;
}

static void add_stage(const char *site, const struct journal *journal, struct buf *out)
{
    static const char *const stages[] = {[JOURNAL_VOCABULARY] = "it learns the vocabulary",
                                         [JOURNAL_HASHING] = "it looks for duplicates",
                                         [JOURNAL_READING] = "it reads the inputs",
                                         [JOURNAL_SEALING] = "everything is read, and it writes the shards"};
    char count[56];
    buf_add_text(out, stages[journal->stage]);
    const bool counts = journal->stage == JOURNAL_HASHING || journal->stage == JOURNAL_READING;
    const uint64_t pages = counts ? pages_read(site) : 0;
    if (pages > 0)
        buf_addf(out, ", %s so far", format_counted(pages, "document", count));
}

/* The words as JSON in ASCII: the journal is not trusted, and its command must not look like one of ours. */
static void add_command(const struct journal *journal, bool fresh, struct buf *out)
{
    enum { SHOWN = 300 };
    SCOPED(mem_free_at)
    char *words = journal->command ? json_dumps(journal->command, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    buf_addf(out, "; the same dsdata build%s command continues it", fresh ? " --fresh" : "");
    if (words)
        buf_addf(out, " (%.*s%s)", SHOWN, words, strlen(words) > SHOWN ? " …" : "");
}

/* For an error about a directory that holds no finished dataset (manifest_present): the hint becomes how far the build
 * is, and for one that was interrupted the command that continues it. Other errors stay as they are. */
static void unfinished_hint(struct error *err)
{
    struct error ignored;
    SCOPED(journal_release) struct journal journal = {0};
    SCOPED(buf_release) struct buf text = {0};
    const char *directory = err->file;
    if ((err->kind != ERR_USAGE && err->kind != ERR_LOCKED) || !path_is_directory(directory) ||
        holds(directory, MANIFEST_NAME))
        return;
    const bool fresh = !holds(directory, JOURNAL_NAME);
    SCOPED(mem_free_at) char *site = fresh ? fresh_site(directory) : mem_copy_text(directory);
    if (journal_read(&journal, site, &ignored) > 0) {
        add_stage(site, &journal, &text);
        if (err->kind == ERR_LOCKED)
            buf_add_text(&text, "; wait until that process ends");
        else
            add_command(&journal, fresh, &text);
        hint(err, "%s", buf_text(&text));
    }
}

int main(int argc, char **argv)
{
    process_open("dsdata");
    setlocale(LC_ALL, "C");

    const struct opt_program program = dsdata_program();
    struct error err = {0};
    struct dsdata_settings settings = {0};
    struct opt_result result = {0};
    size_t at = 0;
    int done = opts_parse(&program, argc, argv, &settings, &result, &err);
    bool reported_elsewhere = launcher_follows(); /* until the verb begins: it decides on its own errors */
    if (done == 0 && result.verb) {
        settings.program = &program;
        settings.result = &result;
        settings.argc = argc;
        settings.argv = argv;
        enum log_level level = settings.quiet ? LOG_QUIET : settings.verbose ? LOG_VERBOSE : LOG_NORMAL;
        log_open("dsdata", level, settings.json);
        cores_warn(settings.threads);
        for (const char *name; (name = opts_repeated(&program, &result, &at));)
            log_say("note       --%s is given more than once: the last one counts", name);
        done = result.verb->run == dsdata_build ? 0 : launcher_refuse("dsdata", &err); /* only a build can use several
                                                                                        * processes */
        if (done == 0) {
            reported_elsewhere = false;
            done = result.verb->run(&settings, result.bare, &err);
        }
    }
    if (done < 0 && result.verb && result.verb->run != dsdata_build)
        unfinished_hint(&err);
    if (done < 0 && settings.salvage && strstr(err.hint, "--salvage"))
        hint(
            &err,
            "--salvage leaves out what is damaged, and here nothing can be read before the damage: get the file again");
    /* A verb may also return its own exit code: the JSON object of verify already says what an error would. */
    int code = done;
    if (done < 0)
        code = reported_elsewhere ? (int)err.kind : error_print(&err, "dsdata", opts_typed(argc, argv, "json"));
    opts_release(&program, &settings, &result);
    return process_close(code);
}
