/* Writing and reading of manifest.json, and manifests of foreign origin. */
#include "tests/shards/tiny.h"

static struct buf good_text(void)
{
    struct manifest manifest;
    struct buf text = {0};
    tiny_manifest(&manifest);
    for (size_t l = 0; l < manifest.length_count; l++)
        for (uint32_t s = 0; s < manifest.lengths[l].shards; s++)
            manifest.lengths[l].hashes[s] = 0xabcdef0000000000 + l * 16 + s;
    assert_ok(manifest_print(&manifest, &text, &tiny_err));
    manifest_release(&manifest);
    return text;
}

/* Writes the matching root_hash into the text. */
static void seal_text(struct buf *text)
{
    const size_t at = strlen("{\n\"root_hash\": \"");
    struct buf rest = {0};
    char digits[17];
    buf_add(&rest, text->data, at);
    buf_add(&rest, text->data + at + 16, text->size - at - 16);
    memcpy(text->data + at, hash_text(hash64(rest.data, rest.size), digits), 16);
    buf_release(&rest);
    assert_true(manifest_intact(buf_str(text)));
}

/* The good text with one part replaced, with the matching root_hash. */
static struct buf changed_text(const char *from, const char *to)
{
    struct buf text = good_text(), changed = {0};
    const char *at = strstr(buf_text(&text), from);
    if (!at)
        fail_msg("the manifest holds no %s:\n%s", from, text.data);
    buf_add(&changed, text.data, (size_t)(at - text.data));
    buf_add_text(&changed, to);
    buf_add_text(&changed, at + strlen(from));
    buf_release(&text);
    seal_text(&changed);
    return changed;
}

TEST(a_manifest_reads_back)
{
    SCOPED(buf_release) struct buf text = good_text(), again = {0};
    struct manifest manifest;
    assert_ok(manifest_parse(&manifest, buf_str(&text), "m", &tiny_err));
    assert_int_equal(manifest.seed, UINT64_MAX);
    assert_int_equal(manifest.special.mask, 4);
    assert_int_equal(manifest.pages_kept, 17);
    assert_int_equal(manifest.dropped_count, 2);
    assert_string_equal(manifest.dropped[0].name, "empty");
    assert_int_equal(manifest.dropped[1].pages, 5);
    assert_int_equal(manifest.dropped[1].bytes, 120);
    assert_int_equal(manifest.fate_count, 2);
    assert_string_equal(manifest.fates[1].name, "markup");
    assert_int_equal(manifest.fates[1].bytes, 381);
    assert_int_equal(manifest_text_bytes(&manifest), 6000 + 381 + 120);
    assert_int_equal(manifest.unknown.characters, 100);
    assert_int_equal(manifest.unknown.sentences, 4);
    assert_string_equal(manifest.options[0].name, "copies");
    assert_string_equal(manifest.options[1].value, "en \"\\ \xc3\xa9");
    assert_int_equal(manifest.sources[0].hash, 0xfedcba9876543210);
    assert_string_equal(source_kinds[manifest.sources[0].kind], "jsonl");
    assert_string_equal(source_rules[manifest.sources[1].rule], "id");
    assert_string_equal(manifest_valid_by(&manifest), "mixed");
    assert_false(manifest_of_pages(&manifest));
    assert_int_equal(manifest.repaired_documents, 6);
    assert_int_equal(manifest.repaired_count, 2);
    assert_string_equal(manifest.repaired[0].name, "encoding");
    assert_int_equal(manifest.repaired[0].documents, 5);
    assert_int_equal(manifest.leaks, 8);
    assert_int_equal(manifest.length_count, 4);
    assert_int_equal(manifest_shortest(&manifest), 16);
    const struct manifest_length *train = manifest_find(&manifest, 16, SPLIT_TRAIN);
    assert_int_equal(train->samples, 17);
    assert_int_equal(train->hashes[2], 0xabcdef0000000002);
    assert_int_equal(manifest_filled(train), 562500); /* 9 of 16 */
    assert_int_equal(manifest_filled(manifest_find(&manifest, 32, SPLIT_VALID)), 0);
    assert_null(manifest_find(&manifest, 64, SPLIT_TRAIN));
    assert_ok(manifest_print(&manifest, &again, &tiny_err));
    assert_int_equal(again.size, text.size);
    assert_memory_equal(again.data, text.data, text.size);
    manifest_release(&manifest);
}

