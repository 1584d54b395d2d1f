#include "pipeline/verbs/output_file.h"

#include "base/mem.h"
#include "pipeline/dump/codecs.h"
#include "pipeline/input/inputs.h"

#include <inttypes.h>

size_t output_file_stem(const char *path)
{
    struct str name = str_of(path);
    codec_cut_extension(&name);
    const char *slash = strrchr(path, '/');
    const size_t base = slash ? (size_t)(slash + 1 - path) : 0;
    for (size_t at = name.size; at > base + 1; at--)
        if (path[at - 1] == '.')
            return at - 1;
    return name.size;
}

char *output_file_numbered(const char *path, uint64_t index, uint64_t count)
{
    if (count == 1)
        return mem_copy_text(path);
    const size_t stem = output_file_stem(path);
    struct buf name = {0};
    buf_addf(&name, "%.*s-%05" PRIu64 "-of-%05" PRIu64 "%s", (int)stem, path, index, count, path + stem);
    buf_text(&name);
    return name.data;
}

int output_file_check(const struct dsdata_settings *settings, struct opt_paths bare, const char *path,
                      const struct target_form *form, struct error *err)
{
    size_t count = settings_named_inputs(settings) + bare.count;
    SCOPED(mem_free_at) const char **reads = mem_array(count + 1 + settings->exclude.count, sizeof *reads);
    for (size_t i = 0; i < count; i++)
        reads[i] = inputs_path_of(settings_input(settings, &bare, i));
    reads[count++] = settings_templates_file(settings);
    for (size_t i = 0; i < settings->exclude.count; i++)
        reads[count++] = settings->exclude.items[i];
    const struct target target = {.option = "out",
                                  .path = path,
                                  .streams = true,
                                  .force = settings->force,
                                  .forms = form,
                                  .form_count = form ? 1 : 0,
                                  .reads = reads,
                                  .read_count = count};
    return target_check(&target, err);
}
