/* spill.c and seal.c: every entry comes out once, in the order of its key, in shards of equal count. */
// labels: threads
#include "base/random.h"
#include "pipeline/store/journal.h"
#include "pipeline/store/seal.h"
#include "shards/dataset.h"
#include "tests/pipeline/directory.h"
#include "tests/needs_faults.h"
#include "tests/unit.h"

#include <sys/wait.h>

#define KEY_BYTES 32
#define SEQ       16
#define VOCAB     100

static struct shard_layout layout(void)
{
    return shard_layout_make(SEQ, 4, VOCAB);
}

/* Entry i: a random key, and a record whose document_a is i. */
static void make_entry(uint32_t i, bool same_key, char *out)
{
    const struct shard_layout l = layout();
    const struct random_stream stream = random_stream(1, RANDOM_ORDER, 0, 0, 0, 0, 0);
    uint32_t words[8] = {random_at(&stream, i, 0), random_at(&stream, i, 1), 0, 0, 0, 0, i, 0};
    if (same_key)
        words[0] = words[1] = 77;
    memcpy(out, words, KEY_BYTES);
    SCOPED(sample_release) struct sample sample = sample_make(&l);
    sample.length = 3;
    sample.a_length = 2;
    sample.document_a = i;
    sample.ids[0] = sample.ids[1] = sample.ids[2] = 5;
    record_encode(&l, &sample, (uint8_t *)out + KEY_BYTES);
}

static struct manifest make_manifest(uint64_t samples, uint32_t shards)
{
    struct manifest manifest = {.text_version = 1,
                                .vocab_size = VOCAB,
                                .special = {.pad = 0, .unk = 1, .cls = 2, .sep = 3, .mask = 4},
                                .mask_millionths = 150000};
    manifest_add_length(&manifest, SEQ, 4, SPLIT_TRAIN, samples, 3 * samples, shards);
    manifest_add_length(&manifest, SEQ, 4, SPLIT_VALID, 0, 0, 0);
    return manifest;
}

/* Writes the spills of `extents` extents, to which entries are assigned in turn; bytes[extents] [buckets]. */
static void spill_entries(uint32_t samples, const struct spill_set sets[2], uint32_t extents, bool same_key,
                          uint64_t (*bytes)[SPILL_BUCKETS_MAX + 1])
{
    struct error err = {0};
    SCOPED(mem_free_at) char *entry = mem_clear(1, sets[0].entry_bytes);
    for (uint32_t extent = 0; extent < extents; extent++) {
        struct spill spill;
        assert_int_equal(spill_open(&spill, directory, extent * 1000, sets, 2, NULL, &err), 0);
        for (uint32_t i = extent; i < samples; i += extents) {
            make_entry(i * 7919 % samples, same_key, entry);
            assert_int_equal(spill_add(&spill, 0, entry, sets[0].entry_bytes, &err), 0);
        }
        assert_int_equal(spill_sync(&spill, bytes[extent], &err), 0);
        spill_close(&spill);
    }
}

struct round {
    uint32_t samples, shards, bucket_bits;
    uint64_t load_bytes;
    size_t threads;
    bool same_key;
    uint32_t extents, shares; /* 0 means 1 */
};

