/* A classifier's tensors have the same names for texts, tokens and choices, so that only `architectures` tells them
 * apart. */
#include "trainer/verbs/use.h"

#include <assert.h>
#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"
#include "trainer/keep/checkpoint.h"
#include "trainer/keep/foreign_names.h"
#include "trainer/model/config.h"
#include "trainer/model/head.h"

/* Heads that are not trained here, but are exported. The last row is for models without a head. */
static const struct head others[] = {
    {.class_end = "ForMultipleChoice", .prefix = "classifier.", .pipeline = "multiple-choice"},
    {.class_end = "Model",
     .pipeline = "feature-extraction",
     .trial = PIPELINE("feature-extraction", "(\"It was a good day.\", return_tensors=\"pt\").shape")},
};
#define ROWS (HEAD_KINDS + sizeof others / sizeof *others)

static const struct head *row(size_t i)
{
    return i < HEAD_KINDS ? head_kinds[i] : &others[i - HEAD_KINDS];
}

static bool has_head(const struct safetensors *file, const char *head)
{
    char name[FOREIGN_NAME_BYTES];
    for (size_t i = 0; i < file->count && head; i++) {
        foreign_name(NULL, file->tensors[i].name, name, sizeof name);
        if (str_starts(str_of(name), str_of(head)))
            return true;
    }
    return !head;
}

/* Counts the elements of float tensors (position_ids are integers), without copies of tied tensors that the file has
 * too, unless config.json unties them. */
static uint64_t count_parameters(const struct safetensors *file, const json_t *config)
{
    const bool is_untied = json_is_false(json_object_get(config, "tie_word_embeddings"));
    uint64_t count = 0;
    for (size_t i = 0; i < file->count; i++) {
        char name[FOREIGN_NAME_BYTES];
        foreign_name(NULL, file->tensors[i].name, name, sizeof name);
        const char *original = is_untied ? NULL : foreign_tied(name);
        if (tensor_type_floats(file->tensors[i].type) && !(original && has_head(file, original)))
            count += tensor_elements(&file->tensors[i]);
    }
    return count;
}

/* The first of `architectures`; the caller json_decref's *config, which owns it. NULL: it says none. */
static const char *architecture_in(const char *files, json_t **config)
{
    struct error ignored = {0};
    SCOPED(mem_free_at) char *path = config_locate(files);
    json_read_foreign(path, CONFIG_BYTES_MAX, ERR_UNSAFE, config, &ignored);
    return json_string_value(json_array_get(json_object_get(*config, "architectures"), 0));
}

/* The head of a class, which the file must have; NULL: there is none. `file` is NULL where it cannot be read. */
static const struct head *head_of_class(const char *class, const struct safetensors *file)
{
    const struct head *found = NULL;
    if (str_ends(str_of(class), STR("ForPreTraining")))
        class = head_kinds[HEAD_MASKED]->class_end; /* with both heads, a model is used as with this one */
    for (size_t i = 0; i < ROWS; i++)
        if (str_ends(str_of(class), str_of(row(i)->class_end))) {
            assert(!found || i < HEAD_KINDS); /* a head that is trained here now has a row in head_kinds only */
            found = found ? found : row(i);
        }
    const bool other = file && found && found->prefix_transformed && has_head(file, found->prefix_transformed);
    return found && (!file || other || has_head(file, found->prefix)) ? found : NULL;
}

/* The head that the file has, as far as names of tensors tell: the first that can be tried, else the first. */
static const struct head *head_in(const struct safetensors *file)
{
    const struct head *found = NULL;
    for (size_t i = 0; i < HEAD_KINDS; i++)
        if (row(i)->prefix_tells && has_head(file, row(i)->prefix) && (!found || (row(i)->trial && !found->trial)))
            found = row(i);
    return found;
}

struct use use_of(const char *files)
{
    struct safetensors file;
    struct error ignored = {0};
    json_auto_t *config = NULL;
    SCOPED(mem_free_at) char *path = safetensors_locate(files, WEIGHTS_NAME);
    const bool there = path && safetensors_open(&file, path, &ignored) == 0;
    const char *class = architecture_in(files, &config);
    const struct head *head = class ? head_of_class(class, there ? &file : NULL) : NULL;
    if (!head && there)
        head = head_in(&file);
    if (!head)
        head = row(ROWS - 1);
    struct use use = {head->pipeline, .trial = head->trial, .parameters = there ? count_parameters(&file, config) : 0};
    snprintf(use.class, sizeof use.class, "AutoModel%s", head->prefix ? head->class_end : "");
    if (there)
        safetensors_close(&file);
    return use;
}
