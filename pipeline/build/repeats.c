#include "pipeline/build/repeats.h"

#include "base/progress.h"

#include <assert.h>

#define LIST_NAME SPILL_NAME "/9999999999.duplicates" /* sorts after the names of all extents; see spill_remove_all */

/* < 0, 0, > 0 if `a` is before, equal to, after `b`. */
static int compare_places(const struct sample_key *a, const struct sample_key *b)
{
    const uint32_t left[] = {a->file, a->window, a->part, a->index};
    const uint32_t right[] = {b->file, b->window, b->part, b->index};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

/* Counts and lists the duplicates of a load. Entries of one key are adjacent, the first by place at the front. */
static int find_in_load(const struct load *load, struct file *list, uint64_t *later, struct error *err)
{
    for (size_t i = 0, end; i < load->count; i = end) {
        for (end = i + 1; end < load->count && load->sorted[end].key == load->sorted[i].key;)
            end++;
        *later += end - i - 1;
        if (end - i > 1 && list)
            TRY(file_write(list, load->sorted[i].entry, sizeof(struct sample_key), err));
    }
    return 0;
}

/* `list`: gets the rows; or NULL. */
static int find(const struct spills *spills, size_t set, uint64_t load_bytes_max, struct file *list, uint64_t *later,
                struct error *err)
{
    const uint32_t bits = spills->sets[set].bucket_bits;
    struct load load = {.set = set};
    int result = 0;
    assert(spills->sets[set].entry_bytes == sizeof(struct sample_key));
    *later = 0;
    for (load.bucket = 0; result == 0 && load.bucket < 1u << bits; load.bucket++) {
        uint32_t more = 0;
        while (more < 24 - bits && spills_bytes(spills, set, load.bucket) >> more > load_bytes_max / 2)
            more++;
        for (uint64_t slice = 0; result == 0 && slice < 1ull << more; slice++) {
            const uint64_t range = (uint64_t)load.bucket << more | slice;
            load.first = bits + more == 0 ? 0 : range << (64 - bits - more);
            load.last = bits + more == 0 ? UINT64_MAX : load.first + (UINT64_MAX >> (bits + more));
            result = load_read(&load, spills, load_bytes_max, err);
            if (result == 0)
                result = find_in_load(&load, list, later, err);
        }
    }
    load_release(&load);
    return result;
}

int duplicates_count(const struct extents *extents, const struct spill_set *sets, size_t set_count,
                     uint64_t load_bytes_max, uint64_t *later, struct error *err)
{
    struct seal_extent *items;
    const struct spills spills = extents_spills(extents, sets, set_count, &items);
    const int result = find(&spills, set_count - 1, load_bytes_max, NULL, later, err);
    mem_free(items);
    return result;
}

/* Writes the list of equal texts from spills whose set 0 holds hashes. */
static int list_equal(const struct spills *spills, uint64_t load_bytes_max, struct error *err)
{
    SCOPED(file_close) struct file list = FILE_CLOSED;
    SCOPED(mem_free_at) char *path = path_join(spills->directory, LIST_NAME);
    uint64_t later;
    TRY(file_create(&list, path, err));
    TRY(find(spills, 0, load_bytes_max, &list, &later, err));
    return file_commit(&list, err);
}

static int list_open(struct repeats_file *list, const char *directory, const char *name, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    TRY(file_map(&list->mapping, path, err));
    if (list->mapping.size % sizeof *list->rows != 0)
        return fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "the list of duplicates is damaged");
    list->rows = (const struct sample_key *)(const void *)list->mapping.data;
    list->count = list->mapping.size / sizeof *list->rows;
    return 0;
}

static void list_close(struct repeats_file *list)
{
    if (list->mapping.data)
        file_unmap(&list->mapping);
}

static int compare_hashes(const struct sample_key *a, const struct sample_key *b)
{
    return (a->key > b->key) - (a->key < b->key);
}

/* The row that is equal to the document in the order of the list; NULL: there is none. */
static const struct sample_key *list_find(const struct repeats_file *list, const struct sample_key *document,
                                          int (*compare)(const struct sample_key *a, const struct sample_key *b))
{
    size_t low = 0, high = list->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = compare(&list->rows[middle], document);
        if (order == 0)
            return &list->rows[middle];
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return NULL;
}

/* True if an earlier document has this text. */
static bool is_later(const struct repeats_file *equal, const struct sample_key *document)
{
    const struct sample_key *first = list_find(equal, document, compare_hashes);
    return first && compare_places(first, document) < 0;
}

