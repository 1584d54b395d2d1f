/* What an option's row says about the identity of a dataset is true. */
#include "pipeline/build/dataset_recipe.h"
#include "pipeline/clean/filter.h"
#include "pipeline/dsdata_options.h"
#include "tests/option_values.h"
#include "tests/unit.h"

/* build.c adds these to the recipe when it has seen the inputs. */
static const char *const by_inputs[] = {"lang", "encoding", "text-form", "exclude"};

/* Two values where those of the type are of no use, and what an option needs beside it. */
static const struct trial {
    const char *option, *values[2], *beside;
} trials[] = {
    {"accents", {"strip", "keep"}, NULL},
    {"max-predictions", {"5", "6"}, "--seq=128"},
    {"pack", {NULL, NULL}, "--pairs=none"},
    {"only-lang", {"de", "fi,de"}, NULL},
    {"filter", {"gopher", "gopher,bullets=0.8"}, NULL},
};

static struct opt_program program;

static json_t *identity_of(const char *argument, const char *beside)
{
    const char *argv[4] = {"dsdata", "build"};
    int argc = 2;
    if (argument)
        argv[argc++] = argument;
    if (beside)
        argv[argc++] = beside;
    struct dsdata_settings settings = {.program = &program};
    struct opt_result parsed;
    struct error err = {0};
    struct dataset_recipe recipe;
    struct filters *filters = NULL;
    if (opts_parse(&program, argc, (char **)(uintptr_t)argv, &settings, &parsed, &err) < 0 ||
        dataset_recipe_make(&settings, true, &recipe, &err) < 0 || filters_open(&filters, &settings, &err) < 0)
        fail_msg("%s %s: %s", argv[2], argv[3], err.text);
    recipe.filters = filters;
    json_t *identity = dataset_recipe_json(&recipe);
    filters_close(filters);
    opts_release(&program, &settings, &parsed);
    return identity;
}

static bool changes(const struct opt_row *row)
{
    const struct trial *trial = NULL;
    json_t *identities[2];
    for (size_t t = 0; t < sizeof trials / sizeof *trials; t++)
        if (strcmp(trials[t].option, row->name) == 0)
            trial = &trials[t];
    for (int i = 0; i < 2; i++) {
        char value[40], text[200];
        if (row->type == OPT_FLAG)
            snprintf(text, sizeof text, "--%s", row->name);
        else
            snprintf(text, sizeof text, "--%s=%s", row->name,
                     trial && trial->values[i] ? trial->values[i] : option_value(row, i, value));
        identities[i] = identity_of(row->type == OPT_FLAG && i == 1 ? NULL : text, trial ? trial->beside : NULL);
    }
    const bool differ = !json_equal(identities[0], identities[1]);
    json_decref(identities[0]);
    json_decref(identities[1]);
    return differ;
}

TEST(the_identity_has_what_rows_say)
{
    size_t in = 0, out = 0;
    for (const struct opt_row *row = program.rows; row->name; row++) {
        bool later = !opt_row_is_for(row, &(struct opt_verb){.name = "build"});
        for (size_t i = 0; i < sizeof by_inputs / sizeof *by_inputs; i++)
            later |= strcmp(by_inputs[i], row->name) == 0;
        if (later)
            continue;
        if (changes(row) != (row->scope == SCOPE_IDENTITY))
            fail_msg("--%s %s", row->name,
                     row->scope == SCOPE_IDENTITY ? "is not in the identity, as its .scope says"
                                                  : "is in the identity: its .scope must be SCOPE_IDENTITY");
        in += row->scope == SCOPE_IDENTITY;
        out += row->scope != SCOPE_IDENTITY;
    }
    assert_true(in > 25 && out > 10);
}

TEST(a_repeated_option_is_noted)
{
    struct dsdata_settings settings;
    const char *wrong = option_not_noted(&program, "build", &settings, sizeof settings);
    if (wrong)
        fail_msg("--%s is not noted, or another option is", wrong);
}

int main(void)
{
    program = dsdata_program();
    return unit_run();
}
