/* The arguments of each op: a struct X_args for op X, and types that several of them share. The comment above a struct
 * says what the op computes, the one beside a field gives its shape and type; ops.h says what holds for all ops. A
 * field that is left out of an initialiser is 0 or NULL. Pointers to const are read, others written. */
#pragma once

#include "trainer/data/batch.h"
#include "trainer/backend/update_numbers.h"

#include <stddef.h>

enum gelu { GELU_TANH, GELU_ERF, SILU }; /* transformers' "gelu_new", "gelu" and "silu"; the last only for glu */

struct rows {
    int32_t live;  /* rows with data */
    int32_t total; /* rows of the buffer in this call; those from `live` on are dead: zero */
};

/* Keyed dropout (Law 4): word w of Philox(key, counter), with counter = (column / 8, position in its sequence, number
 * of the sequence in the step, name), gives the 16-bit lanes of columns 2w (low half) and 2w + 1 of each eight. An
 * element is kept if lane >= threshold; it is then scaled by 65536 / (65536 - threshold), and by 1 / share if share is
 * not 0. */
struct dropout {
    uint32_t key[2];    /* seed, step */
    uint32_t threshold; /* round(65536 p), below 65536; 0: no dropout */
    uint32_t name;      /* site * heads (+ head, added by attention) */
    float share;        /* only for norm: the share of steps in which the branch exists (layer drop); 0: all */
};

static inline bool dropout_acts(const struct dropout *dropout)
{
    return dropout && (dropout->threshold > 0 || dropout->share > 0);
}

struct attention_shape {
    int32_t heads;
    int32_t head_size;      /* hidden = heads * head_size */
    int32_t length_max;     /* longest sequence of the batch's budget */
    int32_t window;         /* keys at most half of it (rounded down) from the query are seen; 0: all */
    struct dropout dropout; /* of the probabilities; column is the key's position, position the query's */
};

/* memory = 0. */
struct clear_args {
    void *memory;
    size_t bytes;
};

/* y = x, rounded to nearest even. */
struct convert_args {
    void *y;       /* [count] storage */
    const void *x; /* [count] real */
    size_t count;
};

/* y [row] = word [id] + position [place] + type [segment], for each token. */
struct embed_args {
    void *y;              /* [T, hidden] storage */
    const void *word;     /* [vocabulary, hidden] storage */
    const void *position; /* [positions, hidden] storage, or NULL */
    const void *type;     /* [2, hidden] storage; NULL where position is */
    const struct batch *batch;
    int32_t hidden;
};

/* Gradients of the tables += rows of dy. */
struct embed_backward_args {
    void *dword, *dposition, *dtype; /* as the tables, real; NULL: there is none */
    const void *dy;                  /* [T, hidden] storage */
    const struct batch *batch;
    int32_t hidden;
    void *scratch;
};

/* y = dropout(x); y may be x. The backward pass is the same. */
struct dropout_args {
    void *y;                   /* [rows, hidden] storage */
    const void *x;             /* the same */
    const struct batch *batch; /* identifies the rows for dropout */
    const int32_t *index;      /* [rows.live] token row of each row; NULL: they are the token rows */
    struct rows rows;
    int32_t hidden;
    const struct dropout *dropout; /* its share is not used */
};

/* ---- linear layers ----
 *
 * W is [out, in], as in PyTorch; rows [.., out] and [.., in] are storage. */

/* y = x W^T + b. Where x is W and b is NULL, a backend may use that y is symmetric. */
struct linear_args {
    void *y;       /* [rows, out] */
    const void *x; /* [rows, in] */
    const void *w; /* storage */
    const void *b; /* [out] real, or NULL */
    struct rows rows;
    int32_t out, in;
};

/* pre = x W^T + b, y = gelu(pre). */
struct linear_gelu_args {
    void *pre;     /* [rows, out], kept for the backward pass */
    void *y;       /* [rows, out] */
    const void *x; /* [rows, in] */
    const void *w; /* storage */
    const void *b; /* [out] real, or NULL */
    struct rows rows;
    int32_t out, in;
    enum gelu gelu;
};

/* dx = dy W, or dx += dy W. With `pre` (the input of the GELU that made x) the sum is also multiplied by gelu'(pre),
 * which makes it the gradient of pre. */
