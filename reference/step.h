/* A training step of an encoder, written to be read: BERT (Devlin et al. 2019) and ModernBERT (Warner et al. 2024) with
 * the losses of pre-training, forward and backward, in double precision. One thread, no vectors, no library; tests
 * compare dstrain with it. Tensors have the names and shapes that transformers gives them. */
#pragma once

#include <stdbool.h>

enum activation { GELU, GELU_TANH_FORM, SILU_FORM }; /* dstrain has GELU_TANH and SILU */

struct shape {
    bool is_modern;                                          /* ModernBERT; else BERT */
    int layers, hidden, heads, inner, vocabulary, positions; /* inner: intermediate_size */
    double epsilon;                                          /* of all norms */
    enum activation activation;

    /* ModernBERT. Layer i sees all tokens of a sequence if is_global[i], else those at most `window` / 2 away,
     * rounded down. */
    const bool *is_global; /* [layers] */
    int window;
    double theta_global, theta_local;
    bool float_angles; /* angles, sines and cosines rounded to float, as transformers computes them */
};

/* Where training drops numbers (Srivastava et al. 2014): what the embeddings' norm gives, the probabilities of
 * attention, the outputs of attention and of the feed-forward part, and ModernBERT's input of its last product. */
enum site { AT_EMBEDDING, AT_PROBABILITIES, AT_ATTENTION, AT_INNER, AT_DOWN /* the feed-forward part's output */ };

/* Sequences one after another, without padding. */
struct tokens {
    int sequences;
    const int *starts;         /* [sequences + 1] where each begins; the last is the number of tokens */
    const int *ids, *segments; /* [tokens]; segments are BERT's */
    int masked;
    const int *masked_at, *masked_ids; /* [masked] the masked tokens, and what they were */
    const int *next; /* [sequences] 0: the second segment follows the first, 1: it does not; or NULL */

    /* The factor of a number: 0, or 1 / (1 - p). `position` is the token's in its sequence, of probabilities the
     * query's, and `column` the key's; `layer` and `head` are 0 where there is none. NULL: no dropout. */
    double (*keep)(enum site site, int layer, int head, int sequence, int position, int column);
};

/* A tensor's values and gradient. */
struct tensor_memory {
    double *value, *gradient; /* [rows, columns]; NULL: the model has no such tensor (a bias) */
};
/* The caller's tensors. `rows` and `columns` are the shape that the model expects; a vector has one row. */
struct tensors {
    struct tensor_memory (*find)(void *context, const char *name, int rows, int columns);
    void *context;
};

/* Returns the loss, the mean over masked tokens plus, if `next` is set, the mean over sequences of the next-sentence
 * loss; adds its derivative to the gradients. */
double step_loss(const struct shape *shape, const struct tokens *tokens, const struct tensors *tensors);

/* Adam with decoupled decay (Kingma and Ba 2015; Loshchilov and Hutter 2019), or LAMB (You et al. 2020, algorithm 2, as
 * DeepSpeed computes it), both with bias correction. */
struct update_rule {
    bool is_lamb;
    double rate, beta1, beta2, epsilon, decay;
    double ratio_min, ratio_max; /* LAMB's bounds for |p| / |u| */
};
/* Update number t, from 1, of one tensor p with its gradient g, already clipped; m and v are its moments, zero before
 * the first update. Biases and norms have a rule without decay in dstrain. */
void tensor_update(const struct update_rule *rule, int t, long count, double *p, const double *g, double *m, double *v);
