/* fp16's loss scale (DeepSpeed, runtime/fp16/loss_scaler.py): gradients are multiplied by it so that small ones are not
 * lost; a step whose gradients overflow is skipped. Two rules:
 *
 *   plain      (DeepSpeed's FP16_Optimizer) overflow: halved at once; `window` steps without one: doubled. Hysteresis
 *              is ignored.
 *   patient    (its ZeRO optimizers) overflow: halved after `hysteresis` of them; their count restarts when the scale
 *              doubles, or with `consecutive` at every good step
 *
 * The scale never falls below `minimum`. A static scale stays. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct scaler_settings {
    double loss_scale;    /* 0: dynamic */
    double initial_power; /* of two */
    uint64_t window;
    uint64_t hysteresis;
    bool consecutive;
    double minimum;
    bool patient; /* the rule */
};

/* What a checkpoint holds. */
struct scaler_state {
    double scale;
    int64_t overflow;  /* the last step with an overflow, counted from 0; -1: none */
    uint64_t patience; /* overflows that may still come before the patient rule halves */
};

struct scaler_settings scaler_defaults(void); /* DeepSpeed's: dynamic, 2^16, 1000, 2, 1 */
struct scaler_state scaler_begin(const struct scaler_settings *settings);
/* Called after attempt number `step` (from 0). */
void scaler_update(const struct scaler_settings *settings, struct scaler_state *state, uint64_t step, bool overflow);
/* The patient rule gives up where a scale at its minimum still overflows; the plain one goes on. */
bool scaler_exhausted(const struct scaler_settings *settings, const struct scaler_state *state);