/* Seals entries share by share, and checks order and completeness. Returns the hash of the first shard. */
static uint64_t round_trip(struct round round)
{
    static uint64_t bytes[8][SPILL_BUCKETS_MAX + 1];
    const uint32_t samples = round.samples, shards = round.shards, extents = round.extents ? round.extents : 1;
    const bool same_key = round.same_key;
    const struct shard_layout l = layout();
    const uint32_t entry_bytes = KEY_BYTES + l.record_bytes;
    const struct spill_set sets[2] = {{entry_bytes, round.bucket_bits}, {entry_bytes, 0}};
    struct error err = {0};
    SCOPED(mem_free_at) char *entry = mem_clear(1, entry_bytes);
    spill_entries(samples, sets, extents, same_key, bytes);
    struct seal_extent parts[8];
    for (uint32_t i = 0; i < extents; i++)
        parts[i] = (struct seal_extent){i * 1000, bytes[i]};
    struct manifest manifest = make_manifest(samples, shards);
    struct seal_options options = {
        .spills = {.directory = directory, .sets = sets, .set_count = 2, .extents = parts, .extent_count = extents},
        .shares = round.shares ? round.shares : 1,
        .key_bytes = KEY_BYTES,
        .manifest = &manifest,
        .load_bytes_max = round.load_bytes,
        .threads = round.threads};
    for (; options.share < options.shares; options.share++)
        assert_int_equal(seal(&options, &err), 0);
    uint64_t first = 0;
    for (uint32_t i = 0; i < shards; i++) {
        assert_true(manifest.lengths[0].hashes[i] != 0);
        first = first * 31 + manifest.lengths[0].hashes[i];
    }

    SCOPED(mem_free_at) char *seen = mem_clear(samples, 1);
    uint64_t last_key = 0, count = 0;
    struct sample sample = sample_make(&l);
    for (uint32_t s = 0; s < shards; s++) {
        char name[SHARD_NAME_BYTES];
        SCOPED(mem_free_at) char *path = path_join(directory, manifest_shard_name(&manifest.lengths[0], s, name));
        struct shard shard;
        assert_int_equal(shard_open(&shard, path, &err), 0);
        assert_int_equal(shard.header.record_count, shard_records(samples, shards, s));
        for (uint64_t i = 0; i < shard.header.record_count; i++, count++) {
            assert_int_equal(shard_sample(&shard, i, &sample, &err), 0);
            const uint32_t number = (uint32_t)sample.document_a;
            assert_false(seen[number]);
            seen[number] = 1;
            make_entry(number, same_key, entry);
            uint64_t key;
            memcpy(&key, entry, sizeof key);
            assert_true(key >= last_key);
            if (same_key)
                assert_int_equal(number, count); /* equal keys: in the order of their names */
            last_key = key;
        }
        shard_close(&shard);
    }
    assert_int_equal(count, samples);
    sample_release(&sample);
    manifest_release(&manifest);
    assert_int_equal(spill_remove_all(directory, &err), 0);
    return first;
}

TEST(the_order_is_global_for_any_buckets)
{
    const uint64_t hash = round_trip((struct round){5000, 3, 0, 1u << 30, 1, false, 0, 0});
    assert_true(hash == round_trip((struct round){5000, 3, 3, 1u << 30, 2, false, 0, 0}));
    assert_true(hash == round_trip((struct round){5000, 3, 1, 20000, 2, false, 0, 0})); /* buckets are read in slices */
    assert_true(hash == round_trip((struct round){5000, 3, 6, 20000, 1, false, 0, 0}));
}

/* Loads that span many blocks, and blocks that span many loads. */
TEST(blocks_on_the_borders_of_loads_are_whole)
{
    const uint64_t hash = round_trip((struct round){60000, 3, 0, 1u << 30, 1, false, 0, 0});
    assert_true(hash == round_trip((struct round){60000, 3, 2, 1u << 30, 4, false, 0, 0}));
    assert_true(hash == round_trip((struct round){60000, 3, 8, 1u << 30, 3, false, 0, 0}));
    assert_true(hash == round_trip((struct round){60000, 3, 1, 2u << 20, 2, false, 2, 2}));
    round_trip((struct round){60000, 1, 3, 1u << 30, 4, false, 0, 0});
}

TEST(the_order_is_the_same_by_shares_and_of_extents)
{
    const uint64_t hash = round_trip((struct round){900, 7, 2, 1u << 30, 2, false, 0, 0});
    for (uint32_t shares = 2; shares <= 8; shares += 3) {
        assert_true(hash == round_trip((struct round){900, 7, 0, 1u << 30, 2, false, 3, shares}));
        assert_true(hash == round_trip((struct round){900, 7, 2, 9000, 1, false, 8, shares}));
    }
}

TEST(equal_keys_are_ordered_by_name)
{
    round_trip((struct round){300, 2, 2, 1u << 20, 2, true, 3, 2});
}