struct linear_backward_input_args {
    void *dx;        /* [rows, in] */
    bool adds;       /* dx += instead of dx = */
    const void *dy;  /* [rows, out] */
    const void *w;   /* storage */
    const void *pre; /* [rows, in], or NULL */
    struct rows rows;
    int32_t out, in;
    enum gelu gelu; /* for pre */
};

/* dw += dy^T x and db += column sums of dy. With `columns`, on the CPU, dy is part of a matrix of so many columns:
 * its rows are that far apart. If the part begins at a multiple of WEIGHT_BLOCK columns of the matrix, and ends at
 * one or with the matrix, dw and db have the bits that the whole matrix would give these rows of them. */
#define WEIGHT_BLOCK 384
struct linear_backward_weight_args {
    void *dw;        /* [out, in] real */
    void *db;        /* [out] real, or NULL */
    const void *dy;  /* [rows, out] */
    int32_t columns; /* 0: out */
    const void *x;   /* [rows, in] */
    struct rows rows;
    int32_t out, in;
    void *scratch;
};

/* z = dropout(x) + residual; y = (z - mean) / sqrt(variance + epsilon) * gain + bias, over each row (biased variance).
 * z may be x. */
struct norm_args {
    void *y, *z;          /* [rows, hidden] storage */
    void *statistics;     /* [rows, 2] real: mean and 1 / sqrt(variance + epsilon) */
    const void *x;        /* [rows, hidden] storage */
    const void *residual; /* the same, or NULL */
    const void *gain;     /* [hidden] real */
    const void *bias;     /* [hidden] real, or NULL */
    double epsilon;
    struct rows rows;
    int32_t hidden;
    const struct batch *batch;     /* identifies the rows for dropout; may be NULL without dropout */
    const struct dropout *dropout; /* NULL: none */
};

/* dz = or += the gradient of z, which is also that of residual; dx = the gradient of x that follows from the resulting
 * dz. dgain and dbias += their gradients. dx may be dy; so may dz unless it is added to. */
struct norm_backward_args {
    void *dx;               /* [rows, hidden] storage; NULL without dropout: then it equals dz */
    void *dz;               /* [rows, hidden] storage */
    bool adds;              /* dz += instead of dz = */
    void *dgain, *dbias;    /* [hidden] real; dbias may be NULL */
    const void *dy, *z;     /* [rows, hidden] storage */
    const void *statistics; /* those of norm */
    const void *gain;
    struct rows rows;
    int32_t hidden;
    const struct batch *batch; /* batch and dropout are those of norm */
    const struct dropout *dropout;
    void *scratch;
};

/* context = dropout(softmax(Q K^T / sqrt(head_size))) V per sequence and head, for R query rows. A query attends to all
 * keys of its sequence that are in its window, even if not all rows of the sequence are queries. */
struct attention_args {
    void *context;               /* [R, hidden] storage */
    void *log_sums;              /* [heads, R] real: log of the softmax's denominators, for the backward pass */
    const void *q;               /* [R, hidden] storage */
    const void *kv;              /* [T, 2 hidden] storage, K and V side by side */
    int32_t q_stride, kv_stride; /* elements from one row to the next */
    const struct batch *batch;   /* of the T rows */
    const struct batch *queries; /* of the R rows: the batch, or its `read` */
    const struct attention_shape *shape;
    void *scratch;
};

struct attention_backward_args {
    void *dq, *dkv;       /* as q and kv, with their strides */
    const void *dcontext; /* [R, hidden] storage */
    const void *q, *kv;   /* these and all below are those of attention */
    int32_t q_stride, kv_stride;
    const void *context;
    const void *log_sums;
    const struct batch *batch;
    const struct batch *queries;
    const struct attention_shape *shape;
    void *scratch;
};

/* y [row] = x [index[row]]. */
struct gather_args {
    void *y;              /* [rows, hidden] storage */
    const void *x;        /* [.., hidden] storage */
    const int32_t *index; /* [rows.live], all distinct, >= 0 */
    struct rows rows;
    int32_t hidden;
};

/* y [index[row]] += x [row], for live rows. */
struct scatter_args {
    void *y;              /* [.., hidden] storage */
    const void *x;        /* [rows, hidden] storage */
    const int32_t *index; /* as in gather */
    struct rows rows;
    int32_t hidden;
};

