#include "pipeline/verbs/output_file.h"

#include "base/mem.h"
#include "pipeline/input/inputs.h"

int output_file_check(const struct dsdata_settings *settings, struct opt_paths bare, const char *path,
                      const struct target_form *form, struct error *err)
{
    size_t count = settings_named_inputs(settings) + bare.count;
    const char **reads = mem_array(count + 1 + settings->exclude.count, sizeof *reads);
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
    const int result = target_check(&target, err);
    mem_free(reads);
    return result;
}
