#include "pipeline/store/journal.h"

#include "base/file.h"
#include "base/mem.h"
#include "shards/manifest.h"

#include <stdlib.h>
#include <string.h>

#define JOURNAL_BYTES_MAX  (64u << 20)
#define JOURNAL_VERSION    1
#define JOURNAL_SPILLS_MAX (SETS_MAX * 64u)

static json_t *numbers(const uint64_t *values, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer((json_int_t)values[i]));
    return list;
}

int journal_write(const struct journal *journal, const char *directory, struct error *err)
{
    uint64_t bits[SETS_MAX];
    for (size_t set = 0; set < journal->set_count; set++)
        bits[set] = journal->bucket_bits[set];
    json_t *object = json_object();
    json_object_set_new(object, "journal_version", json_integer(JOURNAL_VERSION));
    json_object_set(object, "identity", journal->identity);
    json_object_set_new(object, "stage", json_integer(journal->stage));
    if (journal->reading)
        json_object_set(object, "reading", journal->reading);
    json_object_set_new(object, "seconds", json_real(journal->seconds));
    json_object_set_new(object, "counts", numbers((const uint64_t *)&journal->counts, COUNTS_FIELDS));
    json_object_set_new(object, "templates", tally_json(&journal->templates));
    json_object_set_new(object, "bucket_bits", numbers(bits, journal->set_count));
    json_object_set_new(object, "spill_bytes", numbers(journal->spill_bytes, journal->spill_count));
    char *text = json_dumps(object, JSON_INDENT(1));
    char *path = path_join(directory, JOURNAL_NAME);
    int result = file_write_all(path, text, strlen(text), err);
    free(text);
    mem_free(path);
    json_decref(object);
    return result;
}

/* A list of whole numbers of exactly (or, with exact false, at most) `count`; the count read, -1 where it is none. */
static int64_t read_numbers(const json_t *list, uint64_t *out, size_t count, bool exact)
{
    const size_t size = json_array_size(list);
    if (!json_is_array(list) || size > count || (exact && size != count))
        return -1;
    for (size_t i = 0; i < size; i++) {
        const json_t *value = json_array_get(list, i);
        if (!json_is_integer(value) || json_integer_value(value) < 0)
            return -1;
        out[i] = (uint64_t)json_integer_value(value);
    }
    return (int64_t)size;
}

static bool read_object(struct journal *journal, const json_t *object)
{
    const json_t *stage = json_object_get(object, "stage");
    if (json_integer_value(json_object_get(object, "journal_version")) != JOURNAL_VERSION || !json_is_integer(stage) ||
        json_integer_value(stage) < JOURNAL_VOCABULARY || json_integer_value(stage) > JOURNAL_SEALING)
        return false;
    journal->stage = (enum journal_stage)json_integer_value(stage);
    journal->identity = json_incref(json_object_get(object, "identity"));
    journal->reading = json_incref(json_object_get(object, "reading"));
    journal->seconds = json_number_value(json_object_get(object, "seconds"));

    uint64_t bits[SETS_MAX];
    int64_t sets = read_numbers(json_object_get(object, "bucket_bits"), bits, SETS_MAX, false);
    journal->spill_bytes = mem_array(JOURNAL_SPILLS_MAX, sizeof *journal->spill_bytes);
    int64_t spills =
        read_numbers(json_object_get(object, "spill_bytes"), journal->spill_bytes, JOURNAL_SPILLS_MAX, false);
    if (!json_is_object(journal->identity) || sets < 0 || spills < 0 ||
        read_numbers(json_object_get(object, "counts"), (uint64_t *)&journal->counts, COUNTS_FIELDS, true) < 0 ||
        !tally_read(&journal->templates, json_object_get(object, "templates")))
        return false;
    journal->set_count = (size_t)sets;
    journal->spill_count = (size_t)spills;
    uint64_t buckets = 0;
    for (size_t set = 0; set < journal->set_count; set++) {
        if (bits[set] > 6)
            return false;
        journal->bucket_bits[set] = (uint32_t)bits[set];
        buckets += 1ull << bits[set];
    }
    return journal->stage == JOURNAL_VOCABULARY ||
           (buckets == journal->spill_count && json_is_object(journal->reading));
}

int journal_read(struct journal *journal, const char *directory, struct error *err)
{
    *journal = (struct journal){0};
    char *path = path_join(directory, JOURNAL_NAME);
    struct buf text = {0};
    int result = 0;
    if (path_exists(path)) {
        result = file_read_all(path, JOURNAL_BYTES_MAX, &text, err) < 0 ? -1 : 1;
        json_t *object = result < 0 ? NULL : json_loadb(text.data, text.size, JSON_REJECT_DUPLICATES, NULL);
        if (result > 0 && !read_object(journal, object)) {
            fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "the journal of this build cannot be read");
            result = hint(err, "start anew with --fresh");
        }
        json_decref(object);
    }
    if (result < 0)
        journal_release(journal);
    buf_release(&text);
    mem_free(path);
    return result;
}

int journal_remove(const char *directory, struct error *err)
{
    char *path = path_join(directory, JOURNAL_NAME);
    int result = path_remove(path, err);
    mem_free(path);
    return result;
}

void journal_release(struct journal *journal)
{
    json_decref(journal->identity);
    json_decref(journal->reading);
    mem_free(journal->spill_bytes);
    tally_release(&journal->templates);
    *journal = (struct journal){0};
}
