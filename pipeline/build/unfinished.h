/* What there is to say about a dataset that is being built, or whose build was interrupted. */
#pragma once

#include "base/error.h"

/* For an error about a directory that holds no finished dataset (manifest_present): the hint becomes how far the build
 * is, and for one that was interrupted the command that continues it. Other errors stay as they are. */
void unfinished_hint(struct error *err);
