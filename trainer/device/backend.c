#include "trainer/device/backend.h"

#include <glob.h>
#include <inttypes.h>

#include "base/log.h"
#include "base/module.h"

#ifdef DS_CUDA

static const bool built_in = true;

const char *backend_text(void)
{
    return "cuda built in";
}

/* The module is loaded once and kept: what it registers with the driver cannot be unregistered. */
static const struct cuda_module *cuda_module(struct error *err)
{
    static const struct cuda_module *module;
    if (!module)
        module = module_load(CUDA_MODULE_NAME, CUDA_MODULE_SYMBOL, CUDA_INTERFACE, "the CUDA backend", err);
    if (!module && err->kind == ERR_RESOURCE)
        hint(err, "it needs cuBLASLt of the CUDA toolkit it was built with, or of Python (pip install nvidia-cublas), "
                  "where LD_LIBRARY_PATH finds it; --device cpu needs none");
    else if (!module && err->kind == ERR_USAGE)
        hint(err, CUDA_HINT "; --device cpu computes here");
    return module;
}

#else

static const bool built_in = false;

const char *backend_text(void)
{
    return "cuda not built in";
}

static const struct cuda_module *cuda_module(struct error *err)
{
    fail(err, ERR_USAGE, "this dstrain was built without CUDA");
    hint(err, CUDA_HINT "; --device cpu computes here");
    return NULL;
}

#endif

int backend_probe(enum device_kind device, struct cuda_facts *facts, struct error *err)
{
    struct cuda_facts unwanted;
    if (facts)
        *facts = (struct cuda_facts){0};
    if (device == DEVICE_CPU)
        return 0;
    const struct cuda_module *module = cuda_module(err);
    return module ? module->probe(facts ? facts : &unwanted, err) : -1;
}

unsigned backend_cards(void)
{
    glob_t found;
    unsigned count = 0;
    static const char *const nodes[] = {"/dev/nvidia[0-9]*", "/dev/dxg"}; /* the second: under WSL */
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes && count == 0; i++) {
        if (glob(nodes[i], 0, NULL, &found) == 0)
            count = (unsigned)found.gl_pathc;
        globfree(&found);
    }
    return count;
}

enum device_kind backend_default(void)
{
    struct error why;
    if (backend_probe(DEVICE_CUDA, NULL, &why) == 0)
        return DEVICE_CUDA;
    if (built_in && backend_cards() > 0)
        log_warn("computing on the CPU, though there is an NVIDIA card: %s", why.text);
    else if (built_in)
        log_say("note       computing on the CPU: %s", why.text);
    return DEVICE_CPU;
}

enum precision backend_default_precision(enum device_kind device, enum cpu_level level)
{
    return device == DEVICE_CUDA ? PRECISION_BF16 : cpu_default_precision(level);
}

int backend_fits(enum device_kind device, const struct model_config *config, struct error *err)
{
    const struct architecture *architecture = architecture_of(config);
    if (device != DEVICE_CUDA)
        return 0;
    if (config->hidden / config->heads != CUDA_HEAD_SIZE) {
        fail(err, ERR_USAGE, "attention on CUDA needs heads of size %d, this model's have size %" PRId32,
             CUDA_HEAD_SIZE, config->hidden / config->heads);
        return hint(err, "--device cpu computes them all");
    }
    if (architecture->untried)
        log_say("note       %s models are untried on a card: dstrain doctor --gpu OUT checks them there",
                architecture->layout->noun);
    return 0;
}

struct ops *backend_open(enum device_kind device, const struct cpu_options *options, const char *tune,
                         struct error *err)
{
    if (device == DEVICE_CPU)
        return cpu_open(options, err);
    const struct cuda_module *module = cuda_module(err);
    struct ops *ops = module ? module->open(options->precision, tune, err) : NULL;
    if (ops)
        ops_describe(ops);
    return ops;
}

int backend_tune(struct ops *ops, const struct model_config *config, const struct pack_limits *limits, bool all,
                 struct buf *table, struct error *err)
{
#define HAS(part) (!(config->lacks >> OPTIONAL_##part & 1))
    const struct tune_sizes sizes = {
        .rows = limits->tokens,
        .masked_rows = limits->marks[HEAD_MASKED],
        .sequences = limits->sequences,
        .hidden = config->hidden,
        .intermediate = config->intermediate,
        .vocabulary = vocabulary_padded(config),
        .gelu = config->gelu,
        .gated = architecture_of(config)->feed_forward->ups > 1,
        .attention_biases = HAS(ATTENTION_BIASES),
        .inner_biases = HAS(FEED_FORWARD_BIASES),
        .transform_biases = HAS(HEAD_BIASES),
        .decoder_biases = HAS(DECODER_BIAS),
    };
#undef HAS
    const struct cuda_module *module = cuda_module(err);
    if (!module)
        return -1;
    module->tune(ops, &sizes, all, table);
    return 0;
}