TEST(its_root_hash_covers_every_byte)
{
    SCOPED(buf_release) struct buf text = good_text();
    assert_true(manifest_intact(buf_str(&text)));
    for (size_t i = 0; i < text.size; i++)
        for (int bit = 0; bit < 8; bit++) {
            text.data[i] ^= (char)(1 << bit);
            assert_false(manifest_intact(buf_str(&text)));
            text.data[i] ^= (char)(1 << bit);
        }
    for (size_t size = 0; size < text.size; size++)
        assert_false(manifest_intact((struct str){text.data, size}));
}

TEST(what_was_changed_is_not_read)
{
    SCOPED(buf_release) struct buf text = good_text();
    struct manifest manifest;
    char *digits = strstr(buf_text(&text), "\"documents\": 17");
    assert_non_null(digits);
    memcpy(digits, "\"documents\": 18", 15);
    assert_fails(manifest_parse(&manifest, buf_str(&text), "m", &tiny_err), ERR_VERIFY);
    assert_non_null(strstr(tiny_err.hint, "copy it again"));
}

TEST(values_out_of_range_are_refused)
{
    static const char *const cases[][2] = {
        {"\"format_version\": 1", "\"format_version\": 0"},
        {"\"format_version\": 1", "\"format_version\": 1.0"},
        {"\"text_version\": 1", "\"text_version\": -1"},
        {"\"text_version\": 1", "\"text_version\": 4294967296"},
        {"\"vocab_size\": 10", "\"vocab_size\": 0"},
        {"\"vocab_size\": 10", "\"vocab_size\": 16777217"},
        {"\"vocab_size\": 10", "\"vocab_size\": 1e400"},
        {"\"vocab_size\": 10", "\"vocab_size\": 99999999999999999999"},
        {"\"vocab_size\": 10", "\"vocab_size\": \"10\""},
        {"\"vocab_size\": 10", "\"vocab_size\": 70000"}, /* the sizes of shards do not match */
        {"\"mask\": 4", "\"mask\": 10"},
        {"\"cased\": false", "\"cased\": 0"},
        {"\"accents\": \"strip\"", "\"accents\": \"Strip\""},
        {"\"pairs\": \"nsp\"", "\"pairs\": null"},
        {"\"mask_millionths\": 150000", "\"mask_millionths\": 1000001"},
        {"\"18446744073709551615\"", "\"18446744073709551616\""},
        {"\"18446744073709551615\"", "\"\""},
        {"\"18446744073709551615\"", "\"-1\""},
        {"\"18446744073709551615\"", "\"000000000000000000000000001\""},
        {"\"options\": {", "\"options\": {\"x\": 1,"},
        {"\"options\": {", "\"options\": {\"copies\": \"2\","}, /* twice */
        {"\"options\": {", "\"options\": [], \"else\": {"},
        {"\"kept\": 17", "\"kept\": true"},
        {"\"redirect\": 5", "\"redirect\": -5"},
        {"\"redirect\": 5", "\"redirected\": 5"}, /* the bytes belong to another reason */
        {"\"text\": {", "\"text\": [], \"else\": {"},
        {"\"bytes\": 6501", "\"bytes\": 6500"}, /* the sums do not match */
        {"\"bytes\": 6501", "\"bytes\": 6502"},
        {"\"markup\": 381", "\"markup\": -381"},
        {"\"markup\": 381", "\"markup\": 9223372036854775807"},
        {"\"redirect\": 120", "\"redirect\": 121"},
        {"\"templates_unknown\": {", "\"templates_unknown\": [], \"else\": {"},
        {"\"characters\": 100", "\"characters\": 110"},
        {"\"characters\": 100", "\"characters\": -1"},
        {"\"sentences\": 4", "\"sentences\": -4"},
        {"\"sentences\": 4", "\"sentences\": \"4\""},
        {"\"languages\": {", "\"languages\": [], \"else\": {"},
        {"\"holes\": 3", "\"holes\": -3"},
        {"\"holes\": 3, ", ""},
        {"\"bytes\": 1500", "\"bytes\": 9223372036854775807"},
        {"\"repaired\": {", "\"repaired\": [], \"else\": {"},
        {"\"repaired\": {\"documents\": 6", "\"repaired\": {\"documents\": 18"}, /* more than there are */
        {"\"encoding\": 5", "\"encoding\": 7"},
        {"\"encoding\": 5", "\"encoding\": -1"},
        {"\"reasons\": {", "\"reasons\": 1, \"else\": {"},
        {"\"leaks\": 8", "\"leaks\": \"8\""},
        {"\"kind\": \"wiki\"", "\"kind\": \"page\""},
        {"\"valid_by\": \"id\"}", "\"valid_by\": 1}"},
        {"\"fedcba9876543210\"", "\"fedcba987654321\""},
        {"\"fedcba9876543210\"", "\"fedcba987654321g\""},
        {"\"seq\": 16", "\"seq\": 15"},
        {"\"seq\": 32", "\"seq\": 16"},
        {"\"seq\": 32", "\"seq\": 5000"},
        {"\"predictions\": 4", "\"predictions\": 0"},
        {"\"predictions\": 4", "\"predictions\": 17"},
        {"\"split\": \"train\"", "\"split\": \"valid\""},
        {"\"split\": \"train\"", "\"split\": \"../../etc\""},
        {"\"samples\": 17", "\"samples\": 1"},
        {"\"samples\": 17", "\"samples\": 1099511627776"},
        {"\"samples\": 17", "\"samples\": 9223372036854775807"},
        {"\"samples\": 17", "\"samples\": 0"},
        {"\"tokens\": 153", "\"tokens\": 273"},
        {"\"shards\": 3", "\"shards\": 0"},
        {"\"shards\": 3", "\"shards\": 4"},
        {"\"shards\": 3", "\"shards\": 1000000"},
        {"\"shards\": 3", "\"shards\": 4294967297"},
        {"seq16/train-00000-of-00003.dss", "/etc/passwd"},
        {"seq16/train-00000-of-00003.dss", "../seq16/train-00000-of-00003.dss"},
        {"seq16/train-00000-of-00003.dss", "seq16/train-00001-of-00003.dss"},
        {"seq16/train-00000-of-00003.dss", "seq16/train-00000-of-00003.dss\\u0000"},
        {"seq16/train-00000-of-00003.dss", "seq16//train-00000-of-00003.dss"},
        {"\"samples\": 6, ", "\"samples\": 5, "},
        {"\"samples\": 6, ", ""},
        {"\"bytes\": 4584", "\"bytes\": 4592"},
        {"\"hash\": \"abcdef0000000000\"", "\"hash\": \"\""},
        {"\"hash\": \"abcdef0000000000\"", "\"hash\": 7"},
        {"\"documents\": 17", "\"documents\": 17, \"documents\": 17"},
        {"\"documents\": 17", "\"documents\": NaN"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        SCOPED(buf_release) struct buf text = changed_text(cases[i][0], cases[i][1]);
        struct manifest manifest;
        struct error err = {0};
        const int result = manifest_parse(&manifest, buf_str(&text), "m", &err);
        if (result == 0 || err.kind != ERR_VERIFY || !err.text[0])
            fail_msg("%s -> %s: %d %d %s", cases[i][0], cases[i][1], result, err.kind, err.text);
    }
}

/* A count may be as large as what it is a part of, or as JSON's integers get. */
TEST(the_largest_values_are_read)
{
    static const char *const cases[][2] = {
        {"\"characters\": 100", "\"characters\": 109"},
        {"\"sentences\": 4", "\"sentences\": 9223372036854775807"},
        {"\"holes\": 3", "\"holes\": 9223372036854775800"},
        {"\"leaks\": 8", "\"leaks\": 9223372036854775807"},
        {"\"repaired\": {\"documents\": 6", "\"repaired\": {\"documents\": 17"},
        {"\"encoding\": 5", "\"encoding\": 6"},
        {"\"text_version\": 1", "\"text_version\": 4294967295"},
        {"\"mask_millionths\": 150000", "\"mask_millionths\": 1000000"},
        {"\"mask\": 4", "\"mask\": 9"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(buf_release) struct buf text = changed_text(cases[i][0], cases[i][1]), again = {0};
        struct manifest manifest;
        if (manifest_parse(&manifest, buf_str(&text), "m", &tiny_err) < 0)
            fail_msg("%s: %s", cases[i][1], tiny_err.text);
        assert_ok(manifest_print(&manifest, &again, &tiny_err));
        assert_true(str_equal(buf_str(&text), buf_str(&again)));
        manifest_release(&manifest);
    }
}

/* Three shards for two samples: one would be empty. The lengths are refused regardless of the list of shards. */
TEST(an_empty_shard_is_refused)
{
    struct manifest manifest;
    SCOPED(buf_release)
    struct buf text = changed_text("\"samples\": 17, \"tokens\": 153", "\"samples\": 2, \"tokens\": 20");
    assert_fails(manifest_parse(&manifest, buf_str(&text), "m", &tiny_err), ERR_VERIFY);
    assert_non_null(strstr(tiny_err.text, "\"lengths\""));
}

/* The list of shards has one row more than the lengths have shards. */
TEST(a_shard_too_many_is_refused)
{
    SCOPED(buf_release) struct buf text = good_text(), longer = {0};
    struct manifest manifest;
    const char *end = strrchr(buf_text(&text), ']');
    assert_non_null(end);
    buf_add(&longer, text.data, (size_t)(end - text.data));
    buf_add_text(&longer, ", {}");
    buf_add_text(&longer, end);
    seal_text(&longer);
    assert_fails(manifest_parse(&manifest, buf_str(&longer), "m", &tiny_err), ERR_VERIFY);
    assert_non_null(strstr(tiny_err.text, "\"shards\""));
}

TEST(unknown_keys_are_ignored)
{
    SCOPED(buf_release)
    struct buf text = changed_text("\"documents\": 17", "\"documents\": 17, \"of a later text version\": [{}]");
    struct manifest manifest;
    assert_ok(manifest_parse(&manifest, buf_str(&text), "m", &tiny_err));
    manifest_release(&manifest);
}

TEST(an_older_one_has_no_repairs)
{
    SCOPED(buf_release)
    struct buf text = changed_text(
        "\"repaired\": {\"documents\": 6, \"reasons\": {\"encoding\": 5, \"id\": 3}},\n\"leaks\": 8,\n", "");
    struct manifest manifest;
    assert_ok(manifest_parse(&manifest, buf_str(&text), "m", &tiny_err));
    assert_int_equal(manifest.repaired_count + manifest.repaired_documents + manifest.leaks, 0);
    manifest_release(&manifest);
}

TEST(a_newer_version_says_update)
{
    struct manifest manifest;
    struct buf text = changed_text("\"format_version\": 1", "\"format_version\": 2");
    assert_fails(manifest_parse(&manifest, buf_str(&text), "m", &tiny_err), ERR_MISMATCH);
    assert_non_null(strstr(tiny_err.hint, "update"));
    buf_release(&text);
    assert_fails(manifest_parse(&manifest, STR("{\"format_version\": 7}"), "m", &tiny_err), ERR_MISMATCH);
}

TEST(garbage_is_refused)
{
    struct manifest manifest;
    SCOPED(buf_release) struct buf deep = {0};
    assert_fails(manifest_parse(&manifest, STR(""), "m", &tiny_err), ERR_VERIFY);
    assert_fails(manifest_parse(&manifest, STR("[]"), "m", &tiny_err), ERR_VERIFY);
    assert_fails(manifest_parse(&manifest, STR("{}"), "m", &tiny_err), ERR_VERIFY);
    assert_fails(manifest_parse(&manifest, STR("{\n\"root_hash\": \""), "m", &tiny_err), ERR_VERIFY);
    for (int i = 0; i < 100000; i++)
        buf_add_text(&deep, "{\"a\":");
    assert_fails(manifest_parse(&manifest, buf_str(&deep), "m", &tiny_err), ERR_VERIFY);
}

TEST(names_of_options_must_be_utf8)
{
    struct manifest manifest;
    SCOPED(buf_release) struct buf text = {0};
    tiny_manifest(&manifest);
    manifest_add_option(&manifest, "a", "\xff");
    assert_fails(manifest_print(&manifest, &text, &tiny_err), ERR_USAGE);
    manifest_release(&manifest);
}

TEST(places_that_hold_no_dataset)
{
    struct manifest manifest;
    char *directory = tiny_directory();
    assert_fails(manifest_read(&manifest, "tiny-is-not-there", &tiny_err), ERR_USAGE);
    assert_fails(manifest_read(&manifest, directory, &tiny_err), ERR_USAGE);
    assert_non_null(strstr(tiny_err.text, "not a dataset"));
    tiny_write(directory, JOURNAL_NAME, "x", 1);
    assert_fails(manifest_read(&manifest, directory, &tiny_err), ERR_USAGE);
    assert_non_null(strstr(tiny_err.hint, "run the same dsdata build command again"));
    tiny_dataset(directory);
    assert_ok(manifest_read(&manifest, directory, &tiny_err));
    assert_true(manifest.root_hash != 0);
    manifest_release(&manifest);
    tiny_remove(directory);
}
