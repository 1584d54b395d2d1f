#include "pipeline/build/extent.h"

#include "base/hash.h"
#include "base/mem.h"
#include "pipeline/store/journal.h"
#include "pipeline/store/spill.h"

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
    struct buf sum = {0};
    /* Hashes are text, because a JSON integer has only 63 bits. The SHA-256 is saved in the middle of its work: its
     * bytes so far need not be read again. */
    sha256_save(&s->sum, &sum);
    json_t *json =
        json_pack(STATE_FORMAT, "window", (json_int_t)s->next_window, "part", (json_int_t)s->next_part, "bit",
                  (json_int_t)s->bit, "level", (json_int_t)s->level, "crc", (json_int_t)s->crc, "padding", s->padding,
                  "open", s->open, "match", (json_int_t)s->match, "closed", s->closed, "unsure", s->unsure, "lost",
                  (json_int_t)s->lost, "hash", hash_text(s->hash, hash), "head", head_json(&s->head), "sum_bytes",
                  (json_int_t)s->sum.bytes, "sum", buf_text(&sum), "passed", (json_int_t)s->utf8.passed, "held",
                  (json_int_t)s->utf8.held, "pending", (json_int_t)s->utf8.pending, "after_gap", s->utf8.after_gap);
    buf_release(&sum);
    return json;
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
    json_t *object = json_pack(
        "{si sI sI so so sI so sf so so so}", "extent_version", EXTENT_VERSION, "first", (json_int_t)extent->first,
        "file", (json_int_t)extent->file, "state", state_json(&extent->state), "head", head_json(&extent->head),
        "pages", (json_int_t)extent->pages, "hashes", hashes, "seconds", extent->seconds, "counts",
        numbers_json((const uint64_t *)&extent->counts, COUNTS_FIELDS), "missing", missing_json(&extent->missing),
        "spill_bytes", numbers_json(extent->spill_bytes, extent->spill_count));
    char *path = spill_journal_path(directory, extent->first);
    int result = journal_put(path, object, err);
    mem_free(path);
    json_decref(object);
    return result;
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
    char *path = spill_journal_path(directory, first);
    json_t *object = journal_get(path, err);
    int result = object ? 0 : -1;
    if (object && !read_object(extent, object, inputs))
        result = journal_damaged(path, err);
    json_decref(object);
    mem_free(path);
    if (result < 0)
        extent_release(extent);
    return result;
}
