#include "trainer/comm/library.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/module.h"
#include "trainer/comm/mesh.h"

/* cmake/comm.cmake defines those that are built as 1. */
#ifndef DS_GLOO
#define DS_GLOO 0
#endif
#ifndef DS_MPI
#define DS_MPI 0
#endif
#ifndef DS_NCCL
#define DS_NCCL 0
#endif

static void *self_open(const struct comm_options *options, struct error *err)
{
    static char one;
    if (options->size == 1)
        return &one;
    fail(err, ERR_USAGE, "%u processes need gloo, MPI or NCCL to talk to each other", options->size);
    return NULL;
}

const struct comm_library comm_self = {.interface = COMM_INTERFACE, .open = self_open};

static const struct kind {
    const char *name;
    const struct comm_library *library; /* NULL: it is in the module `file` */
    const char *file;
    bool built;
    const char *what, *package, *option;
} kinds[] = {
    [COMM_SELF] = {.name = "self", .library = &comm_self},
    [COMM_GLOO] = {.name = "gloo",
                   .file = "dstrain_gloo.so",
                   .built = DS_GLOO,
                   .what = "gloo",
                   .package = "Debian: libgloo-dev",
                   .option = "DS_GLOO"},
    [COMM_MPI] = {.name = "mpi",
                  .file = "dstrain_mpi.so",
                  .built = DS_MPI,
                  .what = "MPI",
                  .package = "Debian: libopenmpi-dev",
                  .option = "DS_MPI"},
    [COMM_NCCL] = {.name = "nccl",
                   .file = "dstrain_nccl.so",
                   .built = DS_NCCL,
                   .what = "NCCL",
                   .package = "libnccl-dev of NVIDIA's repository, or Python's nvidia-nccl-cu13",
                   .option = "DS_NCCL"},
};
_Static_assert(sizeof kinds / sizeof *kinds == COMM_KINDS, "a row for every kind");

const char *comm_kind_name(enum comm_kind kind)
{
    return kinds[kind].name;
}

int comm_kind_check(enum comm_kind which, struct error *err)
{
    const struct kind *kind = &kinds[which];
    if (!kind->file || kind->built)
        return 0;
    fail(err, ERR_USAGE, "--comm %s: this dstrain was built without %s", kind->name, kind->what);
#ifdef DS_STATIC
    return hint(err, STATIC_HINT, kind->package);
#else
    return hint(err, "install it (%s) and build again with -D%s=ON", kind->package, kind->option);
#endif
}

static const struct comm_library *library_of(enum comm_kind which, struct error *err)
{
    const struct kind *kind = &kinds[which];
    if (kind->library)
        return kind->library;
    if (comm_kind_check(which, err) < 0)
        return NULL;
    const struct comm_library *library = module_load(kind->file, COMM_SYMBOL, COMM_INTERFACE, kind->what, err);
    if (!library && err->kind == ERR_RESOURCE) {
        err->kind = ERR_USAGE;
        hint(err, "install the library (%s)", kind->package);
    }
    return library;
}

const char *comm_kind_version(enum comm_kind kind, struct error *err)
{
    const struct comm_library *library = library_of(kind, err);
    return !library ? NULL : library->version ? library->version() : "no library";
}

const char *comm_kind_text(enum comm_kind kind, char out[COMM_TEXT_BYTES])
{
    struct error err;
    const char *version = comm_kind_version(kind, &err);
    if (version)
        snprintf(out, COMM_TEXT_BYTES, "%s", version);
    else if (kinds[kind].built)
        snprintf(out, COMM_TEXT_BYTES, "%s cannot be used: %s%s%.250s", kinds[kind].name,
                 err.file[0] ? kinds[kind].file : "", err.file[0] ? " " : "", err.text);
    else
        snprintf(out, COMM_TEXT_BYTES, "%s is not built in", kinds[kind].name);
    return out;
}

bool comm_kind_shares_gpu(enum comm_kind kind)
{
    struct error err;
    const struct comm_library *library = library_of(kind, &err);
    return library && (!library->shares_gpu || library->shares_gpu());
}

static int connect_others(const struct comm_options *options, int *sockets, struct error *err)
{
    if (options->waiting)
        options->waiting(options->waiting_context, true);
    const int result = mesh_connect(options, sockets, err);
    if (options->waiting)
        options->waiting(options->waiting_context, false);
    return result;
}

struct comm *comm_open(enum comm_kind kind, const struct comm_options *options, struct error *err)
{
    const struct comm_library *library = library_of(kind, err);
    struct comm_options connected = *options;
    struct comm *comm = NULL;
    if (!library || !library->sockets)
        return library ? comm_open_library(library, options, err) : NULL;
    SCOPED(mem_free_at) int *sockets = mem_array(options->size, sizeof *sockets);
    connected.sockets = sockets;
    if (connect_others(options, sockets, err) == 0)
        comm = comm_open_library(library, &connected, err);
    return comm;
}