TEST(one_sample_and_one_shard_per_sample)
{
    round_trip((struct round){1, 1, 2, 1u << 20, 1, false, 1, 4});
    round_trip((struct round){7, 7, 0, 1u << 20, 2, false, 2, 3});
}

TEST(the_spills_of_one_extent_are_removed)
{
    static uint64_t bytes[3][SPILL_BUCKETS_MAX + 1];
    const struct spill_set sets[2] = {{KEY_BYTES + layout().record_bytes, 1}, {KEY_BYTES + layout().record_bytes, 0}};
    struct error err = {0};
    struct path_list list;
    SCOPED(mem_free_at)
    char *folder = path_join(directory, SPILL_NAME), *other = path_join(folder, "notes.txt"),
         *journal = spill_journal_path(directory, 1000);
    uint64_t extent;
    spill_entries(20, sets, 3, false, bytes);
    assert_int_equal(file_write_all(other, "x", 1, &err), 0);
    assert_int_equal(file_write_all(journal, "{}", 2, &err), 0);
    assert_true(spill_journal_name(strrchr(journal, '/') + 1, &extent) && extent == 1000);
    assert_false(spill_journal_name("0000001000.journal.tmp", &extent));
    assert_false(spill_journal_name("000001000.journal", &extent) || spill_journal_name("", &extent));
    assert_false(spill_journal_name(".journal", &extent));
    assert_int_equal(spill_remove(directory, 1000, &err), 0);
    assert_int_equal(path_list(&list, folder, &err), 0);
    assert_int_equal(list.count, 2 * 3 + 1);
    path_list_release(&list);
    assert_true(spill_remove_all(directory, &err) < 0); /* a foreign file stays */
    assert_int_equal(path_list(&list, folder, &err), 0);
    assert_int_equal(list.count, 1);
    path_list_release(&list);
    assert_int_equal(path_remove(other, &err), 0);
    assert_int_equal(spill_remove_all(directory, &err), 0);
    assert_false(path_exists(folder));
}

/* The journal of an extent is removed and synced before its spills are removed, so that after a power loss no journal
 * refers to missing files. */
