#include "pipeline/build/extents.h"

#include "base/file.h"
#include "base/mem.h"
#include "pipeline/store/journal.h"
#include "pipeline/store/spill.h"

#include <assert.h>

static struct extent *insert(struct extents *extents, size_t at)
{
    assert(at <= extents->count);
    extents->items = mem_grow(extents->items, extents->count + 1, sizeof *extents->items);
    memmove(extents->items + at + 1, extents->items + at, (extents->count - at) * sizeof *extents->items);
    extents->count++;
    return &extents->items[at];
}

static int begin(struct extents *extents, size_t at, uint64_t first, struct error *err)
{
    struct extent *extent = insert(extents, at);
    extent_begin(extent, first, extents->inputs, extents->spill_count);
    assert(at == 0 || extent[-1].first < first);
    assert(at + 1 == extents->count || first < extent[1].first);
    return extent_write(extent, extents->inputs, extents->directory, err);
}

static int drop(struct extents *extents, size_t at, struct error *err)
{
    assert(at > 0 && at < extents->count); /* the first one begins the row: nothing before it could take its windows */
    TRY(spill_remove(extents->directory, extents->items[at].first, err));
    extent_release(&extents->items[at]);
    extents->count--;
    memmove(extents->items + at, extents->items + at + 1, (extents->count - at) * sizeof *extents->items);
    return 0;
}

static int read_all(struct extents *extents, const struct path_list *names, struct error *err)
{
    for (size_t i = 0; i < names->count; i++) { /* sorted, and so are the names of extents */
        uint64_t first;
        struct extent extent;
        if (!spill_journal_name(names->names[i], &first))
            continue;
        if (first > 0 && inputs_place(extents->inputs, first).file == extents->inputs->count)
            return journal_damaged(names->names[i], err);
        TRY(extent_read(&extent, first, extents->inputs, extents->spill_count, extents->directory, err));
        *insert(extents, extents->count) = extent;
    }
    if (extents->count > 0 && extents->items[0].first > 0)
        return fail_at(err, ERR_VERIFY, extents->directory, ERROR_NO_OFFSET, "the journal of its beginning is missing");
    return extents->count > 0 ? 0 : begin(extents, 0, 0, err);
}

int extents_read(struct extents *extents, struct error *err)
{
    char *folder = path_join(extents->directory, SPILL_NAME);
    struct path_list names = {0};
    int result = path_make_directory(folder, err);
    if (result == 0)
        result = path_list(&names, folder, err);
    if (result == 0)
        result = read_all(extents, &names, err);
    path_list_release(&names);
    mem_free(folder);
    return result;
}

int extents_several(const char *directory, struct error *err)
{
    char *folder = path_join(directory, SPILL_NAME);
    struct path_list names = {0};
    const int result = path_is_directory(folder) ? path_list(&names, folder, err) : 0;
    uint64_t first = 0;
    bool several = false;
    for (size_t i = 0; i < names.count; i++)
        several |= spill_journal_name(names.names[i], &first) && first > 0;
    path_list_release(&names);
    mem_free(folder);
    return result < 0 ? -1 : several;
}

void extents_release(struct extents *extents)
{
    for (size_t i = 0; i < extents->count; i++)
        extent_release(&extents->items[i]);
    mem_free(extents->items);
    extents->items = NULL;
    extents->count = 0;
}

bool extents_divide(const struct extents *extents)
{
    return extents->limit == 0 && inputs_windows(extents->inputs) > 0;
}

static uint64_t end_of(const struct extents *extents, size_t at)
{
    return at + 1 < extents->count ? extents->items[at + 1].first : UINT64_MAX;
}

static bool is_whole(const struct extents *extents, size_t at)
{
    return extent_whole(&extents->items[at], inputs_place(extents->inputs, end_of(extents, at)), extents->limit);
}

static uint64_t row_place(const struct extents *extents, size_t at)
{
    return inputs_row(extents->inputs, extent_place(&extents->items[at]));
}

/* The number of windows still to read; 1 if only the end of a file is left, or for a pipe, whose windows are
 * unknown. */
static uint64_t rest_of(const struct extents *extents, size_t at)
{
    if (is_whole(extents, at))
        return 0;
    const uint64_t row = inputs_windows(extents->inputs), end = end_of(extents, at), place = row_place(extents, at);
    const uint64_t to = end < row ? end : row;
    return to > place ? to - place : 1;
}

static uint64_t rest_of_all(const struct extents *extents)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < extents->count; i++)
        sum += rest_of(extents, i);
    return sum;
}

