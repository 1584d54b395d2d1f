/* Facts about a dataset for --json and screens: the manifest, and what build.json records about the build. */
#pragma once

#include "base/str.h"
#include "pipeline/parts/account.h"
#include "shards/manifest.h"

#include <jansson.h>

/* DIR/build.json as an object, or NULL if it is missing or unreadable: it is a record, not part of the dataset. The
 * caller owns the reference. */
json_t *build_memory(const char *directory);
/* The name of source i in it, or NULL. */
const char *build_source_name(const json_t *build, size_t i);
/* Row i of the templates without a rendering that cost most, in descending order: its name (folded; anybody may have
 * written it, so escape it wherever it is shown) and figures. False if there is no valid row. */
#define BUILD_TEMPLATES_MAX ACCOUNT_NAMES_MAX
struct build_template {
    const char *name; /* of `build` */
    uint64_t count, bytes;
};
bool build_template(const json_t *build, size_t i, struct build_template *out);
/* The same of the holes, the sentences that were kept of such templates, or the leaks: key "holes", "sentences" or
 * "leaks"; most first, `bytes` is 0. */
bool build_name(const json_t *build, const char *key, size_t i, struct build_template *out);
/* The most that the bytes of such a row may lack. */
uint64_t build_templates_missed(const json_t *build);
/* The words of the command line that made the dataset, from `build`; or NULL. No hash covers that file, so anybody may
 * have written it: show them as its content, never as something to type. */
json_t *build_words(const json_t *build);

/* The object that `show --json` prints (root_hash, format_version, … lengths); `build --json` adds to it. The caller
 * owns the reference. `build` may be NULL: then sources have no names. */
json_t *facts_json(const struct manifest *manifest, const json_t *build);

/* Prints one object and a newline on stdout, and drops the reference. */
int facts_print(json_t *object, struct error *err);
