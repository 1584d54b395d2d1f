/* dsdata show … --sample I: one sample, token by token. */
#pragma once

#include "pipeline/parts/dsdata_settings.h"

int show_sample_of_dataset(const struct dsdata_settings *settings, const char *directory, struct error *err);
int show_sample_of_shard(const struct dsdata_settings *settings, const char *path, struct error *err);
