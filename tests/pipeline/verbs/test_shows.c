/* The verbs that read a dataset: show, export, verify. Their output is redirected to a file. */
#include "tests/needs_faults.h"
#include "tests/shards/tiny.h"

#include "pipeline/parts/dsdata_settings.h"
#include "shards/dataset.h"

#include <errno.h>
#include <jansson.h>

static const struct opt_row rows[] = {
    {.name = "sample", .type = OPT_COUNT, .field = offsetof(struct dsdata_settings, sample)},
    {.name = "epoch", .type = OPT_COUNT, .field = offsetof(struct dsdata_settings, epoch)},
    {.name = "seed", .type = OPT_COUNT, .field = offsetof(struct dsdata_settings, seed)},
    {.name = "seq", .type = OPT_COUNT, .field = offsetof(struct dsdata_settings, seq_one)},
    {.name = NULL}};
static const struct opt_program program = {.name = "test", .rows = rows};

static struct buf caught; /* stdout of the last verb */

/* Runs a verb on `path` with stdout redirected to a file. */
static int run(int (*verb)(void *, struct opt_paths, struct error *), struct dsdata_settings settings, const char *path,
               const char *directory, bool sample_given)
{
    static struct opt_result result;
    SCOPED(mem_free_at) char *out = path_join(directory, "stdout");
    result.given[0] = sample_given;
    settings.program = &program;
    settings.result = &result;
    fflush(stdout);
    const int old = dup(STDOUT_FILENO), fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_true(old >= 0 && fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
    close(fd);
    tiny_err = (struct error){0};
    const int done = verb(&settings, (struct opt_paths){&path, 1}, &tiny_err);
    fflush(stdout);
    dup2(old, STDOUT_FILENO);
    close(old);
    buf_reset(&caught);
    struct error err;
    assert_true(file_read_all(out, 64u << 20, &caught, &err) == 0);
    buf_text(&caught);
    return done;
}

static json_t *caught_json(void)
{
    json_t *object = json_loadb(caught.data, caught.size, JSON_REJECT_DUPLICATES, NULL); /* exactly one */
    assert_true(json_is_object(object));
    return object;
}

static void expect_list(const json_t *object, const char *key, const uint32_t *numbers, size_t used, size_t count)
{
    const json_t *list = json_object_get(object, key);
    assert_int_equal(json_array_size(list), count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(json_integer_value(json_array_get(list, i)), i < used ? numbers[i] : 0);
}

TEST(export_prints_googles_keys)
{
    const char *directory = *state;
    struct dsdata_settings settings = {.seq_one = 32};
    const struct shard_layout layout = shard_layout_make(32, 5, TINY_PIECES);
    SCOPED(sample_release) struct sample sample = sample_make(&layout);
    uint32_t ones[32], segments[32];
    assert_int_equal(run(dsdata_export, settings, directory, directory, false), 0);
    size_t lines = 0;
    for (char *at = caught.data, *end; at < caught.data + caught.size; at = end + 1, lines++) {
        end = strchr(at, '\n');
        json_auto_t *object = json_loadb(at, (size_t)(end - at), JSON_REJECT_DUPLICATES, NULL);
        assert_true(json_is_object(object));
        assert_int_equal(json_object_size(object), 8);
        tiny_sample(&layout, lines, &sample);
        for (uint32_t i = 0; i < 32; i++) {
            ones[i] = 1;
            segments[i] = i >= sample.a_length;
        }
        expect_list(object, "input_ids", sample.ids, sample.length, 32);
        expect_list(object, "input_mask", ones, sample.length, 32);
        expect_list(object, "segment_ids", segments, sample.length, 32);
        expect_list(object, "masked_lm_positions", sample.positions, sample.masked, 5);
        expect_list(object, "masked_lm_ids", sample.labels, sample.masked, 5);
        const json_t *weights = json_object_get(object, "masked_lm_weights");
        assert_int_equal(json_array_size(weights), 5);
        for (size_t i = 0; i < 5; i++)
            assert_true(json_real_value(json_array_get(weights, i)) == (i < sample.masked ? 1.0 : 0.0));
        assert_int_equal(json_integer_value(json_object_get(object, "next_sentence_labels")), sample.is_random_next);
        assert_int_equal(json_integer_value(json_object_get(object, "page_id")), sample.document_a);
    }
    assert_int_equal(lines, 4);
}

TEST(export_to_a_file_is_the_same)
{
    const char *directory = *state;
    SCOPED(mem_free_at) char *out = path_join(directory, "out.jsonl");
    SCOPED(buf_release) struct buf file = {0};
    assert_int_equal(run(dsdata_export, (struct dsdata_settings){.out = "-"}, directory, directory, false), 0);
    SCOPED(buf_release) struct buf expected = {0};
    buf_add(&expected, caught.data, caught.size);
    assert_int_equal(run(dsdata_export, (struct dsdata_settings){.out = out}, directory, directory, false), 0);
    assert_int_equal(caught.size, 0);
    assert_ok(file_read_all(out, 1u << 20, &file, &tiny_err));
    assert_int_equal(file.size, expected.size);
    assert_memory_equal(file.data, expected.data, file.size);
    assert_ok(path_remove(out, &tiny_err));
    /* A full disk leaves no file. */
    for (uint64_t n = 1; n <= 2; n++) {
        file_fault_set((struct file_fault){.at = n, .kind = FILE_FAULT_ERRNO, .number = ENOSPC});
        assert_int_equal(run(dsdata_export, (struct dsdata_settings){.out = out}, directory, directory, false), -1);
        file_fault_set((struct file_fault){0});
        assert_int_equal(tiny_err.kind, ERR_RESOURCE);
        assert_false(path_exists(out));
    }
}

TEST(export_of_nothing_prints_nothing)
{
    assert_int_equal(
        run(dsdata_export, (struct dsdata_settings){.seq_one = 32, .split = SPLIT_VALID}, *state, *state, false), 0);
    assert_int_equal(caught.size, 0);
    assert_int_equal(run(dsdata_export, (struct dsdata_settings){.seq_one = 64}, *state, *state, false), -1);
    assert_int_equal(tiny_err.kind, ERR_MISMATCH);
}

TEST(show_prints_the_facts)
{
    static const char *const keys[] = {"root_hash",  "format_version", "text_version", "vocab_size",
                                       "vocab_hash", "cased",          "accents",      "documents",
                                       "sources",    "pages",          "lengths"};
    static const char build[] =
        "{\"sources\": [{\"name\": \"a \\u001b[31m.xml\"}], \"command\": [\"dsdata\", \"build\", "
        "\"it's.xml\", \"--out\", \"d\"]}";
    tiny_write(*state, BUILD_NAME, build, sizeof(build) - 1);
    assert_int_equal(run(dsdata_show, (struct dsdata_settings){.json = true}, *state, *state, false), 0);
    json_auto_t *facts = caught_json();
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (!json_object_get(facts, keys[i]))
            fail_msg("%s is missing", keys[i]);
    const json_t *source = json_array_get(json_object_get(facts, "sources"), 0);
    assert_string_equal(json_string_value(json_object_get(source, "name")), "a \x1b[31m.xml");
    assert_int_equal(json_integer_value(json_object_get(source, "bytes")), 12345);
    const json_t *pages = json_object_get(facts, "pages");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(pages, "dropped"), "redirect")), 5);
    const json_t *length = json_array_get(json_object_get(facts, "lengths"), 0);
    assert_int_equal(json_integer_value(json_object_get(length, "samples")), 17);
    assert_true(json_real_value(json_object_get(length, "filled")) == 0.5625);

    assert_int_equal(run(dsdata_show, (struct dsdata_settings){0}, *state, *state, false), 0);
    assert_non_null(strstr(caught.data, "17 samples"));
    assert_non_null(strstr(caught.data, "a ?[31m.xml")); /* control characters are escaped */
    assert_null(strchr(caught.data, '\x1b'));
}

