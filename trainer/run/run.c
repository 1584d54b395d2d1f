#include "trainer/run/run.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "trainer/keep/checkpoint.h"
#include "base/json.h"

char *run_directory(const char *model, uint32_t seq, const json_t *identity)
{
    struct buf text = {0};
    char hex[17], name[128];
    json_add_text(identity, JSON_COMPACT | JSON_SORT_KEYS, &text);
    hash_text(hash64(text.data, text.size), hex);
    buf_release(&text);
    snprintf(name, sizeof name, "runs/%s-%" PRIu32 "-%.6s", model, seq, hex);
    return mem_copy_text(name);
}

static void add_value(const json_t *value, struct buf *out)
{
    if (json_is_string(value))
        buf_add_text(out, json_string_value(value));
    else if (value)
        json_add_text(value, JSON_COMPACT | JSON_ENCODE_ANY, out);
    else
        buf_add_text(out, "nothing");
}

bool run_same_member(json_t *const *objects, size_t count, const char *key)
{
    bool same = true;
    for (size_t i = 1; i < count; i++) {
        const json_t *first = json_object_get(objects[0], key), *other = json_object_get(objects[i], key);
        same &= first == other || (first && other && json_equal(first, other));
    }
    return same;
}

json_t *run_identity(const json_t *identity, const json_t *precision)
{
    json_t *copy = json_copy((json_t *)identity);
    if (json_object_get(copy, "precision") && json_is_string(precision))
        json_object_set(copy, "precision", (json_t *)precision);
    return copy;
}

void run_differences(const json_t *there, const json_t *here, struct buf *out)
{
    json_t *keys = json_object(); /* of both, each once */
    json_object_update(keys, (json_t *)here);
    json_object_update(keys, (json_t *)there);
    const char *key;
    json_t *ignored;
    json_object_foreach(keys, key, ignored)
    {
        SCOPED(buf_release) struct buf was = {0}, now = {0};
        add_value(json_object_get(there, key), &was);
        add_value(json_object_get(here, key), &now);
        if (!str_equal(buf_str(&was), buf_str(&now))) {
            buf_addf(out, "%s%s %s", out->size > 0 ? ", " : "", key, buf_text(&was));
            buf_addf(out, " (now %s)", buf_text(&now));
        }
    }
    json_decref(keys);
}

int run_is_of(const char *path, const json_t *there, const json_t *here, struct error *err)
{
    SCOPED(buf_release) struct buf differences = {0};
    run_differences(there, here, &differences);
    if (differences.size > 0)
        return fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET, "is a checkpoint of another run: %.300s",
                       buf_text(&differences));
    return 0;
}

int run_read(const char *directory, json_t **record, struct error *err)
{
    char *path = path_join(directory, RUN_NAME);
    *record = NULL;
    int result = path_exists(path) ? json_read(path, RUN_BYTES_MAX, ERR_VERIFY, record, err) : 0;
    if (*record &&
        (!json_is_object(json_object_get(*record, "identity")) || !json_is_array(json_object_get(*record, "starts")) ||
         !json_is_array(json_object_get(*record, "saves")))) {
        json_decref(*record);
        *record = NULL;
        result = fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "is not the record of a run");
    }
    mem_free(path);
    if (result < 0 && err->kind == ERR_VERIFY)
        hint_command(err, "--init with one of %s/" CHECKPOINTS_NAME " begins a new run; --fresh moves this one away",
                     directory);
    return result;
}

/* Checks that a directory without a run is empty, apart from files of ours: the lock and a run.json.tmp. */
static int check_empty(const char *directory, struct error *err)
{
    struct path_list list;
    TRY(path_list(&list, directory, err));
    int result = 0;
    for (size_t i = 0; i < list.count && result == 0; i++)
        if (strcmp(list.names[i], ".lock") != 0 && strcmp(list.names[i], RUN_NAME ".tmp") != 0) {
            fail_at(err, ERR_USAGE, directory, ERROR_NO_OFFSET,
                    "is not empty and holds no run of dstrain (it holds %.100s)", list.names[i]);
            result = hint(err, "give another --out");
        }
    path_list_release(&list);
    return result;
}

/* Renames the directory to DIR.1, or to the first number that is free. */
static int move_away(const char *directory, char **moved, struct error *err)
{
    SCOPED(buf_release) struct buf name = {0};
    for (int i = 1; name.size == 0 || path_exists(buf_text(&name)); i++) {
        size_t size = strlen(directory);
        while (size > 1 && directory[size - 1] == '/')
            size--;
        buf_reset(&name);
        buf_addf(&name, "%.*s.%d", (int)size, directory, i);
    }
    const int result = path_rename(directory, buf_text(&name), err);
    if (result == 0)
        *moved = mem_copy_text(buf_text(&name));
    return result;
}

