/* Each operation below computes its result and notes how a gradient passes back through it. The models are the two
 * functions bert and modern_bert, which only go forward; `backward` then works through the notes from the last to the
 * first (reverse-mode differentiation, Linnainmaa 1976). */
#include "reference/step.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* A matrix and the derivative of the loss with respect to each of its elements. */
struct array {
    int rows, columns;
    double *x, *d;
};

struct note {
    void (*backward)(const struct note *note);
    struct array y;       /* the result */
    struct array a, b, c; /* the operands; not every operation has three */
    const int *index;
    const struct tokens *tokens;
    int number;   /* attention and rotate: heads; part: its index */
    int layer;    /* attention's */
    double scale; /* attention's: 1 / √(head size) */
    enum activation activation;
    double *saved; /* what backward needs again */
};

/* The notes of a step, and the memory of their results. */
struct tape {
    struct note *notes;
    int count, room;
    const struct tensors *tensors;
};

static double *zeros(size_t count)
{
    double *memory = calloc(count > 0 ? count : 1, sizeof *memory);
    if (!memory)
        abort();
    return memory;
}

/* Adds a note with a result of that shape, filled with zeros. */
static struct note *new_note(struct tape *tape, void (*backward)(const struct note *), int rows, int columns)
{
    if (tape->count == tape->room) {
        tape->room = 2 * tape->room + 64;
        tape->notes = realloc(tape->notes, (size_t)tape->room * sizeof *tape->notes);
        if (!tape->notes)
            abort();
    }
    struct note *note = &tape->notes[tape->count++];
    const size_t size = (size_t)rows * (size_t)columns;
    *note = (struct note){.backward = backward, .y = {rows, columns, zeros(size), zeros(size)}};
    return note;
}

static void backward(const struct tape *tape)
{
    for (int i = tape->count - 1; i >= 0; i--)
        tape->notes[i].backward(&tape->notes[i]);
}

static void release(struct tape *tape)
{
    for (int i = 0; i < tape->count; i++) {
        free(tape->notes[i].y.x);
        free(tape->notes[i].y.d);
        free(tape->notes[i].saved);
    }
    free(tape->notes);
}

