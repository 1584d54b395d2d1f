#include "pipeline/input/split.h"

#include "base/hash.h"
#include "base/mem.h"
#include "pipeline/input/json_line.h"

#include <stdlib.h>

static void add(struct split_ids *ids, uint64_t id)
{
    if (!ids->ids)
        ids->ids = mem_array(SPLIT_IDS, sizeof *ids->ids);
    ids->ids[ids->count++] = id;
}

static void read_lines(struct split_ids *ids, struct str head, bool whole, const char *id_key)
{
    struct json_line scratch = {0};
    struct arena arena = {0};
    while (head.size > 0 && ids->count < SPLIT_IDS) {
        const char *end = head.data + head.size, *stop = memchr(head.data, '\n', head.size);
        struct json_member id = {.name = id_key};
        uint32_t repairs = 0;
        if (!stop && !whole)
            break;
        if (json_line_read(&scratch, str_range(head.data, stop ? stop : end), &id, 1, &arena, &repairs) &&
            (id.kind == MEMBER_TEXT || id.kind == MEMBER_INTEGER || id.kind == MEMBER_DIGITS) && id.text.size > 0)
            add(ids, hash64(id.text.data, id.text.size));
        arena_reset(&arena);
        head = stop ? str_range(stop + 1, end) : STR("");
    }
    json_line_release(&scratch);
    arena_release(&arena);
}

/* The <id> before the <revision> of each page. The head begins inside the first page. */
static void read_pages(struct split_ids *ids, struct str head)
{
    while (head.size > 0 && ids->count < SPLIT_IDS) {
        const size_t next = str_find(head, STR("<page>"));
        const struct str page = {head.data, next == SIZE_MAX ? head.size : next};
        const size_t id = str_find(page, STR("<id>")), revision = str_find(page, STR("<revision"));
        if (id < revision && revision != SIZE_MAX) {
            const struct str rest = str_range(page.data + id + 4, page.data + page.size);
            const size_t end = str_find(rest, STR("<"));
            const struct str text = str_trim((struct str){rest.data, end});
            if (text.size > 0 && !str_equal(text, STR("0")))
                add(ids, hash64(text.data, text.size));
        }
        head = next == SIZE_MAX ? STR("") : str_range(page.data + next + 6, head.data + head.size);
    }
}

void split_ids_read(struct split_ids *ids, const struct dump *dump, const char *id_key)
{
    const struct str head = dump_head(dump);
    *ids = (struct split_ids){0};
    if (dump_kind(dump) == SOURCE_JSONL)
        read_lines(ids, head, head.size < DUMP_HEAD_BYTES, id_key);
    else if (dump_kind(dump) == SOURCE_WIKI)
        read_pages(ids, head);
}

void split_ids_release(struct split_ids *ids)
{
    mem_free(ids->ids);
    *ids = (struct split_ids){0};
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

bool split_by_text(const struct split_ids *const *ids, size_t count)
{
    size_t all = 0, own = 0;
    for (size_t i = 0; i < count; i++)
        all += ids[i]->count;
    if (all == 0)
        return true;
    uint64_t *sorted = mem_array(all, sizeof *sorted), *to = sorted;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < ids[i]->count; k++)
            *to++ = ids[i]->ids[k];
    qsort(sorted, all, sizeof *sorted, compare);
    for (size_t i = 0; i < all; i++)
        own += i == 0 || sorted[i] != sorted[i - 1];
    mem_free(sorted);
    return 4 * own < 3 * all;
}