static bool same_value(const json_t *there, const json_t *identity, const char *key)
{
    const json_t *before = json_object_get(there, key), *now = json_object_get(identity, key);
    return before == now || (before && now && json_equal(before, now));
}

/* Whether --resume can go on from the run that is there: it takes over the model, and knows no other start. */
static bool can_branch(const json_t *there, const json_t *identity)
{
    static const char *const same[] = {"task",  "initial_weights", "layers",     "hidden",
                                       "heads", "intermediate",    "vocabulary", "positions",
                                       "types", "activation",      "spare_rows"};
    bool all = !json_object_get(there, "task");
    for (size_t i = 0; i < sizeof same / sizeof *same && all; i++)
        all = same_value(there, identity, same[i]);
    for (enum architecture_kind kind = 0; kind < ARCHITECTURE_KINDS && all; kind++)
        all = !architectures[kind]->flag || same_value(there, identity, architectures[kind]->flag);
    return all;
}

static int compare(struct run *run, const json_t *identity, struct error *err)
{
    SCOPED(buf_release) struct buf differences = {0};
    const json_t *there = json_object_get(run->record, "identity");
    run_differences(there, identity, &differences);
    if (differences.size == 0)
        return 0;
    fail_at(err, ERR_MISMATCH, run->directory, ERROR_NO_OFFSET, "holds another run: %.400s", buf_text(&differences));
    if (!can_branch(there, identity))
        return hint_command(err, "give another --out, or --fresh to move that run to %s.1", run->directory);
    return hint_command(err,
                        "give another --out, with --resume %s to go on from that run with these settings (without "
                        "--model), or --fresh to move that run to %s.1",
                        run->directory, run->directory);
}

static int write_record(struct run *run, struct error *err)
{
    assert(run->lock.fd >= 0 && run->record); /* nobody else writes in the directory */
    SCOPED(mem_free_at) char *path = path_join(run->directory, RUN_NAME);
    const int result = json_file_write(path, run->record, err);
    run->recorded |= result == 0;
    return result;
}

/* Moves an existing run away. The lock is only taken to check that no process works there: it would move with the
 * directory. */
static int make_room(const char *directory, char **moved, struct error *err)
{
    struct lock lock = {.fd = -1};
    char *path = path_join(directory, RUN_NAME);
    const bool run = path_exists(path); /* it may be damaged */
    mem_free(path);
    if (!run)
        return check_empty(directory, err);
    TRY(lock_take(&lock, directory, err));
    lock_release(&lock);
    return move_away(directory, moved, err);
}

void run_say_running(const char *directory)
{
    char who[LOCK_WHO_BYTES];
    if (lock_look(directory, who))
        log_say("note       %s is being trained by %s: this is its state now", directory, who);
}

int run_open(struct run *run, const char *directory, const json_t *identity, bool fresh, char **moved,
             struct error *err)
{
    assert(json_is_object(identity));
    *run = (struct run){.directory = mem_copy_text(directory), .lock = {.fd = -1}};
    *moved = NULL;
    TRY(path_check_writable(directory, err));
    if (fresh && path_exists(directory))
        TRY(make_room(directory, moved, err));
    TRY(path_make_directory(directory, err));
    TRY(lock_take(&run->lock, directory, err));
    TRY(run_read(directory, &run->record, err));
    if (!run->record) {
        TRY(check_empty(directory, err));
        run->kind = RUN_NEW;
        run->record = json_pack("{s:s, s:O, s:n, s:b, s:{}, s:[], s:[]}", "version", DS_VERSION, "identity", identity,
                                "precision", "finished", 0, "settings", "starts", "saves");
        return 0;
    }
    run->recorded = true;
    TRY(compare(run, identity, err));
    run->kind = json_is_true(json_object_get(run->record, "finished")) ? RUN_FINISHED : RUN_RESUMED;
    return 0;
}

void run_close(struct run *run)
{
    if (!run->directory)
        return;
    const bool mine = run->lock.fd >= 0;
    lock_release(&run->lock);
    struct error ignored = {0};
    if (mine && !run->recorded)
        path_remove(run->directory, &ignored); /* the run never began; this removes only an empty directory */
    json_decref(run->record);
    mem_free(run->directory);
    *run = (struct run){0};
}

int run_start(struct run *run, uint64_t step, const char *precision, json_t *facts, json_t *settings, struct error *err)
{
    char host[128] = "", when[32] = "";
    const time_t now = time(NULL);
    struct tm utc;
    gethostname(host, sizeof host - 1);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    json_t *start =
        json_pack("{s:I, s:s, s:s, s:s}", "step", (json_int_t)step, "time", when, "host", host, "version", DS_VERSION);
    json_object_update(start, facts);
    json_decref(facts);
    json_array_append_new(json_object_get(run->record, "starts"), start);

    json_object_set_new(run->record, "settings", settings);
    json_object_set_new(run->record, "precision", json_string(precision));
    return write_record(run, err);
}

