/* In: a tensor's name in somebody's file. Out: its name in our table, which holds today's names of transformers.
 * Sources: transformers modeling_bert.py (gamma/beta of converted TensorFlow files), DeepSpeed's and NVIDIA's BERT
 * (dense_act), PyTorch (the modules that wrap another: DataParallel, torch.compile, FSDP, checkpoint_wrapper). */
#include "trainer/keep/foreign_names.h"

#include <stdio.h>
#include <string.h>

#include "trainer/model/head.h"

/* Replaces `from` by `to`: at the end of the text if `ends`, else at its first occurrence. */
static void replace(char *name, size_t size, const char *from, const char *to, bool ends)
{
    char *at = strstr(name, from);
    while (at && ends && at[strlen(from)] != '\0')
        at = strstr(at + 1, from);
    if (!at)
        return;
    char rest[256];
    snprintf(rest, sizeof rest, "%s", at + strlen(from));
    snprintf(at, size - (size_t)(at - name), "%s%s", to, rest);
}

/* transformers' RobertaPreLayerNorm is our pre-LN model under other names. The rows are applied in order, in either
 * direction. */
static const struct {
    const char *ours, *theirs;
} roberta[] = {
    {"bert.encoder.FinalLayerNorm", ROBERTA_PREFIX "LayerNorm"},
    {"PreAttentionLayerNorm", "attention.LayerNorm"},
    {"PostAttentionLayerNorm", "intermediate.LayerNorm"},
    {"cls.predictions.transform.dense", "lm_head.dense"},
    {"cls.predictions.transform.LayerNorm", "lm_head.layer_norm"},
    {"cls.predictions.decoder", "lm_head.decoder"},
    {"cls.predictions.bias", "lm_head.bias"},
    {"bert.pooler.dense", "classifier.dense"}, /* in its classification head */
    {"classifier.weight", "classifier.out_proj.weight"},
    {"classifier.bias", "classifier.out_proj.bias"},
    {"bert.", ROBERTA_PREFIX},
};

void foreign_roberta(const char *name, char *out, size_t size)
{
    snprintf(out, size, "%s", name);
    for (size_t i = 0; i < sizeof roberta / sizeof *roberta; i++)
        replace(out, size, roberta[i].ours, roberta[i].theirs, false);
}

static bool is_roberta(const char *name)
{
    static const char *const starts[] = {ROBERTA_PREFIX, "lm_head.", "classifier.dense.", "classifier.out_proj."};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

/* Modules that wrap another one add their name wherever they wrap. `model` is also a common name of the wrapped one, so
 * it counts only as the first. */
static const struct {
    const char *name;
    bool first;
} wrappers[] = {
    {"module.", false}, {"_orig_mod.", false}, {"_fsdp_wrapped_module.", false}, {"_checkpoint_wrapped_module.", false},
    {"model.", true},
};

/* The first wrapper's name in `name`, with its size; NULL: none. */
static char *find_wrapper(char *name, size_t *size)
{
    for (char *at = name; at; at = strchr(at, '.') ? strchr(at, '.') + 1 : NULL)
        for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
            *size = strlen(wrappers[i].name);
            if (strncmp(at, wrappers[i].name, *size) == 0 && (at == name || !wrappers[i].first))
                return at;
        }
    return NULL;
}

/* Copies the name without its wrappers; a longer one than any of ours becomes empty. */
static void unwrap(const char *name, char *out, size_t out_size)
{
    size_t size;
    snprintf(out, out_size, "%s", strlen(name) < out_size ? name : "");
    for (char *at; (at = find_wrapper(out, &size));)
        memmove(at, at + size, strlen(at + size) + 1);
}

bool foreign_name(const char *name, char *out, size_t out_size)
{
    char bare[FOREIGN_NAME_BYTES];
    unwrap(name, bare, sizeof bare);
    const bool body =
        strncmp(bare, "embeddings.", 11) == 0 || strncmp(bare, "encoder.", 8) == 0 || strncmp(bare, "pooler.", 7) == 0;
    snprintf(out, out_size, "%s%s", body ? "bert." : "", bare);
    replace(out, out_size, "LayerNorm.gamma", "LayerNorm.weight", true);
    replace(out, out_size, "LayerNorm.beta", "LayerNorm.bias", true);
    replace(out, out_size, ".dense_act.", ".dense.", false);
    const bool theirs = is_roberta(bare);
    for (size_t i = 0; i < sizeof roberta / sizeof *roberta && theirs; i++)
        replace(out, out_size, roberta[i].theirs, roberta[i].ours, false);
    return theirs;
}

const char *foreign_tied(const char *name)
{
    if (strcmp(name, "cls.predictions.decoder.weight") == 0)
        return "bert.embeddings.word_embeddings.weight";
    if (strcmp(name, "cls.predictions.decoder.bias") == 0)
        return "cls.predictions.bias";
    return NULL;
}

bool foreign_is_task_head(const char *name)
{
    for (enum head_kind h = 0; h < HEAD_KINDS; h++)
        if (head_kinds[h]->tuned && strncmp(name, head_kinds[h]->prefix, strlen(head_kinds[h]->prefix)) == 0)
            return true;
    return false;
}

bool foreign_is_head(const char *name)
{
    return strncmp(name, "cls.", 4) == 0 || strncmp(name, "bert.pooler.", 12) == 0 || foreign_is_task_head(name);
}
