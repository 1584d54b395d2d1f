#include "trainer/tune/scores.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

double score_ratio(double part, double all)
{
    return all > 0 ? part / all : 0;
}

double score_accuracy(const uint32_t *found, const uint32_t *truth, size_t count)
{
    size_t equal = 0;
    for (size_t i = 0; i < count; i++)
        equal += found[i] == truth[i];
    return (double)equal / (double)count;
}

struct score score_f1(const uint32_t *found, const uint32_t *truth, size_t count)
{
    double both = 0, either = 0; /* 2 TP, and 2 TP + FP + FN */
    for (size_t i = 0; i < count; i++) {
        both += 2 * (found[i] == 1 && truth[i] == 1);
        either += (found[i] == 1) + (truth[i] == 1);
    }
    return either > 0 ? (struct score){both / either, false} : (struct score){0, true};
}

struct score score_matthews(const uint32_t *found, const uint32_t *truth, size_t count, uint32_t classes)
{
    double right = 0, cross = 0, square_found = 0, square_truth = 0;
    const double all = (double)count;
    for (size_t i = 0; i < count; i++)
        right += found[i] == truth[i];
    for (uint32_t class = 0; class < classes; class ++) {
        double as_found = 0, as_truth = 0;
        for (size_t i = 0; i < count; i++) {
            as_found += found[i] == class;
            as_truth += truth[i] == class;
        }
        cross += as_found * as_truth;
        square_found += as_found * as_found;
        square_truth += as_truth * as_truth;
    }
    const double below = (all * all - square_found) * (all * all - square_truth);
    return below > 0 ? (struct score){(right * all - cross) / sqrt(below), false} : (struct score){0, true};
}

static double mean_of(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

struct score score_pearson(const double *found, const double *truth, size_t count)
{
    if (count < 2)
        return (struct score){0, true};
    const double mean_found = mean_of(found, count), mean_truth = mean_of(truth, count);
    double product = 0, square_found = 0, square_truth = 0;
    for (size_t i = 0; i < count; i++) {
        const double a = found[i] - mean_found, b = truth[i] - mean_truth;
        product += a * b;
        square_found += a * a;
        square_truth += b * b;
    }
    if (!(square_found > 0 && square_truth > 0))
        return (struct score){0, true};
    const double value = product / (sqrt(square_found) * sqrt(square_truth));
    return (struct score){fmin(1, fmax(-1, value)), false};
}

struct ranked {
    double value;
    size_t place;
};

static int by_value(const void *a, const void *b)
{
    const double one = ((const struct ranked *)a)->value, two = ((const struct ranked *)b)->value;
    return one < two ? -1 : one > two;
}

/* Ranks values; equal ones get the mean of their ranks. */
static void rank(const double *values, size_t count, double *ranks)
{
    SCOPED(mem_free_at) struct ranked *sorted = mem_array(count, sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct ranked){values[i], i};
    qsort(sorted, count, sizeof *sorted, by_value);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && !(sorted[end].value > sorted[i].value); end++)
            ;
        for (size_t j = i; j < end; j++)
            ranks[sorted[j].place] = (double)(i + end - 1) / 2 + 1;
    }
}

struct score score_spearman(const double *found, const double *truth, size_t count)
{
    SCOPED(mem_free_at) double *ranks = mem_array(2 * count + 1, sizeof *ranks);
    rank(found, count, ranks);
    rank(truth, count, ranks + count);
    const struct score score = score_pearson(ranks, ranks + count, count);
    return score;
}
