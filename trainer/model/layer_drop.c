/* Progressive layer drop: which layers a step has. With N layers and t = 0, 1, … (step - 1)
 *
 *     theta(t) = (1 - theta) exp(-gamma t) + theta       share of layer i = 1 - i (1 - theta(t)) / N
 *
 * Layer i exists in a step with the probability of its share; then its two branches are divided by the share, so that
 * on average over the draws each adds what it would add without drops. Layer 0 always exists. The draw is word 0 of
 * Philox with key (seed, step) and counter (layer, 0, 0, 2^32 - 1): one for all micro-batches and processes of a step.
 * DeepSpeed's code differs in two points, which `compat` reproduces: it divides layer i by the share of layer i + 1,
 * and its t does not advance in the first two steps. Sources: Zhang and He (2020); DeepSpeed,
 * progressive_layer_drop.py; DeepSpeedExamples, bing_bert/nvidia/modelingpreln_layerdrop.py. */
#include "trainer/model/parts.h"

#include "base/random.h"
#include "base/same_math.h"

double layer_drop_theta(const struct layer_drop *drop, uint32_t step)
{
    const double t = fmax(0, (double)step - (drop->compat ? 2 : 1));
    return (1 - drop->theta) * same_exp(-drop->gamma * t) + drop->theta;
}

static double share_of(int32_t layer, int32_t layers, double theta)
{
    return 1 - layer * (1 - theta) / layers;
}

static bool exists(const struct step_settings *step, int32_t layer, double share)
{
    const uint32_t counter[4] = {(uint32_t)layer, 0, 0, UINT32_MAX}, key[2] = {step->seed, step->step};
    uint32_t words[4];
    philox4x32(counter, key, words);
    return words[0] * 0x1p-32 < share;
}

void choose_layers(struct model *model)
{
    const struct layer_drop *drop = &model->config.layer_drop;
    const struct step_settings *step = &model->step;
    const bool drops = model->training && drop->theta > 0;
    const double theta = drops ? layer_drop_theta(drop, step->step) : 1;
    const int32_t layers = model->config.layers;
    model->present = 0;
    for (int32_t layer = 0; layer < layers; layer++) {
        const double share = share_of(layer, layers, theta);
        if (drops && !exists(step, layer, share))
            continue;
        const double divisor = share_of(layer + (drop->compat ? 1 : 0), layers, theta);
        struct layer *place = &model->layers[model->present++];
        place->number = layer;
        place->share = drops ? (float)divisor : 0;
    }
}
