/* Names of tensors in files that others wrote. Pure. */
#pragma once

#include "trainer/model/architecture.h"

#define FOREIGN_NAME_BYTES 256 /* room for a translated name; a longer one is none of ours */

struct foreign {
    const struct layout *layout; /* whose name it is; NULL: none's, or it is ours */
    int32_t parts;               /* of our tensors that it holds, from the one that is named on */
};
/* Translates a tensor's name to the one that our table uses: takes off the names of modules that wrap a model
 * (`module.`, `_orig_mod.`, `model.` and others, however often), adds `bert.` where the body has no prefix, and knows
 * `gamma` and `beta`, `dense_act`, and the names of all layouts (architecture.h), those of `own` first, which may be
 * NULL. Any other name stays as it is. */
struct foreign foreign_name(const struct layout *own, const char *name, char *out, size_t out_size);

/* For names of our table: the name of the tensor that transformers ties this one to, or NULL; whether it belongs to a
 * head; whether to one of a fine-tuned model, which is ignored where it is of another task. */
const char *foreign_tied(const char *name);
bool foreign_is_head(const char *name);
bool foreign_is_task_head(const char *name);
