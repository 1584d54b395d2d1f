/* Parts of a program that need a library which is not everywhere: each is a file beside the program, loaded when it is
 * wanted, so that the program itself starts without that library. */
#ifndef BASE_MODULE_H
#define BASE_MODULE_H

#include "base/error.h"

/* The data that the module `file` exports under `symbol`, which begins with the number of its interface; NULL with an
 * error. `what` names the part to the user ("the CUDA backend"). ERR_USAGE: the file is missing. ERR_RESOURCE: it does
 * not load; the caller adds the hint, which knows the library. ERR_MISMATCH: it belongs to another version of the
 * program. A loaded module stays. */
const void *module_load(const char *file, const char *symbol, int interface, const char *what, struct error *err);

#endif