#define NEAR_NAME    SPILL_NAME "/9999999999.near" /* as LIST_NAME */
#define READ_ENTRIES 4096u                         /* sketches at a time */

void repeats_sets(const struct dataset_recipe *recipe, uint32_t hash_bits, struct spill_set sets[REPEATS_SETS])
{
    const struct near_rules rules = near_rules(recipe->near_duplicates > 0 ? recipe->near_duplicates : NEAR_LEAST);
    sets[0] = (struct spill_set){.entry_bytes = sizeof(struct sample_key), .bucket_bits = hash_bits};
    sets[1] = (struct spill_set){
        .entry_bytes = (uint32_t)(offsetof(struct sketched, sketch) + near_sketch_bytes(&rules)), .bucket_bits = 0};
}

/* The sketches of all extents, in the order of their documents. */
struct sketches {
    const struct spills *spills;
    uint32_t entry_bytes;
    struct file *files; /* [spills->extent_count] */
    uint64_t *firsts;   /* [spills->extent_count + 1] the number of the first document of each; then of all */
};

static void sketches_close(struct sketches *sketches)
{
    for (size_t i = 0; i < sketches->spills->extent_count; i++)
        file_close(&sketches->files[i]);
    mem_free(sketches->files);
    mem_free(sketches->firsts);
}

static int sketches_open(struct sketches *sketches, const struct spills *spills, struct error *err)
{
    const size_t extents = spills->extent_count, bucket = 1ull << spills->sets[0].bucket_bits;
    *sketches = (struct sketches){.spills = spills,
                                  .entry_bytes = spills->sets[1].entry_bytes,
                                  .files = mem_array(extents, sizeof(struct file)),
                                  .firsts = mem_clear(extents + 1, sizeof(uint64_t))};
    for (size_t i = 0; i < extents; i++)
        sketches->files[i] = FILE_CLOSED;
    for (size_t i = 0; i < extents; i++) {
        const uint64_t bytes = spills->extents[i].bytes[bucket];
        sketches->firsts[i + 1] = sketches->firsts[i] + bytes / sketches->entry_bytes;
        if (bytes == 0)
            continue;
        char *path = spill_path(spills->directory, spills->extents[i].extent, 1, 0);
        const int result = file_open_read(&sketches->files[i], path, err);
        mem_free(path);
        TRY(result);
    }
    if (sketches->firsts[extents] >= UINT32_MAX)
        return fail(err, ERR_RESOURCE, "--near-duplicates: more than four billion documents");
    return 0;
}

static int read_part(const struct sketches *sketches, size_t extent, uint64_t offset, void *out, size_t bytes,
                     struct error *err)
{
    const int64_t got = file_read_at(&sketches->files[extent], out, bytes, offset, err);
    if (got >= 0 && (size_t)got < bytes)
        return fail_at(err, ERR_VERIFY, sketches->files[extent].path, (uint64_t)got, "shorter than the journal says");
    return got < 0 ? -1 : 0;
}

static int read_values(void *context, uint32_t number, uint8_t values[NEAR_VALUES], struct error *err)
{
    const struct sketches *sketches = context;
    size_t extent = 0, after = sketches->spills->extent_count;
    while (after - extent > 1) { /* the last that begins at the number or before it */
        const size_t middle = extent + (after - extent) / 2;
        if (sketches->firsts[middle] <= number)
            extent = middle;
        else
            after = middle;
    }
    const uint64_t at = (number - sketches->firsts[extent]) * sketches->entry_bytes;
    return read_part(sketches, extent, at + offsetof(struct sketched, sketch.values), values, NEAR_VALUES, err);
}

/* Adds an extent's documents to the index and lists those that are similar to earlier ones. */
static int find_in_extent(const struct sketches *sketches, size_t extent, const struct repeats_file *equal,
                          struct near_index *index, struct file *list, struct error *err)
{
    const size_t bytes = sketches->entry_bytes;
    struct sketched sketched = {0};
    SCOPED(mem_free_at) char *entries = mem_array(READ_ENTRIES, bytes);
    int result = 0;
    for (uint64_t n = sketches->firsts[extent]; result == 0 && n < sketches->firsts[extent + 1];) {
        const uint64_t left = sketches->firsts[extent + 1] - n, count = left < READ_ENTRIES ? left : READ_ENTRIES;
        result = read_part(sketches, extent, (n - sketches->firsts[extent]) * bytes, entries, count * bytes, err);
        for (uint64_t i = 0; result == 0 && i < count; i++, n++) {
            memcpy(&sketched, entries + i * bytes, bytes);
            if (equal->count > 0 && is_later(equal, &sketched.document))
                continue;
            const int similar = near_index_add(index, (uint32_t)n, &sketched.sketch, err);
            result = similar > 0 ? file_write(list, &sketched.document, sizeof sketched.document, err) : similar;
        }
        if (stop_requested())
            result = fail(err, ERR_STOPPED, "stopped on request");
    }
    return result;
}