const json_t *run_last_start(const struct run *run)
{
    const json_t *starts = json_object_get(run->record, "starts");
    const size_t count = json_array_size(starts);
    return count > 0 ? json_array_get(starts, count - 1) : NULL;
}

size_t run_starts(const struct run *run)
{
    return json_array_size(json_object_get(run->record, "starts"));
}

const char *run_precision(const struct run *run)
{
    return json_string_value(json_object_get(run->record, "precision"));
}

/* Only saves whose checkpoints still exist matter, so keeping a fixed number of them is enough. */
#define SAVES_KEPT 100

int run_saved(struct run *run, uint64_t step, double seconds, json_t *since, struct error *err)
{
    json_t *saves = json_object_get(run->record, "saves");
    assert(run->recorded); /* run_start came first: a checkpoint stands in a directory that is known to be a run's */
    for (size_t i = json_array_size(saves); i-- > 0;)
        if (json_integer_value(json_object_get(json_array_get(saves, i), "step")) >= (json_int_t)step)
            json_array_remove(saves, i); /* the run was resumed from before it */
    if (json_array_size(saves) >= SAVES_KEPT)
        json_array_remove(saves, 0);
    json_array_append_new(saves,
                          json_pack("{s:I, s:f, s:o*}", "step", (json_int_t)step, "seconds", seconds, "since", since));
    return write_record(run, err);
}

static const json_t *save_of(const struct run *run, uint64_t step)
{
    size_t i;
    const json_t *save;
    json_array_foreach(json_object_get(run->record, "saves"), i,
                       save) if (json_integer_value(json_object_get(save, "step")) == (json_int_t)step) return save;
    return NULL;
}

double run_seconds(const struct run *run, uint64_t step)
{
    return json_number_value(json_object_get(save_of(run, step), "seconds"));
}

const json_t *run_since(const struct run *run, uint64_t step)
{
    return json_object_get(save_of(run, step), "since");
}

int run_finish(struct run *run, uint64_t step, const char *early, struct error *err)
{
    assert(run->recorded);
    json_object_set_new(run->record, "finished", json_true());
    if (early)
        json_object_set_new(run->record, "ended", json_pack("{s:I, s:s}", "step", (json_int_t)step, "why", early));
    return write_record(run, err);
}

void run_unfinish(struct run *run)
{
    run->kind = RUN_RESUMED;
    json_object_set_new(run->record, "finished", json_false());
    json_object_del(run->record, "ended");
}

uint64_t run_ended(const struct run *run, const char **early)
{
    const json_t *ended = json_object_get(run->record, "ended");
    *early = json_string_value(json_object_get(ended, "why"));
    return (uint64_t)json_integer_value(json_object_get(ended, "step"));
}

/* If `directory` has an unfinished run with the same data and shape, appends its step and differences to out. */
static bool describe(const char *directory, const json_t *identity, struct buf *out)
{
    struct error ignored = {0};
    SCOPED(buf_release) struct buf latest = {0};
    json_auto_t *record = NULL;
    SCOPED(mem_free_at) char *path = path_join(directory, LATEST_NAME);
    bool found = run_read(directory, &record, &ignored) == 0 && record &&
                 !json_is_true(json_object_get(record, "finished")) && path_exists(path) &&
                 file_read_all(path, 4096, &latest, &ignored) == 0;
    const json_t *other = json_object_get(record, "identity");
    static const char *const same[] = {"dataset", "layers", "hidden"};
    for (size_t i = 0; i < sizeof same / sizeof *same && found; i++)
        found = json_equal(json_object_get(other, same[i]), json_object_get(identity, same[i]));
    if (found) {
        SCOPED(buf_release) struct buf differences = {0};
        const struct str step = str_trim(buf_str(&latest));
        run_differences(other, identity, &differences);
        buf_addf(out, "%s is unfinished at %.*s; differs: %.200s", directory, step.size < 40 ? (int)step.size : 40,
                 step.data, buf_text(&differences));
    }
    return found;
}

void run_similar(const char *directory, const json_t *identity, struct buf *out)
{
    struct error ignored = {0};
    struct path_list list = {0};
    const char *slash = strrchr(directory, '/');
    if (!slash)
        return;
    SCOPED(mem_free_at) char *parent = mem_copy_text(directory);
    parent[slash - directory] = '\0';
    if (path_is_directory(parent) && path_list(&list, parent, &ignored) == 0) {
        for (size_t i = 0; i < list.count; i++) {
            char *path = path_join(parent, list.names[i]);
            const bool found = strcmp(path, directory) != 0 && path_is_directory(path) && describe(path, identity, out);
            mem_free(path);
            if (found)
                break;
        }
    }
    path_list_release(&list);
}
