#include "pipeline/verbs/extract_work.h"

#include "base/log.h"
#include "base/output.h"
#include "pipeline/build/build_reading.h"
#include "pipeline/build/directory.h"
#include "pipeline/build/owned.h"

#include <stdlib.h>

#define HASH_BITS 4u /* the buckets of hashes of texts, 2^bits */

static char *make_temporary(struct error *err)
{
    const char *where = getenv("TMPDIR");
    char *path = path_join(where && where[0] ? where : "/tmp", "dsdata-XXXXXX");
    if (mkdtemp(path))
        return path;
    fail_errno(err, path, "cannot be created");
    hint(err, "TMPDIR names a folder for temporary files");
    mem_free(path);
    return NULL;
}

int extract_work_open(struct extract_work *work, const char *folder, struct error *err)
{
    if (!folder) {
        work->temporary = true;
        work->folder = make_temporary(err);
        return work->folder ? 0 : -1;
    }
    work->folder = mem_copy_text(folder);
    TRY(directory_check(work->folder, err));
    TRY(path_make_directory(work->folder, err));
    return lock_take(&work->lock, work->folder, err);
}

static int enter(struct extract_work *work, enum journal_stage stage, struct error *err)
{
    work->journal.stage = stage;
    return work->temporary ? 0 : journal_write(&work->journal, work->folder, err);
}

int extract_work_begin(struct extract_work *work, json_t *identity, const struct inputs *inputs, struct error *err)
{
    const int state = directory_look(work->folder, identity, &work->journal, err);
    if (state < 0 && err->kind == ERR_MISMATCH)
        hint_command(err, "finish that one, or remove %s and start anew", work->folder);
    if (state == DIRECTORY_BUILDING) {
        log_say("continuing %s", work->folder);
        json_decref(identity);
        /* A pipe cannot be read from its middle. */
        return inputs_pipe(inputs) && work->journal.stage < JOURNAL_SEALING ? spill_remove_all(work->folder, err) : 0;
    }
    work->journal = (struct journal){.identity = identity};
    return state < 0 ? -1 : enter(work, JOURNAL_HASHING, err);
}

static int note_repeats(struct extract_work *work, struct reading_options *options, struct error *err)
{
    struct spill_set sets[REPEATS_SETS];
    repeats_sets(options->recipe, HASH_BITS, sets);
    options->sets = sets;
    options->set_count = REPEATS_SETS;
    options->only_notes = true;
    log_say("looking for documents of equal text%s; then the inputs are read again",
            options->recipe->near_duplicates > 0 ? ", or nearly" : "");
    TRY(reading_run(options, &work->facts, err));
    SCOPED(extents_release) struct extents extents = reading_extents(options);
    TRY(extents_read(&extents, err));
    TRY(repeats_list(options->recipe, &extents, sets, options->plan->load_bytes_max, options->plan->room_bytes, err));
    return enter(work, JOURNAL_READING, err);
}

int extract_work_repeats(struct extract_work *work, const struct inputs *inputs, const struct dataset_recipe *recipe,
                         const struct resource_plan *plan, struct repeats *repeats, struct error *err)
{
    struct reading_options options = {.directory = work->folder, .inputs = inputs, .recipe = recipe, .plan = plan};
    if (work->temporary || work->journal.stage <= JOURNAL_HASHING)
        TRY(note_repeats(work, &options, err));
    for (size_t i = 0; i < inputs->count; i++)
        dump_rewind(inputs->dumps[i]);
    return work->journal.stage == JOURNAL_SEALING ? 0 : repeats_open(repeats, recipe, work->folder, err);
}

/* ---- output files ---- */

static int collect(struct collector *collector, void *slot, struct error *err)
{
    struct extract_job *job = slot;
    collector_count(collector, &job->feed, &job->counts, &job->missing);
    for (uint32_t file = 0; file < job->file_count; file++)
        TRY(spill_add_text(&collector->spill, 0, file, buf_str(&job->files[file]), err));
    return collector_advance(collector, &job->feed, err);
}

