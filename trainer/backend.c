/* In: what --device says. Out: an open backend, or what stands in the way. */
#include "trainer/backend.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"

#ifdef DS_CUDA

static const bool built_in = true;

const char *backend_text(void)
{
    return "cuda built in";
}

/* The module's path: beside the program. */
static int module_path(char *out, size_t size, struct error *err)
{
    const ssize_t length = readlink("/proc/self/exe", out, size - sizeof CUDA_MODULE_NAME - 1);
    if (length < 0)
        return fail_errno(err, "/proc/self/exe", "cannot be read");
    out[length] = '\0';
    char *slash = strrchr(out, '/');
    snprintf(slash + 1, sizeof CUDA_MODULE_NAME, "%s", CUDA_MODULE_NAME);
    return 0;
}

/* Loaded once, and kept: what it registered with the driver cannot be taken back. */
static const struct cuda_module *module_load(struct error *err)
{
    static const struct cuda_module *module;
    char path[4096];
    if (module)
        return module;
    if (module_path(path, sizeof path, err) < 0)
        return NULL;
    if (!path_exists(path)) {
        fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "is missing: the CUDA backend, which belongs beside dstrain");
        return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fail(err, ERR_RESOURCE, "the CUDA backend does not load: %s", dlerror());
        hint(err, "it needs cuBLASLt of the CUDA toolkit it was built with, or of Python's nvidia-cublas, where "
                  "LD_LIBRARY_PATH finds it; --device cpu needs none");
        return NULL;
    }
    const struct cuda_module *found = dlsym(library, CUDA_MODULE_SYMBOL);
    if (!found || found->interface != CUDA_INTERFACE) {
        fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET, "belongs to another version of dstrain");
        return NULL;
    }
    return module = found;
}

#else

static const bool built_in = false;

const char *backend_text(void)
{
    return "cuda not built in";
}

static const struct cuda_module *module_load(struct error *err)
{
    fail(err, ERR_USAGE, "this dstrain was built without CUDA");
    hint(err, "cmake --preset cuda builds it in; --device cpu computes here");
    return NULL;
}

#endif

int backend_look(enum device_kind device, struct cuda_facts *facts, struct error *err)
{
    struct cuda_facts unwanted;
    if (facts)
        *facts = (struct cuda_facts){0};
    if (device == DEVICE_CPU)
        return 0;
    const struct cuda_module *module = module_load(err);
    return module ? module->look(facts ? facts : &unwanted, err) : -1;
}

bool backend_card(void)
{
    glob_t found;
    bool there = false;
    static const char *const nodes[] = {"/dev/nvidia[0-9]*", "/dev/dxg"}; /* the second: under WSL */
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes && !there; i++) {
        there = glob(nodes[i], 0, NULL, &found) == 0;
        globfree(&found);
    }
    return there;
}

enum device_kind backend_default(void)
{
    struct error why;
    if (backend_look(DEVICE_CUDA, NULL, &why) == 0)
        return DEVICE_CUDA;
    if (built_in && backend_card())
        log_warn("computing on the CPU, though there is an NVIDIA card: %s", why.text);
    else if (built_in)
        log_say("note       computing on the CPU: %s", why.text);
    return DEVICE_CPU;
}

enum precision backend_default_precision(enum device_kind device, enum cpu_level level)
{
    return device == DEVICE_CUDA ? PRECISION_BF16 : cpu_default_precision(level);
}

struct ops *backend_open(enum device_kind device, const struct cpu_options *options, const char *tune,
                         struct error *err)
{
    if (device == DEVICE_CPU)
        return cpu_open(options, err);
    const struct cuda_module *module = module_load(err);
    struct ops *ops = module ? module->open(options->precision, tune, err) : NULL;
    if (ops)
        ops_describe(ops);
    return ops;
}

int backend_tune(struct ops *ops, const struct model_config *config, const struct pack_limits *limits, bool all,
                 struct buf *table, struct error *err)
{
    const struct tune_sizes sizes = {
        .rows = limits->tokens,
        .masked_rows = limits->marks[HEAD_MASKED],
        .sequences = limits->sequences,
        .hidden = config->hidden,
        .intermediate = config->intermediate,
        .vocabulary = vocabulary_padded(config),
        .gelu = config->gelu,
    };
    const struct cuda_module *module = module_load(err);
    if (!module)
        return -1;
    module->tune(ops, &sizes, all, table);
    return 0;
}
