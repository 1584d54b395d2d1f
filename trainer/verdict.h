/* What is decided about a run from outside of its steps. */
#ifndef TRAINER_VERDICT_H
#define TRAINER_VERDICT_H

#include <stdbool.h>

/* Is what is under way to be discarded? Long work asks at the border of two micro-batches. */
struct halt {
    bool (*asked)(void *context);
    void *context;
};

#endif
