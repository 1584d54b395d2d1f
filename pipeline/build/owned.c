/* Lists the files that a manifest or journal covers. The names are computed from its lengths and counts, so no name
 * that someone else wrote is ever removed. */
#include "pipeline/build/owned.h"

#include "base/hash.h"
#include "base/mem.h"
#include "pipeline/input/spool.h"
#include "pipeline/store/spill.h"

#include <stdio.h>

static int refuse(const char *path, const char *what, struct error *err)
{
    *err = (struct error){0};
    fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "damaged, or not a %s made by dsdata: nothing here was touched",
            what);
    return hint(err, "choose another --out, or move this directory away");
}

int owned_manifest(const char *path, struct manifest *manifest, struct error *err)
{
    SCOPED(buf_release) struct buf text = {0};
    *manifest = (struct manifest){0};
    if (!path_exists(path))
        return 0;
    int result = file_read_all(path, MANIFEST_BYTES_MAX, &text, err);
    if (result == 0)
        result = manifest_parse(manifest, buf_str(&text), path, err);
    if (result < 0 && (err->kind == ERR_VERIFY || err->kind == ERR_UNSAFE))
        return refuse(path, "manifest", err);
    return result < 0 ? -1 : 1;
}

int owned_journal(const char *directory, struct journal *journal, struct error *err)
{
    const int found = journal_read(journal, directory, err);
    if (found >= 0 || (err->kind != ERR_VERIFY && err->kind != ERR_UNSAFE))
        return found;
    SCOPED(mem_free_at) char *path = path_join(directory, JOURNAL_NAME);
    return refuse(path, "journal", err);
}

int owned_look(const char *directory, struct journal *journal, struct error *err)
{
    SCOPED(manifest_release) struct manifest manifest;
    SCOPED(journal_release) struct journal ignored = {0};
    SCOPED(mem_free_at) char *path = path_join(directory, MANIFEST_NAME);
    const int found = owned_manifest(path, &manifest, err);
    if (found != 0)
        return found < 0 ? -1 : OWNED_MANIFEST;
    return owned_journal(directory, journal ? journal : &ignored, err);
}

/* ------------------------------------------------------------------------------------------------------ lists */

static void add(struct path_list *files, const char *name)
{
    files->names = mem_grow(files->names, files->count + 1, sizeof *files->names);
    files->names[files->count++] = mem_copy_text(name);
}

/* Lists the file `name` if it begins with `head` and has `root`, which names the root hash of this dataset. */
static int add_about(struct path_list *files, const char *directory, const char *name, struct str head,
                     const char *root, struct error *err)
{
    enum { HEAD_BYTES = 4096 };
    char text[HEAD_BYTES];
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    SCOPED(file_close) struct file file = FILE_CLOSED;
    if (path_kind(path) != PATH_FILE)
        return 0;
    TRY(file_open_read(&file, path, err));
    const int64_t size = file_read(&file, text, sizeof text, err);
    TRY(size);
    const struct str begin = {text, (size_t)size};
    if (str_starts(begin, head) && str_find(begin, str_of(root)) != SIZE_MAX)
        add(files, name);
    return 0;
}

int owned_of_manifest(struct path_list *files, const struct manifest *manifest, const char *directory,
                      struct error *err)
{
    char name[SHARD_NAME_BYTES];
    for (size_t i = 0; i < manifest->length_count; i++)
        for (uint32_t shard = 0; shard < manifest->lengths[i].shards; shard++)
            add(files, manifest_shard_name(&manifest->lengths[i], shard, name));
    struct manifest_text texts[MANIFEST_TEXTS];
    for (size_t count = manifest_texts(manifest, texts), i = 0; i < count; i++)
        add(files, texts[i].name);
    add(files, BUILD_NAME);
    char title[64], card[64], root[17];
    snprintf(title, sizeof title, "<title>Dataset %s</title>", hash_text(manifest->root_hash, root));
    snprintf(card, sizeof card, "root hash `%s`", root);
    TRY(add_about(files, directory, REPORT_NAME, STR(""), title, err));
    return add_about(files, directory, CARD_NAME, STR(CARD_HEAD), card, err);
}

/* train-00000-of-00004.dss, also while it is being written. */
static bool is_shard_name(const char *name)
{
    char split[6];
    unsigned shard, count;
    int end = 0;
    if (sscanf(name, "%5[a-z]-%7u-of-%7u.dss%n", split, &shard, &count, &end) != 3 || end == 0)
        return false;
    return (strcmp(split, "train") == 0 || strcmp(split, "valid") == 0) &&
           (name[end] == '\0' || strcmp(name + end, ".tmp") == 0);
}