/* y [row] = the mean of the rows of x of one sequence: that of token row index[row]. */
struct sequence_mean_args {
    void *y;                   /* [rows, hidden] storage */
    const void *x;             /* [T, hidden] storage */
    const struct batch *batch; /* of the T rows */
    const int32_t *index;      /* [rows.live], all of different sequences */
    struct rows rows;
    int32_t hidden;
};

/* dx += dy / rows of the sequence, for each row of the sequence. */
struct sequence_mean_backward_args {
    void *dx;       /* as x */
    const void *dy; /* as y */
    const struct batch *batch;
    const int32_t *index; /* as in sequence_mean */
    struct rows rows;
    int32_t hidden;
};

/* x = tanh(x), in place. */
struct tanh_rows_args {
    void *x; /* [rows, columns] storage */
    struct rows rows;
    int32_t columns;
};

/* dy *= 1 - y^2, in place. */
struct tanh_backward_args {
    void *dy;      /* [rows, columns] storage */
    const void *y; /* the same: the output of tanh_rows */
    struct rows rows;
    int32_t columns;
};

/* dy *= gelu'(pre), in place. */
struct gelu_backward_args {
    void *dy;        /* [rows, columns] storage */
    const void *pre; /* the same */
    struct rows rows;
    int32_t columns;
    enum gelu gelu;
};

/* A gated linear unit (Shazeer 2020): y = act(u) g, where each row of x is [u | g]. */
struct glu_args {
    void *y;       /* [rows, columns] storage */
    const void *x; /* [rows, 2 columns] storage */
    struct rows rows;
    int32_t columns;
    enum gelu gelu; /* act */
};

struct glu_backward_args {
    void *dx;       /* as x */
    const void *dy; /* as y */
    const void *x;
    struct rows rows;
    int32_t columns;
    enum gelu gelu;
};

/* Rotary positions (Su et al. 2021), in place: in each head, the pair of elements j and j + head_size / 2 is turned by
 * the angle whose cosine and sine are turns[position][2j] and [2j + 1]; backwards if `back`. */
struct rotate_args {
    void *x; /* [T, heads head_size] storage, with rows `stride` elements apart */
    int32_t stride;
    const void *turns;         /* [positions, head_size] real */
    const struct batch *batch; /* of the T rows */
    int32_t heads, head_size;
    bool back;
};

/* Softmax cross-entropy over the first `vocabulary` columns. The results of a row are -log p(label), and 1 if the
 * label's logit is the largest (the first of equals), else 0; they are added to sums[0] and sums[1]. With a factor the
 * logits are replaced by factor * (softmax - one-hot), padding columns by 0. With weights the loss and the gradient of
 * a row are multiplied by the weight of its label. */
struct loss_args {
    double *sums;          /* [2], the device's */
    double *results;       /* [rows.live, 2] of each row, the device's; NULL: not wanted */
    void *logits;          /* [rows, columns] storage */
    const int32_t *labels; /* [rows.live] */
    const float *weights;  /* [vocabulary], the device's; NULL: all 1 */
    struct rows rows;
    int32_t columns, vocabulary;
    double factor; /* 0: the logits are left as they are */
    void *scratch;
};

/* Squared error of the first column: sums[0] += (logit - label)^2, where labels are the bits of floats. With a factor
 * the logits are replaced by factor * 2 (logit - label). */
struct square_loss_args {
    double *sums;          /* [2], the device's */
    void *logits;          /* [rows, 1] storage */
    const int32_t *labels; /* [rows.live] */
    struct rows rows;
    double factor; /* 0: the logits are left as they are */
    void *scratch;
};

/* Binary cross-entropy of the labels of a row, of which any may be right: bit c of a row's label belongs to column c;
 * columns from BITS_LABELS on are wrong. sums[0] += the mean over the columns; sums[1] += 1 if exactly the right ones
 * have positive logits. With a factor the logits are replaced by factor / columns * (sigmoid - bit). */
#define BITS_LABELS 31
struct bits_loss_args {
    double *sums;          /* [2], the device's */
    void *logits;          /* [rows, columns] storage */
    const int32_t *labels; /* [rows.live] */
    struct rows rows;
    int32_t columns;
    double factor; /* 0: the logits are left as they are */
};

