#include "trainer/keep/state.h"

#include <assert.h>
#include <inttypes.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/json.h"

#define STATE_VERSION 1

bool state_is_step_name(const char *name)
{
    return strncmp(name, "step-", 5) == 0 && strlen(name) > 5 && strspn(name + 5, "0123456789") == strlen(name + 5);
}

/* XXH3 of the object as compact text: the hash by which state.json protects itself. */
static void state_hash(const json_t *state, char out[17])
{
    SCOPED(buf_release) struct buf text = {0};
    json_add_text(state, JSON_COMPACT, &text);
    hash_text(hash64(text.data, text.size), out);
}

json_t *state_json(const struct checkpoint_state *state, json_t *hashes, const json_t *identity)
{
    char hash[17];
    json_t *json =
        json_pack("{s:i, s:I, s:I, s:I, s:I, s:f, s:I, s:O, s:O}", "state_version", STATE_VERSION, "step",
                  (json_int_t)state->step, "updates", (json_int_t)state->updates, "samples", (json_int_t)state->samples,
                  "tokens", (json_int_t)state->tokens, "norm_max", state->norm_max, "norm_max_step",
                  (json_int_t)state->norm_max_step, "files", hashes, "run", identity);
    assert(json); /* a number that is not finite would have no JSON */
    if (state->scaler.scale > 0)
        json_object_set_new(json, "scaler",
                            json_pack("{s:f, s:I, s:I}", "loss_scale", state->scaler.scale, "overflow",
                                      (json_int_t)state->scaler.overflow, "patience",
                                      (json_int_t)state->scaler.patience));
    if (state->freeze.update > 0 || state->freeze.norm > 0)
        json_object_set_new(
            json, "freeze",
            json_pack("{s:I, s:f}", "update", (json_int_t)state->freeze.update, "norm", state->freeze.norm));
    state_hash(json, hash);
    json_object_set_new(json, "hash", json_string(hash));
    return json;
}

/* Reads a non-negative integer of state.json; -1 if it is anything else. */
static int take(const json_t *json, const char *key, uint64_t *out)
{
    const json_t *value = json_object_get(json, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return -1;
    *out = (uint64_t)json_integer_value(value);
    return 0;
}

/* Reads the state of the loss scale, if the run has one. */
static int take_scaler(const json_t *json, struct scaler_state *scaler)
{
    const json_t *overflow = json_object_get(json, "overflow");
    *scaler = (struct scaler_state){.scale = json_number_value(json_object_get(json, "loss_scale"))};
    if (!json)
        return 0;
    if (!(scaler->scale > 0) || !json_is_integer(overflow) || json_integer_value(overflow) < -1)
        return -1;
    scaler->overflow = json_integer_value(overflow);
    return take(json, "patience", &scaler->patience);
}

/* Reads the state of second moments that are frozen, or watched until they freeze, if the run has such. */
static int take_freeze(const json_t *json, struct freeze_state *freeze)
{
    *freeze = (struct freeze_state){.norm = json_number_value(json_object_get(json, "norm"))};
    if (!json)
        return 0;
    return json_is_number(json_object_get(json, "norm")) ? take(json, "update", &freeze->update) : -1;
}

int state_take(const char *path, json_t *json, struct checkpoint_state *state, struct error *err)
{
    uint64_t version = 0;
    char hash[17];
    if (take(json, "state_version", &version) == 0 && version > STATE_VERSION)
        return fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET, "was written by a newer version of dstrain");
    if (version != STATE_VERSION || take(json, "step", &state->step) < 0 ||
        take(json, "updates", &state->updates) < 0 || take(json, "samples", &state->samples) < 0 ||
        take(json, "tokens", &state->tokens) < 0 || take(json, "norm_max_step", &state->norm_max_step) < 0 ||
        !json_is_number(json_object_get(json, "norm_max")) || !json_is_object(json_object_get(json, "files")) ||
        !json_is_object(json_object_get(json, "run")) ||
        take_scaler(json_object_get(json, "scaler"), &state->scaler) < 0 ||
        take_freeze(json_object_get(json, "freeze"), &state->freeze) < 0)
        return fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "is damaged: a key is missing or of another kind");
    json_t *written = json_incref(json_object_get(json, "hash"));
    json_object_del(json, "hash");
    state_hash(json, hash);
    const bool intact = json_is_string(written) && strcmp(json_string_value(written), hash) == 0;
    json_decref(written);
    if (!intact)
        return fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "is damaged: its own hash does not match");
    state->norm_max = json_number_value(json_object_get(json, "norm_max"));
    if (state->updates > state->step || state->freeze.update > state->updates)
        return fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET,
                       "contradicts itself: step %" PRIu64 ", %" PRIu64 " updates", state->step, state->updates);
    return 0;
}
