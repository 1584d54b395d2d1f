/* One table of the tensors in all files that an index names. The index is untrusted: a name in it leads to a file of
 * its own directory only, and each tensor must be in the part that the index names, and in no other, because a reader
 * that follows the index and one that reads all parts would load different models. */
#include "trainer/keep/safetensors_index.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/output.h"

#define INDEX_BYTES_MAX (16u << 20)
#define PART_END        ".safetensors"

/* An index that has been read, and what it names. */
struct index {
    const char *path;
    char *directory;
    json_t *json;       /* owns all names */
    const json_t *map;  /* name of a tensor → name of a part */
    const char **parts; /* [count] different names, sorted */
    size_t count;
};

bool safetensors_is_index(const char *path)
{
    return str_ends(str_of(path), STR(SAFETENSORS_INDEX_END));
}

static int check_name(const char *path, const char *tensor, const char *part, struct error *err)
{
    if (!part)
        return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "tensor %.100s: its file is not a name", tensor);
    if (strchr(part, '/'))
        return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET,
                       "tensor %.100s: its file %.100s is not in the directory of the index", tensor, part);
    if (!str_ends(str_of(part), STR(PART_END)))
        return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "tensor %.100s: its file %.100s is not a " PART_END,
                       tensor, part);
    return 0;
}

/* Lists the parts. */
static int take_map(struct index *index, struct error *err)
{
    const char *tensor;
    json_t *part;
    index->map = json_object_get(index->json, "weight_map");
    if (json_object_size(index->map) == 0)
        return fail_at(err, ERR_UNSAFE, index->path, ERROR_NO_OFFSET, "has no weight_map: not an index of weights");
    index->parts = mem_array(json_object_size(index->map), sizeof *index->parts);
    json_object_foreach((json_t *)index->map, tensor, part)
    {
        TRY(check_name(index->path, tensor, json_string_value(part), err));
        index->parts[index->count++] = json_string_value(part);
    }
    qsort(index->parts, index->count, sizeof *index->parts, text_order);
    size_t different = 1;
    for (size_t i = 1; i < index->count; i++)
        if (strcmp(index->parts[i], index->parts[different - 1]) != 0)
            index->parts[different++] = index->parts[i];
    index->count = different;
    if (index->count > SAFETENSORS_PARTS_MAX)
        return fail_at(err, ERR_UNSAFE, index->path, ERROR_NO_OFFSET, "names more than %u files",
                       SAFETENSORS_PARTS_MAX);
    return 0;
}

/* The caller releases it, on error too. */
static int index_read(struct index *index, const char *path, struct error *err)
{
    *index = (struct index){.path = path, .directory = path_parent(path)};
    TRY(json_read_foreign(path, INDEX_BYTES_MAX, ERR_UNSAFE, &index->json, err));
    return take_map(index, err);
}

static void index_release(struct index *index)
{
    json_decref(index->json);
    mem_free(index->parts);
    mem_free(index->directory);
}

/* A tensor that the index places in this part. */
static const char *tensor_in(const struct index *index, const char *part)
{
    const char *tensor;
    json_t *place;
    json_object_foreach((json_t *)index->map, tensor,
                        place) if (strcmp(json_string_value(place), part) == 0) return tensor;
    return "";
}

static int missing(const struct index *index, const char *part, struct error *err)
{
    fail_at(err, ERR_VERIFY, index->path, ERROR_NO_OFFSET, "names %.100s, which is missing, for tensor %.100s", part,
            tensor_in(index, part));
    return hint_command(err, "download all files of the model into %s", index->directory);
}

static int open_parts(struct safetensors *file, const struct index *index, struct error *err)
{
    file->parts = mem_clear(index->count, sizeof *file->parts);
    for (; file->part_count < index->count; file->part_count++) {
        char *path = path_join(index->directory, index->parts[file->part_count]);
        const int result = path_exists(path) ? safetensors_open(&file->parts[file->part_count], path, err)
                                             : missing(index, index->parts[file->part_count], err);
        mem_free(path);
        TRY(result);
        file->count += file->parts[file->part_count].count;
    }
    return 0;
}

static const struct safetensors *part_named(const struct safetensors *file, const struct index *index, const char *part)
{
    const char *const *found = bsearch(&part, index->parts, index->count, sizeof *index->parts, text_order);
    return &file->parts[found - index->parts];
}

