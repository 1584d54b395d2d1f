#include "pipeline/verbs/output_file.h"

#include "base/mem.h"
#include "pipeline/input/inputs.h"

int output_file_check(const struct dsdata_settings *settings, struct opt_paths bare, const char *path,
                      const struct target_form *form, struct error *err)
{
    const struct opt_paths *const lists[] = {&settings->wiki, &settings->text, &settings->jsonl, &bare};
    const char **reads =
        mem_array(settings->wiki.count + settings->text.count + settings->jsonl.count + bare.count + 1, sizeof *reads);
    size_t count = 0;
    for (size_t list = 0; list < sizeof lists / sizeof *lists; list++)
        for (size_t i = 0; i < lists[list]->count; i++)
            reads[count++] = inputs_path_of(lists[list]->items[i]);
    reads[count++] = settings_templates_file(settings);
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
