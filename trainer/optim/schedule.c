#include "trainer/optim/schedule.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/same_math.h"

#define FIELD(name) offsetof(struct schedule, name)
#define PI          3.14159265358979323846
#define UPDATES     0, 1e12 /* the range of a count */
#define SHARE       0, 1

/* clang-format off */
#define BING                                                                   \
    {"warmup_proportion", FIELD_REAL, FIELD(warmup), SHARE, 0.002},            \
    {"total_training_steps", FIELD_REAL, FIELD(total), 1, 1e12, SCHEDULE_STEPS}, \
    {"lr_offset", FIELD_REAL, FIELD(offset), 0, 1e3, 0}
#define BING_EXP                                                               \
    {"decay_rate", FIELD_REAL, FIELD(decay_rate), 0, 1, (double)NAN},          \
    {"decay_step", FIELD_REAL, FIELD(decay_step), 1, 1e12, (double)NAN}
#define BING_NO_EXP {"decay_rate", .type = FIELD_NOTE}, {"decay_step", .type = FIELD_NOTE} /* in its files all the same */
#define WARM_UP                                                                \
    {"warmup", FIELD_REAL, FIELD(warmup), SHARE, (double)NAN},                 \
    {"total_steps", FIELD_REAL, FIELD(total), 1, 1e12, SCHEDULE_STEPS}
#define DEEPSPEED                                                              \
    {"warmup_num_steps", FIELD_REAL, FIELD(warmup), UPDATES, 1000},            \
    {"warmup_type", FIELD_CURVE, FIELD(linear_warmup), 0, 1, 0}
#define DEEPSPEED_RATES                                                        \
    {"warmup_min_lr", FIELD_REAL, FIELD(minimum), 0, 1e3, 0},                  \
    {"warmup_max_lr", FIELD_REAL, FIELD(rate), 0, 1e3, 0.001}

const struct schedule_type schedule_types[] = {
    [SCHEDULE_LINEAR] = {"linear", .ours = true},
    [SCHEDULE_CONSTANT] = {"constant", .ours = true},
    [SCHEDULE_COSINE] = {"cosine", .ours = true},
    [SCHEDULE_POLY] = {"poly", .ours = true},
    [SCHEDULE_WSD] = {"wsd", .ours = true, .params = {{"decay", FIELD_REAL, FIELD(decay), 0, 1e12, SCHEDULE_STEPS}}},
    [SCHEDULE_BING_LINEAR] = {"warmup_linear", .params = {BING, BING_NO_EXP}},
    [SCHEDULE_BING_LINEAR_EXP] = {"warmup_linear_decay_exp", .params = {BING, BING_EXP}},
    [SCHEDULE_BING_EXP_EXP] = {"warmup_exp_decay_exp", .params = {BING, BING_EXP}},
    [SCHEDULE_BING_EXP_POLY] = {"warmup_exp_poly", .params = {BING, BING_NO_EXP}},
    [SCHEDULE_LINEAR_WARM_UP] = {"LinearWarmUp", .params = {WARM_UP}},
    [SCHEDULE_POLY_WARM_UP] = {"PolyWarmUp", .params = {WARM_UP,
        {"degree", FIELD_REAL, FIELD(power), 0, 100, 0.5},
        {"constant", FIELD_REAL, FIELD(constant), SHARE, -1}}},
    [SCHEDULE_CONSTANT_WARM_UP] = {"ConstantWarmUp", .params = {WARM_UP}},
    [SCHEDULE_WARMUP] = {"WarmupLR", .own_rate = true, .params = {DEEPSPEED_RATES, DEEPSPEED}},
    [SCHEDULE_WARMUP_DECAY] = {"WarmupDecayLR", .own_rate = true, .params = {DEEPSPEED_RATES, DEEPSPEED,
        {"total_num_steps", FIELD_REAL, FIELD(total), 1, 1e12, SCHEDULE_STEPS}}},
    [SCHEDULE_WARMUP_COSINE] = {"WarmupCosineLR", .params = {DEEPSPEED,
        {"total_num_steps", FIELD_REAL, FIELD(total), 1, 1e12, SCHEDULE_STEPS},
        {"warmup_min_ratio", FIELD_REAL, FIELD(minimum), SHARE, 0},
        {"cos_min_ratio", FIELD_REAL, FIELD(constant), SHARE, 0.0001}}},
    [SCHEDULE_ONE_CYCLE] = {"OneCycle", .own_rate = true, .params = {
        {"cycle_min_lr", FIELD_REAL, FIELD(minimum), 0, 1e3, (double)NAN},
        {"cycle_max_lr", FIELD_REAL, FIELD(rate), 0, 1e3, (double)NAN},
        {"decay_lr_rate", FIELD_REAL, FIELD(decay_rate), 0, 1e6, 0},
        {"cycle_first_step_size", FIELD_REAL, FIELD(first), 1, 1e12, 2000},
        {"cycle_second_step_size", FIELD_REAL, FIELD(second), 1, 1e12, 0}, /* as the first */
        {"decay_step_size", FIELD_REAL, FIELD(decay_step), UPDATES, 0},
        {"cycle_momentum", FIELD_FLAG, FIELD(momentum), 0, 1, 1},
        {"cycle_min_mom", FIELD_REAL, FIELD(momentum_min), 0, 0.999, 0.8},
        {"cycle_max_mom", FIELD_REAL, FIELD(momentum_max), 0, 0.999, 0.9},
        {"decay_mom_rate", FIELD_REAL, FIELD(momentum_decay), 0, 1e6, 0}}},
    [SCHEDULE_RANGE_TEST] = {"LRRangeTest", .own_rate = true, .params = {
        {"lr_range_test_min_lr", FIELD_REAL, FIELD(minimum), 0, 1e3, 0.001},
        {"lr_range_test_step_size", FIELD_REAL, FIELD(first), 1, 1e12, 2000},
        {"lr_range_test_step_rate", FIELD_REAL, FIELD(decay_rate), 0, 1e6, 1},
        {"lr_range_test_staircase", FIELD_FLAG, FIELD(staircase), 0, 1, 0}}},
    [SCHEDULE_POLYNOMIAL] = {"polynomial", .params = {
        {"warmup_updates", FIELD_REAL, FIELD(warmup), UPDATES, 0},
        {"total_num_update", FIELD_REAL, FIELD(total), 1, 1e12, SCHEDULE_STEPS},
        {"end_learning_rate", FIELD_REAL, FIELD(minimum), 0, 1e3, 0},
        {"power", FIELD_REAL, FIELD(power), 0, 100, 1}}},
};
/* clang-format on */
_Static_assert(sizeof schedule_types / sizeof *schedule_types == SCHEDULE_KINDS, "a row for every kind of schedule");