/* Checks that the index places a tensor in the part that holds it. */
static int check_place(const struct safetensors *file, const struct index *index, const char *tensor, const char *part,
                       struct error *err)
{
    const char *place = json_string_value(json_object_get(index->map, tensor));
    if (!place)
        return fail_at(err, ERR_VERIFY, index->path, ERROR_NO_OFFSET, "does not name tensor %.100s, which %.100s holds",
                       tensor, part);
    if (strcmp(place, part) == 0)
        return 0;
    if (safetensors_find(part_named(file, index, place), tensor))
        return fail_at(err, ERR_VERIFY, index->path, ERROR_NO_OFFSET, "tensor %.100s is in %.100s and in %.100s",
                       tensor, place, part);
    return fail_at(err, ERR_VERIFY, index->path, ERROR_NO_OFFSET, "places tensor %.100s in %.100s, but %.100s holds it",
                   tensor, place, part);
}

static int check_held(const struct safetensors *file, const struct index *index, struct error *err)
{
    for (size_t p = 0; p < file->part_count; p++)
        for (size_t i = 0; i < file->parts[p].count; i++)
            TRY(check_place(file, index, file->parts[p].tensors[i].name, index->parts[p], err));
    return 0;
}

/* Checks that the parts hold each tensor that the index names. */
static int check_named(const struct safetensors *file, const struct index *index, struct error *err)
{
    const char *name;
    json_t *place;
    json_object_foreach((json_t *)index->map, name, place)
    {
        const char *part = json_string_value(place);
        if (!safetensors_find(part_named(file, index, part), name))
            return fail_at(err, ERR_VERIFY, index->path, ERROR_NO_OFFSET,
                           "places tensor %.100s in %.100s, which does not hold it", name, part);
    }
    return 0;
}

/* In a part's name, like "model-00001-of-00002.safetensors", the place of "-of-"; NULL: it has another form. */
static const char *series_of(const char *part)
{
    const char *of = NULL;
    for (const char *next = strstr(part, "-of-"); next; next = strstr(next + 1, "-of-"))
        of = next;
    return of;
}

/* Refuses a part of the same series that the index forgot: its tensors would be missing without a word. */
static int check_beside(const struct index *index, struct error *err)
{
    struct path_list list;
    const char *first = index->parts[0], *series = series_of(first);
    if (!series)
        return 0;
    size_t stem = (size_t)(series - first);
    while (stem > 0 && first[stem - 1] >= '0' && first[stem - 1] <= '9')
        stem--;
    TRY(path_list(&list, index->directory, err));
    int result = 0;
    for (size_t i = 0; i < list.count && result == 0; i++) {
        const char *name = list.names[i];
        if (strncmp(name, first, stem) == 0 && str_ends(str_of(name), str_of(series)) &&
            !bsearch(&name, index->parts, index->count, sizeof *index->parts, text_order))
            result = fail_at(err, ERR_VERIFY, index->path, ERROR_NO_OFFSET,
                             "does not name %.100s, a part of the same model", name);
    }
    path_list_release(&list);
    return result;
}

static void join(struct safetensors *file)
{
    size_t count = 0;
    file->tensors = mem_array(file->count, sizeof *file->tensors);
    for (size_t p = 0; p < file->part_count; p++)
        for (size_t i = 0; i < file->parts[p].count; i++)
            file->tensors[count++] = file->parts[p].tensors[i];
    qsort(file->tensors, count, sizeof *file->tensors, safetensors_by_name);
}

int safetensors_open_parts(struct safetensors *file, const char *path, struct error *err)
{
    SCOPED(index_release) struct index index = {0};
    TRY(index_read(&index, path, err));
    TRY(open_parts(file, &index, err));
    TRY(check_held(file, &index, err));
    TRY(check_named(file, &index, err));
    TRY(check_beside(&index, err));
    join(file);
    return 0;
}

char *safetensors_locate(const char *directory, const char *name)
{
    struct buf index = {0};
    char *path = path_join(directory, name);
    if (path_exists(path))
        return path;
    buf_addf(&index, "%s.index.json", path);
    buf_text(&index);
    mem_free(path);
    if (!path_exists(index.data))
        buf_release(&index);
    return index.data;
}

static int hash_parts(const struct index *index, uint64_t *hash, struct error *err)
{
    SCOPED(mem_free_at) uint64_t *hashes = mem_array(index->count, sizeof *hashes);
    int result = 0;
    for (size_t i = 0; i < index->count && result == 0; i++) {
        char *path = path_join(index->directory, index->parts[i]);
        result = path_exists(path) ? file_hash(path, &hashes[i], err) : missing(index, index->parts[i], err);
        mem_free(path);
    }
    if (result == 0)
        *hash = hash64(hashes, index->count * sizeof *hashes);
    return result;
}

int safetensors_hash(const char *path, uint64_t *hash, struct error *err)
{
    if (!safetensors_is_index(path))
        return file_hash(path, hash, err);
    SCOPED(index_release) struct index index;
    TRY(index_read(&index, path, err));
    return hash_parts(&index, hash, err);
}