/* A tensor of the caller, by its name; x is NULL if the model has none. */
static struct array tensor(const struct tape *tape, int rows, int columns, const char *format, ...)
{
    char name[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    const struct tensor_memory place = tape->tensors->find(tape->tensors->context, name, rows, columns);
    return (struct array){rows, columns, place.value, place.gradient};
}

/* ------------------------------------------------------------------------------------------------------ operations */

/* y = x Wᵀ + b, with W [out, in] */
static void linear_backward(const struct note *n)
{
    const int in = n->a.columns, out = n->y.columns;
    for (int r = 0; r < n->y.rows; r++)
        for (int o = 0; o < out; o++) {
            const double d = n->y.d[r * out + o];
            for (int i = 0; i < in; i++) {
                n->a.d[r * in + i] += d * n->b.x[o * in + i];
                n->b.d[o * in + i] += d * n->a.x[r * in + i];
            }
            if (n->c.x)
                n->c.d[o] += d;
        }
}

static struct array linear(struct tape *tape, struct array x, struct array weight, struct array bias)
{
    struct note *n = new_note(tape, linear_backward, x.rows, weight.rows);
    n->a = x, n->b = weight, n->c = bias;
    for (int r = 0; r < x.rows; r++)
        for (int o = 0; o < weight.rows; o++) {
            double sum = bias.x ? bias.x[o] : 0;
            for (int i = 0; i < x.columns; i++)
                sum += x.x[r * x.columns + i] * weight.x[o * x.columns + i];
            n->y.x[r * weight.rows + o] = sum;
        }
    return n->y;
}

/* y = (x − mean) / √(variance + ε) · gain + bias, over each row */
static void norm_backward(const struct note *n)
{
    const int columns = n->y.columns;
    for (int r = 0; r < n->y.rows; r++) {
        const double *x = n->a.x + r * columns, *d = n->y.d + r * columns;
        const double mean = n->saved[2 * r], scale = n->saved[2 * r + 1];
        double sum = 0, product = 0; /* of gradient · gain, and of gradient · gain · normalised row */
        for (int i = 0; i < columns; i++) {
            const double normalised = (x[i] - mean) * scale;
            n->b.d[i] += d[i] * normalised;
            if (n->c.x)
                n->c.d[i] += d[i];
            sum += d[i] * n->b.x[i];
            product += d[i] * n->b.x[i] * normalised;
        }
        for (int i = 0; i < columns; i++) {
            const double normalised = (x[i] - mean) * scale;
            n->a.d[r * columns + i] += scale * (d[i] * n->b.x[i] - (sum + product * normalised) / columns);
        }
    }
}

static struct array norm(struct tape *tape, struct array x, struct array gain, struct array bias, double epsilon)
{
    struct note *n = new_note(tape, norm_backward, x.rows, x.columns);
    n->a = x, n->b = gain, n->c = bias;
    n->saved = zeros(2 * (size_t)x.rows);
    for (int r = 0; r < x.rows; r++) {
        const double *row = x.x + r * x.columns;
        double mean = 0, variance = 0;
        for (int i = 0; i < x.columns; i++)
            mean += row[i] / x.columns;
        for (int i = 0; i < x.columns; i++)
            variance += (row[i] - mean) * (row[i] - mean) / x.columns;
        const double scale = 1 / sqrt(variance + epsilon);
        n->saved[2 * r] = mean, n->saved[2 * r + 1] = scale;
        for (int i = 0; i < x.columns; i++)
            n->y.x[r * x.columns + i] = (row[i] - mean) * scale * gain.x[i] + (bias.x ? bias.x[i] : 0);
    }
    return n->y;
}

/* The function and its derivative. GELU: x Φ(x), also with tanh (Hendrycks and Gimpel 2016). SiLU: x / (1 + e⁻ˣ). */
static double activate(enum activation kind, double x, double *slope)
{
    static const double pi = 3.14159265358979323846;
    if (kind == SILU_FORM) {
        const double s = 1 / (1 + exp(-x));
        *slope = s * (1 + x * (1 - s));
        return x * s;
    }
    if (kind == GELU_TANH_FORM) {
        const double c = sqrt(2 / pi), t = tanh(c * (x + 0.044715 * x * x * x));
        *slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x);
        return 0.5 * x * (1 + t);
    }
    const double below = 0.5 * erfc(-x / sqrt(2));
    *slope = below + x * exp(-0.5 * x * x) / sqrt(2 * pi);
    return x * below;
}

static void activation_backward(const struct note *n)
{
    for (int i = 0; i < n->y.rows * n->y.columns; i++) {
        double slope;
        activate(n->activation, n->a.x[i], &slope);
        n->a.d[i] += n->y.d[i] * slope;
    }
}

static struct array activation(struct tape *tape, struct array x, enum activation kind)
{
    struct note *n = new_note(tape, activation_backward, x.rows, x.columns);
    double slope;
    n->a = x;
    n->activation = kind;
    for (int i = 0; i < x.rows * x.columns; i++)
        n->y.x[i] = activate(kind, x.x[i], &slope);
    return n->y;
}

static void hyperbolic_backward(const struct note *n)
{
    for (int i = 0; i < n->y.rows * n->y.columns; i++)
        n->a.d[i] += n->y.d[i] * (1 - n->y.x[i] * n->y.x[i]);
}

static struct array hyperbolic_tangent(struct tape *tape, struct array x)
{
    struct note *n = new_note(tape, hyperbolic_backward, x.rows, x.columns);
    n->a = x;
    for (int i = 0; i < x.rows * x.columns; i++)
        n->y.x[i] = tanh(x.x[i]);
    return n->y;
}

static void add_backward(const struct note *n)
{
    for (int i = 0; i < n->y.rows * n->y.columns; i++) {
        n->a.d[i] += n->y.d[i];
        n->b.d[i] += n->y.d[i];
    }
}

static struct array add(struct tape *tape, struct array a, struct array b)
{
    struct note *n = new_note(tape, add_backward, a.rows, a.columns);
    n->a = a, n->b = b;
    for (int i = 0; i < a.rows * a.columns; i++)
        n->y.x[i] = a.x[i] + b.x[i];
    return n->y;
}

