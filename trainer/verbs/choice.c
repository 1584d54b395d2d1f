#include "trainer/verbs/choice.h"

#include <math.h>

#define REPEATS_WORTH 15.0 /* R */

static double counted_epochs(double epochs)
{
    return epochs <= 1 ? epochs : 1 + REPEATS_WORTH * (1 - exp(-(epochs - 1) / REPEATS_WORTH));
}

/* Steps of a batch that the time allows, and in *by_epochs those that the data allow. */
static double steps_within(const struct choice_model *model, const struct choice_limits *limits, uint32_t batch,
                           double *by_epochs)
{
    *by_epochs = limits->epochs * limits->samples / batch;
    return CHOICE_MARGIN * limits->seconds / (batch * model->sample + model->update);
}

static uint32_t choose_batch(const struct choice_model *model, const struct choice_limits *limits)
{
    uint32_t batch = CHOICE_BATCH;
    double by_epochs, by_time = steps_within(model, limits, batch, &by_epochs);
    while (batch > CHOICE_BATCH_MIN && fmin(by_epochs, by_time) < CHOICE_STEPS_FEW) {
        batch /= 2;
        by_time = steps_within(model, limits, batch, &by_epochs);
    }
    return batch;
}

/* 24,617 → 24,000: no measurement is as exact as more digits would say. */
static uint64_t rounded(double steps)
{
    const double unit = steps < 100 ? 1 : pow(10, floor(log10(steps)) - 1);
    return steps < 1 ? 1 : (uint64_t)(floor(steps / unit) * unit);
}

struct choice_made choice_make(const struct choice_model *model, const struct choice_limits *limits)
{
    struct choice_made choice = {.steps = limits->steps, .bound = CHOICE_BY_STEPS};
    choice.batch = limits->batch > 0 ? limits->batch : limits->steps > 0 ? CHOICE_BATCH : choose_batch(model, limits);
    if (choice.steps == 0) {
        double by_epochs;
        const double by_time = steps_within(model, limits, choice.batch, &by_epochs);
        choice.bound = by_epochs <= by_time ? CHOICE_BY_EPOCHS : CHOICE_BY_TIME;
        choice.steps = rounded(fmin(by_epochs, by_time));
    }
    const double samples = (double)choice.steps * choice.batch;
    choice.tokens = samples * limits->length;
    choice.epochs = samples / limits->samples;
    choice.seconds = (double)choice.steps * (choice.batch * model->sample + model->update);
    choice.each = counted_epochs(choice.epochs) * limits->samples * limits->length / (double)model->weights;
    choice.late = choice.seconds > limits->seconds;
    return choice;
}

bool choice_enough(const struct choice_made *choice)
{
    return choice->each >= CHOICE_ENOUGH && !choice->late;
}

size_t choice_best(const struct choice_made *choices, size_t count)
{
    size_t best = count - 1;
    while (best > 0 && !choice_enough(&choices[best]))
        best--;
    return best;
}
