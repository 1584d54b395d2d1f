/* What dsdata_hdf5.so exports (base/module.h). The HDF5 library depends on some forty others, which a program that
 * writes no such file need not load. */
#pragma once

#include "pipeline/verbs/export_formats.h"

/* Increment it with every change of this file or export_formats.h: then a module of another version is refused. */
#define HDF5_INTERFACE 1
#define HDF5_SYMBOL    "dsdata_hdf5"

/* export_each, which the program provides. */
typedef int export_each_fn(struct export_file *file,
                           int (*take)(void *context, const struct sample *sample, struct error *err), void *context,
                           struct error *err);

struct hdf5_module {
    int interface; /* HDF5_INTERFACE */
    /* One whole file, under its final name only when it is complete. Any thread. */
    int (*write)(struct export_file *file, export_each_fn *each, struct error *err);
};

extern __attribute__((visibility("default"))) const struct hdf5_module dsdata_hdf5;
