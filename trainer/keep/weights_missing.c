#include "trainer/keep/weights_missing.h"

#include "base/mem.h"
#include "base/output.h"
#include "trainer/keep/checkpoint.h"

int weights_hint_conversion(const char *source, const char *out, struct error *err)
{
#ifdef DS_STATIC /* the wheel and the archive have it beside the programs */
    return hint_command(err, "convert it once: to_safetensors.py %s %s.safetensors", source, out);
#else
    return hint_command(err, "convert it once: scripts/to_safetensors.py %s %s.safetensors", source, out);
#endif
}

static int other_format(const char *directory, const char *name, const char *why, struct error *err)
{
    fail_at(err, ERR_UNSAFE, directory, ERROR_NO_OFFSET, "holds no " WEIGHTS_NAME ", only %.80s, %s", name, why);
    SCOPED(mem_free_at) char *source = path_join(directory, name);
    weights_hint_conversion(source, directory, err);
    return -1;
}

/* A part of weights in several files has its number in its name. */
static int other_name(const char *directory, const char *name, struct error *err)
{
    fail_at(err, ERR_USAGE, directory, ERROR_NO_OFFSET, "holds no " WEIGHTS_NAME ", only %.80s", name);
    if (strstr(name, "-of-"))
        return hint(err, "a part of the weights; put all parts and their " WEIGHTS_NAME ".index.json there");
    SCOPED(mem_free_at) char *from = path_join(directory, name), *to = path_join(directory, WEIGHTS_NAME);
    hint_command(err, "if these are the model's weights, give them that name: mv %s %s", from, to);
    return -1;
}

/* The first file whose name has this end; NULL: none. Moments and adapters are no weights of a model. */
static const char *named(const struct path_list *list, const char *end)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct str name = str_of(list->names[i]);
        if (str_ends(name, str_of(end)) && !str_starts(name, STR("adapter_")) && !str_equal(name, STR(MOMENTS_NAME)) &&
            !str_equal(name, STR("training_args.bin")))
            return list->names[i];
    }
    return NULL;
}

int weights_missing(const char *directory, struct error *err)
{
    static const char pickle[] = "a pickle, which can run code";
    static const struct {
        const char *end, *why; /* no reason: of our format */
    } others[] = {
        {"pytorch_model.bin", pickle},
        {"pytorch_model.bin.index.json", "whose weights are several pickles, which can run code"},
        {".safetensors", NULL},
        {"_model_states.pt", "a checkpoint of DeepSpeed and a pickle, which can run code"},
        {".pt", pickle},
        {".pth", pickle},
        {".ckpt", pickle},
        {".bin", pickle},
        {".index", "a checkpoint of TensorFlow"},
    };
    struct path_list list;
    const char *name = NULL;
    size_t kind = 0;
    int result = -1;
    TRY(path_list(&list, directory, err));
    for (; kind < sizeof others / sizeof *others && !name; kind++)
        name = named(&list, others[kind].end);
    if (!name)
        checkpoint_refuse(directory, "holds no " WEIGHTS_NAME, err);
    else if (others[kind - 1].why)
        result = other_format(directory, name, others[kind - 1].why, err);
    else
        result = other_name(directory, name, err);
    path_list_release(&list);
    return result;
}
