// room: pipeline
/* The command line of dsdata: options.h says what goes in and what must hold. */
#include "tests/fuzz/options.h"

#include "pipeline/dsdata_options.h"
#include "pipeline/parts/dsdata_settings.h"

int fuzz_input(const uint8_t *data, size_t size)
{
    static struct opt_program program;
    struct dsdata_settings settings = {0}, other = {0};
    if (!program.name) {
        fuzz_hush();
        program = dsdata_program();
        program.print_more = NULL; /* it loads modules */
    }
    check_options(&program, &settings, &other, data, size);
    return 0;
}
