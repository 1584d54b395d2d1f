/* The part of `dsdata vocab` that checks a vocabulary instead of learning one. */
#pragma once

#include "base/error.h"
#include "pipeline/parts/dsdata_settings.h"

/* Prints what is wrong with settings->check. An error if it cannot be used, at all or with these options. */
int vocab_check(struct dsdata_settings *settings, struct error *err);

/* The next command, with the settings that reproduce how a vocabulary cuts words. */
void vocab_say_next(const struct dsdata_settings *settings, const char *path, bool cased, bool strip_accents);
