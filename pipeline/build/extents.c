#include "pipeline/build/extents.h"

#include "base/hash.h"
#include "base/mem.h"
#include "pipeline/store/journal.h"

#include <assert.h>

#define EXTENT_VERSION 6 /* raised when the journal changes: one of another version counts as unreadable */

void extent_begin(struct extent *extent, uint64_t first, const struct inputs *inputs, size_t spill_count)
{
    const struct place place = inputs_place(inputs, first);
    assert(place.file < inputs->count); /* an extent has at least one window, if only that of an empty input */
    *extent = (struct extent){.first = first,
                              .file = place.file,
                              .hashes = mem_clear(inputs->count, sizeof *extent->hashes),
                              .spill_bytes = mem_clear(spill_count, sizeof *extent->spill_bytes),
                              .spill_count = spill_count};
    /* At the beginning of an input everything is known; inside it what precedes the window is a guess, which
     * extents_join verifies later. */
    if (place.window > 0)
        dump_guess(inputs->dumps[place.file], place.window, &extent->state);
    extent->head = extent->state.head;
}

void extent_release(struct extent *extent)
{
    mem_free(extent->hashes);
    mem_free(extent->spill_bytes);
    missing_release(&extent->missing);
    *extent = (struct extent){0};
}

struct place extent_place(const struct extent *extent)
{
    return (struct place){extent->file, extent->state.next_window};
}

bool extent_whole(const struct extent *extent, struct place end, uint64_t limit)
{
    /* The place may be beyond `end`: the last page of an extent is read to its end, in windows of the next one. */
    return place_compare(extent_place(extent), end) >= 0 || (limit > 0 && extent->pages >= limit);
}

/* The journal as an object: the same formats write and read it, so that neither can forget a field. Booleans are read
 * into int, as jansson requires. */
#define HEAD_FORMAT  "{si sI sI sI sI sI sb sb}"
#define STATE_FORMAT "{sI sI sI sI sI sb sb sI sb sb sI ss so sI ss sI sI sI sb}"

static json_t *head_json(const struct dump_head *h)
{
    assert(h->place <= HEAD_UNCHECKED);
    return json_pack(HEAD_FORMAT, "place", (int)h->place, "bit", (json_int_t)h->bit, "blocks", (json_int_t)h->blocks,
                     "level", (json_int_t)h->level, "crc", (json_int_t)h->crc, "stored", (json_int_t)h->stored,
                     "guessed", h->guessed, "doubt", h->doubt);
}

static bool head_read(json_t *json, struct dump_head *h)
{
    json_int_t bit = 0, blocks = 0, level = 0, crc = 0, stored = 0;
    int place = 0, guessed = 0, doubt = 0;
    if (json_unpack(json, HEAD_FORMAT, "place", &place, "bit", &bit, "blocks", &blocks, "level", &level, "crc", &crc,
                    "stored", &stored, "guessed", &guessed, "doubt", &doubt) < 0 ||
        place < HEAD_TRUE || place > HEAD_UNCHECKED)
        return false;
    *h = (struct dump_head){(enum head_place)place, (uint64_t)bit,    (uint64_t)blocks, (uint32_t)level,
                            (uint32_t)crc,          (uint32_t)stored, guessed,          doubt};
    return true;
}

static json_t *state_json(const struct dump_state *s)
{
    char hash[17];
    SCOPED(buf_release) struct buf sum = {0};
    /* Hashes are text, because a JSON integer has only 63 bits. The SHA-256 is saved in the middle of its work: its
     * bytes so far need not be read again. */
    sha256_save(&s->sum, &sum);
    return json_pack(STATE_FORMAT, "window", (json_int_t)s->next_window, "part", (json_int_t)s->next_part, "bit",
                     (json_int_t)s->bit, "level", (json_int_t)s->level, "crc", (json_int_t)s->crc, "padding",
                     s->padding, "open", s->open, "match", (json_int_t)s->match, "closed", s->closed, "unsure",
                     s->unsure, "lost", (json_int_t)s->lost, "hash", hash_text(s->hash, hash), "head",
                     head_json(&s->head), "sum_bytes", (json_int_t)s->sum.bytes, "sum", buf_text(&sum), "passed",
                     (json_int_t)s->utf8.passed, "held", (json_int_t)s->utf8.held, "pending",
                     (json_int_t)s->utf8.pending, "after_gap", s->utf8.after_gap);
}