/* Where an extent may begin: here, or at the beginning of this file. */
static uint64_t beginning(const struct inputs *inputs, uint64_t row)
{
    const struct place place = inputs_place(inputs, row);
    return place.file == inputs->count || dump_divides(inputs->dumps[place.file]) ? row : row - place.window;
}

int extents_cut(struct extents *extents, uint32_t parts, struct error *err)
{
    const uint64_t all = rest_of_all(extents);
    for (uint32_t part = 1; part < parts && extents_divide(extents); part++) {
        /* The place of this cut if all rests are put end to end. Earlier cuts do not change it. */
        uint64_t at = all / parts * part + all % parts * part / parts;
        assert(at < all || all == 0);
        size_t i = 0;
        while (i < extents->count && at >= rest_of(extents, i))
            at -= rest_of(extents, i++);
        if (i == extents->count || at == 0)
            continue;
        const uint64_t place = row_place(extents, i), cut = beginning(extents->inputs, place + at);
        if (cut > place)
            TRY(begin(extents, i + 1, cut, err));
    }
    return 0;
}

/* Does extent at + 1 continue the complete and verified extent at `at`? Then it is verified as well. 1, 0, < 0. */
static int continues(struct extents *extents, size_t at, struct error *err)
{
    const struct extent *before = &extents->items[at];
    struct extent *extent = &extents->items[at + 1];
    const struct place first = inputs_place(extents->inputs, extent->first);
    assert(before->head.place == HEAD_TRUE);
    struct dump_state elsewhere = {0}; /* if it has left its first file, that file's state is no longer needed */
    struct dump_state *end = extent->file == first.file ? &extent->state : &elsewhere;
    int joins = dump_join(extents->inputs->dumps[first.file], first.window, &before->state, &extent->head, end, err);
    if (joins <= 0)
        return joins;
    extent->head = (struct dump_head){0};
    TRY(extent_write(extent, extents->inputs, extents->directory, err));
    return 1;
}

int extents_join(struct extents *extents, struct error *err)
{
    for (size_t at = 0; at + 1 < extents->count;) {
        const struct extent *next = &extents->items[at + 1];
        const bool is_true = extents->items[at].head.place == HEAD_TRUE;
        /* Its last page may have continued over the whole next extent. */
        int stays = !is_true ||
                    place_compare(extent_place(&extents->items[at]), inputs_place(extents->inputs, next->first)) <= 0;
        if (stays && is_true && next->head.place != HEAD_TRUE && is_whole(extents, at) && is_whole(extents, at + 1))
            stays = continues(extents, at, err);
        TRY(stays);
        if (stays)
            at++;
        else
            TRY(drop(extents, at + 1, err));
    }
    return 0;
}

size_t extents_share(const struct extents *extents, uint32_t ranks, struct extent_task *tasks)
{
    const uint64_t all = rest_of_all(extents);
    uint64_t before = 0;
    size_t count = 0;
    for (size_t i = 0; i < extents->count; i++) {
        const uint64_t rest = rest_of(extents, i);
        if (rest == 0)
            continue;
        const double middle = ((double)before + (double)rest / 2) / (double)all;
        tasks[count++] = (struct extent_task){.first = extents->items[i].first,
                                              .end = end_of(extents, i),
                                              .rank = extents_divide(extents) ? (uint32_t)(middle * ranks) : 0};
        assert(tasks[count - 1].rank < ranks && tasks[count - 1].first < tasks[count - 1].end);
        before += rest;
    }
    assert(before == all);
    return count;
}

struct spills extents_spills(const struct extents *extents, const struct spill_set *sets, size_t set_count,
                             struct seal_extent **list)
{
    *list = mem_array(extents->count, sizeof **list);
    for (size_t i = 0; i < extents->count; i++)
        (*list)[i] = (struct seal_extent){extents->items[i].first, extents->items[i].spill_bytes};
    return (struct spills){.directory = extents->directory,
                           .sets = sets,
                           .set_count = set_count,
                           .extents = *list,
                           .extent_count = extents->count};
}

void extents_sum(const struct extents *extents, struct extent *sum)
{
    extent_begin(sum, 0, extents->inputs, extents->spill_count);
    for (size_t i = 0; i < extents->count; i++) {
        const struct extent *extent = &extents->items[i];
        counts_add(&sum->counts, &extent->counts);
        missing_merge(&sum->missing, &extent->missing);
        sum->pages += extent->pages;
        for (size_t file = 0; file < extents->inputs->count; file++)
            sum->hashes[file] += extent->hashes[file];
        if (sum->seconds < extent->seconds)
            sum->seconds = extent->seconds;
    }
}
