/* dstrain plan without --model: measures models of our sizes, the smallest first, and chooses one of them and the
 * number of its steps: BERTs by choice.h, ModernBERTs with --recipe fast, or with --best ModernBERTs by rule.h. */
#pragma once

#include "trainer/run/estimate.h"
#include "trainer/verbs/choice.h"
#include "trainer/verbs/rule.h"

#define PROPOSAL_MODELS 6

struct proposal {
    struct choice_limits limits;
    uint32_t seq;
    size_t count, best; /* models measured, one larger than the best where there is one; the one proposed */
    struct choice_model models[PROPOSAL_MODELS];
    struct estimate estimates[PROPOSAL_MODELS]; /* of a step with the settings' own batch */
    struct choice_made choices[PROPOSAL_MODELS];
    const char *unfit;              /* the model that needs more memory than there is; NULL: none was met */
    bool steps_free;                /* neither --steps nor --epochs is given */
    bool by_rule;                   /* --best */
    char rate[48];                  /* with it, the rate that the rule has for the steps, as key=value */
    const char *set[1];             /* `rate`, for the settings */
    double losses[PROPOSAL_MODELS]; /* with it, what the rule expects of each model */
};

/* Whether these settings leave the model to the plan. */
bool proposal_wanted(const struct settings *settings);
/* Measures and chooses; `settings` get the model, steps and batch that are proposed, and with --best length and rate,
 * which they borrow. ERR_USAGE: --best and an option that it chooses. Other errors are those of opening a training. */
int proposal_make(struct proposal *proposal, struct settings *settings, struct error *err);
/* *estimate becomes that of the proposed model, for steps of `batch` samples: measured once, so that the proposal and
 * the plan of it name one time. The proposal has measured a model. */
void proposal_estimate(const struct proposal *proposal, uint32_t batch, struct estimate *estimate);
/* Logs the proposal, what a smaller and a larger model would get, and what to expect: a line each. */
void proposal_say(const struct proposal *proposal);
/* [{"model", "parameters", "weights", "steps", "batch", "tokens", "epochs", "seconds", "tokens_per_weight",
 * "limited_by", "enough"}, …]: every model measured, which the caller json_decref's. With --best "flop", "mlm_loss",
 * "mlm_loss_low", "mlm_loss_high" and "covered" too. */
json_t *proposal_json(const struct proposal *proposal);
/* Adds the options of the proposal to a command. */
void proposal_add_options(const struct proposal *proposal, struct buf *command);
