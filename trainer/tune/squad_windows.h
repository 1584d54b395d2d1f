/* Cuts questions into the windows that a model reads: [CLS] question [SEP] a stretch of the context [SEP]. Follows
 * Google's run_squad.py (convert_examples_to_features) step by step, so that windows, ids and labels are the same. A
 * byte-level BPE cuts the context as a whole, not word by word, and its pieces know their places, as in the example of
 * transformers. Pure. */
#pragma once

#include "trainer/tune/samples.h"
#include "trainer/tune/squad_read.h"
#include "trainer/recipe/text.h"

struct squad_limits {
    uint32_t length;     /* tokens of a window, question, [CLS] and [SEP] included */
    uint32_t stride;     /* pieces between the starts of two windows */
    uint32_t query_most; /* pieces of a question, at most */
};

/* A question's window: sample number `sample` of all. */
struct squad_window {
    uint32_t start, length; /* pieces of the context */
    uint32_t sample;
};

/* A question as pieces. */
struct squad_feature {
    const struct squad_question *question;
    uint32_t query;          /* pieces of the question, after truncation */
    uint32_t before;         /* tokens of a window before the context */
    const uint32_t *pieces;  /* [piece_count] of the context; in the arena, shared with other questions about it */
    const uint32_t *word_of; /* [piece_count] which word of the context each belongs to; NULL: they have places */
    const uint32_t *places;  /* [2·piece_count] the bytes of the context where each begins and ends, without space */
    uint32_t piece_count;
    struct squad_window *windows; /* [window_count] */
    uint32_t window_count;
};

struct squad_features {
    struct samples
        samples; /* of HEAD_SPAN: label and token are where the answer ends and begins, 0 where it is not inside */
    struct arena arena;
    struct squad_feature *items; /* [count] */
    size_t count;
    uint64_t left_out;          /* questions for training whose answer's text is not in the context */
    const char *first_left_out; /* id of one of them */
};

/* ERR_MISMATCH, ERR_USAGE: the model has no such positions or one segment only, or a question leaves no room.
 * ERR_UNSAFE: text_need_pairs. */
int squad_check_limits(const struct squad_limits *limits, const struct text *text, const struct model_config *config,
                       struct error *err);

/* Features of all questions. With `training` those that cannot be trained on are left out, and labels are set, to
 * the first answer; else all labels are 0. A zeroed *features is ready; squad_features_release. */
void squad_features_make(const struct squad_file *file, const struct text *text, const struct squad_limits *limits,
                         bool training, struct squad_features *features);
void squad_features_release(struct squad_features *features);

/* Whether piece `piece` of the context sees the most of its neighbours in window `window`. */
bool squad_is_best_window(const struct squad_feature *feature, uint32_t window, uint32_t piece);