/* Softmax cross-entropy of the begin and of the end of a span, each over the tokens of its sequence. sums[0] += the
 * mean of both; sums[1] += 1 if both have the largest logit (the first of equals). With a factor the logits are
 * replaced by factor / 2 * (softmax - one-hot). */
struct span_loss_args {
    double *sums;              /* [2], the device's */
    void *logits;              /* [T, 2] storage: begin, end */
    const struct batch *batch; /* each sequence has one span */
    const int32_t *first;      /* [sequences] token row where the span begins, sequences in order */
    const int32_t *last;       /* [sequences] place in its sequence where it ends */
    double factor;             /* 0: the logits are left as they are */
    void *scratch;
};

/* ---- an update ----
 *
 * The formulas are in backend/update_numbers.h. First squares and factors, then either adam, or moments, shares and
 * apply. Sums over chunks and over tensors have a fixed order. If the record says that the step is skipped, adam,
 * moments and apply change nothing.
 *
 * All ops except factors work on a range of chunks, so that a process can update only its part, and a part of the
 * parameters can be updated as soon as its gradients are ready. No bit depends on how the chunks are divided into
 * ranges. What an op reads of chunks outside its range must have been computed (factors: all squares; shares: the sums
 * of every chunk of its tensors). */

/* A part of a tensor. Norms are sums over chunks, so their bits depend only on the values. */
struct param_chunk {
    size_t offset;  /* elements from the start of flat memory */
    int32_t count;  /* elements, at most PARAM_CHUNK */
    int32_t tensor; /* index of its parameter */
    bool decay;     /* weight decay applies */
};
#define PARAM_CHUNK 16384

struct chunk_range {
    size_t from, to; /* chunks [from, to) of the table; from == to: none */
};

/* A hidden matrix: all chunks of its tensor, [rows, columns]. */
struct update_matrix {
    struct chunk_range chunks;
    int32_t rows, columns;
};

/* Flat memory of an update, real. */
struct update_memory {
    void *params;
    void *first;  /* m, zero at the start */
    void *second; /* v, zero at the start */
    const void *gradients;
    /* Elements of flat memory before first[0] and second[0]: moments may be held only for a part of it. A multiple of
     * 4, because the order of sums over a chunk may depend on the remainder. */
    size_t held_from;
    size_t params_from;    /* the same for params: held_from, or 0 if all of them are held */
    size_t gradients_from; /* the same for gradients */
};

/* What an update needs besides flat memory: the table of chunks, and numbers per chunk and per tensor (allocated by
 * optimizer_work_init). */
struct update_work {
    size_t numbers, chunk_count, tensors; /* `numbers`: elements of all chunks */
    struct param_chunk *chunks;           /* [chunk_count], those of a tensor side by side, tensors in order */
    int32_t *firsts;                      /* [tensors + 1] first chunk of each; the last entry is chunk_count */
    double *squares;                      /* [chunk_count] */
    double *sums;                         /* [chunk_count, 3] */
    double *factors;                      /* [tensors] by which gradients are multiplied: unscaling and clipping */
    double *shares;                       /* [tensors, 2] by which directions are multiplied */
    struct step_record *record;
    /* For an optimizer that updates whole matrices (optimizer.h): */
    struct update_matrix *matrices; /* [matrix_count] in host memory, in the order of chunks */
    size_t matrix_count;
    void *lent; /* storage, for one matrix at a time */
};

static inline struct chunk_range all_chunks(const struct update_work *work)
{
    const struct chunk_range all = {0, work->chunk_count};
    return all;
}

/* work->squares[i] = sum of squares of chunk i. */
struct squares_args {
    const struct update_work *work;
    struct chunk_range range;
    const void *values; /* flat, real */
    size_t from;        /* elements of flat memory before values[0], like gradients_from in update_memory */
};

/* Computes work->record from work->squares and the losses; then each tensor's factor. */
struct factors_args {
    const struct update_work *work;
    const struct update_step *step;
    const double *sums; /* [STEP_SUMS] of losses, the device's */
};

/* One pass of Adam: m, v, and p -= rate * u. */
struct adam_args {
    const struct update_memory *memory;
    const struct update_work *work;
    const struct update_step *step;
    struct chunk_range range;
};

/* The same in three ops, for optimizers that need norms of whole tensors in between. First m and v, and for chunk i
 * work->sums[3i] = |p|^2, [3i + 1] = |u|^2, [3i + 2] = |c|^2 (0 where the kind has no c). */
