#include "trainer/recipe/mask_plan.h"

#include <inttypes.h>
#include <string.h>

#include "base/opts.h"
#include "base/random.h"
#include "base/str.h"

static int wrong_phase(struct str part, const char *what, struct error *err)
{
    fail(err, ERR_USAGE, "--mask-phases: \"%.*s\" %s", (int)part.size, part.data, what);
    return hint(err, "0.3@0,0.15@0.7 masks 30 %% of the tokens, and 15 %% in the last three tenths of the steps");
}

int mask_phases_read(const char *text, struct mask_phase phases[MASK_PHASES_MAX], size_t *count, struct error *err)
{
    for (*count = 0; text; ++*count) {
        const struct str part = {text, strcspn(text, ",")};
        const size_t at = str_find(part, STR("@"));
        uint32_t share, from;
        if (*count == MASK_PHASES_MAX)
            return wrong_phase(part, "is one phase too many: eight are the most", err);
        if (at == SIZE_MAX || !opts_millionths((struct str){text, at}, &share) ||
            !opts_millionths((struct str){text + at + 1, part.size - at - 1}, &from))
            return wrong_phase(part, "is not P@S, a share of the tokens and the share of the steps where it begins",
                               err);
        if (share == 0)
            return wrong_phase(part, "masks nothing: there is nothing to learn", err);
        if (*count == 0 ? from > 0 : from <= phases[*count - 1].from || from >= MILLION)
            return wrong_phase(part,
                               *count == 0 ? "does not begin at 0, as the first phase must"
                                           : "does not begin between the phase before it and the end",
                               err);
        phases[*count] = (struct mask_phase){share, from};
        text = text[part.size] ? text + part.size + 1 : NULL;
    }
    return 0;
}

int mask_split_read(const char *text, struct mask_split *split, struct error *err)
{
    uint32_t parts[3] = {0};
    const char *at = text;
    int found = 0;
    for (; found < 3; found++) {
        const size_t digits = strspn(at, "0123456789");
        for (size_t i = 0; digits <= 3 && i < digits; i++)
            parts[found] = parts[found] * 10 + (uint32_t)(at[i] - '0');
        if (digits == 0 || digits > 3 || at[digits] != (found < 2 ? ':' : '\0'))
            break;
        at += digits + 1;
    }
    const uint32_t rest = parts[1] + parts[2];
    if (found < 3 || parts[0] + rest != 100) {
        fail(err, ERR_USAGE, "--mask-split %.40s: is not three whole numbers that add up to 100", text);
        return hint(err, "80:10:10 is BERT's: 80 %% become [MASK], 10 %% any piece, 10 %% stay; 100:0:0 masks all");
    }
    *split = (struct mask_split){parts[0] * (MILLION / 100), rest > 0 ? parts[2] * MILLION / rest : 0};
    return 0;
}
