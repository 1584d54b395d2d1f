/* In: the number of a recipe. Out: its name, model and configuration, the same text as in samples/configs. */
#include "trainer/recipe/recipes.h"

/* clang-format off */
static const struct named_recipe recipes[] = {
#include <recipes.inc> /* cmake/recipes.cmake makes it of the files */
};
/* clang-format on */

const struct named_recipe *recipe_at(size_t i)
{
    return i < sizeof recipes / sizeof *recipes ? &recipes[i] : NULL;
}