struct moments_args {
    const struct update_memory *memory;
    const struct update_work *work;
    const struct update_step *step;
    struct chunk_range range;
};

/* Then the shares of each tensor that has a chunk in the range, from those sums. */
struct shares_args {
    const struct update_work *work;
    const struct update_step *step;
    struct chunk_range range;
};

/* Then p -= shares[2 t] * u + shares[2 t + 1] * c, where t is the chunk's tensor. */
struct apply_args {
    const struct update_memory *memory;
    const struct update_work *work;
    const struct update_step *step;
    struct chunk_range range;
};

/* ---- an update of a whole matrix ----
 *
 * Momentum, direction, then products (ops of linear layers) and combinations of their results, then shift. Between
 * direction and shift a matrix is dense, in storage, and wide: transposed to [columns, rows] if it has more rows than
 * columns. */

/* m = beta m + (1 - beta) g, and work->sums[3i] = |u|^2 of chunk i, where u = m. With `ahead` (Nesterov)
 * u = beta m + (1 - beta) g of the new m. Does nothing if the record says that the step is skipped. */
struct momentum_args {
    const struct update_memory *memory;
    const struct update_work *work;
    const struct update_matrix *matrix;
    double beta;
    bool ahead;
};

/* x = u / max(|u|, epsilon); u is that of momentum, with the same arguments. */
struct direction_args {
    struct momentum_args momentum;
    void *x; /* storage, wide */
    double epsilon;
};

/* y = a x + b y. */
struct combine_args {
    void *y;       /* [count] storage */
    const void *x; /* the same */
    size_t count;
    double a, b;
};

/* p = keep p - scale x. Does nothing if the record says that the step is skipped. */
struct shift_args {
    const struct update_memory *memory;
    const struct update_work *work;
    const struct update_matrix *matrix;
    const void *x; /* storage, wide */
    double keep, scale;
};

/* ---- updates that exchange bits ----
 *
 * The formulas and the layout are in optim/onebit.h; CUDA has those of a scale per chunk. All arrays are in the
 * device's memory. For equal operands signs are equal on all devices; scales may differ in rounding, because squares
 * are added in another order. */

struct onebit_layout;
struct onebit_update;

/* What all three ops have. */
struct onebit_pass {
    const struct onebit_layout *layout;
    const struct onebit_update *update;
    const struct update_work *work; /* for its chunks */
    const size_t *at;               /* layout->at */
};

/* As onebit_compress. */
struct compress_args {
    struct onebit_pass pass;
    float *errors; /* [count] */
    uint8_t *bits; /* [count / 8] */
    float *alphas; /* [unit_count] */
};

/* As onebit_serve. */
struct serve_args {
    struct onebit_pass pass;
    uint32_t rank;
    const uint8_t *bits_of_all; /* [size, own part / 8] */
    const float *alphas_of_all; /* [size, own units] */
    float *served;              /* [own part] */
    uint8_t *bits;              /* [count / 8] */
    float *sigmas;              /* [unit_count] */
};

/* As onebit_apply. */
struct decompress_args {
    struct onebit_pass pass;
    const uint8_t *bits; /* [count / 8] */
    const float *sigmas; /* [unit_count] */
};

/* ---- sums that have no order ----
 *
 * A sum of floats depends on its order, a sum of integers does not. Gradients are rounded to multiples of 2^-FIXED_BITS
 * and added as int64, over the parts of a batch and over processes, so the bits do not depend on which process computed
 * which part (docs/DESIGN.md, section 5). The loss scale of a step is a power of two, and unit is
 * 2^FIXED_BITS / loss_scale. */

#define FIXED_BITS 44

/* sums += rint(gradient * unit); the gradients are then set to 0. An element that is not finite, or whose product is
 * not below the limit, adds nothing, and *refused is set. With a limit below 2^61 / parts no sum over `parts` parts
 * overflows. */
struct fixed_add_args {
    int64_t *sums;   /* [count] */
    void *gradients; /* [count] real */
    size_t count;
    double unit, limit;
    int64_t *refused; /* [1] 0 or 1 */
};

/* gradients = sums / unit, rounded once; the sums are then set to 0. */
struct fixed_take_args {
    void *gradients; /* [count] real */
    int64_t *sums;   /* [count] */
    size_t count;
    double unit;
};
