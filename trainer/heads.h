/* The heads that may stand on a model's last layer, by number. What each one is stands in model/heads.c; which of them
 * run is for the dataset to say. */
#ifndef TRAINER_HEADS_H
#define TRAINER_HEADS_H

enum head_kind {
    HEAD_MASKED, /* which piece a masked token was */
    HEAD_NEXT,   /* whether segment B follows segment A */
    HEAD_KINDS,
};

#endif
