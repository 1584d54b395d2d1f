/* The command line of dsdata. */
#pragma once

#include "base/opts.h"

/* The program, its verbs and its options, for opts_parse into a struct dsdata_settings. Everything it points to is
 * static. */
struct opt_program dsdata_program(void);
