/* Parses JSON text with jansson. The memory of the tree is counted in jansson's allocator, so the bound needs no model
 * of its nodes. When the bound is reached, the text is ended early. A failing allocation would seem simpler, but
 * jansson 2.14 ignores some failures (lex_save) and then reads past its buffers. */
#include "base/json.h"

#include "base/file.h"
#include "base/mem.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>

#define BLOCK_BYTES 8u /* malloc's overhead per allocation */

/* Bytes that this thread's parse has allocated and not freed. */
static _Thread_local struct {
    bool counts;
    size_t bytes;
} tree;

static void *tree_alloc(size_t bytes)
{
    void *memory = mem_alloc(bytes);
    if (tree.counts)
        tree.bytes += malloc_usable_size(memory) + BLOCK_BYTES;
    return memory;
}

static void tree_free(void *memory)
{
    if (tree.counts && memory)
        tree.bytes -= malloc_usable_size(memory) + BLOCK_BYTES;
    mem_free(memory);
}

static void set_functions(void)
{
    json_set_alloc_funcs(tree_alloc, tree_free);
}

void json_memory_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_functions);
}

struct feed {
    struct str rest;
    size_t tree_bytes_max;
    bool refused;
};

/* Gives jansson the next bytes of the text, a kilobyte at a time; 0 at its end or at the bound. */
static size_t feed_next(void *out, size_t room, void *context)
{
    struct feed *feed = context;
    feed->refused = tree.bytes > feed->tree_bytes_max;
    const size_t size = feed->refused ? 0 : feed->rest.size < room ? feed->rest.size : room;
    if (size > 0) {
        memcpy(out, feed->rest.data, size);
        feed->rest = (struct str){feed->rest.data + size, feed->rest.size - size};
    }
    return size;
}

json_t *json_parse(struct str text, size_t bytes_max, json_error_t *why)
{
    struct feed feed = {.rest = text, .tree_bytes_max = JSON_TREE_PER_BYTE * bytes_max};
    json_memory_open();
    tree.bytes = 0;
    tree.counts = true;
    json_t *value = json_load_callback(feed_next, &feed, JSON_REJECT_DUPLICATES, why);
    tree.counts = false;
    if (feed.refused) {
        json_decref(value);
        value = NULL;
        snprintf(why->text, sizeof why->text, "more values than fit into %zu MB of memory",
                 feed.tree_bytes_max / 1000000);
    }
    return value;
}

uint64_t json_error_place(const json_error_t *why)
{
    return why->position > 0 ? (uint64_t)why->position : 0;
}

int json_read(const char *path, size_t bytes_max, enum error_kind kind, json_t **out, struct error *err)
{
    struct buf text = {0};
    json_error_t why;
    *out = NULL;
    int result = file_read_all(path, bytes_max, &text, err);
    if (result == 0) {
        const struct str json = str_without_mark(buf_str(&text));
        *out = json_parse(json, bytes_max, &why);
        if (!*out)
            result = fail_at(err, kind, path, json_error_place(&why) + (text.size - json.size),
                             "cannot be read as JSON: %.200s", why.text);
    }
    buf_release(&text);
    if (*out && !json_is_object(*out)) {
        json_decref(*out);
        *out = NULL;
        result = fail_at(err, kind, path, ERROR_NO_OFFSET, "is not a JSON object");
    }
    return result;
}
