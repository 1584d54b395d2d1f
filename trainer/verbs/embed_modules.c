#include "trainer/verbs/embed_modules.h"

#include <stdio.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "trainer/model/config.h"
#include "trainer/recipe/settings.h"

static const char *const pooling_names[] = {[POOLING_MEAN] = "mean", [POOLING_CLS] = "cls", [POOLING_MAX] = "max"};
enum { POOLINGS = sizeof pooling_names / sizeof *pooling_names };

static void list(char *names, size_t room, const char *name)
{
    const size_t used = strlen(names);
    snprintf(names + used, room - used, "%s%s", used > 0 ? ", " : "", name);
}

static void take_pooling(struct embed_modules *s, const char *name)
{
    for (int i = 0; i < POOLINGS; i++)
        if (strcmp(name, pooling_names[i]) == 0)
            s->pooling = i;
    list(s->poolings, sizeof s->poolings, name);
}

static bool is_ours(const struct embed_modules *s)
{
    return s->poolings[0] == '\0' || strcmp(s->poolings, pooling_names[s->pooling]) == 0;
}

/* "pooling_mode": a name or several, whose vectors are joined; in older files a boolean for each,
 * "pooling_mode_mean_tokens" among them. Without either it is the mean. */
static int read_pooling(const char *path, struct embed_modules *s, struct error *err)
{
    static const char before[] = "pooling_mode_";
    const char *key;
    char name[64];
    json_t *config, *value, *one;
    size_t i;
    TRY(json_read_foreign(path, CONFIG_BYTES_MAX, ERR_UNSAFE, &config, err));
    json_t *modes = json_object_get(config, "pooling_mode");
    s->pooling = POOLING_MEAN;
    if (json_is_string(modes))
        take_pooling(s, json_string_value(modes));
    json_array_foreach(modes, i, one) if (json_is_string(one)) take_pooling(s, json_string_value(one));
    json_object_foreach(config, key, value)
    {
        if (modes || !json_is_true(value) || strncmp(key, before, sizeof before - 1) != 0)
            continue;
        snprintf(name, sizeof name, "%s", key + sizeof before - 1);
        char *end = strstr(name, "_token");
        if (end && (strcmp(end, "_tokens") == 0 || strcmp(end, "_token") == 0))
            *end = '\0';
        take_pooling(s, name);
    }
    json_decref(config);
    if (is_ours(s))
        s->poolings[0] = '\0';
    return 0;
}

static int read_length(const char *path, struct embed_modules *s, struct error *err)
{
    json_t *config;
    TRY(json_read_foreign(path, CONFIG_BYTES_MAX, ERR_UNSAFE, &config, err));
    const json_int_t length = json_integer_value(json_object_get(config, "max_seq_length"));
    s->length = length > 0 ? (uint64_t)length : 0;
    s->lower = json_is_true(json_object_get(config, "do_lower_case"));
    json_decref(config);
    return 0;
}

/* Reads a file of the directory if it is there. */
static int read_beside(const char *directory, const char *name,
                       int (*read)(const char *path, struct embed_modules *s, struct error *err),
                       struct embed_modules *s, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    return path_exists(path) ? read(path, s, err) : 0;
}

static int take_module(const char *directory, const json_t *module, struct embed_modules *s, struct error *err)
{
    const char *path = json_string_value(json_object_get(module, "path"));
    const char *type = json_string_value(json_object_get(module, "type"));
    const char *point = type ? strrchr(type, '.') : NULL, *name = point ? point + 1 : type;
    if (!name)
        return fail(err, ERR_UNSAFE, "a module has no \"type\"");
    if (strcmp(name, "Transformer") == 0)
        return read_beside(directory, SENTENCE_NAME, read_length, s, err);
    if (strcmp(name, "Normalize") == 0) {
        s->normalize = true;
        return 0;
    }
    if (strcmp(name, "Pooling") != 0) {
        list(s->others, sizeof s->others, name);
        return 0;
    }
    SCOPED(mem_free_at) char *folder = path_join(directory, path ? path : POOLING_NAME);
    return read_beside(folder, CONFIG_NAME, read_pooling, s, err);
}

static int take_modules(const char *directory, const char *path, struct embed_modules *s, struct error *err)
{
    SCOPED(buf_release) struct buf text = {0};
    json_error_t why;
    json_t *module;
    size_t i;
    TRY(file_read_all(path, CONFIG_BYTES_MAX, &text, err));
    json_auto_t *modules = json_parse(str_without_mark(buf_str(&text)), CONFIG_BYTES_MAX, &why);
    if (!json_is_array(modules))
        return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "is not a list of modules: %.200s",
                       modules ? "it is a JSON object" : why.text);
    s->found = true;
    json_array_foreach(modules, i, module) TRY(take_module(directory, module, s, err));
    return 0;
}

int embed_modules_read(const char *directory, struct embed_modules *out, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(directory, MODULES_NAME);
    *out = (struct embed_modules){.pooling = POOLING_MEAN};
    return path_exists(path) ? take_modules(directory, path, out, err) : 0;
}
