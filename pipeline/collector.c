#include "pipeline/collector.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/progress.h"

#include <string.h>

/* A journal at least this often, and for at most 1 % of the time. */
#define JOURNAL_SECONDS 30.0

/* The journal's "reading": the place. Both ways by one format. */
#define READING_FORMAT "{sI sI sI sI sI sI sI sb sb sI sb sb sI ss so}"

static json_t *reading_json(const struct collector *collector)
{
    const struct dump_state *s = &collector->state;
    char hash[17];
    json_t *hashes = json_array();
    for (size_t i = 0; i < collector->inputs->count; i++)
        json_array_append_new(hashes, json_string(hash_text(collector->hashes[i], hash)));
    return json_pack(READING_FORMAT, "file", (json_int_t)collector->file, "pages", (json_int_t)collector->pages,
                     "window", (json_int_t)s->next_window, "part", (json_int_t)s->next_part, "bit", (json_int_t)s->bit,
                     "level", (json_int_t)s->level, "crc", (json_int_t)s->crc, "padding", s->padding, "open", s->open,
                     "match", (json_int_t)s->match, "closed", s->closed, "unsure", s->unsure, "lost",
                     (json_int_t)s->lost, "hash", hash_text(s->hash, hash), "hashes", hashes);
}

/* False where it is not what reading_json writes for these inputs. */
static bool read_reading(struct collector *collector)
{
    json_int_t file = 0, pages = 0, window = 0, part = 0, bit = 0, level = 0, crc = 0, match = 0, lost = 0;
    int padding = 0, open = 0, closed = 0, unsure = 0;
    const char *hash = "";
    json_t *hashes = NULL;
    struct dump_state *s = &collector->state;
    if (json_unpack(collector->journal.reading, READING_FORMAT, "file", &file, "pages", &pages, "window", &window,
                    "part", &part, "bit", &bit, "level", &level, "crc", &crc, "padding", &padding, "open", &open,
                    "match", &match, "closed", &closed, "unsure", &unsure, "lost", &lost, "hash", &hash, "hashes",
                    &hashes) < 0)
        return false;
    if (file < 0 || (size_t)file > collector->inputs->count || hash_parse(hash, &s->hash) < 0 ||
        json_array_size(hashes) != collector->inputs->count)
        return false;
    for (size_t i = 0; i < collector->inputs->count; i++) {
        const char *text = json_string_value(json_array_get(hashes, i));
        if (!text || hash_parse(text, &collector->hashes[i]) < 0)
            return false;
    }
    s->next_window = (uint64_t)window;
    s->next_part = (uint32_t)part;
    s->bit = (uint64_t)bit;
    s->level = (uint32_t)level;
    s->crc = (uint32_t)crc;
    s->padding = padding;
    s->open = open;
    s->match = (uint32_t)match;
    s->closed = closed;
    s->unsure = unsure;
    s->lost = (uint64_t)lost;
    collector->file = (uint32_t)file;
    collector->pages = (uint64_t)pages;
    return true;
}

static int open_spills(struct collector *collector, uint32_t vocab_size, const uint64_t *bytes, struct error *err)
{
    struct spill_set sets[SETS_MAX];
    for (size_t set = 0; set < collector->journal.set_count; set++)
        sets[set] =
            (struct spill_set){.entry_bytes = (uint32_t)digest_entry_bytes(collector->recipe, set / 2, vocab_size),
                               .bucket_bits = collector->journal.bucket_bits[set]};
    return spill_open(&collector->spill, collector->directory, sets, collector->journal.set_count, bytes, err);
}

static void begin(struct collector *collector)
{
    collector->started = collector->saved = clock_now();
    collector->settled = true;
    collector->hashes = mem_clear(collector->inputs->count, sizeof *collector->hashes);
}

int collector_start(struct collector *collector, const struct plan *plan, uint32_t vocab_size, struct error *err)
{
    struct journal *journal = &collector->journal;
    begin(collector);
    journal->counts = (struct counts){0};
    tally_reset(&journal->templates);
    journal->set_count = 2 * collector->recipe->length_count;
    memcpy(journal->bucket_bits, plan->bucket_bits, sizeof journal->bucket_bits);
    TRY(open_spills(collector, vocab_size, NULL, err));
    journal->spill_count = spill_bucket_count(&collector->spill);
    mem_free(journal->spill_bytes);
    journal->spill_bytes = mem_clear(journal->spill_count, sizeof *journal->spill_bytes);
    return collector_save(collector, JOURNAL_READING, err);
}

int collector_resume(struct collector *collector, uint32_t vocab_size, struct feed *feed, struct error *err)
{
    begin(collector);
    if (collector->journal.set_count != 2 * collector->recipe->length_count || !read_reading(collector)) {
        fail_at(err, ERR_VERIFY, collector->directory, ERROR_NO_OFFSET, "the journal of this build cannot be read");
        return hint(err, "start anew with --fresh");
    }
    collector->earlier_seconds = collector->journal.seconds;
    feed->file = collector->file;
    feed->window = collector->state.next_window;
    feed->pages = collector->pages;
    TRY(open_spills(collector, vocab_size, collector->journal.spill_bytes, err));
    if (collector->journal.stage == JOURNAL_SEALING || feed->file == collector->inputs->count)
        return 0;
    return dump_restore(collector->inputs->dumps[feed->file], &collector->state, err);
}

int collector_save(struct collector *collector, enum journal_stage stage, struct error *err)
{
    const double begun = clock_now();
    TRY(spill_sync(&collector->spill, collector->journal.spill_bytes, err));
    json_decref(collector->journal.reading);
    collector->journal.reading = reading_json(collector);
    collector->journal.stage = stage;
    collector->journal.seconds = collector->earlier_seconds + (begun - collector->started);
    TRY(journal_write(&collector->journal, collector->directory, err));
    collector->saved = clock_now();
    collector->save_seconds = collector->saved - begun;
    return 0;
}

static bool save_is_due(const struct collector *collector)
{
    const double wait = 100 * collector->save_seconds;
    return clock_now() - collector->saved > (wait < JOURNAL_SECONDS ? wait : JOURNAL_SECONDS);
}

int collector_add(struct collector *collector, const struct feed_job *job, const struct harvest *harvest,
                  struct error *err)
{
    collector->settled = false;
    counts_add(&collector->journal.counts, &harvest->counts);
    tally_merge(&collector->journal.templates, &harvest->templates);
    for (size_t set = 0; set < collector->journal.set_count; set++)
        TRY(spill_add(&collector->spill, set, harvest->samples[set].data, harvest->samples[set].size, err));
    if (!job->used_up)
        return 0;

    collector->hashes[job->file] = job->hash;
    collector->pages = job->pages;
    collector->file = job->piece.end ? job->file + 1 : job->file;
    collector->state = job->piece.end ? (struct dump_state){0} : job->state;
    collector->settled = true;
    return save_is_due(collector) ? collector_save(collector, JOURNAL_READING, err) : 0;
}

bool collector_whole(const struct collector *collector)
{
    return collector->file == collector->inputs->count ||
           (collector->recipe->limit > 0 && collector->pages >= collector->recipe->limit);
}

void collector_close(struct collector *collector)
{
    spill_close(&collector->spill);
    journal_release(&collector->journal);
    mem_free(collector->hashes);
}
