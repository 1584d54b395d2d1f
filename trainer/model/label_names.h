/* The names of a model's labels. Each list is held once until the process ends, so configurations are copied freely and
 * equal names are the same pointer. For the thread that opens models. */
#pragma once

#include "trainer/model/params.h"

/* The list of these names [count], each cut to LABEL_NAME_SIZE - 1 bytes; an absent one may be NULL or empty. NULL if
 * all are. */
const char *const *label_names(const char *const *names, size_t count);
/* The name of a label, LABEL_0, LABEL_1, … if it has none. */
const char *label_name(const struct model_config *config, int32_t label, char out[LABEL_NAME_SIZE]);
/* Frees all lists. */
void label_names_forget(void);