static bool state_read(json_t *json, struct dump_state *s)
{
    json_int_t window = 0, part = 0, bit = 0, level = 0, crc = 0, match = 0, lost = 0;
    int padding = 0, open = 0, closed = 0, unsure = 0, after_gap = 0;
    json_int_t sum_bytes = 0, passed = 0, held = 0, pending = 0;
    const char *hash = "", *sum = "";
    json_t *head = NULL;
    /* Only the form is checked here. Whether the state is possible for its file, which may have been exchanged, is
     * known when that is restored (dump_restore). */
    if (json_unpack(json, STATE_FORMAT, "window", &window, "part", &part, "bit", &bit, "level", &level, "crc", &crc,
                    "padding", &padding, "open", &open, "match", &match, "closed", &closed, "unsure", &unsure, "lost",
                    &lost, "hash", &hash, "head", &head, "sum_bytes", &sum_bytes, "sum", &sum, "passed", &passed,
                    "held", &held, "pending", &pending, "after_gap", &after_gap) < 0 ||
        pending < 0 || pending > 3)
        return false;
    *s = (struct dump_state){.next_window = (uint64_t)window,
                             .next_part = (uint32_t)part,
                             .bit = (uint64_t)bit,
                             .level = (uint32_t)level,
                             .crc = (uint32_t)crc,
                             .padding = padding,
                             .open = open,
                             .match = (uint32_t)match,
                             .closed = closed,
                             .unsure = unsure,
                             .lost = (uint64_t)lost,
                             .utf8 = {(uint64_t)passed, (uint32_t)held, (uint32_t)pending, after_gap}};
    return hash_parse(hash, &s->hash) == 0 && head_read(head, &s->head) &&
           sha256_load(&s->sum, (uint64_t)sum_bytes, str_of(sum));
}

int extent_write(const struct extent *extent, const struct inputs *inputs, const char *directory, struct error *err)
{
    json_t *hashes = json_array();
    char hash[17];
    assert(extent->file <= inputs->count); /* equal: all inputs have been read */
    for (size_t i = 0; i < inputs->count; i++)
        json_array_append_new(hashes, json_string(hash_text(extent->hashes[i], hash)));
    json_auto_t *object = json_pack(
        "{si sI sI so so sI so sf so so so}", "extent_version", EXTENT_VERSION, "first", (json_int_t)extent->first,
        "file", (json_int_t)extent->file, "state", state_json(&extent->state), "head", head_json(&extent->head),
        "pages", (json_int_t)extent->pages, "hashes", hashes, "seconds", extent->seconds, "counts",
        numbers_json((const uint64_t *)&extent->counts, COUNTS_FIELDS), "missing", missing_json(&extent->missing),
        "spill_bytes", numbers_json(extent->spill_bytes, extent->spill_count));
    SCOPED(mem_free_at) char *path = spill_journal_path(directory, extent->first);
    return journal_put(path, object, err);
}

