/* dsdata show … --sample I: one sample, token by token. */
#ifndef PIPELINE_VERBS_SHOW_SAMPLE_H
#define PIPELINE_VERBS_SHOW_SAMPLE_H

#include "pipeline/parts/dsdata_settings.h"

int show_sample_of_dataset(const struct dsdata_settings *settings, const char *directory, struct error *err);
int show_sample_of_shard(const struct dsdata_settings *settings, const char *path, struct error *err);

#endif
