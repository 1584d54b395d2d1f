#include "trainer/keep/head_choice.h"

#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "trainer/keep/foreign_names.h"

static void move_rows(const struct param *param, const uint32_t *rows, float *flat)
{
    const size_t count = (size_t)param->shape[0], columns = param->count / count;
    float *before = mem_array(param->count, sizeof *before), *at = flat + param->offset;
    memcpy(before, at, param->count * sizeof *at);
    for (size_t i = 0; i < count; i++)
        memcpy(at + i * columns, before + rows[i] * columns, columns * sizeof *at);
    mem_free(before);
}

void head_choice_release(struct head_choice *choice)
{
    mem_free(choice->rows);
    *choice = (struct head_choice){0};
}

void head_choice_apply(const struct head_choice *choice, const struct params *params, uint64_t seed, float *flat)
{
    for (size_t i = 0; i < params->count; i++) {
        const struct param *param = &params->items[i];
        if (!foreign_is_task_head(param->name))
            continue;
        if (choice->drawn)
            params_draw(params, param, seed, flat);
        else if (choice->moved)
            move_rows(param, choice->rows, flat);
    }
}

/* Takes the names of a task's head out of a list (names_report); whether there were any. */
static bool take_head(struct buf *list)
{
    struct buf others = {0};
    bool found = false;
    for (const char *at = buf_text(list); *at;) {
        const char *comma = strstr(at, ", "), *end = comma ? comma : at + strlen(at);
        const struct str name = str_range(at, end);
        char bare[FOREIGN_NAME_BYTES], text[FOREIGN_NAME_BYTES];
        snprintf(text, sizeof text, "%.*s", (int)name.size, name.data);
        foreign_name(NULL, text, bare, sizeof bare);
        if (foreign_is_task_head(bare))
            found = true;
        else
            buf_addf(&others, "%s%.*s", others.size > 0 ? ", " : "", (int)name.size, name.data);
        at = comma ? comma + 2 : end;
    }
    buf_release(list);
    *list = others;
    return found;
}

bool head_choice_tells(const struct head_choice *choice, struct names_report *report)
{
    struct buf drawn = {0};
    const bool misshapen = report->misshapen.size > 0;
    if (!choice->drawn && !choice->moved && !misshapen)
        return false;
    buf_add_text(&drawn, buf_text(&report->drawn));
    const bool lacks = take_head(&drawn), other = (choice->drawn || misshapen) && take_head(&report->unused);
    const bool told = !lacks || other; /* one of another shape, or of the same */
    if (other || (told && choice->drawn))
        take_head(&report->drawn);
    buf_release(&drawn);
    return told;
}

void head_choice_say(const struct head_choice *choice, struct names_report *report)
{
    if (choice->drawn || report->misshapen.size > 0)
        log_say("note       that model's head is not used, a new one is drawn by seed: %s",
                choice->drawn ? choice->why : buf_text(&report->misshapen));
    else
        log_say("note       that model's head is used, %s", choice->why);
}
