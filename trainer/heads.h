/* The heads that may stand on a model's last layer, by number. What each one is stands in model/head.h; which of them
 * run is the task's to say (task.h). */
#ifndef TRAINER_HEADS_H
#define TRAINER_HEADS_H

enum head_kind {
    HEAD_MASKED, /* which piece a masked token was */
    HEAD_NEXT,   /* whether segment B follows segment A */
    HEAD_CLASS,  /* which of a task's classes a sequence has, or with one class: a number */
    HEAD_SPAN,   /* where in a sequence a span begins and ends */
    HEAD_KINDS,
};

#define HEAD_SUMS 2 /* what a head's loss adds up: losses, hits */

#endif