TEST(show_lays_a_sample_side_by_side)
{
    SCOPED(mem_free_at) char *shard = path_join(*state, "seq16/train-00001-of-00003.dss");
    assert_int_equal(run(dsdata_show, (struct dsdata_settings){.sample = 6}, *state, *state, true), 0);
    SCOPED(buf_release) struct buf of_dataset = {0};
    buf_add(&of_dataset, strchr(caught.data, '\n'), strlen(strchr(caught.data, '\n')) + 1);
    assert_non_null(strstr(caught.data, "       0  A        [CLS]"));
    assert_non_null(strstr(caught.data, "[MASK]"));
    assert_non_null(strstr(caught.data, "masked"));
    assert_int_equal(run(dsdata_show, (struct dsdata_settings){.sample = 0}, shard, *state, true),
                     0); /* the same sample */
    assert_string_equal(strchr(caught.data, '\n'), of_dataset.data);

    assert_int_equal(run(dsdata_show, (struct dsdata_settings){.sample = 6, .json = true}, *state, *state, true), 0);
    json_auto_t *object = caught_json();
    assert_int_equal(json_array_size(json_object_get(object, "tokens")),
                     (size_t)json_integer_value(json_object_get(object, "length")));

    assert_int_equal(run(dsdata_show, (struct dsdata_settings){.sample = 17}, *state, *state, true), -1);
    assert_int_equal(tiny_err.kind, ERR_USAGE);
    assert_non_null(strstr(tiny_err.text, "0 to 16"));
    assert_int_equal(
        run(dsdata_show, (struct dsdata_settings){.seq_one = 32, .split = SPLIT_VALID}, *state, *state, true), -1);
    assert_int_equal(tiny_err.kind, ERR_USAGE);
    assert_int_equal(run(dsdata_show, (struct dsdata_settings){.sample = 99}, shard, *state, true), -1);
}

