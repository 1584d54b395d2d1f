// room: pipeline
/* In: the journal of a build, or (where it has an "extent_version") of an extent, whose list of counts is made as long
 * as it has to be. Held: it is refused with a message, or it reads the same once it was written again. */
#include "tests/fuzz/fuzz.h"

#include "base/file.h"
#include "pipeline/build/extents.h"
#include "pipeline/store/journal.h"
#include "pipeline/store/spill.h"
#include "shards/manifest.h"

#define SPILLS 3u

static void check_journal(const char *directory)
{
    struct journal journal, again;
    struct error err = {0};
    if (journal_read(&journal, directory, &err) < 0) {
        assert(err.kind == ERR_VERIFY && err.text[0]);
        return;
    }
    int done = journal_write(&journal, directory, &err); /* in the place of the link */
    assert(done == 0);
    done = journal_read(&again, directory, &err);
    assert(done == 1);
    assert(journal.stage == again.stage && json_equal(journal.identity, again.identity));
    assert(journal.set_count == again.set_count);
    for (size_t set = 0; set < journal.set_count; set++)
        assert(journal.bucket_bits[set] == again.bucket_bits[set]);
    done = journal_remove(directory, &err);
    assert(done == 0);
    journal_release(&journal);
    journal_release(&again);
}

static void check_extent(const char *directory)
{
    const struct inputs inputs = {.count = 1};
    struct extent extent, again;
    struct error err = {0};
    if (extent_read(&extent, 0, &inputs, SPILLS, directory, &err) < 0) {
        assert(err.kind == ERR_VERIFY && err.text[0]);
        return;
    }
    int done = extent_write(&extent, &inputs, directory, &err);
    assert(done == 0);
    done = extent_read(&again, 0, &inputs, SPILLS, directory, &err);
    assert(done == 0);
    assert(memcmp(&extent.counts, &again.counts, sizeof extent.counts) == 0 && extent.file == again.file);
    assert(extent.state.bit == again.state.bit && extent.state.hash == again.state.hash);
    assert(extent.head.place == again.head.place && extent.head.bit == again.head.bit);
    assert(extent.hashes[0] == again.hashes[0] && extent.missing.templates.count == again.missing.templates.count);
    assert(memcmp(extent.spill_bytes, again.spill_bytes, SPILLS * sizeof *extent.spill_bytes) == 0);
    extent_release(&extent);
    extent_release(&again);
    done = spill_remove_all(directory, &err);
    assert(done == 0);
}

int fuzz_input(const uint8_t *data, size_t size)
{
    SCOPED(buf_release) struct buf text = {0};
    struct error err = {0};
    json_t *object = json_loadb((const char *)data, size, 0, NULL), *counts = json_object_get(object, "counts");
    const bool is_extent = json_object_get(object, "extent_version");
    while (json_is_array(counts) && json_array_size(counts) < COUNTS_FIELDS)
        json_array_append_new(counts, json_integer(1));
    char *mended = object ? json_dumps(object, JSON_ENCODE_ANY) : NULL;
    buf_add(&text, mended ? mended : (const char *)data, mended ? strlen(mended) : size);
    SCOPED(mem_free_at)
    char *path = is_extent ? spill_journal_path(fuzz_directory(), 0) : path_join(fuzz_directory(), JOURNAL_NAME);
    SCOPED(mem_free_at) char *folder = path_join(fuzz_directory(), SPILL_NAME);
    int done = path_make_directory(folder, &err);
    if (done == 0)
        done = file_write_all(path, text.data ? text.data : "", text.size, &err);
    assert(done == 0);
    if (is_extent)
        check_extent(fuzz_directory());
    else
        check_journal(fuzz_directory());
    free(mended);
    json_decref(object);
    return 0;
}
