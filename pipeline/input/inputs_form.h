/* The form of the plain text among the inputs: decided for all text files of a command together. */
#pragma once

#include "pipeline/input/inputs.h"

/* Settles what a line and a document are in all text inputs, once they were examined. < 0: a compressed file cannot be
 * read. */
int inputs_settle_forms(struct inputs *inputs, const struct dsdata_settings *settings, struct error *err);

/* Logs, if there is text, how it is laid out, what was taken for a document, how many there are, and which --text-form
 * would take something else. */
void inputs_say_form(const struct inputs *inputs);
/* Warns if documents of a recognised form are short in files that are far longer, with the commands to choose from; and
 * about files that are too long to be a document. */
void inputs_warn_form(const struct dsdata_settings *settings, const struct inputs *inputs);