/* y = a · b, element by element: the gate of GLU (Shazeer 2020) */
static void gate_backward(const struct note *n)
{
    for (int i = 0; i < n->y.rows * n->y.columns; i++) {
        n->a.d[i] += n->y.d[i] * n->b.x[i];
        n->b.d[i] += n->y.d[i] * n->a.x[i];
    }
}

static struct array gate(struct tape *tape, struct array a, struct array b)
{
    struct note *n = new_note(tape, gate_backward, a.rows, a.columns);
    n->a = a, n->b = b;
    for (int i = 0; i < a.rows * a.columns; i++)
        n->y.x[i] = a.x[i] * b.x[i];
    return n->y;
}

/* y[r] = x[index[r]]: words of a table, or the tokens that a head reads */
static void rows_backward(const struct note *n)
{
    for (int r = 0; r < n->y.rows; r++)
        for (int i = 0; i < n->y.columns; i++)
            n->a.d[n->index[r] * n->y.columns + i] += n->y.d[r * n->y.columns + i];
}

static struct array rows(struct tape *tape, struct array x, const int *index, int count)
{
    struct note *n = new_note(tape, rows_backward, count, x.columns);
    n->a = x;
    n->index = index;
    for (int r = 0; r < count; r++)
        for (int i = 0; i < x.columns; i++)
            n->y.x[r * x.columns + i] = x.x[index[r] * x.columns + i];
    return n->y;
}

/* The columns [part · columns, (part + 1) · columns) */
static void part_backward(const struct note *n)
{
    for (int r = 0; r < n->y.rows; r++)
        for (int i = 0; i < n->y.columns; i++)
            n->a.d[r * n->a.columns + n->number * n->y.columns + i] += n->y.d[r * n->y.columns + i];
}

static struct array part(struct tape *tape, struct array x, int part, int columns)
{
    struct note *n = new_note(tape, part_backward, x.rows, columns);
    n->a = x;
    n->number = part;
    for (int r = 0; r < x.rows; r++)
        for (int i = 0; i < columns; i++)
            n->y.x[r * columns + i] = x.x[r * x.columns + part * columns + i];
    return n->y;
}

/* Rotary positions (Su et al. 2021) in halves: in each head of size s, element j < s/2 and element j + s/2 are turned
 * by the angle p θ^(−2j/s), p the token's place in its sequence. Backward turns the other way. */
static void rotate_by(const double *from, double *to, int size, const double *turns, int direction)
{
    for (int j = 0; j < size / 2; j++) {
        const double a = from[j], b = from[j + size / 2];
        const double cosine = turns[2 * j], sine = direction * turns[2 * j + 1];
        to[j] += a * cosine - b * sine;
        to[j + size / 2] += b * cosine + a * sine;
    }
}

static void rotate_backward(const struct note *n)
{
    const int size = n->y.columns / n->number;
    for (int r = 0; r < n->y.rows; r++)
        for (int at = r * n->y.columns; at < (r + 1) * n->y.columns; at += size)
            rotate_by(n->y.d + at, n->a.d + at, size, n->saved + r * size, -1);
}

/* Cosine and sine for each pair of elements, at position p. */
static void find_turns(const struct shape *shape, double theta, int p, int size, double *turns)
{
    for (int j = 0; j < size / 2; j++)
        if (shape->float_angles) {
            const float inverse = 1 / powf((float)theta, (float)(2 * j) / (float)size);
            turns[2 * j] = (double)cosf((float)p * inverse);
            turns[2 * j + 1] = (double)sinf((float)p * inverse);
        } else {
            turns[2 * j] = cos(p * pow(theta, -2.0 * j / size));
            turns[2 * j + 1] = sin(p * pow(theta, -2.0 * j / size));
        }
}