TEST(a_journal_is_removed_before_its_spills)
{
    static uint64_t bytes[2][SPILL_BUCKETS_MAX + 1];
    const struct spill_set sets[2] = {{KEY_BYTES + layout().record_bytes, 1}, {KEY_BYTES + layout().record_bytes, 0}};
    struct error err = {0};
    SCOPED(buf_release) struct buf text = {0}, expected = {0};
    SCOPED(mem_free_at) char *journal = spill_journal_path(directory, 1000), *trace = path_join(directory, "trace");
    char *where = realpath(directory, NULL);
    spill_entries(20, sets, 2, false, bytes);
    assert_int_equal(file_write_all(journal, "{}", 2, &err), 0);
    const pid_t child = fork();
    if (child == 0) {
        setenv("DS_TRACE_FILE", trace, 1);
        faults_open();
        _exit(spill_remove(directory, 1000, &err) < 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(file_read_all(trace, 10000, &text, &err), 0);
    buf_addf(&expected, "remove %s\nsyncdir %s/%s\nremove ", journal, where, SPILL_NAME);
    assert_true(str_starts(buf_str(&text), buf_str(&expected)));
    assert_int_equal(path_remove(trace, &err), 0);
    assert_int_equal(spill_remove_all(directory, &err), 0);
    free(where);
}

/* A bucket larger than a load is read once for each slice. Only the count of reads shows that loads keep to --memory,
 * because the shards are the same either way. */
TEST(a_large_bucket_is_sealed_in_slices)
{
    const uint64_t bytes = 5000 * (uint64_t)(KEY_BYTES + layout().record_bytes);
    uint64_t before = file_calls(FILE_READS);
    const uint64_t hash = round_trip((struct round){5000, 1, 0, bytes, 1, false, 0, 0});
    const uint64_t at_once = file_calls(FILE_READS) - before;
    before = file_calls(FILE_READS);
    assert_true(hash == round_trip((struct round){5000, 1, 0, bytes / 8, 1, false, 0, 0}));
    assert_true(file_calls(FILE_READS) - before >=
                at_once + 2 * 7); /* an open and a read of each of 8 slices or more */
}

TEST(a_spill_is_cut_back_to_the_journal)
{
    const struct shard_layout l = layout();
    const uint32_t entry_bytes = KEY_BYTES + l.record_bytes;
    const struct spill_set set = {entry_bytes, 1};
    struct error err = {0};
    struct spill spill;
    uint64_t kept[2], again[2];
    SCOPED(mem_free_at) char *entry = mem_clear(1, entry_bytes);
    assert_int_equal(spill_open(&spill, directory, 7, &set, 1, NULL, &err), 0);
    for (uint32_t i = 0; i < 100; i++) {
        make_entry(i, false, entry);
        spill_add(&spill, 0, entry, entry_bytes, &err);
        if (i == 59)
            assert_int_equal(spill_sync(&spill, kept, &err), 0);
    }
    assert_int_equal(kept[0] + kept[1], 60u * entry_bytes);
    spill_sync(&spill, again, &err);
    spill_close(&spill);

    assert_int_equal(spill_open(&spill, directory, 7, &set, 1, kept, &err), 0);
    for (uint32_t i = 60; i < 100; i++) {
        make_entry(i, false, entry);
        spill_add(&spill, 0, entry, entry_bytes, &err);
    }
    uint64_t end[2];
    spill_sync(&spill, end, &err);
    assert_memory_equal(end, again, sizeof end);
    spill_close(&spill);

    /* a file shorter than its journal says cannot be continued */
    end[0] += entry_bytes;
    assert_true(spill_open(&spill, directory, 7, &set, 1, end, &err) < 0);
    assert_int_equal(err.kind, ERR_VERIFY);
    spill_close(&spill);
    spill_remove(directory, 7, &err);
}

/* After a short write or a failed sync, every later sync fails, even if the disk has room again. */
TEST(a_failure_is_final)
{
    const struct spill_set set = {.entry_bytes = 16};
    for (uint64_t call = 1; call <= 2; call++) { /* write, sync */
        char entry[16] = {1};
        struct spill spill = {0};
        struct error err;
        uint64_t end[1] = {0}, none[1] = {0};
        assert_int_equal(spill_open(&spill, directory, 9, &set, 1, NULL, &err), 0);
        assert_int_equal(spill_sync(&spill, end, &err), 0);
        assert_int_equal(spill_add(&spill, 0, entry, sizeof entry, &err), 0);
        file_fault_set((struct file_fault){.at = call, .kind = FILE_FAULT_SHORT});
        assert_int_equal(spill_sync(&spill, none, &err), -1);
        assert_int_equal(err.kind, ERR_RESOURCE);
        file_fault_set((struct file_fault){0});
        assert_int_equal(spill_sync(&spill, none, &err), -1);
        spill_close(&spill);
        assert_int_equal(spill_open(&spill, directory, 9, &set, 1, end, &err), 0); /* continues from the last sync */
        assert_int_equal(spill_add(&spill, 0, entry, sizeof entry, &err), 0);
        assert_int_equal(spill_sync(&spill, end, &err), 0);
        assert_int_equal(end[0], sizeof entry);
        spill_close(&spill);
        assert_int_equal(spill_remove(directory, 9, &err), 0);
    }
}

TEST(wrong_counts_are_found)
{
    const struct shard_layout l = layout();
    const struct spill_set sets[2] = {{KEY_BYTES + l.record_bytes, 0}, {KEY_BYTES + l.record_bytes, 0}};
    struct error err = {0};
    struct spill spill;
    uint64_t bytes[2];
    SCOPED(mem_free_at) char *entry = mem_clear(1, sets[0].entry_bytes);
    spill_open(&spill, directory, 0, sets, 2, NULL, &err);
    for (uint32_t i = 0; i < 10; i++) {
        make_entry(i, false, entry);
        spill_add(&spill, 0, entry, sets[0].entry_bytes, &err);
    }
    spill_sync(&spill, bytes, &err);
    for (uint64_t counted = 9; counted <= 11; counted += 2) {
        SCOPED(manifest_release) struct manifest manifest = make_manifest(counted, 1);
        const struct seal_options options = {.spills = {.directory = directory,
                                                        .sets = sets,
                                                        .set_count = 2,
                                                        .extents = &(struct seal_extent){0, bytes},
                                                        .extent_count = 1},
                                             .shares = 1,
                                             .key_bytes = KEY_BYTES,
                                             .manifest = &manifest,
                                             .load_bytes_max = 1u << 20,
                                             .threads = 1};
        assert_true(seal(&options, &err) < 0);
        assert_int_equal(err.kind, ERR_VERIFY);
    }
    struct load load = {.last = UINT64_MAX}; /* and a file that was truncated since */
    const struct spills spills = {directory, sets, 2, &(struct seal_extent){0, bytes}, 1};
    SCOPED(mem_free_at) char *path = spill_path(directory, 0, 0, 0);
    assert_int_equal(load_read(&load, &spills, 1u << 20, &err), 0);
    assert_int_equal(load.count, 10);
    assert_int_equal(truncate(path, (off_t)bytes[0] - 1), 0);
    assert_true(load_read(&load, &spills, 1u << 20, &err) < 0);
    assert_int_equal(err.kind, ERR_VERIFY);
    load_release(&load);
    spill_close(&spill);
    spill_remove_all(directory, &err);
}

TEST(a_journal_reads_back)
{
    struct error err = {0};
    struct journal journal = {
        .identity = json_pack("{si}", "seed", 5), .stage = JOURNAL_READING, .set_count = 2, .bucket_bits = {1, 0}};
    struct journal back;
    assert_int_equal(journal_read(&back, directory, &err), 0);
    assert_int_equal(journal_write(&journal, directory, &err), 0);
    assert_int_equal(journal_read(&back, directory, &err), 1);
    assert_true(json_equal(back.identity, journal.identity));
    assert_int_equal(back.stage, JOURNAL_READING);
    assert_int_equal(back.set_count, 2);
    assert_memory_equal(back.bucket_bits, journal.bucket_bits, sizeof back.bucket_bits);
    journal_release(&back);
    journal_release(&journal);

    SCOPED(mem_free_at) char *path = path_join(directory, JOURNAL_NAME);
    static const char *const bad[] = {"", "{", "{}", "[1]", "{\"journal_version\": 2, \"stage\": 1}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(file_write_all(path, bad[i], strlen(bad[i]), &err), 0);
        assert_true(journal_read(&back, directory, &err) < 0);
        assert_int_equal(err.kind, ERR_VERIFY);
    }
    /* Complete, but of another version. */
    static const char whole[] = "{\"journal_version\": %d, \"stage\": 1, \"identity\": {}, \"bucket_bits\": []}";
    char text[sizeof whole + 8];
    for (int version = 1; version <= 3; version++) {
        snprintf(text, sizeof text, whole, version);
        assert_int_equal(file_write_all(path, text, strlen(text), &err), 0);
        assert_int_equal(journal_read(&back, directory, &err), version == 2 ? 1 : -1);
        if (version == 2)
            journal_release(&back);
    }
    for (int bits = SPILL_BUCKET_BITS_MAX; bits <= SPILL_BUCKET_BITS_MAX + 1; bits++) {
        snprintf(text, sizeof text, "{\"journal_version\": 2, \"stage\": 1, \"identity\": {}, \"bucket_bits\": [%d]}",
                 bits);
        assert_int_equal(file_write_all(path, text, strlen(text), &err), 0);
        assert_int_equal(journal_read(&back, directory, &err), bits == SPILL_BUCKET_BITS_MAX ? 1 : -1);
        if (bits == SPILL_BUCKET_BITS_MAX)
            journal_release(&back);
    }
    assert_int_equal(journal_remove(directory, &err), 0);
}

GROUP(make_directory, remove_directory)
