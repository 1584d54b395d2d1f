/* Our names are today's names of transformers' BERT. Sources of the others, beside layouts: transformers'
 * modeling_bert.py (gamma and beta of converted TensorFlow files), DeepSpeed's and NVIDIA's BERT (dense_act), PyTorch
 * (the modules that wrap another: DataParallel, torch.compile, FSDP, checkpoint_wrapper). */
#include "trainer/keep/foreign_names.h"

#include <stdio.h>
#include <string.h>

#include "trainer/model/head.h"

/* Modules that wrap another one add their name wherever they wrap. `model` is also a common name of the wrapped one, so
 * it counts only as the first. */
static const struct {
    const char *name;
    bool first;
} wrappers[] = {
    {"module.", false}, {"_orig_mod.", false}, {"_fsdp_wrapped_module.", false}, {"_checkpoint_wrapped_module.", false},
    {"model.", true},
};

/* Translates a name of a layout, of `own` before the others. */
static struct foreign of_layout(const struct layout *own, const char *name, char *out, size_t out_size)
{
    int32_t parts = own ? layout_ours(own, name, out, out_size) : 0;
    if (parts > 0)
        return (struct foreign){own, parts};
    for (const struct layout *const *layout = layouts; *layout; layout++)
        if ((parts = layout_ours(*layout, name, out, out_size)) > 0)
            return (struct foreign){*layout, parts};
    return (struct foreign){NULL, 1};
}

/* The first wrapper's name in `name`, with its size; NULL: none. With `model` names of a layout may begin too. */
static char *find_wrapper(const struct layout *own, char *name, size_t *size)
{
    char ours[FOREIGN_NAME_BYTES];
    for (char *at = name; at; at = strchr(at, '.') ? strchr(at, '.') + 1 : NULL)
        for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
            *size = strlen(wrappers[i].name);
            if (strncmp(at, wrappers[i].name, *size) == 0 &&
                (!wrappers[i].first || (at == name && !of_layout(own, name, ours, sizeof ours).layout)))
                return at;
        }
    return NULL;
}

struct foreign foreign_name(const struct layout *own, const char *name, char *out, size_t out_size)
{
    char bare[FOREIGN_NAME_BYTES];
    size_t size;
    snprintf(bare, sizeof bare, "%s", strlen(name) < sizeof bare ? name : ""); /* a longer one is none of ours */
    for (char *at; (at = find_wrapper(own, bare, &size));)
        memmove(at, at + size, strlen(at + size) + 1);
    name_replace(bare, sizeof bare, "LayerNorm.gamma", "LayerNorm.weight", true);
    name_replace(bare, sizeof bare, "LayerNorm.beta", "LayerNorm.bias", true);
    name_replace(bare, sizeof bare, ".dense_act.", ".dense.", false);
    const struct foreign foreign = of_layout(own, bare, out, out_size);
    if (!foreign.layout) {
        const bool body = strncmp(bare, "embeddings.", 11) == 0 || strncmp(bare, "encoder.", 8) == 0 ||
                          strncmp(bare, "pooler.", 7) == 0;
        snprintf(out, out_size, "%s%s", body ? "bert." : "", bare);
    }
    return foreign;
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
