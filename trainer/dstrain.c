/* dstrain: the command line. In: argv. Out: an exit code. options.c has the options, train.c the training. */
#include "base/cores.h"
#include "base/log.h"
#include "base/module.h"
#include "base/process.h"
#include "trainer/comm/spawn.h"
#include "trainer/options.h"
#include "trainer/parallel/processes.h"

#include <inttypes.h>
#include <locale.h>

static void say_before(const struct settings *settings, const struct opt_program *program,
                       const struct opt_result *parsed)
{
    size_t at = 0;
    cores_warn(settings->threads);
    if (settings->processes > (uint64_t)4 * cores_allowed())
        log_warn("--processes %" PRIu64 " on %u cores: they will mostly wait for each other", settings->processes,
                 cores_allowed());
    for (const char *name; (name = opts_repeated(program, parsed, &at));)
        log_say("note       --%s is given more than once: the last one counts", name);
}

/* Whether another process prints the errors that are found before this one is in a process group (process_group_leave
 * decides later). */
static bool is_silent_rank(int argc, char **argv)
{
    static const char *const own[] = {"rank", "world-size", "processes", "gpus"}; /* the launcher is not asked */
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (opts_typed(argc, argv, own[i]))
            return false;
    return launcher_follows();
}

int main(int argc, char **argv)
{
    module_hand_over("../lib/python3*/site-packages/dsdata_cuda/dstrain", argv); /* of the wheel with CUDA */
    process_open("dstrain");
    setlocale(LC_ALL, "C");

    const struct opt_program program = options_program();
    struct error err = {0};
    struct settings settings = {0};
    struct opt_result parsed = {0};
    int result = opts_parse(&program, argc, argv, &settings, &parsed, &err);
    settings.mute = is_silent_rank(argc, argv);
    if (result == 0 && parsed.verb) {
        settings.program = &program;
        settings.result = &parsed;
        settings.argc = argc;
        settings.argv = argv;
        struct launch launch;
        result = processes_find(&settings, parsed.verb->name, &launch, &err);
        settings.launch = &launch;
        log_open("dstrain", settings.quiet ? LOG_QUIET : settings.verbose ? LOG_VERBOSE : LOG_NORMAL, settings.json);
        if (result == 0 && launch.kind != LAUNCH_CHILD) /* a child's parent has said it */
            say_before(&settings, &program, &parsed);
        if (result == 0)
            result = launch.children ? spawn_run(&launch, argv, &err) : parsed.verb->run(&settings, parsed.bare, &err);
    }
    int code = result;
    if (result < 0)
        code = settings.mute ? (int)err.kind : error_print(&err, "dstrain", opts_typed(argc, argv, "json"));
    opts_release(&program, &settings, &parsed);
    return process_close(code);
}
