/* The part of `dsdata vocab` that reads a vocabulary instead of learning one. */
#ifndef PIPELINE_VERBS_DSDATA_VOCAB_CHECK_H
#define PIPELINE_VERBS_DSDATA_VOCAB_CHECK_H

#include "base/error.h"
#include "pipeline/dsdata_settings.h"

/* Prints what is wrong with settings->check; an error where it cannot be used, or not with these options. */
int vocab_check(struct dsdata_settings *settings, struct error *err);

#endif
