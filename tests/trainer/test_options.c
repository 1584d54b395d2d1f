/* What an option's row says about the identity of a run is true, and its name has room where processes compare it. */
#include "base/log.h"
#include "tests/option_values.h"
#include "tests/unit.h"
#include "trainer/options.h"
#include "trainer/recipe/recipe.h"

/* These reach the identity by the sizes of samples, the model's config.json and the hash of its weights, before there
 * is a recipe. */
static const char *const before_recipe[] = {"seq", "model", "init", "init-moments", "grow-vocab", "resume"};

/* Two values (NULL: without the option) where the type gives none, and what some options need beside them. */
static const struct trial {
    const char *option, *values[2], *beside;
} trials[] = {
    {"config", {SOURCE_DIR "/samples/configs/laptop.json", SOURCE_DIR "/samples/configs/fast-mini.json"}, NULL},
    {"recipe", {"fast", NULL}, NULL},
    {"set", {"optimizer.params.eps=1e-5", "optimizer.params.eps=1e-4"}, NULL},
    {"batch-warmup", {"5", "7"}, "--set=batch_warmup.from=8"},
    {"decay", {"0.25", "0.5"}, "--schedule=wsd"},
    {"mask-phases", {"0.3@0", "0.3@0,0.15@0.5"}, NULL},
    {"mask-split", {"80:10:10", "80:20:0"}, NULL},
    {"decay-shape", {"linear", "sqrt"}, "--schedule=wsd"},
    {"pld-compat", {NULL, NULL}, "--set=progressive_layer_drop.enabled=true"},
};

static struct opt_program program;

/* The identity of the run that three arguments (NULL: none) start on a dataset and a model that are always the same. */
static json_t *identity_of(const char *first, const char *second, const char *third)
{
    const char *argv[5] = {"dstrain", "train"}, *const arguments[3] = {first, second, third};
    int argc = 2;
    for (int i = 0; i < 3; i++)
        if (arguments[i])
            argv[argc++] = arguments[i];
    struct settings settings = {.program = &program};
    struct opt_result parsed;
    struct error err = {0};
    struct model_config config;
    struct recipe recipe;
    const struct material material = {.hash = 1, .seq = 128, .samples = 10000};
    if (opts_parse(&program, argc, (char **)(uintptr_t)argv, &settings, &parsed, &err) < 0)
        fail_msg("%s %s: %s", argv[2], argv[3], err.text);
    settings.result = &parsed;
    assert_int_equal(model_config_named("tiny", &config), 0);
    if (recipe_make(&settings, &material, &config, &(struct origin){.hash = "random"}, &recipe, &err) < 0)
        fail_msg("%s %s: %s", argv[2], argv[3], err.text);
    opts_release(&program, &settings, &parsed);
    return recipe_identity(&recipe);
}

/* Value 0 or 1 of an option that is not a flag; NULL: without the option. */
static const char *value_of(const struct opt_row *row, int i)
{
    static char values[2][40];
    for (size_t t = 0; t < sizeof trials / sizeof *trials; t++)
        if (strcmp(trials[t].option, row->name) == 0)
            return trials[t].values[i];
    return option_value(row, i, values[i]);
}

/* Whether the option changes the identity: two values, or a flag and none. */
static bool changes(const struct opt_row *row, const char *beside)
{
    json_t *identities[2];
    for (int i = 0; i < 2; i++) {
        char text[200] = "";
        const char *value = value_of(row, i);
        if (row->type == OPT_FLAG ? i == 0 : value != NULL)
            snprintf(text, sizeof text, row->type == OPT_FLAG ? "--%s" : "--%s=%s", row->name, value);
        identities[i] = identity_of(text[0] ? text : NULL, beside, NULL);
    }
    const bool differ = !json_equal(identities[0], identities[1]);
    json_decref(identities[0]);
    json_decref(identities[1]);
    return differ;
}

static bool listed(const char *const *names, size_t count, const char *name)
{
    size_t i = 0;
    while (i < count && strcmp(names[i], name) != 0)
        i++;
    return i < count;
}

static const char *beside_of(const struct opt_row *row)
{
    for (size_t t = 0; t < sizeof trials / sizeof *trials; t++)
        if (strcmp(trials[t].option, row->name) == 0)
            return trials[t].beside;
    return NULL;
}

TEST(the_identity_has_what_rows_say)
{
    const struct opt_verb train = {.name = "train"};
    size_t in = 0, out = 0;
    for (const struct opt_row *row = program.rows; row->name; row++) {
        if (!opt_row_is_for(row, &train) ||
            listed(before_recipe, sizeof before_recipe / sizeof *before_recipe, row->name))
            continue;
        if (changes(row, beside_of(row)) != (row->scope == SCOPE_IDENTITY))
            fail_msg("--%s %s", row->name,
                     row->scope == SCOPE_IDENTITY ? "is not in the identity, as its .scope says"
                                                  : "is in the identity: its .scope must be SCOPE_IDENTITY");
        if (row->scope == SCOPE_SAME_BITS && !changes(row, "--same-bits"))
            fail_msg("--%s is not in the identity with --same-bits, as its .scope says", row->name);
        in += row->scope == SCOPE_IDENTITY;
        out += row->scope != SCOPE_IDENTITY;
    }
    assert_true(in > 15 && out > 30);
}

/* The key of an option gives the run that the option gives, and is overridden by it. */
TEST(a_key_says_what_its_option_says)
{
    size_t count = 0;
    for (const struct opt_row *row = program.rows; row->name; row++) {
        char option[100], other[100], key[100];
        if (!row->key || !opt_row_is_for(row, &(struct opt_verb){.name = "train"}))
            continue;
        const char *beside = beside_of(row);
        snprintf(option, sizeof option, "--%s=%s", row->name, value_of(row, 1));
        snprintf(other, sizeof other, "--%s=%s", row->name, value_of(row, 0));
        snprintf(key, sizeof key, "--set=%s=%s", row->key, value_of(row, 1));
        json_t *by_option = identity_of(option, beside, NULL), *by_key = identity_of(key, beside, NULL);
        json_t *by_other = identity_of(other, beside, NULL), *by_both = identity_of(other, key, beside);
        if (!json_equal(by_option, by_key))
            fail_msg("%s and %s are different runs", key, option);
        if (!json_equal(by_other, by_both))
            fail_msg("%s does not override %s", other, key);
        json_decref(by_option);
        json_decref(by_key);
        json_decref(by_other);
        json_decref(by_both);
        count++;
    }
    assert_true(count > 4);
}

TEST(a_repeated_option_is_noted)
{
    struct settings settings;
    const char *wrong = option_not_noted(&program, "train", &settings, sizeof settings);
    if (wrong)
        fail_msg("--%s is not noted, or another option is", wrong);
}

TEST(names_are_short)
{
    for (const struct opt_row *row = program.rows; row->name; row++)
        assert_true(strlen(row->name) + 3 < 32); /* process_group.c */
}

int main(void)
{
    log_open("test", LOG_QUIET, false);
    program = options_program();
    return unit_run();
}