TEST(show_takes_a_single_shard)
{
    SCOPED(mem_free_at) char *shard = path_join(*state, "seq16/train-00001-of-00003.dss");
    assert_int_equal(run(dsdata_show, (struct dsdata_settings){0}, shard, *state, false), 0);
    assert_non_null(strstr(caught.data, "shard      1 of 3 of split train"));
    assert_int_equal(run(dsdata_show, (struct dsdata_settings){.json = true}, shard, *state, false), 0);
    json_auto_t *object = caught_json();
    assert_int_equal(json_integer_value(json_object_get(object, "samples")), 6);
    assert_int_equal(run(dsdata_show, (struct dsdata_settings){0}, "tiny-is-not-there", *state, false), -1);
    assert_int_equal(tiny_err.kind, ERR_USAGE);
}

TEST(verify_says_where_and_how_to_rebuild)
{
    assert_int_equal(run(dsdata_verify, (struct dsdata_settings){0}, *state, *state, false), 0);
    assert_int_equal(run(dsdata_verify, (struct dsdata_settings){.json = true}, *state, *state, false), 0);
    json_t *object = caught_json();
    assert_true(json_is_true(json_object_get(object, "ok")));
    assert_int_equal(json_integer_value(json_object_get(object, "files")), 7);
    assert_int_equal(json_array_size(json_object_get(object, "damaged")), 0);
    json_decref(object);

    SCOPED(buf_release) struct buf bytes = tiny_read(*state, "seq16/valid-00000-of-00001.dss");
    bytes.data[4100] ^= 1;
    tiny_write(*state, "seq16/valid-00000-of-00001.dss", bytes.data, bytes.size);
    assert_int_equal(run(dsdata_verify, (struct dsdata_settings){.json = true}, *state, *state, false), ERR_VERIFY);
    object = caught_json();
    const json_t *range = json_array_get(json_object_get(object, "damaged"), 0);
    assert_true(json_is_false(json_object_get(object, "ok")));
    assert_string_equal(json_string_value(json_object_get(range, "file")), "seq16/valid-00000-of-00001.dss");
    assert_int_equal(json_integer_value(json_object_get(range, "from")), 4096);
    assert_string_equal(json_string_value(json_array_get(json_object_get(object, "built_by"), 2)), "it's.xml");
    json_decref(object);
    assert_int_equal(run(dsdata_verify, (struct dsdata_settings){0}, *state, *state, false), -1);
    assert_int_equal(tiny_err.kind, ERR_VERIFY);
    assert_non_null(strstr(tiny_err.file, "seq16/valid-00000-of-00001.dss"));
    assert_non_null(strstr(tiny_err.hint, "dsdata build INPUT... --out "));
    assert_non_null(strstr(tiny_err.hint, " --fresh"));
    assert_null(strstr(tiny_err.hint, "it's.xml")); /* untrusted text of build.json is not part of a suggested command
                                                     * */
    bytes.data[4100] ^= 1;
    tiny_write(*state, "seq16/valid-00000-of-00001.dss", bytes.data, bytes.size);
}

static int set_up(void **state)
{
    char *directory = tiny_directory();
    tiny_dataset(directory);
    *state = directory;
    return 0;
}

static int tear_down(void **state)
{
    tiny_remove(*state);
    buf_release(&caught);
    return 0;
}

GROUP(set_up, tear_down)
