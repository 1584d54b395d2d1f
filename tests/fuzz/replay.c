/* The main of a fuzz target where there is no libFuzzer: runs it on every file named, and on every file of a directory
 * named, so that what once broke something is tried in every run of the suite. */
#include "tests/fuzz/fuzz.h"

#include "base/file.h"

static int replay_file(const char *path, struct error *err)
{
    SCOPED(buf_release) struct buf bytes = {0};
    TRY(file_read_all(path, 64u << 20, &bytes, err));
    uint8_t *exact = mem_alloc(bytes.size); /* of its own, so that a sanitizer sees its end */
    if (bytes.size)
        memcpy(exact, bytes.data, bytes.size);
    fprintf(stderr, "%s\n", path); /* first, so that it is known which one broke it */
    const int result = LLVMFuzzerTestOneInput(exact, bytes.size);
    assert(result == 0);
    mem_free(exact);
    return 0;
}

static int replay_directory(const char *directory, struct error *err)
{
    struct path_list list;
    TRY(path_list(&list, directory, err));
    int result = list.count > 0 ? 0 : fail_at(err, ERR_USAGE, directory, ERROR_NO_OFFSET, "holds no inputs");
    for (size_t i = 0; i < list.count && result == 0; i++) {
        SCOPED(mem_free_at) char *path = path_join(directory, list.names[i]);
        result = replay_file(path, err);
    }
    path_list_release(&list);
    return result;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    for (int i = 1; i < argc; i++)
        if ((path_is_directory(argv[i]) ? replay_directory : replay_file)(argv[i], &err) < 0)
            return error_print(&err, argv[0], 0);
    return 0;
}
