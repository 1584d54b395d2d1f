/* The index of weights in several files (safetensors.h). For safetensors.c alone. */
#pragma once

#include "trainer/keep/safetensors.h"

bool safetensors_is_index(const char *path);
/* Opens all parts of the index into a zeroed *file, which the caller closes, on error too. */
int safetensors_open_parts(struct safetensors *file, const char *path, struct error *err);
int safetensors_by_name(const void *a, const void *b); /* order of struct tensor */
