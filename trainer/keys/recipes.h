/* Recipes that the program carries, for --recipe: files of samples/configs, so that it needs none of them beside it. */
#ifndef TRAINER_KEYS_RECIPES_H
#define TRAINER_KEYS_RECIPES_H

#include <stddef.h>

struct named_recipe {
    const char *name;
    const char *model; /* that it was found with */
    const char *json;  /* the file, as --config takes it */
};

const struct named_recipe *recipe_at(size_t i); /* NULL: there are no more */

#endif