/* An empty gzip file would be called damaged. */
static int fill_empty(const char *path, struct error *err)
{
    SCOPED(file_close) struct file file = FILE_CLOSED;
    SCOPED(buf_release) struct buf member = {0};
    TRY(file_open_read(&file, path, err));
    const int64_t bytes = file_size(&file, err);
    if (bytes != 0)
        return bytes < 0 ? -1 : 0;
    extract_gzip(STR(""), &member);
    return file_write_all(path, member.data, member.size, err);
}

static int name_file(enum container packing, const char *from, const char *path, struct error *err)
{
    if (packing == CONTAINER_ZSTD) {
        TRY(extract_zstd(from, path, err));
        return path_remove(from, err);
    }
    if (packing == CONTAINER_GZIP)
        TRY(fill_empty(from, err));
    return path_rename(from, path, err);
}

/* Also after an interruption between two files: one that has left the folder has its name. */
static int name_files(struct extract_work *work, const struct extract_form *form, char *const *paths, struct error *err)
{
    for (uint32_t i = 0; i < form->files; i++) {
        SCOPED(mem_free_at) char *from = spill_path(work->folder, 0, 0, i);
        if (path_exists(from))
            TRY(name_file(form->packing, from, paths[i], err));
        else if (!path_exists(paths[i]))
            return fail_at(err, ERR_VERIFY, paths[i], ERROR_NO_OFFSET, "this file of the output is missing");
    }
    return 0;
}

static int add_up(const struct reading_options *options, struct counts *counts, struct missing *missing,
                  struct error *err)
{
    SCOPED(extents_release) struct extents extents = reading_extents(options);
    SCOPED(extent_release) struct extent sum = {0};
    TRY(extents_read(&extents, err));
    extents_sum(&extents, &sum);
    *counts = sum.counts;
    missing_merge(missing, &sum.missing);
    return 0;
}

int extract_work_is_over(struct extract_work *work, const struct extract_form *form, char *const *paths,
                         struct error *err)
{
    if (work->journal.stage != JOURNAL_SEALING)
        return 0;
    SCOPED(mem_free_at) char *counts = spill_journal_path(work->folder, 0);
    return path_exists(counts) ? 0 : name_files(work, form, paths, err) < 0 ? -1 : 1;
}

int extract_work_write(struct extract_work *work, const struct extract_form *form, const struct dataset_recipe *recipe,
                       const struct resource_plan *plan, char *const *paths, struct counts *counts,
                       struct missing *missing, struct error *err)
{
    struct spill_set set = {.entry_bytes = 1};
    while (1u << set.bucket_bits < form->files)
        set.bucket_bits++;
    const struct feed_work text = extract_feed_work(form);
    const struct reading_options options = {.directory = work->folder,
                                            .inputs = form->inputs,
                                            .recipe = recipe,
                                            .plan = plan,
                                            .sets = &set,
                                            .set_count = 1,
                                            .work = &text,
                                            .collect = collect};
    if (work->journal.stage < JOURNAL_READING)
        TRY(enter(work, JOURNAL_READING, err));
    if (work->journal.stage == JOURNAL_READING)
        TRY(reading_run(&options, &work->facts, err));
    TRY(add_up(&options, counts, missing, err));
    if (counts->pages[PAGE_KEPT] == 0)
        return 0;
    TRY(enter(work, JOURNAL_SEALING, err));
    return name_files(work, form, paths, err);
}

void extract_work_close(struct extract_work *work, bool done)
{
    struct error ignored = {0};
    spool_release(&work->spool);
    if (work->folder && (done || work->temporary)) {
        owned_tidy(work->folder, &ignored);
        lock_release(&work->lock);
        path_remove_empty(work->folder, &ignored);
    } else {
        lock_release(&work->lock);
    }
    journal_release(&work->journal);
    mem_free(work->folder);
}
