/* The heads that may be on a model's last layer, by number. model/head.h describes each; the task decides which of them
 * run (task.h). */
#ifndef TRAINER_DATA_HEADS_H
#define TRAINER_DATA_HEADS_H

enum head_kind {
    HEAD_MASKED, /* which piece a masked token was */
    HEAD_NEXT,   /* whether segment B follows segment A */
    HEAD_CLASS,  /* the class of a sequence among the task's, or with one class a number */
    HEAD_SPAN,   /* where in a sequence a span begins and ends */
    HEAD_KINDS,
};

#define HEAD_SUMS 2 /* sums that a head's loss makes: losses, hits */

#endif