static int add_shards(struct path_list *files, json_int_t seq, const char *directory, struct error *err)
{
    char folder[32];
    SCOPED(path_list_release) struct path_list list = {0};
    snprintf(folder, sizeof folder, "seq%lld", (long long)seq);
    SCOPED(mem_free_at) char *path = path_join(directory, folder);
    if (path_kind(path) != PATH_FOLDER)
        return 0;
    TRY(path_list(&list, path, err));
    for (size_t i = 0; i <= list.count; i++) {
        /* The last one need not exist; an empty folder thus has a file in the list, and is removed with it. */
        const char *shard = i < list.count ? list.names[i] : "train-00000-of-00001.dss.tmp";
        if (!is_shard_name(shard))
            continue;
        SCOPED(mem_free_at) char *name = path_join(folder, shard);
        add(files, name);
    }
    return 0;
}

int owned_of_journal(struct path_list *files, const struct journal *journal, const char *directory, struct error *err)
{
    static const char *const names[] = {TEMPLATES_NAME,    TEMPLATES_NAME ".tmp", BUILD_NAME,
                                        BUILD_NAME ".tmp", MANIFEST_NAME ".tmp",  JOURNAL_NAME ".tmp"};
    const json_t *lengths = json_object_get(json_object_get(journal->identity, "recipe"), "seq"), *seq;
    size_t i;
    json_array_foreach(lengths, i, seq) TRY(add_shards(files, json_integer_value(seq), directory, err));
    for (i = 0; i < sizeof names / sizeof *names; i++)
        add(files, names[i]);
    for (i = 0; i < TOKENIZER_FILES; i++) {
        char half[64];
        snprintf(half, sizeof half, "%s.tmp", tokenizer_file_names[i]);
        add(files, tokenizer_file_names[i]);
        add(files, half);
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------- check and remove */

static int check_kind(const char *directory, const char *name, enum path_kind wanted, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    const enum path_kind kind = path_kind(path);
    if (kind == PATH_ABSENT || kind == wanted)
        return 0;
    fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "is not a %s that a build made: nothing was removed",
            wanted == PATH_FILE ? "regular file" : "folder");
    return hint(err, "move it away; --fresh follows no links");
}

static bool is_length_name(const char *name)
{
    return strncmp(name, "seq", 3) == 0 && name[3] && name[3 + strspn(name + 3, "0123456789")] == '\0';
}

int owned_check(const struct path_list *files, const char *directory, struct error *err)
{
    SCOPED(path_list_release) struct path_list list = {0};
    TRY(path_list(&list, directory, err));
    for (size_t i = 0; i < list.count; i++)
        if (is_length_name(list.names[i]) || strcmp(list.names[i], SPILL_NAME) == 0)
            TRY(check_kind(directory, list.names[i], PATH_FOLDER, err));
    for (size_t i = 0; i < files->count; i++)
        TRY(check_kind(directory, files->names[i], PATH_FILE, err));
    return 0;
}

/* The bytes of a name before its '/'; 0 if it has none. */
static size_t folder_size(const char *name)
{
    const char *slash = strchr(name, '/');
    return slash ? (size_t)(slash - name) : 0;
}

/* Removes the folder after the last of its files. */
static int leave_folder(const char *directory, const char *name, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    path[strlen(path) - strlen(name) + folder_size(name)] = '\0';
    if (path_exists(path))
        TRY(path_sync_directory(path, err));
    return path_remove_empty(path, err);
}

int owned_remove(const struct path_list *files, const char *directory, struct error *err)
{
    for (size_t i = 0; i < files->count; i++) {
        const char *name = files->names[i], *next = i + 1 < files->count ? files->names[i + 1] : "";
        const size_t size = folder_size(name);
        SCOPED(mem_free_at) char *path = path_join(directory, name);
        TRY(path_remove(path, err));
        if (size > 0 && (folder_size(next) != size || strncmp(name, next, size) != 0))
            TRY(leave_folder(directory, name, err));
    }
    return path_sync_directory(directory, err);
}

/* -------------------------------------------------------------------------------------------- the directory */

#define LOCK_NAME ".lock"

int owned_is_empty(const char *directory, struct error *err)
{
    static const char *const ignored[] = {LOCK_NAME, JOURNAL_NAME ".tmp", FRESH_NAME, SPOOL_NAME};
    SCOPED(path_list_release) struct path_list list = {0};
    TRY(path_list(&list, directory, err));
    size_t left = list.count;
    for (size_t i = 0; i < list.count; i++)
        for (size_t j = 0; j < sizeof ignored / sizeof *ignored; j++)
            left -= strcmp(list.names[i], ignored[j]) == 0;
    return left == 0;
}

int owned_tidy(const char *directory, struct error *err)
{
    SCOPED(mem_free_at) char *fresh = path_join(directory, FRESH_NAME);
    TRY(spill_remove_all(directory, err));
    TRY(path_remove_empty(fresh, err));
    return journal_remove(directory, err); /* last: until then the directory can be recognised as ours */
}
