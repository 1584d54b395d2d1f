/* The command line of dstrain. */
#pragma once

#include "base/opts.h"

/* The program, its verbs and its options, for opts_parse into a struct settings. Everything it points to is static. */
struct opt_program options_program(void);
