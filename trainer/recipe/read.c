/* Reads --config, --recipe and --set into one JSON object, and looks up its keys. */
#include "trainer/recipe/keys.h"

#include "base/log.h"
#include "trainer/model/config.h"
#include "base/json.h"

#define DEPTH_MAX 6 /* nested objects */

/* clang-format off */
static const struct named_recipe recipes[] = {
#include <recipes.inc> /* cmake/recipes.cmake makes it of the files */
};
/* clang-format on */

const struct named_recipe *recipe_at(size_t i)
{
    return i < sizeof recipes / sizeof *recipes ? &recipes[i] : NULL;
}

const struct named_recipe *recipe_of(const struct settings *settings)
{
    return settings->recipe > 0 ? recipe_at((size_t)settings->recipe - 1) : NULL;
}

/* `depth`: the objects around `value`. */
static int too_deep(const char *path, const json_t *value, int depth, struct error *err)
{
    const char *key;
    json_t *below;
    if (json_is_object(value) && depth == DEPTH_MAX)
        return fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "is nested deeper than %d objects", DEPTH_MAX);
    json_object_foreach((json_t *)value, key, below) TRY(too_deep(path, below, depth + 1, err));
    return 0;
}

/* "auto" is the same as an absent key, except for freeze_step, where it is a value. */
static void drop_auto(json_t *object)
{
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(object, next, key, value)
    {
        if (json_is_string(value) && strcmp(json_string_value(value), "auto") == 0 && strcmp(key, "freeze_step") != 0)
            json_object_del(object, key);
        else if (json_is_object(value))
            drop_auto(value);
    }
}

/* Gives DeepSpeed's values with the same meaning one form. */
static void unify(json_t *values)
{
    drop_auto(values);
    if (json_is_true(json_object_get(values, "zero_optimization")))
        json_object_set_new(values, "zero_optimization", json_pack("{s:i}", "stage", 1));
    if (json_is_null(json_object_get(values, "communication_data_type"))) /* its default */
        json_object_del(values, "communication_data_type");
}

/* Sets the value at a path in `object` and takes ownership of it; anything on the path that is not an object is
 * replaced by one. */
static void put(json_t *object, struct str path, json_t *value)
{
    for (const char *dot; (dot = memchr(path.data, '.', path.size));) {
        const struct str part = str_range(path.data, dot);
        json_t *below = json_object_getn(object, part.data, part.size);
        if (!json_is_object(below)) {
            below = json_object();
            json_object_setn_new(object, part.data, part.size, below);
        }
        object = below;
        path = str_range(dot + 1, path.data + path.size);
    }
    json_object_setn_new(object, path.data, path.size, value);
}

static int set_one(struct keys *keys, const char *text, struct error *err)
{
    const char *equals = strchr(text, '=');
    const size_t size = equals ? (size_t)(equals - text) : 0;
    size_t dots = 0;
    for (size_t i = 0; i < size; i++)
        dots += text[i] == '.';
    if (size == 0 || size > 200 || dots >= DEPTH_MAX)
        return fail(err, ERR_USAGE, "--set %.100s: not key.path=value", text);
    json_t *value = json_loads(equals + 1, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    if (!value && equals[1] != '[' && equals[1] != '{' && equals[1] != '"')
        value = json_string(equals + 1); /* optimizer.type=Lamb needs no quotes */
    if (!value)
        return fail(err, ERR_USAGE, "--set %.*s: %.100s is not a JSON value", (int)size, text, equals + 1);
    put(keys->set, str_range(text, equals), json_incref(value));
    put(keys->values, str_range(text, equals), value);
    return 0;
}

int keys_read(struct keys *keys, const struct settings *settings, struct error *err)
{
    *keys = (struct keys){.file = settings->config, .set = json_object(), .settings = *settings};
    const struct named_recipe *recipe = recipe_of(settings);
    if (recipe) {
        if (keys->file)
            return fail(err, ERR_USAGE, "--recipe and --config both say how to train: give one of them");
        keys->file = "--recipe";
        keys->values = json_loads(recipe->json, JSON_REJECT_DUPLICATES, NULL);
        if (*recipe->model && !settings->init && (!settings->model || strcmp(settings->model, recipe->model) != 0))
            log_say("note       recipe %s is for model %s, not this one", recipe->name, recipe->model);
    } else if (keys->file) {
        TRY(json_read(keys->file, CONFIG_BYTES_MAX, ERR_USAGE, &keys->values, err));
        TRY(too_deep(keys->file, keys->values, 0, err));
    } else {
        keys->values = json_object();
    }
    for (size_t i = 0; i < settings->set.count; i++)
        TRY(set_one(keys, settings->set.items[i], err));
    TRY(too_deep("--set", keys->set, 0, err));
    unify(keys->values);
    return keys_take(keys, err);
}

void keys_release(struct keys *keys)
{
    json_decref(keys->values);
    json_decref(keys->set);
    buf_release(&keys->notes);
    *keys = (struct keys){0};
}

const json_t *keys_get(const json_t *object, const char *path)
{
    for (const char *dot; object && (dot = strchr(path, '.')); path = dot + 1)
        object = json_object_getn(object, path, (size_t)(dot - path));
    return object ? json_object_get(object, path) : NULL;
}

int keys_complain(const struct keys *keys, const char *path, const char *text, struct error *err)
{
    if (keys_get(keys->set, path) || !keys->file)
        return fail(err, ERR_USAGE, "--set %.200s: %s", path, text);
    return fail_at(err, ERR_USAGE, keys->file, ERROR_NO_OFFSET, "%.200s: %s", path, text);
}

bool keys_told(const struct keys *keys, const char *option)
{
    const struct opt_row *row = keys->settings.program->rows;
    while (row->name && !(row->key && strcmp(row->name, option) == 0))
        row++;
    assert(row->name);
    return settings_given(&keys->settings, option) || keys_get(keys->values, row->key);
}
