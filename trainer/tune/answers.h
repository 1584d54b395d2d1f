/* Turns the logits of windows into answers, as Google's run_squad.py and its port in transformers 4
 * (compute_predictions_logits) choose them. Pure but for the tokenizer's memory. One thread. */
#pragma once

#include "trainer/tune/squad_windows.h"

struct answer_rules {
    uint32_t n_best;       /* candidates for each end, and answers that are kept, at most */
    uint32_t longest;      /* pieces of an answer, at most */
    bool version_2;        /* a question may have no answer: */
    double null_threshold; /* it has none if the null score exceeds the best answer's by more than this */
};

/* Logits of a window: [count] each, of its tokens in order and possibly of padding after them. */
struct window_logits {
    const float *begin, *end;
    size_t step; /* floats from one token to the next */
    uint32_t count;
};

/* Where the logits of a sample are. */
struct logits_source {
    struct window_logits (*window)(const void *context, uint32_t sample);
    const void *context;
};

/* Those of samples in memory; the context is {const struct samples *, const float *logits [tokens, 2]}. */
struct window_logits answers_window(const void *context, uint32_t sample);

/* One of the answers to a question. */
struct choice {
    size_t text, size; /* where its text begins in texts, and its bytes */
    double begin_logit, end_logit;
    double probability; /* softmax over the sums of logits of all choices */
};

/* The answers to a question. Zeroed to begin with; one may serve many questions. answers_release frees it. */
struct answers {
    struct buf texts;
    struct choice *items; /* [count], the best first */
    uint32_t count, capacity;
    struct str best;  /* the text of the answer that is given: "" for none; in texts */
    double null_odds; /* version_2: the null score minus the best answer's */
};

/* Chooses the answers to a question. */
void answers_choose(const struct squad_feature *feature, const struct logits_source *logits,
                    const struct answer_rules *rules, const struct text *text, struct answers *out);
struct str answers_text(const struct answers *a, uint32_t i);
void answers_release(struct answers *a);

/* Appends to out the stretch of `original` that `pieces`, a text put together from pieces, came from (get_final_text),
 * or all of it where that cannot be found. */
void answers_original(struct str pieces, struct str original, const struct text *text, struct buf *out);
