/* The part of an export by which sentence-transformers loads it: the list of modules, the settings of the first one,
 * and a folder for the pooling (sentence-transformers 2 to 6, SentenceTransformer.save). */

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "trainer/model/config.h"
#include "trainer/recipe/settings.h"
#include "trainer/verbs/export_files.h"

#define TOKENS_MOST 512

static bool is_sentences(const char *name)
{
    return strcmp(name, MODULES_NAME) == 0 || strcmp(name, SENTENCE_NAME) == 0 || strcmp(name, POOLING_NAME) == 0;
}

static json_t *module_json(int number, const char *path, const char *type)
{
    char name[12];
    snprintf(name, sizeof name, "%d", number);
    return json_pack("{s:i, s:s, s:s, s:s+}", "idx", number, "name", name, "path", path, "type",
                     "sentence_transformers.models.", type);
}

static json_t *modules_json(bool normalize)
{
    json_t *modules = json_array();
    json_array_append_new(modules, module_json(0, "", "Transformer"));
    json_array_append_new(modules, module_json(1, POOLING_NAME, "Pooling"));
    if (normalize)
        json_array_append_new(modules, module_json(2, "2_Normalize", "Normalize"));
    return modules;
}

/* Writes a value, which it releases. */
static int write_json(const char *folder, const char *name, json_t *value, struct error *err)
{
    char *path = path_join(folder, name);
    const int result = json_file_write(path, value, err);
    mem_free(path);
    json_decref(value);
    return result;
}

static int write_pooling(const char *to, int32_t hidden, int pooling, struct error *err)
{
    SCOPED(mem_free_at) char *folder = path_join(to, POOLING_NAME);
    TRY(path_make_directory(folder, err));
    return write_json(folder, CONFIG_NAME,
                      json_pack("{s:i, s:b, s:b, s:b, s:b}", "word_embedding_dimension", (int)hidden,
                                "pooling_mode_cls_token", pooling == POOLING_CLS, "pooling_mode_mean_tokens",
                                pooling == POOLING_MEAN, "pooling_mode_max_tokens", pooling == POOLING_MAX,
                                "pooling_mode_mean_sqrt_len_tokens", false),
                      err);
}

static int write_sentences(const struct export_job *job, const char *to, json_t *written, struct error *err)
{
    static const char *const names[] = {MODULES_NAME, SENTENCE_NAME, POOLING_NAME "/" CONFIG_NAME};
    struct model_config config;
    if (!job->settings->sentences)
        return 0;
    SCOPED(mem_free_at) char *path = config_locate(to);
    TRY(config_read(path, &config, err));
    TRY(write_json(to, MODULES_NAME, modules_json(job->settings->normalize), err));
    TRY(write_json(to, SENTENCE_NAME,
                   json_pack("{s:i, s:b}", "max_seq_length",
                             config.positions < TOKENS_MOST ? (int)config.positions : TOKENS_MOST, "do_lower_case",
                             false),
                   err));
    TRY(write_pooling(to, config.hidden, job->settings->pooling, err));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        json_array_append_new(written, json_string(names[i]));
    return 0;
}

const struct export_part export_part_sentences = {is_sentences, write_sentences};
