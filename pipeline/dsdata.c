/* dsdata: the command line, from argv to an exit code. */
#include "base/cores.h"
#include "base/error.h"
#include "base/launcher.h"
#include "base/log.h"
#include "base/process.h"
#include "pipeline/dsdata_options.h"
#include "pipeline/parts/dsdata_settings.h"
#include "pipeline/build/unfinished.h"

#include <locale.h>
#include <string.h>

int main(int argc, char **argv)
{
    process_open("dsdata");
    setlocale(LC_ALL, "C");

    const struct opt_program program = dsdata_program();
    struct error err = {0};
    struct dsdata_settings settings = {0};
    struct opt_result result = {0};
    size_t at = 0;
    int done = opts_parse(&program, argc, argv, &settings, &result, &err);
    bool reported_elsewhere = launcher_follows(); /* until the verb begins: it decides on its own errors */
    if (done == 0 && result.verb) {
        settings.program = &program;
        settings.result = &result;
        settings.argc = argc;
        settings.argv = argv;
        enum log_level level = settings.quiet ? LOG_QUIET : settings.verbose ? LOG_VERBOSE : LOG_NORMAL;
        log_open("dsdata", level, settings.json);
        cores_warn(settings.threads);
        for (const char *name; (name = opts_repeated(&program, &result, &at));)
            log_say("note       --%s is given more than once: the last one counts", name);
        done = result.verb->run == dsdata_build ? 0 : launcher_refuse("dsdata", &err); /* only a build can use several
                                                                                        * processes */
        if (done == 0) {
            reported_elsewhere = false;
            done = result.verb->run(&settings, result.bare, &err);
        }
    }
    if (done < 0 && result.verb && result.verb->run != dsdata_build)
        unfinished_hint(&err);
    if (done < 0 && settings.salvage && strstr(err.hint, "--salvage"))
        hint(
            &err,
            "--salvage leaves out what is damaged, and here nothing can be read before the damage: get the file again");
    /* A verb may also return its own exit code: the JSON object of verify already says what an error would. */
    int code = done;
    if (done < 0)
        code = reported_elsewhere ? (int)err.kind : error_print(&err, "dsdata", opts_typed(argc, argv, "json"));
    opts_release(&program, &settings, &result);
    return process_close(code);
}
