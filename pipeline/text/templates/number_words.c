#include "pipeline/text/templates/number_words.h"

#include <assert.h>

static const char *const small[] = {"zero",     "one",     "two",     "three",     "four",     "five",    "six",
                                    "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
                                    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
static const char *const tens[] = {"",      "",      "twenty",  "thirty", "forty",
                                   "fifty", "sixty", "seventy", "eighty", "ninety"};
static const struct {
    uint64_t size;
    const char *word;
} powers[] = {{1000000000, "billion"}, {1000000, "million"}, {1000, "thousand"}};

/* Below 1,000. */
static void add_hundreds(unsigned number, bool with_and, struct buf *out)
{
    if (number >= 100)
        buf_addf(out, "%s hundred%s", small[number / 100], number % 100 == 0 ? "" : with_and ? " and " : " ");
    if (number >= 100 && number % 100 == 0)
        return;
    number %= 100;
    if (number < 20)
        buf_add_text(out, small[number]);
    else
        buf_addf(out, "%s%s%s", tens[number / 10], number % 10 ? "-" : "", number % 10 ? small[number % 10] : "");
}

void number_words_add(uint64_t number, bool with_and, struct buf *out)
{
    assert(number <= NUMBER_WORDS_MAX);
    bool any = false;
    for (size_t i = 0; i < sizeof powers / sizeof *powers; i++) {
        const unsigned count = (unsigned)(number / powers[i].size);
        number %= powers[i].size;
        if (count == 0)
            continue;
        buf_add_text(out, any ? " " : "");
        add_hundreds(count, with_and, out);
        buf_addf(out, " %s", powers[i].word);
        any = true;
    }
    if (any && number == 0)
        return;
    buf_add_text(out, !any ? "" : number < 100 && with_and ? " and " : " ");
    add_hundreds((unsigned)number, with_and, out);
}
