// room: trainer
/* In: a config.json. Held: it is refused with a message, or its sizes are within limits, and the config.json that we
 * write of it reads back as the same model. */
#include "tests/fuzz/fuzz.h"

#include "trainer/model/config.h"
#include "trainer/model/label_names.h"
#include "base/json.h"

#define PARAMETERS_MAX 1000000 /* whose table is laid out here */

static void check_table(const struct model_config *config)
{
    const int64_t layer = (int64_t)config->hidden * (4 * (int64_t)config->hidden + 2 * (int64_t)config->intermediate);
    if (config->layers > 100 || layer > PARAMETERS_MAX || config->vocabulary > PARAMETERS_MAX / 100)
        return;
    struct params params;
    params_init(&params, config);
    assert(params.count > 0 && params.total <= params.size);
    params_release(&params);
}

static void check_same(const struct model_config *a, const struct model_config *b)
{
    assert(a->layers == b->layers && a->hidden == b->hidden && a->heads == b->heads);
    assert(a->intermediate == b->intermediate && a->vocabulary == b->vocabulary && a->positions == b->positions);
    assert(a->types == b->types && a->gelu == b->gelu);
}

int fuzz_input(const uint8_t *data, size_t size)
{
    struct model_config config, again;
    struct error err = {0};
    char name[32];
    if (config_read(fuzz_file(as_str(data, size)), &config, &err) < 0) {
        assert((err.kind == ERR_UNSAFE || err.kind == ERR_MISMATCH) && err.text[0]);
        return 0;
    }
    assert(config.heads > 0 && config.hidden % config.heads == 0 && config.layers > 0 && config.vocabulary > 0);
    assert(config.hidden_dropout >= 0 && config.hidden_dropout < 1 && config.norm_epsilon > 0);
    config_name(&config, name);
    check_table(&config);
    SCOPED(buf_release) struct buf text = {0};
    json_auto_t *json = config_json(&config, 0);
    json_add_text(json, 0, &text);
    const int result = config_read(fuzz_file(buf_str(&text)), &again, &err);
    assert(result == 0);
    check_same(&config, &again);
    label_names_forget();
    return 0;
}
