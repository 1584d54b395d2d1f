/* Lists of near duplicates made from several extents: their memory, their files, and the fate of each document. */
#include "pipeline/build/extents.h"
#include "pipeline/build/repeats.h"
#include "tests/pipeline/directory.h"
#include "tests/unit.h"

#define EXTENTS 3

static const struct dataset_recipe recipe = {.near_duplicates = 800000};
static struct spill_set sets[REPEATS_SETS];
static struct extent items[EXTENTS];
static struct extents extents = {.directory = directory, .items = items, .count = EXTENTS};

static struct sample_key document_of(uint32_t number)
{
    return (struct sample_key){.key = number, .window = number / 100, .index = number % 100};
}

/* The notes of documents [0, count), in the order of the extents. Every third one is like document 0. */
static void write_notes(uint32_t count)
{
    static uint64_t bytes[EXTENTS][2];
    struct error err;
    repeats_sets(&recipe, 0, sets);
    for (uint32_t e = 0; e < EXTENTS; e++) {
        struct spill spill;
        assert_int_equal(spill_open(&spill, directory, e, sets, REPEATS_SETS, NULL, &err), 0);
        for (uint32_t number = count * e / EXTENTS; number < count * (e + 1) / EXTENTS; number++) {
            struct sketched note = {.document = document_of(number)};
            for (size_t i = 0; i < NEAR_VALUES; i++)
                note.sketch.values[i] = number % 3 == 0 ? 7 : (uint8_t)(number * 31 + i * (number + 1));
            for (size_t i = 0; i < NEAR_BANDS_MAX; i++)
                note.sketch.bands[i] = number % 3 == 0 ? 7 : number * 64 + (uint32_t)i;
            assert_int_equal(spill_add(&spill, 1, (const char *)&note, sets[1].entry_bytes, &err), 0);
        }
        assert_int_equal(spill_sync(&spill, bytes[e], &err), 0);
        spill_close(&spill);
        items[e] = (struct extent){.first = e, .spill_bytes = bytes[e], .spill_count = 2};
    }
}

static int list(uint64_t room_bytes, struct error *err)
{
    return repeats_list(&recipe, &extents, sets, 1 << 20, room_bytes, err);
}

TEST(every_document_of_every_extent_has_its_fate)
{
    struct repeats repeats;
    struct error err;
    for (uint32_t count = 0; count < 10; count += 1 + count / 4) {
        write_notes(count);
        assert_int_equal(list(1 << 20, &err), 0);
        assert_int_equal(repeats_open(&repeats, &recipe, directory, &err), 0);
        for (uint32_t number = 0; number < 12; number++) {
            const struct sample_key document = document_of(number);
            assert_int_equal(repeats_judge(&repeats, &document),
                             number > 0 && number < count && number % 3 == 0 ? PAGE_NEAR_DUPLICATE : PAGE_KEPT);
        }
        repeats_close(&repeats);
    }
}

/* The hint of an error says how much memory is missing: with so much it continues, with less it does not. */
TEST(as_much_memory_as_the_hint_says_is_enough)
{
    unsigned long long more = 0;
    struct error err;
    write_notes(20000);
    assert_int_equal(list(1000, &err), -1);
    assert_int_equal(err.kind, ERR_RESOURCE);
    assert_int_equal(sscanf(err.hint, "the same command with %lluM more", &more), 1);
    assert_true(more > 1);
    assert_int_equal(list(1000 + ((more - 1) << 20), &err), -1);
    assert_int_equal(list(1000 + (more << 20), &err), 0);
}

TEST(a_file_that_lacks_a_byte_is_damaged)
{
    struct repeats repeats;
    struct error err;
    for (uint32_t e = 0; e < EXTENTS; e++) {
        write_notes(9);
        SCOPED(mem_free_at) char *path = spill_path(directory, e, 1, 0);
        assert_int_equal(truncate(path, (off_t)items[e].spill_bytes[1] - 1), 0);
        assert_int_equal(list(1 << 20, &err), -1);
        assert_int_equal(err.kind, ERR_VERIFY);
        assert_string_equal(err.file, path);
    }
    write_notes(9);
    assert_int_equal(list(1 << 20, &err), 0);
    SCOPED(mem_free_at) char *path = path_join(directory, SPILL_NAME "/9999999999.near");
    assert_int_equal(truncate(path, 2 * sizeof(struct sample_key) - 1), 0);
    assert_int_equal(repeats_open(&repeats, &recipe, directory, &err), -1);
    assert_int_equal(err.kind, ERR_VERIFY);
    repeats_close(&repeats);
}

GROUP(make_directory, remove_directory)