static struct array rotate(struct tape *tape, struct array x, const struct shape *shape, const struct tokens *tokens,
                           double theta)
{
    struct note *n = new_note(tape, rotate_backward, x.rows, x.columns);
    const int size = x.columns / shape->heads;
    n->a = x;
    n->number = shape->heads;
    n->saved = zeros((size_t)x.rows * (size_t)size);
    for (int s = 0; s < tokens->sequences; s++)
        for (int r = tokens->starts[s]; r < tokens->starts[s + 1]; r++) {
            find_turns(shape, theta, r - tokens->starts[s], size, n->saved + r * size);
            for (int at = r * x.columns; at < (r + 1) * x.columns; at += size)
                rotate_by(x.x + at, n->y.x + at, size, n->saved + r * size, 1);
        }
    return n->y;
}

static double keep_of(const struct tokens *tokens, enum site site, int layer, int head, int s, int row, int column)
{
    return tokens->keep ? tokens->keep(site, layer, head, s, row - tokens->starts[s], column) : 1;
}

/* saved: the factor of each number */
static void dropout_backward(const struct note *n)
{
    for (int i = 0; i < n->y.rows * n->y.columns; i++)
        n->a.d[i] += n->y.d[i] * n->saved[i];
}

static struct array dropout(struct tape *tape, struct array x, const struct tokens *tokens, enum site site, int layer)
{
    struct note *n = new_note(tape, dropout_backward, x.rows, x.columns);
    n->a = x;
    n->saved = zeros((size_t)x.rows * (size_t)x.columns);
    for (int s = 0; s < tokens->sequences; s++)
        for (int r = tokens->starts[s]; r < tokens->starts[s + 1]; r++)
            for (int i = 0, at = r * x.columns; i < x.columns; i++, at++) {
                n->saved[at] = keep_of(tokens, site, layer, 0, s, r, i);
                n->y.x[at] = x.x[at] * n->saved[at];
            }
    return n->y;
}

/* Of the keys of its sequence a query sees those that are at most `window` / 2 away, rounded down. */
static bool sees(int query, int key, int window)
{
    return abs(query - key) <= window / 2;
}

/* y = softmax(q kᵀ / √s) v in each head of size s, over the tokens of one sequence. saved: the probabilities [head,
 * query, key]. */
static void attention_backward(const struct note *n)
{
    const int heads = n->number, columns = n->y.columns, size = columns / heads, all = n->y.rows;
    double *slopes = zeros((size_t)all); /* of the loss by the probabilities of one query */
    for (int h = 0; h < heads; h++)
        for (int s = 0; s < n->tokens->sequences; s++)
            for (int query = n->tokens->starts[s]; query < n->tokens->starts[s + 1]; query++) {
                const double *p = n->saved + ((size_t)h * (size_t)all + (size_t)query) * (size_t)all;
                const int at = query * columns + h * size, first = n->tokens->starts[s],
                          last = n->tokens->starts[s + 1];
                double mean = 0;
                for (int key = first; key < last; key++) {
                    const double keep = keep_of(n->tokens, AT_PROBABILITIES, n->layer, h, s, query, key - first);
                    slopes[key] = 0;
                    for (int i = 0; i < size; i++) {
                        slopes[key] += keep * n->y.d[at + i] * n->c.x[key * columns + h * size + i];
                        n->c.d[key * columns + h * size + i] += p[key] * keep * n->y.d[at + i];
                    }
                    mean += p[key] * slopes[key];
                }
                for (int key = first; key < last; key++) {
                    const double slope = p[key] * (slopes[key] - mean) * n->scale; /* by the score */
                    for (int i = 0; i < size; i++) {
                        n->a.d[at + i] += slope * n->b.x[key * columns + h * size + i];
                        n->b.d[key * columns + h * size + i] += slope * n->a.x[at + i];
                    }
                }
            }
    free(slopes);
}

/* The probabilities of the keys [first, last) for a query, from their scores. */
static void softmax(double *p, int first, int last, int query, int window)
{
    double most = -INFINITY, sum = 0;
    for (int key = first; key < last; key++)
        if (sees(query, key, window) && p[key] > most)
            most = p[key];
    for (int key = first; key < last; key++) {
        p[key] = sees(query, key, window) ? exp(p[key] - most) : 0;
        sum += p[key];
    }
    for (int key = first; key < last; key++)
        p[key] /= sum;
}

