#include "trainer/optim/scaler.h"

#include <math.h>

#include "base/same_math.h"

struct scaler_settings scaler_defaults(void)
{
    return (struct scaler_settings){.initial_power = 16, .window = 1000, .hysteresis = 2, .minimum = 1};
}

struct scaler_state scaler_begin(const struct scaler_settings *settings)
{
    return (struct scaler_state){
        .scale = settings->loss_scale > 0 ? settings->loss_scale : same_pow(2, settings->initial_power),
        .overflow = -1,
        .patience = settings->hysteresis,
    };
}

static void halve(const struct scaler_settings *settings, struct scaler_state *state)
{
    state->scale = fmax(state->scale / 2, settings->minimum);
}

void scaler_update(const struct scaler_settings *settings, struct scaler_state *state, uint64_t step, bool overflow)
{
    if (settings->loss_scale > 0)
        return;
    if (overflow) {
        if (!settings->patient || state->patience <= 1)
            halve(settings, state);
        else
            state->patience--;
        state->overflow = (int64_t)step;
        return;
    }
    if (settings->patient && settings->consecutive)
        state->patience = settings->hysteresis;
    /* The plain rule counts good steps from the one after the overflow, the patient one from the overflow on. */
    const int64_t good = (int64_t)step - state->overflow - (settings->patient ? 0 : 1);
    if (good > 0 && good % (int64_t)settings->window == 0) {
        state->scale *= 2;
        if (settings->patient && !settings->consecutive)
            state->patience = settings->hysteresis;
    }
}

bool scaler_exhausted(const struct scaler_settings *settings, const struct scaler_state *state)
{
    return settings->patient && settings->loss_scale == 0 && state->patience <= 1 && state->scale <= settings->minimum;
}
