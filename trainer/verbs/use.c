/* In: config.json and the names of tensors. Out: a row of the table of classes. A classifier's tensors have the same
 * names for texts, tokens and choices, so that only `architectures` tells them apart. */
#include "trainer/verbs/use.h"

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "trainer/keep/checkpoint.h"
#include "trainer/keep/foreign_names.h"
#include "trainer/keep/safetensors.h"
#include "trainer/model/config.h"

#define PIPELINE(task, words)                                                                                          \
    "import sys; from transformers import pipeline; print(pipeline(\"" task "\", sys.argv[1])" words ")"

/* transformers 5 has no pipeline for questions. */
#define ANSWER                                                                                                         \
    "import sys; from transformers import AutoModelForQuestionAnswering as M, AutoTokenizer as T; "                    \
    "t = T.from_pretrained(sys.argv[1]); x = t(\"Where is Paris?\", \"Paris is in France.\", return_tensors=\"pt\"); " \
    "y = M.from_pretrained(sys.argv[1])(**x); b = y.start_logits[0].argmax(); e = y.end_logits[0][b:].argmax() + b; "  \
    "print(t.decode(x[\"input_ids\"][0][b:e + 1]))"

static const struct row {
    const char *ends;  /* of the name of the architecture, after the model's kind */
    const char *head;  /* how names of the head's tensors begin; NULL: it has none */
    bool by_head_only; /* the head alone tells that it is this one */
    struct use use;
} rows[] = {
    {"ForPreTraining",
     "cls.predictions.transform.",
     true,
     {"fill-mask", "AutoModelForMaskedLM", PIPELINE("fill-mask", "(sys.argv[2])"), 0}},
    {"ForMaskedLM",
     "cls.predictions.transform.",
     true,
     {"fill-mask", "AutoModelForMaskedLM", PIPELINE("fill-mask", "(sys.argv[2])"), 0}},
    {"ForQuestionAnswering", "qa_outputs.", true, {"question-answering", "AutoModelForQuestionAnswering", ANSWER, 0}},
    {"ForNextSentencePrediction", "cls.seq_relationship.", true, {NULL, "AutoModelForNextSentencePrediction", NULL, 0}},
    {"ForSequenceClassification",
     "classifier.",
     false,
     {"text-classification", "AutoModelForSequenceClassification",
      PIPELINE("text-classification", "(\"It was a good day.\")"), 0}},
    {"ForTokenClassification",
     "classifier.",
     false,
     {"token-classification", "AutoModelForTokenClassification",
      PIPELINE("token-classification", "(\"Paris is in France.\")"), 0}},
    {"ForMultipleChoice", "classifier.", false, {"multiple-choice", "AutoModelForMultipleChoice", NULL, 0}},
    {"Model",
     NULL,
     true,
     {"feature-extraction", "AutoModel",
      PIPELINE("feature-extraction", "(\"It was a good day.\", return_tensors=\"pt\").shape"), 0}}, /* last */
};
#define ROWS (sizeof rows / sizeof *rows)

static bool has_head(const struct safetensors *file, const char *head)
{
    char name[FOREIGN_NAME_BYTES];
    for (size_t i = 0; i < file->count && head; i++) {
        foreign_name(file->tensors[i].name, name, sizeof name);
        if (str_starts(str_of(name), str_of(head)))
            return true;
    }
    return !head;
}

/* Numbers in tensors that are parameters: no positions' numbers, and no copy of a tensor that is there too. */
static uint64_t count_parameters(const struct safetensors *file)
{
    uint64_t count = 0;
    for (size_t i = 0; i < file->count; i++) {
        char name[FOREIGN_NAME_BYTES];
        foreign_name(file->tensors[i].name, name, sizeof name);
        const char *original = foreign_tied(name);
        if (tensor_type_floats(file->tensors[i].type) && !(original && has_head(file, original)))
            count += tensor_elements(&file->tensors[i]);
    }
    return count;
}

/* The first of `architectures`; the caller json_decref's *config, which owns it. NULL: it says none. */
static const char *architecture_in(const char *files, json_t **config)
{
    struct error ignored = {0};
    char *path = config_locate(files);
    json_read_foreign(path, CONFIG_BYTES_MAX, ERR_UNSAFE, config, &ignored);
    mem_free(path);
    return json_string_value(json_array_get(json_object_get(*config, "architectures"), 0));
}

/* `file` is NULL where it cannot be read: then the architecture alone decides. */
static const struct row *row_of(const char *architecture, const struct safetensors *file)
{
    for (size_t i = 0; i < ROWS && architecture; i++)
        if (str_ends(str_of(architecture), str_of(rows[i].ends)) && (!file || has_head(file, rows[i].head)))
            return &rows[i];
    for (size_t i = 0; i < ROWS && file; i++)
        if (rows[i].by_head_only && has_head(file, rows[i].head))
            return &rows[i];
    return &rows[ROWS - 1];
}

struct use use_of(const char *files)
{
    struct safetensors file;
    struct error ignored = {0};
    json_t *config = NULL;
    char *path = safetensors_locate(files, WEIGHTS_NAME);
    const bool there = path && safetensors_open(&file, path, &ignored) == 0;
    struct use use = row_of(architecture_in(files, &config), there ? &file : NULL)->use;
    use.parameters = there ? count_parameters(&file) : 0;
    if (there)
        safetensors_close(&file);
    mem_free(path);
    json_decref(config);
    return use;
}