const struct schedule_type *schedule_type(const char *name)
{
    for (size_t i = 0; i < SCHEDULE_KINDS; i++)
        if (strcmp(schedule_types[i].name, name) == 0)
            return &schedule_types[i];
    return NULL;
}

void schedule_defaults(struct schedule *schedule, enum schedule_kind kind)
{
    schedule->kind = kind;
    for (const struct json_field *param = schedule_types[kind].params; param->key; param++) {
        void *field = (char *)schedule + param->field;
        if (param->type == FIELD_FLAG || json_field_words(param->type))
            *(bool *)field = param->value > 0;
        else if (param->type == FIELD_REAL)
            *(double *)field = param->value == SCHEDULE_STEPS ? (double)schedule->steps : param->value;
    }
}

static double positive(double value)
{
    return value > 0 ? value : 0;
}

static double ours(const struct schedule *s, double update)
{
    const double steps = (double)s->steps;
    const double warmup = s->warmup < 1 ? s->warmup : s->warmup / steps;
    const double decay = s->decay < 1 ? s->decay : s->decay / steps;
    const double done = update / steps;
    if (done < warmup)
        return s->rate * done / warmup;
    /* A run that only warms up ends at the peak; one that continues after its last step stays at the end. */
    const double left = warmup < 1 ? positive((1 - done) / (1 - warmup)) : 1;
    switch (s->kind) {
    case SCHEDULE_LINEAR:
        return s->rate * left;
    case SCHEDULE_COSINE:
        return s->rate * (1 + same_cos(PI * (1 - left))) / 2;
    case SCHEDULE_POLY:
        return s->rate * sqrt(left);
    case SCHEDULE_WSD:
        if (decay > 0) {
            const double part = fmin(1, positive((1 - done) / decay));
            return s->rate * (s->decay_root ? 1 - sqrt(1 - part) : part);
        }
        return s->rate;
    case SCHEDULE_CONSTANT:
        return s->rate;
    default:
        assert(!"one of ours");
        return 0;
    }
}

static double bing_bert(const struct schedule *s, double step)
{
    const double x = step / s->total, w = s->warmup, up = w > 0 ? x / w : 1;
    if (w == 0)
        return 1;
    switch (s->kind) {
    case SCHEDULE_BING_LINEAR:
        return x < w ? up : positive(1 - x);
    case SCHEDULE_BING_EXP_POLY:
        return x < w ? same_pow(up, 1.5) : positive(1 - x) * positive(1 - x);
    case SCHEDULE_BING_LINEAR_EXP:
    case SCHEDULE_BING_EXP_EXP:
        if (x < w)
            return s->kind == SCHEDULE_BING_EXP_EXP ? up * up : up;
        return same_pow(s->decay_rate, (step - w * s->total) / s->decay_step);
    default:
        assert(!"one of bing_bert's");
        return 0;
    }
}

static double warm_up(const struct schedule *s, double update)
{
    const double q = update / s->total, w = s->warmup, left = positive(1 - q);
    if (q < w)
        return q / w;
    if (s->kind == SCHEDULE_CONSTANT_WARM_UP)
        return 1;
    if (s->kind == SCHEDULE_LINEAR_WARM_UP)
        return w < 1 ? left / (1 - w) : 1;
    assert(s->kind == SCHEDULE_POLY_WARM_UP);
    if (s->constant < 0)
        return same_pow(left, s->power);
    const double flat = w + s->constant;
    return q < flat || flat >= 1 ? 1 : same_pow(left / (1 - flat), s->power);
}