static struct array attention(struct tape *tape, struct array q, struct array k, struct array v, int heads,
                              const struct tokens *tokens, int window, int layer)
{
    struct note *n = new_note(tape, attention_backward, q.rows, q.columns);
    const int columns = q.columns, size = columns / heads;
    n->a = q, n->b = k, n->c = v;
    n->number = heads;
    n->layer = layer;
    n->tokens = tokens;
    n->scale = 1 / sqrt(size);
    n->saved = zeros((size_t)heads * (size_t)q.rows * (size_t)q.rows);
    for (int h = 0; h < heads; h++)
        for (int s = 0; s < tokens->sequences; s++)
            for (int query = tokens->starts[s]; query < tokens->starts[s + 1]; query++) {
                double *p = n->saved + ((size_t)h * (size_t)q.rows + (size_t)query) * (size_t)q.rows;
                const int at = query * columns + h * size;
                for (int key = tokens->starts[s]; key < tokens->starts[s + 1]; key++)
                    for (int i = 0; i < size; i++)
                        p[key] += q.x[at + i] * k.x[key * columns + h * size + i] * n->scale;
                softmax(p, tokens->starts[s], tokens->starts[s + 1], query, window);
                for (int key = tokens->starts[s]; key < tokens->starts[s + 1]; key++) {
                    const double keep = keep_of(tokens, AT_PROBABILITIES, layer, h, s, query, key - tokens->starts[s]);
                    for (int i = 0; i < size; i++)
                        n->y.x[at + i] += p[key] * keep * v.x[key * columns + h * size + i];
                }
            }
    return n->y;
}

/* y = the mean over the rows of −log softmax(row)[label]. saved: the probabilities. */
static void loss_backward(const struct note *n)
{
    for (int r = 0; r < n->a.rows; r++)
        for (int i = 0; i < n->a.columns; i++) {
            const double is_label = i == n->index[r];
            n->a.d[r * n->a.columns + i] += n->y.d[0] * (n->saved[r * n->a.columns + i] - is_label) / n->a.rows;
        }
}

static struct array loss(struct tape *tape, struct array logits, const int *labels)
{
    struct note *n = new_note(tape, loss_backward, 1, 1);
    n->a = logits;
    n->index = labels;
    n->saved = zeros((size_t)logits.rows * (size_t)logits.columns);
    for (int r = 0; r < logits.rows; r++) {
        double *p = n->saved + r * logits.columns, most = -INFINITY, sum = 0;
        for (int i = 0; i < logits.columns; i++)
            most = fmax(most, logits.x[r * logits.columns + i]);
        for (int i = 0; i < logits.columns; i++)
            sum += p[i] = exp(logits.x[r * logits.columns + i] - most);
        for (int i = 0; i < logits.columns; i++)
            p[i] /= sum;
        n->y.x[0] += (log(sum) + most - logits.x[r * logits.columns + labels[r]]) / logits.rows;
    }
    return n->y;
}

/* ---------------------------------------------------------------------------------------------------------- models */

/* BERT is post-LN, ModernBERT pre-LN. The macros use the caller's `tape`, and LAYER its `i`. */
#define MATRIX(out, in, ...) tensor(tape, out, in, __VA_ARGS__)
#define VECTOR(size, ...)    tensor(tape, 1, size, __VA_ARGS__)

/* A layer's product or norm, with its bias if there is one. */
static struct array product(struct tape *tape, struct array x, int out, const char *name)
{
    return linear(tape, x, MATRIX(out, x.columns, "%s.weight", name), VECTOR(out, "%s.bias", name));
}

static struct array layer_norm(struct tape *tape, struct array x, const struct shape *shape, const char *name)
{
    return norm(tape, x, VECTOR(x.columns, "%s.weight", name), VECTOR(x.columns, "%s.bias", name), shape->epsilon);
}

/* The name of something in layer i. */
struct name {
    char text[96];
};

static struct name in_layer(const char *format, int i)
{
    struct name name;
    snprintf(name.text, sizeof name.text, format, i);
    return name;
}
#define LAYER(part) in_layer(part, i).text

/* Every token's place in its sequence; the caller frees it. */
static int *places_of(const struct tokens *tokens)
{
    const int count = tokens->starts[tokens->sequences];
    int *places = malloc(((size_t)count + 1) * sizeof *places);
    if (!places)
        abort();
    for (int s = 0; s < tokens->sequences; s++)
        for (int r = tokens->starts[s]; r < tokens->starts[s + 1]; r++)
            places[r] = r - tokens->starts[s];
    return places;
}

