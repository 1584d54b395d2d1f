// room: trainer
/* In: the state.json of a checkpoint, whose hash is put right where there is one. Held: it is refused with a message,
 * or reads the same once it was written again. */
#include "tests/fuzz/fuzz.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "trainer/keep/state.h"

static void mend_hash(json_t *json)
{
    SCOPED(buf_release) struct buf text = {0};
    char hash[17];
    if (json_object_del(json, "hash") < 0)
        return;
    json_add_text(json, JSON_COMPACT, &text);
    json_object_set_new(json, "hash", json_string(hash_text(hash64(text.data, text.size), hash)));
}

static void check_state(json_t *json)
{
    struct checkpoint_state state, again;
    struct error err = {0};
    if (state_take("state.json", json, &state, &err) < 0) {
        assert((err.kind == ERR_VERIFY || err.kind == ERR_MISMATCH) && err.text[0]);
        return;
    }
    json_auto_t *written = state_json(&state, json_object_get(json, "files"), json_object_get(json, "run"));
    const int result = state_take("state.json", written, &again, &err);
    assert(result == 0 && state.step == again.step && state.samples == again.samples && state.tokens == again.tokens);
}

int fuzz_input(const uint8_t *data, size_t size)
{
    struct error err = {0};
    json_t *json;
    if (json_read(fuzz_file(as_str(data, size)), STATE_BYTES_MAX, ERR_VERIFY, &json, &err) == 0) {
        mend_hash(json);
        check_state(json);
        json_decref(json);
    }
    return 0;
}