/* index is -1 at the first update. */
static double deepspeed(const struct schedule *s, double index)
{
    const double warmup = s->warmup > 2 ? s->warmup : 2;
    const bool cosine = s->kind == SCHEDULE_WARMUP_COSINE;
    assert(cosine || s->kind == SCHEDULE_WARMUP || s->kind == SCHEDULE_WARMUP_DECAY);
    const double low = s->minimum, high = cosine ? 1 : s->rate, unit = cosine ? s->rate : 1;
    double up = 1;
    if (index < 0)
        up = 0;
    else if (index < warmup)
        up = s->linear_warmup ? index / warmup : same_log(index + 1) / same_log(warmup);
    else if (s->kind == SCHEDULE_WARMUP_DECAY)
        up = positive((s->total - index) / fmax(1, s->total - warmup));
    else if (cosine) {
        const double done = s->total > warmup ? fmin((index - warmup + 1) / (s->total - warmup), 1) : 1;
        return s->rate * (s->constant + (1 - s->constant) * (1 + same_cos(PI * done)) / 2);
    }
    return unit * (low + (high - low) * up);
}

static double cycle_second(const struct schedule *s)
{
    return s->second > 0 ? s->second : s->first;
}

/* The height of the cycle, 0 to 1, after `done` of its updates. */
static double cycle_height(const struct schedule *s, double done)
{
    const double second = cycle_second(s);
    return done <= s->first ? done / s->first : positive((s->first + second - done) / second);
}

/* DeepSpeed's count of intervals after the cycle; 0 where there is no decay. */
static double cycle_decay(const struct schedule *s, double done)
{
    return s->decay_step > 0 ? (done - s->first - cycle_second(s)) / s->decay_step : 0;
}

static double one_cycle(const struct schedule *s, double done)
{
    if (done <= s->first + cycle_second(s))
        return s->minimum + (s->rate - s->minimum) * cycle_height(s, done);
    return s->minimum / (1 + s->decay_rate * cycle_decay(s, done));
}

static double range_test(const struct schedule *s, double done)
{
    const double interval = done / s->first;
    return s->minimum * (1 + s->decay_rate * (s->staircase ? floor(interval) : interval));
}

static double polynomial(const struct schedule *s, double updates)
{
    if (s->warmup > 0 && updates <= s->warmup)
        return s->rate * (updates > 0 ? updates : 1) / s->warmup;
    if (updates >= s->total)
        return s->minimum;
    return (s->rate - s->minimum) * same_pow(1 - (updates - s->warmup) / (s->total - s->warmup), s->power) + s->minimum;
}

double schedule_rate(const struct schedule *schedule, uint64_t update)
{
    const struct schedule *s = schedule;
    assert(s->steps >= 1 && update > s->begins);
    const double u = (double)(update - s->begins);
    switch (s->kind) {
    case SCHEDULE_LINEAR:
    case SCHEDULE_CONSTANT:
    case SCHEDULE_COSINE:
    case SCHEDULE_POLY:
    case SCHEDULE_WSD:
        return ours(s, u);
    case SCHEDULE_BING_LINEAR:
    case SCHEDULE_BING_LINEAR_EXP:
    case SCHEDULE_BING_EXP_EXP:
    case SCHEDULE_BING_EXP_POLY:
        return s->rate * bing_bert(s, u - 1) + s->offset;
    case SCHEDULE_LINEAR_WARM_UP:
    case SCHEDULE_POLY_WARM_UP:
    case SCHEDULE_CONSTANT_WARM_UP:
        return s->rate * warm_up(s, u);
    case SCHEDULE_WARMUP:
    case SCHEDULE_WARMUP_DECAY:
    case SCHEDULE_WARMUP_COSINE:
        return deepspeed(s, u - 2);
    case SCHEDULE_ONE_CYCLE:
        return one_cycle(s, u - 1);
    case SCHEDULE_RANGE_TEST:
        return range_test(s, u - 1);
    case SCHEDULE_POLYNOMIAL:
        return polynomial(s, u - 1);
    case SCHEDULE_KINDS:
        break;
    }
    assert(!"known schedule");
    return 0;
}

bool schedule_momentum(const struct schedule *schedule, uint64_t update, double *beta1, double *beta2)
{
    const struct schedule *s = schedule;
    if (s->kind != SCHEDULE_ONE_CYCLE || !s->momentum)
        return false;
    const double done = (double)(update - s->begins) - 1;
    if (done == 0)
        *beta1 = s->momentum_min; /* its constructor sets that before the first step */
    else if (done <= s->first + cycle_second(s))
        *beta1 = s->momentum_max - (s->momentum_max - s->momentum_min) * cycle_height(s, done);
    else
        *beta1 = fmin(s->momentum_max * (1 + s->momentum_decay * cycle_decay(s, done)), 0.999);
    *beta2 = 0.99; /* fixed in the original */
    return true;
}
