/* Recipes for --recipe: files of samples/configs that are built into the program. */
#ifndef TRAINER_RECIPE_RECIPES_H
#define TRAINER_RECIPE_RECIPES_H

#include <stddef.h>

struct named_recipe {
    const char *name;
    const char *model; /* the model that it was tuned for */
    const char *json;  /* the file's text, as --config takes it */
};

const struct named_recipe *recipe_at(size_t i); /* NULL: no more */

#endif
