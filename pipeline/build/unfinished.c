/* Reads DIR/journal and the journals of the extents, which a running build may be replacing. */
#include "pipeline/build/unfinished.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scoped.h"
#include "pipeline/build/fresh.h"
#include "pipeline/store/journal.h"
#include "pipeline/store/spill.h"
#include "shards/manifest.h"

#include <stdlib.h>

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
            char *path = path_join(folder, list.names[i]);
            json_t *object = journal_get(path, &ignored);
            const json_int_t count = json_integer_value(json_object_get(object, "pages"));
            pages += count > 0 ? (uint64_t)count : 0;
            json_decref(object);
            mem_free(path);
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

/* The words as JSON in ASCII: anybody may have written the journal, and nobody is to mistake them for a command that we
 * vouch for. */
static void add_command(const struct journal *journal, bool fresh, struct buf *out)
{
    enum { SHOWN = 300 };
    char *words = journal->command ? json_dumps(journal->command, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    buf_addf(out, "; the same dsdata build%s command continues it", fresh ? " --fresh" : "");
    if (words)
        buf_addf(out, " (%.*s%s)", SHOWN, words, strlen(words) > SHOWN ? " …" : "");
    free(words);
}

void unfinished_hint(struct error *err)
{
    struct error ignored;
    struct journal journal;
    struct buf text = {0};
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
        journal_release(&journal);
    }
    buf_release(&text);
}
