/* The templates of a dump: one pass over the inputs before anything else. Reads inputs that were just opened, makes the
 * text of a file of renderings (text/templates/dictionary.h), which is the same for any number of threads, and rewinds
 * the inputs. */
#pragma once

#include "pipeline/input/inputs.h"
#include "pipeline/text/templates/dictionary.h"

/* True with --templates auto, for pages of one wiki that can be read twice. Logs why not where that may be
 * surprising. */
bool template_pass_wanted(const struct dsdata_settings *settings, const struct inputs *inputs);

/* Reads all inputs, whatever --limit says. Replaces *out: empty if no template has a rendering that we can derive.
 * Damage is handled as in any reading of the inputs. */
int template_pass(const struct dsdata_settings *settings, const struct inputs *inputs, struct buf *out,
                  struct dictionary_facts *facts, struct error *err);

/* From now on the inputs are read with the renderings in this text (of template_pass, or of a file) from `path`;
 * without any if it is empty. */
int template_pass_use(struct inputs *inputs, struct str text, const char *path, struct error *err);

/* All of this for verbs that store nothing: the pass if it is wanted, a line about its result, and its use. */
int template_pass_run(const struct dsdata_settings *settings, struct inputs *inputs, struct error *err);
void template_pass_say(const struct dictionary_facts *facts);
