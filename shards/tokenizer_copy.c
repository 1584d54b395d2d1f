#include "shards/tokenizer_copy.h"

#include "base/file.h"
#include "base/mem.h"

#define COPIED_BYTES_MAX (64u << 20) /* of a file */

const char *const tokenizer_file_names[TOKENIZER_FILES] = {
    "vocab.txt",  "tokenizer.json",          "tokenizer_config.json", "vocab.json",
    "merges.txt", "special_tokens_map.json", "added_tokens.json",
};

static int take(struct buf *out, const char *path, struct error *err)
{
    buf_reset(out);
    return file_read_all(path, COPIED_BYTES_MAX, out, err);
}

int tokenizer_copy_one(struct tokenizer_files *files, int i, const char *directory, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(directory, tokenizer_file_names[i]);
    return path_exists(path) ? take(&files->all[i], path, err) : 0;
}

int tokenizer_copy(struct tokenizer_files *files, const char *path, struct error *err)
{
    *files = (struct tokenizer_files){0};
    if (!path_is_directory(path) && !str_ends(str_of(path), STR("vocab.json")))
        return take(&files->tokenizer, path, err);
    SCOPED(mem_free_at) char *directory = path_is_directory(path) ? mem_copy_text(path) : path_parent(path);
    for (int i = 0; i < TOKENIZER_FILES; i++)
        if (&files->all[i] != &files->vocab)
            TRY(tokenizer_copy_one(files, i, directory, err));
    return 0;
}

void tokenizer_release(struct tokenizer_files *files)
{
    for (int i = 0; i < TOKENIZER_FILES; i++)
        buf_release(&files->all[i]);
}