static struct array bert_layer(struct tape *tape, struct array x, const struct shape *shape,
                               const struct tokens *tokens, int i)
{
    const int hidden = shape->hidden;
    const struct array q = product(tape, x, hidden, LAYER("bert.encoder.layer.%d.attention.self.query"));
    const struct array k = product(tape, x, hidden, LAYER("bert.encoder.layer.%d.attention.self.key"));
    const struct array v = product(tape, x, hidden, LAYER("bert.encoder.layer.%d.attention.self.value"));
    struct array y = attention(tape, q, k, v, shape->heads, tokens, 2 * shape->positions, i); /* every key */
    y = product(tape, y, hidden, LAYER("bert.encoder.layer.%d.attention.output.dense"));
    y = dropout(tape, y, tokens, AT_ATTENTION, i);
    x = layer_norm(tape, add(tape, x, y), shape, LAYER("bert.encoder.layer.%d.attention.output.LayerNorm"));
    y = product(tape, x, shape->inner, LAYER("bert.encoder.layer.%d.intermediate.dense"));
    y = product(tape, activation(tape, y, shape->activation), hidden, LAYER("bert.encoder.layer.%d.output.dense"));
    y = dropout(tape, y, tokens, AT_DOWN, i);
    return layer_norm(tape, add(tape, x, y), shape, LAYER("bert.encoder.layer.%d.output.LayerNorm"));
}

/* The sum of the losses. */
static struct array bert(struct tape *tape, const struct shape *shape, const struct tokens *tokens, const int *places)
{
    const int hidden = shape->hidden, count = tokens->starts[tokens->sequences];
    const struct array words = MATRIX(shape->vocabulary, hidden, "bert.embeddings.word_embeddings.weight");
    const struct array positions = MATRIX(shape->positions, hidden, "bert.embeddings.position_embeddings.weight");
    const struct array types = MATRIX(2, hidden, "bert.embeddings.token_type_embeddings.weight");
    struct array x = add(tape, rows(tape, words, tokens->ids, count), rows(tape, positions, places, count));
    x = add(tape, x, rows(tape, types, tokens->segments, count));
    x = dropout(tape, layer_norm(tape, x, shape, "bert.embeddings.LayerNorm"), tokens, AT_EMBEDDING, 0);
    for (int i = 0; i < shape->layers; i++)
        x = bert_layer(tape, x, shape, tokens, i);

    struct array y = rows(tape, x, tokens->masked_at, tokens->masked);
    y = activation(tape, product(tape, y, hidden, "cls.predictions.transform.dense"), shape->activation);
    y = layer_norm(tape, y, shape, "cls.predictions.transform.LayerNorm");
    y = linear(tape, y, words, VECTOR(shape->vocabulary, "cls.predictions.bias"));
    const struct array masked = loss(tape, y, tokens->masked_ids);
    if (!tokens->next)
        return masked;
    y = rows(tape, x, tokens->starts, tokens->sequences); /* the first token of each, [CLS] */
    y = hyperbolic_tangent(tape, product(tape, y, hidden, "bert.pooler.dense"));
    return add(tape, masked, loss(tape, product(tape, y, 2, "cls.seq_relationship"), tokens->next));
}

