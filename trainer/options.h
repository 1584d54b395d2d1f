/* What the command line of dstrain may say. */
#ifndef TRAINER_OPTIONS_H
#define TRAINER_OPTIONS_H

#include "base/opts.h"

/* The program, its verbs and its options, for opts_parse into a struct settings. What it points to stays. */
struct opt_program options_program(void);

#endif
