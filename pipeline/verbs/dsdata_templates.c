/* dsdata templates: a dump → the renderings that its own Template pages allow, in the text form that --templates
 * reads. */
#include "base/file.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/progress.h"
#include "pipeline/parts/dsdata_settings.h"
#include "pipeline/build/template_pass.h"
#include "pipeline/verbs/output_file.h"

#include <string.h>

int dsdata_templates(void *data, struct opt_paths bare, struct error *err)
{
    struct dsdata_settings *settings = data;
    SCOPED(inputs_close) struct inputs inputs = {0};
    SCOPED(buf_release) struct buf text = {0};
    struct dictionary_facts facts = {0};
    stop_on_signals();
    settings->templates = NULL;
    TRY(output_file_check(settings, bare, settings->out, NULL, err)); /* people correct such files by hand */
    TRY(inputs_open(&inputs, settings, bare, err));
    if (!template_pass_wanted(settings, &inputs))
        return fail(err, ERR_USAGE, "the templates of one wiki are read from its dump, a file");
    TRY(template_pass(settings, &inputs, &text, &facts, err));
    if (facts.rendered == 0) {
        fail(err, ERR_INPUT,
             facts.read == 0 ? "no page of the dump is a template"
                             : "no template of the dump has a rendering that is known without running it");
        return hint(err, "dumps of articles only, like pages-articles-multistream of some sites, have none; "
                         "pages-meta-current has");
    }
    const char *out = settings_out(settings);
    TRY(out ? file_write_all(out, text.data, text.size, err) : output_write(buf_str(&text), err));
    template_pass_say(&facts);
    struct buf next = settings_command(settings, "build", " out ");
    command_option(&next, "templates", out ? out : "FILE");
    say_next(next.data);
    return 0;
}