static struct array modern_layer(struct tape *tape, struct array x, const struct shape *shape,
                                 const struct tokens *tokens, int i)
{
    const int hidden = shape->hidden, window = shape->is_global[i] ? 2 * shape->positions : shape->window;
    const double theta = shape->is_global[i] ? shape->theta_global : shape->theta_local;
    /* The norm of the embeddings is the first layer's. */
    struct array y = i == 0 ? x : layer_norm(tape, x, shape, LAYER("model.layers.%d.attn_norm"));
    const struct array qkv = product(tape, y, 3 * hidden, LAYER("model.layers.%d.attn.Wqkv"));
    const struct array q = rotate(tape, part(tape, qkv, 0, hidden), shape, tokens, theta);
    const struct array k = rotate(tape, part(tape, qkv, 1, hidden), shape, tokens, theta);
    y = attention(tape, q, k, part(tape, qkv, 2, hidden), shape->heads, tokens, window, i);
    y = product(tape, y, hidden, LAYER("model.layers.%d.attn.Wo"));
    x = add(tape, x, dropout(tape, y, tokens, AT_ATTENTION, i));
    y = layer_norm(tape, x, shape, LAYER("model.layers.%d.mlp_norm"));
    y = product(tape, y, 2 * shape->inner, LAYER("model.layers.%d.mlp.Wi"));
    const struct array gated = activation(tape, part(tape, y, 0, shape->inner), shape->activation);
    y = dropout(tape, gate(tape, gated, part(tape, y, 1, shape->inner)), tokens, AT_INNER, i);
    return add(tape, x, product(tape, y, hidden, LAYER("model.layers.%d.mlp.Wo")));
}

static struct array modern_bert(struct tape *tape, const struct shape *shape, const struct tokens *tokens)
{
    const int hidden = shape->hidden;
    const struct array words = MATRIX(shape->vocabulary, hidden, "model.embeddings.tok_embeddings.weight");
    struct array x = rows(tape, words, tokens->ids, tokens->starts[tokens->sequences]);
    x = dropout(tape, layer_norm(tape, x, shape, "model.embeddings.norm"), tokens, AT_EMBEDDING, 0);
    for (int i = 0; i < shape->layers; i++)
        x = modern_layer(tape, x, shape, tokens, i);
    x = rows(tape, layer_norm(tape, x, shape, "model.final_norm"), tokens->masked_at, tokens->masked);
    x = activation(tape, product(tape, x, hidden, "head.dense"),
                   GELU); /* config.json's classifier_activation, of which dstrain accepts "gelu" only */
    x = layer_norm(tape, x, shape, "head.norm");
    /* A tied decoder, the word table, gets gradients from both uses. */
    const struct array untied = MATRIX(shape->vocabulary, hidden, "decoder.weight");
    x = linear(tape, x, untied.x ? untied : words, VECTOR(shape->vocabulary, "decoder.bias"));
    return loss(tape, x, tokens->masked_ids);
}

double step_loss(const struct shape *shape, const struct tokens *tokens, const struct tensors *tensors)
{
    struct tape tape = {.tensors = tensors};
    int *places = places_of(tokens);
    assert(shape->hidden % shape->heads == 0 && tokens->masked > 0);
    const struct array sum = shape->is_modern ? modern_bert(&tape, shape, tokens) : bert(&tape, shape, tokens, places);
    const double result = sum.x[0];
    sum.d[0] = 1;
    backward(&tape);
    release(&tape);
    free(places);
    return result;
}

/* --------------------------------------------------------------------------------------------------------- updates */

static double norm_of(const double *x, long count)
{
    double sum = 0;
    for (long i = 0; i < count; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

void tensor_update(const struct update_rule *rule, int t, long count, double *p, const double *g, double *m, double *v)
{
    const double first = 1 - pow(rule->beta1, t), second = 1 - pow(rule->beta2, t); /* for the bias of the moments */
    double *u = zeros((size_t)count), rate = rule->rate;
    for (long i = 0; i < count; i++) {
        m[i] = rule->beta1 * m[i] + (1 - rule->beta1) * g[i];
        v[i] = rule->beta2 * v[i] + (1 - rule->beta2) * g[i] * g[i];
        u[i] =
            rule->is_lamb ? m[i] / (sqrt(v[i]) + rule->epsilon) : m[i] / first / (sqrt(v[i] / second) + rule->epsilon);
        u[i] += rule->decay * p[i];
    }
    if (rule->is_lamb) { /* its bias correction scales the whole step, decay included; Adam's only the moments */
        const double of_p = norm_of(p, count), of_u = norm_of(u, count);
        rate *= sqrt(second) / first;
        if (of_p > 0 && of_u > 0)
            rate *= fmin(fmax(of_p / of_u, rule->ratio_min), rule->ratio_max);
    }
    for (long i = 0; i < count; i++)
        p[i] -= rate * u[i];
    free(u);
}
