#include "pipeline/text/templates/modules.h"

#include <assert.h>
#include <stdio.h>

struct templates *modules_open(void)
{
    struct templates *modules;
    struct error err;
    char hash[17];
    const int result = templates_parse(&modules, str_of(modules_text), "data/modules.txt", hash, &err);
    assert(result == 0);
    (void)result;
    return modules;
}

/* True if the table has the name. Sets *row and *name as modules_find does. */
static bool look_up(const struct templates *modules, struct str folded, char canonical[NAME_BYTES_MAX],
                    const struct rendering_row **row, struct str *name)
{
    const struct str wanted = name_canonical(folded, canonical);
    *name = wanted;
    *row = templates_find(modules, name);
    return *row || name->data != wanted.data; /* an alias in the table leads to another name */
}

const struct rendering_row *modules_find(const struct templates *modules, struct str module, struct str function,
                                         struct str *name, char scratch[2 * NAME_BYTES_MAX])
{
    const struct rendering_row *row;
    char *both = scratch + NAME_BYTES_MAX;
    const int size =
        snprintf(both, NAME_BYTES_MAX, "%.*s#%.*s", (int)module.size, module.data, (int)function.size, function.data);
    if (size < (int)NAME_BYTES_MAX && look_up(modules, (struct str){both, (size_t)size}, scratch, &row, name))
        return row;
    while (module.size > 0) {
        if (look_up(modules, module, scratch, &row, name))
            return row;
        while (module.size > 0 && module.data[module.size - 1] != ' ' && module.data[module.size - 1] != '/')
            module.size--;
        module.size -= module.size > 0;
    }
    *name = STR("");
    return NULL;
}

bool module_is_box(const struct templates *modules, struct str module)
{
    char scratch[2 * NAME_BYTES_MAX];
    struct str name;
    const struct rendering_row *row = modules_find(modules, module, STR(""), &name, scratch);
    return row && row->kind == RENDERING_MARK;
}
