#include "pipeline/store/journal.h"

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "pipeline/store/spill.h"
#include "shards/manifest.h"

#include <assert.h>
#include <stdlib.h>

/* Of a build's journal and of an extent's, which lists a hash for each input and the missing templates. */
#define JOURNAL_BYTES_MAX (64u << 20)
#define JOURNAL_VERSION   2

json_t *numbers_json(const uint64_t *values, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        assert(values[i] <= INT64_MAX); /* JSON's whole numbers are signed here; numbers_read refuses negative ones */
        json_array_append_new(list, json_integer((json_int_t)values[i]));
    }
    return list;
}

int64_t numbers_read(const json_t *list, uint64_t *out, size_t count, bool exact)
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

int journal_put(const char *path, const json_t *object, struct error *err)
{
    assert(json_is_object(object)); /* json_pack gives NULL where text is not UTF-8 */
    /* file_write_all replaces the file as a whole, so a crash leaves the previous journal or this one. */
    SCOPED(mem_free_at) char *text = json_dumps(object, JSON_INDENT(1));
    return file_write_all(path, text, strlen(text), err);
}

int journal_damaged(const char *path, struct error *err)
{
    fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "the journal of this build cannot be read");
    return hint(err, "start anew with --fresh");
}

json_t *journal_get(const char *path, struct error *err)
{
    SCOPED(buf_release) struct buf text = {0};
    json_t *object = NULL;
    json_error_t why; /* unused: whatever is wrong with the text, the user can only start anew */
    if (file_read_all(path, JOURNAL_BYTES_MAX, &text, err) == 0) {
        object = json_parse(buf_str(&text), JOURNAL_BYTES_MAX, &why);
        if (!object)
            journal_damaged(path, err);
    }
    return object;
}

int journal_write(const struct journal *journal, const char *directory, struct error *err)
{
    uint64_t bits[SETS_MAX];
    assert(journal->identity); /* without it the journal would fit any command */
    assert(journal->set_count <= SETS_MAX);
    for (size_t set = 0; set < journal->set_count; set++) {
        assert(journal->bucket_bits[set] <= SPILL_BUCKET_BITS_MAX); /* or the build could not be continued */
        bits[set] = journal->bucket_bits[set];
    }
    json_auto_t *object = json_pack("{si sO* sO si so}", "journal_version", JOURNAL_VERSION, "command",
                                    journal->command, "identity", journal->identity, "stage", (int)journal->stage,
                                    "bucket_bits", numbers_json(bits, journal->set_count));
    SCOPED(mem_free_at) char *path = path_join(directory, JOURNAL_NAME);
    return journal_put(path, object, err);
}

static bool read_object(struct journal *journal, const json_t *object)
{
    /* The file may be damaged or of another version. Its numbers become an enum and sizes of arrays, so each is checked
     * before it is taken. */
    const json_t *stage = json_object_get(object, "stage");
    if (json_integer_value(json_object_get(object, "journal_version")) != JOURNAL_VERSION || !json_is_integer(stage) ||
        json_integer_value(stage) < JOURNAL_VOCABULARY || json_integer_value(stage) > JOURNAL_SEALING)
        return false;
    journal->stage = (enum journal_stage)json_integer_value(stage);
    journal->identity = json_incref(json_object_get(object, "identity")); /* journal_read frees it if a check fails */
    uint64_t bits[SETS_MAX];
    const int64_t sets = numbers_read(json_object_get(object, "bucket_bits"), bits, SETS_MAX, false);
    if (!json_is_object(journal->identity) || sets < 0)
        return false;
    journal->command = json_incref(json_object_get(object, "command"));
    journal->set_count = (size_t)sets;
    for (size_t set = 0; set < journal->set_count; set++) {
        if (bits[set] > SPILL_BUCKET_BITS_MAX)
            return false;
        journal->bucket_bits[set] = (uint32_t)bits[set];
    }
    return true;
}

int journal_read(struct journal *journal, const char *directory, struct error *err)
{
    *journal = (struct journal){0};
    SCOPED(mem_free_at) char *path = path_join(directory, JOURNAL_NAME);
    if (!path_exists(path)) /* as for a new directory and a complete dataset: that is no error */
        return 0;
    json_auto_t *object = journal_get(path, err);
    if (object && read_object(journal, object))
        return 1;
    journal_release(journal);
    return object ? journal_damaged(path, err) : -1;
}

int journal_remove(const char *directory, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(directory, JOURNAL_NAME);
    SCOPED(mem_free_at) char *unfinished = path_join(directory, JOURNAL_NAME ".tmp");
    TRY(path_remove(unfinished, err));
    return path_remove(path, err);
}

void journal_release(struct journal *journal)
{
    json_decref(journal->identity);
    json_decref(journal->command);
    *journal = (struct journal){0};
}
