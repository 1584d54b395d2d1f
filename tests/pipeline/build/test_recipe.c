/* recipe.c: checks beyond the option table, and defaults that depend on other options. */
#include "base/random.h"
#include "pipeline/build/dataset_recipe.h"
#include "tests/unit.h"

static struct dsdata_settings plain(void)
{
    return (struct dsdata_settings){.seq = {{128, 512}, 2},
                                    .mask_prob = 150000,
                                    .short_seq_prob = 100000,
                                    .valid = 5000,
                                    .copies = 1,
                                    .seed = 12345,
                                    .shard_bytes = 1u << 28,
                                    .vocab_size = 30522};
}

TEST(predictions_follow_length_and_probability)
{
    struct dsdata_settings settings = plain();
    struct dataset_recipe recipe;
    struct error err = {0};
    assert_int_equal(dataset_recipe_make(&settings, true, &recipe, &err), 0);
    assert_int_equal(recipe.predictions[0], 20); /* 19.2, rounded up to a multiple of 4 */
    assert_int_equal(recipe.predictions[1], 80); /* 76.8 */
    settings.mask_prob = 0;
    assert_int_equal(dataset_recipe_make(&settings, true, &recipe, &err), 0);
    assert_int_equal(recipe.predictions[0], 4); /* at least one piece is masked */
    settings.mask_prob = MILLION;
    assert_int_equal(dataset_recipe_make(&settings, true, &recipe, &err), 0);
    assert_int_equal(recipe.predictions[1], 512);
    settings.max_predictions = (struct opt_numbers){{5, 6}, 2};
    assert_int_equal(dataset_recipe_make(&settings, true, &recipe, &err), 0);
    assert_int_equal(recipe.predictions[1], 6);
}

static void refuse(struct dsdata_settings settings, const char *words)
{
    struct dataset_recipe recipe;
    struct error err = {0};
    assert_true(dataset_recipe_make(&settings, true, &recipe, &err) < 0);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_non_null(strstr(err.text, words));
}

TEST(wrong_lists_are_refused)
{
    struct dsdata_settings settings = plain();
    settings.max_predictions = (struct opt_numbers){{20}, 1};
    refuse(settings, "one for each length");
    settings.max_predictions = (struct opt_numbers){{20, 513}, 2};
    refuse(settings, "more than the sequence length");
    settings = plain();
    settings.seq = (struct opt_numbers){{512, 128}, 2};
    refuse(settings, "must rise");
    settings.seq = (struct opt_numbers){{128, 128}, 2};
    refuse(settings, "must rise");
    settings.seq.count = 0;
    refuse(settings, "at least one length");
    settings = plain();
    settings.pack = true;
    refuse(settings, "--pairs none");
}

static bool strips(bool cased, int accents, bool learned, bool english)
{
    struct dsdata_settings settings = plain();
    struct dataset_recipe recipe;
    settings.cased = cased;
    settings.accents = accents;
    settings.vocab = learned ? NULL : "vocab.txt";
    dataset_recipe_make_words(&settings, english, &recipe);
    return recipe.strip_accents;
}

TEST(accents_by_case_vocabulary_and_language)
{
    assert_true(strips(false, ACCENTS_AUTO, false, true));
    assert_true(strips(false, ACCENTS_AUTO, false, false)); /* with a given vocabulary, BERT's rule holds */
    assert_true(strips(false, ACCENTS_AUTO, true, true));
    assert_false(strips(false, ACCENTS_AUTO, true, false)); /* learned for another language */
    assert_false(strips(true, ACCENTS_AUTO, false, true));
    assert_true(strips(true, ACCENTS_STRIP, false, true));
    assert_false(strips(false, ACCENTS_KEEP, false, true));
}

TEST(the_object_names_what_changes_a_byte)
{
    struct dsdata_settings settings = plain();
    struct dataset_recipe recipe;
    struct error err = {0};
    settings.seed = UINT64_MAX; /* more than JSON's integers hold */
    dataset_recipe_make(&settings, true, &recipe, &err);
    json_auto_t *first = dataset_recipe_json(&recipe);
    assert_string_equal(json_string_value(json_object_get(first, "seed")), "18446744073709551615");
    settings.threads = 7;
    settings.memory = 1;
    settings.out = "elsewhere";
    dataset_recipe_make(&settings, true, &recipe, &err);
    json_auto_t *second = dataset_recipe_json(&recipe);
    assert_true(json_equal(first, second));
    settings.keep = 1;
    dataset_recipe_make(&settings, true, &recipe, &err);
    json_auto_t *third = dataset_recipe_json(&recipe);
    assert_false(json_equal(first, third));
    strcpy(recipe.templates, "0123456789abcdef");
    json_auto_t *fourth = dataset_recipe_json(&recipe);
    assert_false(json_equal(third, fourth));
}

TEST(the_profile_is_named_where_it_is_not_hf)
{
    struct dsdata_settings settings = plain();
    struct dataset_recipe recipe;
    struct error err = {0};
    for (int profile = PROFILE_HF; profile <= PROFILE_GOOGLE; profile++) {
        settings.profile = profile;
        dataset_recipe_make(&settings, true, &recipe, &err);
        json_auto_t *object = dataset_recipe_json(&recipe);
        const char *name = json_string_value(json_object_get(object, "profile"));
        assert_true(profile == PROFILE_HF ? !name : name && strcmp(name, "google") == 0);
    }
}

/* Only options that differ from the default are in the manifest, so that datasets made before these options existed
 * keep their bytes. */
TEST(pairs_and_masks_are_named_where_they_differ)
{
    struct dsdata_settings settings = plain();
    struct dataset_recipe recipe;
    struct error err = {0};
    assert_int_equal(dataset_recipe_make(&settings, true, &recipe, &err), 0);
    json_t *object = dataset_recipe_json(&recipe);
    assert_null(json_object_get(object, "pairs"));
    assert_null(json_object_get(object, "pack"));
    assert_null(json_object_get(object, "masking"));
    json_decref(object);
    settings.pairs = PAIRS_NONE;
    settings.pack = true;
    settings.masking = MASKS_WHOLE_WORD;
    settings.copies = 5;
    assert_int_equal(dataset_recipe_make(&settings, true, &recipe, &err), 0);
    object = dataset_recipe_json(&recipe);
    assert_string_equal(json_string_value(json_object_get(object, "pairs")), "none");
    assert_true(json_is_true(json_object_get(object, "pack")));
    assert_string_equal(json_string_value(json_object_get(object, "masking")), "whole-word");
    assert_int_equal(json_integer_value(json_object_get(object, "copies")), 5);
    json_decref(object);
}
