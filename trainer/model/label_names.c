#include "trainer/model/label_names.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"

struct list {
    struct list *next;
    size_t count;
    const char *names[]; /* [count], and after them their bytes */
};
static struct list *lists;

static size_t size_of(const char *name)
{
    return name ? strnlen(name, LABEL_NAME_SIZE - 1) : 0;
}

static bool equals(const struct list *list, const char *const *names, size_t count)
{
    size_t i = 0;
    while (list->count == count && i < count && strlen(list->names[i]) == size_of(names[i]) &&
           memcmp(list->names[i], names[i] ? names[i] : "", size_of(names[i])) == 0)
        i++;
    return i == count;
}

const char *const *label_names(const char *const *names, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += size_of(names[i]);
    if (bytes == 0)
        return NULL;
    for (const struct list *list = lists; list; list = list->next)
        if (equals(list, names, count))
            return list->names;
    struct list *list = mem_clear(1, sizeof *list + count * (sizeof *names + 1) + bytes);
    *list = (struct list){.next = lists, .count = count};
    char *at = (char *)(list->names + count);
    for (size_t i = 0; i < count; i++) {
        const size_t size = size_of(names[i]);
        list->names[i] = at;
        if (size > 0)
            memcpy(at, names[i], size);
        at += size + 1;
    }
    lists = list;
    return list->names;
}

const char *label_name(const struct model_config *config, int32_t label, char out[LABEL_NAME_SIZE])
{
    snprintf(out, LABEL_NAME_SIZE, "LABEL_%" PRId32, label);
    return config->label_names && config->label_names[label][0] ? config->label_names[label] : out;
}

void label_names_forget(void)
{
    while (lists) {
        struct list *next = lists->next;
        mem_free(lists);
        lists = next;
    }
}
