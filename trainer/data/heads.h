/* The heads that may be on a model's last layer. A head is a row here and a file in trainer/model/heads/, which defines
 * the struct head (model/head.h) head_NAME; the task decides which of them run (task.h). */
#pragma once

#define HEADS(ROW)                                                                                                     \
    ROW(HEAD_MASKED, head_masked) /* which piece a masked token was */                                                 \
    ROW(HEAD_NEXT, head_next)     /* whether segment B follows segment A */                                            \
    ROW(HEAD_CLASS, head_class)   /* the class of a sequence among the task's, or with one class a number */           \
    ROW(HEAD_SPAN, head_span)     /* where in a sequence a span begins and ends */                                     \
    ROW(HEAD_TOKEN, head_token)   /* the class of a token among the task's */

#define HEAD_NUMBER(number, row) number,
enum head_kind { HEADS(HEAD_NUMBER) HEAD_KINDS };
#undef HEAD_NUMBER

#define HEAD_SUMS 2 /* sums that a head's loss makes: losses, hits */