static bool read_object(struct extent *extent, json_t *object, const struct inputs *inputs)
{
    json_int_t version = 0, first = 0, file = 0, pages = 0;
    json_t *state = NULL, *head = NULL, *hashes = NULL;
    /* "first" is in the name of the file too. If they differ, a journal was copied or renamed, and its spills belong to
     * other windows. */
    if (json_unpack(object, "{sI sI sI so so sI so sF}", "extent_version", &version, "first", &first, "file", &file,
                    "state", &state, "head", &head, "pages", &pages, "hashes", &hashes, "seconds",
                    &extent->seconds) < 0 ||
        version != EXTENT_VERSION || (uint64_t)first != extent->first || file < 0 || (size_t)file > inputs->count ||
        !state_read(state, &extent->state) || !head_read(head, &extent->head) ||
        json_array_size(hashes) != inputs->count)
        return false;
    for (size_t i = 0; i < inputs->count; i++) {
        const char *text = json_string_value(json_array_get(hashes, i));
        if (!text || hash_parse(text, &extent->hashes[i]) < 0)
            return false;
    }
    extent->file = (uint32_t)file;
    extent->pages = (uint64_t)pages;
    /* struct counts holds nothing but uint64_t. The numbers of counts and of spills must be exact: other numbers are
     * those of another version or of other sequence lengths. */
    return numbers_read(json_object_get(object, "counts"), (uint64_t *)&extent->counts, COUNTS_FIELDS, true) >= 0 &&
           missing_read(&extent->missing, json_object_get(object, "missing")) &&
           numbers_read(json_object_get(object, "spill_bytes"), extent->spill_bytes, extent->spill_count, true) >= 0;
}

int extent_read(struct extent *extent, uint64_t first, const struct inputs *inputs, size_t spill_count,
                const char *directory, struct error *err)
{
    *extent = (struct extent){.first = first,
                              .hashes = mem_clear(inputs->count, sizeof *extent->hashes),
                              .spill_bytes = mem_clear(spill_count, sizeof *extent->spill_bytes),
                              .spill_count = spill_count};
    SCOPED(mem_free_at) char *path = spill_journal_path(directory, first);
    json_auto_t *object = journal_get(path, err);
    if (object && read_object(extent, object, inputs))
        return 0;
    extent_release(extent);
    return object ? journal_damaged(path, err) : -1;
}

/* ---------------------------------------------------------------------------------------------- all of a build */

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

int extents_read(struct extents *extents, struct error *err)
{
    SCOPED(mem_free_at) char *folder = path_join(extents->directory, SPILL_NAME);
    SCOPED(path_list_release) struct path_list names = {0};
    TRY(path_make_directory(folder, err));
    TRY(path_list(&names, folder, err));
    for (size_t i = 0; i < names.count; i++) { /* sorted, and so are the names of extents */
        uint64_t first;
        struct extent extent;
        if (!spill_journal_name(names.names[i], &first))
            continue;
        if (first > 0 && inputs_place(extents->inputs, first).file == extents->inputs->count)
            return journal_damaged(names.names[i], err);
        TRY(extent_read(&extent, first, extents->inputs, extents->spill_count, extents->directory, err));
        *insert(extents, extents->count) = extent;
    }
    if (extents->count > 0 && extents->items[0].first > 0)
        return fail_at(err, ERR_VERIFY, extents->directory, ERROR_NO_OFFSET, "the journal of its beginning is missing");
    return extents->count > 0 ? 0 : begin(extents, 0, 0, err);
}

int extents_several(const char *directory, struct error *err)
{
    SCOPED(mem_free_at) char *folder = path_join(directory, SPILL_NAME);
    SCOPED(path_list_release) struct path_list names = {0};
    const int result = path_is_directory(folder) ? path_list(&names, folder, err) : 0;
    uint64_t first = 0;
    bool several = false;
    for (size_t i = 0; i < names.count; i++)
        several |= spill_journal_name(names.names[i], &first) && first > 0;
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

/* 1 if extent at + 1 continues the complete and verified extent at `at`, and so is verified as well; else 0; < 0. */
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
        /* Extents are verified from left to right. One that stays unverified may still be read to its end. One that
         * is overtaken, because the last page of the one before continued over all of it, goes; so does one that began
         * with a wrong guess, which shows when both are complete. */
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
        /* By the middle of each rest in the row of all rests: so processes get equal shares of neighbouring extents. */
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
