// room: trainer
/* In: the state.json of a checkpoint, whose hash is put right where there is one, or (after an odd byte) a
 * metrics.jsonl. Held: the state is refused with a message, or reads the same once it was written again; of metrics,
 * whole lines stay. */
#include "tests/fuzz/fuzz.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "trainer/keep/json_write.h"
#include "trainer/keep/metrics.h"
#include "trainer/keep/state.h"

static void check_metrics(struct str lines)
{
    struct metrics metrics;
    struct error err;
    struct buf kept = {0};
    struct metrics_past past = {0};
    char path[300];
    snprintf(path, sizeof path, "%s/metrics.jsonl", fuzz_directory());
    int result = file_write_all(path, lines.data ? lines.data : "", lines.size, &err);
    assert(result == 0);
    result = metrics_open(&metrics, fuzz_directory(), 5, &past, &err);
    assert(result == 0);
    metrics_close(&metrics);
    result = file_read_all(path, 1u << 20, &kept, &err);
    assert(result == 0 && kept.size <= lines.size);
    assert(kept.size == 0 || (kept.data[kept.size - 1] == '\n' && memcmp(kept.data, lines.data, kept.size) == 0));
    buf_release(&kept);
}

static void mend_hash(json_t *json)
{
    struct buf text = {0};
    char hash[17];
    if (json_object_del(json, "hash") < 0)
        return;
    json_add_text(json, JSON_COMPACT, &text);
    json_object_set_new(json, "hash", json_string(hash_text(hash64(text.data, text.size), hash)));
    buf_release(&text);
}

static void check_state(json_t *json)
{
    struct checkpoint_state state, again;
    struct error err = {0};
    if (state_take("state.json", json, &state, &err) < 0) {
        assert((err.kind == ERR_VERIFY || err.kind == ERR_MISMATCH) && err.text[0]);
        return;
    }
    json_t *written = state_json(&state, json_object_get(json, "files"), json_object_get(json, "run"));
    const int result = state_take("state.json", written, &again, &err);
    assert(result == 0 && state.step == again.step && state.samples == again.samples && state.tokens == again.tokens);
    json_decref(written);
}

int fuzz_input(const uint8_t *data, size_t size)
{
    struct error err = {0};
    json_t *json;
    if (take_byte(&data, &size) & 1) {
        check_metrics(as_str(data, size));
    } else if (json_read(fuzz_file(as_str(data, size)), STATE_BYTES_MAX, ERR_VERIFY, &json, &err) == 0) {
        mend_hash(json);
        check_state(json);
        json_decref(json);
    }
    return 0;
}
