/* dsdata doctor: describes this machine and what a build would find on it. */
#include <jansson.h>

#include "base/cores.h"
#include "base/cpu.h"
#include "base/file.h"
#include "base/output.h"
#include "pipeline/parts/dsdata_settings.h"
#include "pipeline/build/facts.h"

#ifdef DS_MPI
static const bool has_mpi = true;
#else
static const bool has_mpi = false;
#endif

/* --version prints a line with a name and a version for this program and each library. */
static void print_libraries(const char *version)
{
    for (const char *line = version; *line;) {
        const size_t size = strcspn(line, "\n");
        output_line("%-10s %.*s", line == version ? "programs" : "", (int)size, line);
        line += size + (line[size] == '\n');
    }
}

int dsdata_doctor(void *data, struct opt_paths bare, struct error *err)
{
    const struct dsdata_settings *settings = data;
    struct error ignored = {0};
    char memory[32], disk[32], threads[56];
    const char *level = vector_level_name(vector_level());
    const int64_t disk_free = path_free_bytes(".", &ignored);
    (void)bare;
    if (settings->json)
        return facts_print(json_pack("{s:s, s:i, s:I, s:I, s:b, s:s}", "level", level, "threads", (int)cores_allowed(),
                                     "memory_bytes", (json_int_t)memory_allowed(), "disk_free_bytes",
                                     (json_int_t)disk_free, "mpi", has_mpi, "version", settings->program->version),
                           err);
    output_line("processor  %s, %s", level, format_counted(cores_allowed(), "thread", threads));
    output_line("memory     %s", format_bytes(memory_allowed(), memory));
    output_line("disk       %s free here", format_bytes(disk_free > 0 ? (uint64_t)disk_free : 0, disk));
    output_line("processes  %s", has_mpi ? "one, or several under mpirun and srun" : "one: built without MPI");
    print_libraries(settings->program->version);
    say_next(command_text("dsdata build FILE"));
    return 0;
}
