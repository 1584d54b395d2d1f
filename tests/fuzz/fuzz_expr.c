// room: pipeline
/* In: an expression of {{#expr:}}. Held: an error and no value, or a value of digits that is an expression again and
 * has itself as its value (INF, NAN and what is near the limits of a double apart); blanks around do not matter. */
#include "tests/fuzz/fuzz.h"

#include "pipeline/text/templates/expr.h"

#include <math.h>
#include <string.h>

int fuzz_input(const uint8_t *data, size_t size)
{
    const struct str text = as_str(data, size);
    const struct expr expr = expr_read(text);
    assert(memchr(expr.text, 0, sizeof expr.text));
    if (expr.error || expr.is_empty) {
        assert(expr.text[0] == 0 && expr.number == 0 && !expr_holds(&expr));
    } else if (expr.number == 0 || (fabs(expr.number) > 1e-300 && fabs(expr.number) < 1e300)) {
        const struct expr again = expr_read(str_of(expr.text));
        assert(!again.error && fabs(again.number - expr.number) <= 1e-13 * fabs(expr.number));
    }
    SCOPED(mem_free_at) char *wide = mem_alloc(size + 2);
    wide[0] = ' ';
    if (size)
        memcpy(wide + 1, data, size);
    wide[size + 1] = '\n';
    const struct expr blank = expr_read((struct str){wide, size + 2});
    assert(blank.error == expr.error && strcmp(blank.text, expr.text) == 0);
    return 0;
}
