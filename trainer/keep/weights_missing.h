/* The error for a directory without model.safetensors or its index: it names the weights that are there instead. */
#pragma once

#include "base/error.h"

/* ERR_UNSAFE for weights in another format, with the command that converts them; ERR_USAGE for weights with another
 * name, or none. */
int weights_missing(const char *directory, struct error *err);
/* Adds the hint for formats that can run code or need other software: a script converts them. Returns -1. */
int weights_hint_conversion(const char *source, const char *out, struct error *err);
