/* In: an option and its file name. Out: an error where writing would fail or destroy something. */
#include "trainer/keep/target.h"

#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "shards/manifest.h"
#include "trainer/keep/events.h"
#include "trainer/keep/metrics.h"
#include "trainer/keep/state.h"

static bool is_owned(const char *path)
{
    static const char *const names[] = {
        MANIFEST_NAME,           BUILD_NAME, VOCAB_NAME,  "config.json", WEIGHTS_NAME, MOMENTS_NAME, "tokenizer.json",
        "tokenizer_config.json", STATE_NAME, LATEST_NAME, BEST_NAME,     METRICS_NAME, EVENTS_NAME,  RUN_NAME};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    bool owned = str_ends(str_of(name), STR(".dss"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        owned |= strcmp(name, names[i]) == 0;
    return owned && path_exists(path);
}

int target_check(const char *option, const char *path, struct error *err)
{
    if (!path)
        return 0;
    if (strcmp(path, "-") == 0)
        return fail(err, ERR_USAGE, "--%s names a file; ./- is one of that name", option);
    if (path_exists(path) && !path_is_file(path))
        return fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "is %s: --%s names a file",
                       path_is_directory(path) ? "a directory" : "not a regular file", option);
    if (is_owned(path)) {
        fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET,
                "belongs to a run, a model or a dataset, which --%s would destroy", option);
        return hint(err, "nothing was written; give another name");
    }
    char *folder = path_parent(path);
    int result = 0;
    if (!path_exists(folder)) {
        fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "cannot be created: there is no directory %s", folder);
        result = hint(err, "mkdir -p creates it");
    } else {
        result = path_check_writable(folder, err);
    }
    mem_free(folder);
    return result;
}
