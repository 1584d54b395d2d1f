#include "pipeline/verbs/demo_weights.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/module.h"
#include "base/output.h"

#define FIRST_CHECKPOINT "run/checkpoints/step-00000" DEMO_SAVE_EVERY
#define OUTPUT_MAX       (1u << 20)
#define FACTS_MAX        4096u

/* Appends the bytes of a file until its end, or until *out has at least `most`. */
static void read_some(int file, size_t most, struct buf *out)
{
    char bytes[4096];
    for (ssize_t size; out->size < most && (size = read(file, bytes, sizeof bytes)) > 0;)
        buf_add(out, bytes, (size_t)size);
}

/* Appends what dstrain prints for these arguments; sets words[0] to its path. Returns its exit code, or < 0. */
static int ask(const char *words[], struct buf *out, struct error *err)
{
    struct child_output child = CHILD_NONE;
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    char *program = module_beside("dstrain", err);
    words[0] = program;
    int result = program ? child_open(&child, (char **)words, nothing, err) : -1;
    if (result == 0) {
        read_some(child.out, OUTPUT_MAX, out);
        result = child_close(&child);
    }
    close(nothing);
    mem_free(program);
    return result;
}

/* What the kernel says about the first processor. */
static json_t *processor(void)
{
    SCOPED(buf_release) struct buf text = {0};
    const int file = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        read_some(file, FACTS_MAX, &text);
        close(file);
    }
    const size_t end = str_find(buf_str(&text), STR("\n\n"));
    if (end != SIZE_MAX)
        text.data[end] = '\0';
    return json_name(buf_text(&text));
}

/* Writes difference.json with what `found` says, and fails. */
static int differ(const char *folder, json_t *found, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(folder, "difference.json");
    SCOPED(buf_release) struct buf versions = {0};
    const char *words[] = {NULL, "--version", NULL};
    TRY(ask(words, &versions, err));
    json_auto_t *json = json_pack("{s:O, s:o, s:o}", "difference", found, "versions", json_name(buf_text(&versions)),
                                  "processor", processor());
    TRY(json_file_write(path, json, err));
    const char *file = json_string_value(json_object_get(found, "file")),
               *text = json_string_value(json_object_get(found, "error")),
               *more = json_string_value(json_object_get(found, "hint"));
    fail_at(err, ERR_VERIFY, file ? file : folder, ERROR_NO_OFFSET, "%.200s; %.200s", text ? text : "differs",
            more ? more : "");
    return hint(
        err, "every CPU and compiler must give the published weights, so this is a bug: please report it with %.300s",
        path);
}

static int compare(const char *folder, const char *run, const char *published, struct error *err)
{
    const char *words[] = {NULL, "verify", run, "--provenance", published, "--json", "-q", NULL};
    SCOPED(buf_release) struct buf out = {0};
    json_error_t why;
    const int code = ask(words, &out, err);
    TRY(code);
    json_auto_t *found = json_parse(buf_str(&out), OUTPUT_MAX, &why);
    if (!found)
        return fail(err, ERR_VERIFY, "dstrain verify %s ended with exit code %d", run, code);
    if (code > 0)
        return differ(folder, found, err);
    log_say("weights    XXH3 %s at step %" JSON_INTEGER_FORMAT ": the published ones",
            json_string_value(json_object_get(found, "weights")), json_integer_value(json_object_get(found, "step")));
    return 0;
}

int demo_weights(const char *folder, struct error *err)
{
    SCOPED(mem_free_at) char *first = path_join(folder, FIRST_CHECKPOINT);
    SCOPED(mem_free_at) char *run = path_join(folder, "run"), *published = path_join(folder, "published.json");
    log_say("%s", "");
    if (!path_is_directory(first)) {
        log_say("weights    the training ended before step " DEMO_SAVE_EVERY ", the first whose weights are published");
        return 0;
    }
    TRY(file_write_all(published, demo_published, strlen(demo_published), err));
    return compare(folder, run, published, err);
}
