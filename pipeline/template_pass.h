/* The templates of a dump: one pass over its inputs, before anything else is made of them. Comes in: inputs, just
 * opened. Goes out: the text of a file of renderings (text/templates/dictionary.h), the same for any number of threads;
 * the inputs are wound back. */
#ifndef PIPELINE_TEMPLATE_PASS_H
#define PIPELINE_TEMPLATE_PASS_H

#include "pipeline/inputs.h"
#include "pipeline/text/templates/dictionary.h"

#define TEMPLATES_BYTES_MAX (64u << 20) /* of such a file */

/* Does --templates ask for a pass: auto, and are the inputs pages of one wiki that can be read twice? Says in a line
 * why not where somebody may wonder. */
bool template_pass_wanted(const struct dsdata_settings *settings, const struct inputs *inputs);

/* Reads all inputs, whatever --limit says. Replaces *out: nothing where no template shows what we can tell. Damage: as
 * any reading of the inputs. */
int template_pass(const struct dsdata_settings *settings, const struct inputs *inputs, struct buf *out,
                  struct dictionary_facts *facts, struct error *err);

/* From now on the inputs are read with the renderings of this text (template_pass, or a file's) from `path`; none where
 * it is empty. */
int template_pass_use(struct inputs *inputs, struct str text, const char *path, struct error *err);

/* All of it for verbs that keep nothing: the pass where it is wanted, one line of what it found, and its use. */
int template_pass_run(const struct dsdata_settings *settings, struct inputs *inputs, struct error *err);
void template_pass_say(const struct dictionary_facts *facts);

#endif