static int check_room(const struct near_rules *rules, uint64_t documents, uint64_t room_bytes, struct error *err)
{
    char needed[32], count[32];
    const uint64_t bytes = near_index_bytes(rules, documents);
    if (bytes <= room_bytes)
        return 0;
    fail(err, ERR_RESOURCE, "--near-duplicates needs %s for the index of %s documents", format_bytes(bytes, needed),
         format_count(documents, count));
    return hint(err, "the same command with %lluM more of --memory continues",
                (unsigned long long)((bytes - room_bytes) >> 20) + 1);
}

static int list_near(const struct dataset_recipe *recipe, const struct spills *spills, const struct repeats_file *equal,
                     uint64_t room_bytes, struct file *list, struct error *err)
{
    const struct near_rules rules = near_rules(recipe->near_duplicates);
    struct sketches sketches;
    struct near_index *index = NULL;
    int result = sketches_open(&sketches, spills, err);
    const uint64_t documents = sketches.firsts[spills->extent_count];
    if (result == 0)
        result = check_room(&rules, documents, room_bytes, err);
    if (result == 0)
        index = near_index_open(&rules, (uint32_t)documents, read_values, &sketches);
    for (size_t i = 0; result == 0 && i < spills->extent_count; i++)
        result = find_in_extent(&sketches, i, equal, index, list, err);
    near_index_close(index);
    sketches_close(&sketches);
    return result;
}

/* The list of equal texts comes first: a document on it is not compared. */
static int write_near(const struct dataset_recipe *recipe, const struct spills *spills, uint64_t room_bytes,
                      struct error *err)
{
    SCOPED(file_close) struct file list = FILE_CLOSED;
    SCOPED(list_close) struct repeats_file equal = {0};
    SCOPED(mem_free_at) char *path = path_join(spills->directory, NEAR_NAME);
    TRY(list_open(&equal, spills->directory, LIST_NAME, err));
    TRY(file_create(&list, path, err));
    TRY(list_near(recipe, spills, &equal, room_bytes, &list, err));
    return file_commit(&list, err);
}

int repeats_list(const struct dataset_recipe *recipe, const struct extents *extents, const struct spill_set *sets,
                 uint64_t load_bytes_max, uint64_t room_bytes, struct error *err)
{
    struct seal_extent *items;
    const struct spills spills = extents_spills(extents, sets, REPEATS_SETS, &items);
    int result = list_equal(&spills, load_bytes_max, err);
    if (result == 0 && recipe->near_duplicates > 0)
        result = write_near(recipe, &spills, room_bytes, err);
    for (size_t i = extents->count; result == 0 && i-- > 0;)
        result = spill_remove(extents->directory, items[i].extent, err);
    mem_free(items);
    return result;
}

int repeats_open(struct repeats *repeats, const struct dataset_recipe *recipe, const char *directory, struct error *err)
{
    *repeats = (struct repeats){.recipe = recipe};
    TRY(list_open(&repeats->equal, directory, LIST_NAME, err));
    return recipe->near_duplicates > 0 ? list_open(&repeats->near, directory, NEAR_NAME, err) : 0;
}

void repeats_close(struct repeats *repeats)
{
    list_close(&repeats->equal);
    list_close(&repeats->near);
    *repeats = (struct repeats){0};
}

enum page_fate repeats_judge(const struct repeats *repeats, const struct sample_key *document)
{
    if (is_later(&repeats->equal, document))
        return PAGE_DUPLICATE;
    return list_find(&repeats->near, document, compare_places) ? PAGE_NEAR_DUPLICATE : PAGE_KEPT;
}

enum page_fate repeats_fate(const struct repeats *repeats, const struct group *group, size_t index,
                            struct article_reader *reader, const struct article *article)
{
    if (article->fate != PAGE_KEPT || !repeats->recipe)
        return article->fate;
    const struct sample_key document = repeats_key(group, index, article_hash(reader, article));
    return repeats_judge(repeats, &document);
}
