/* Weights under Hugging Face's names, current and older ones; models from config.json. */
#include "tests/shards/tiny.h"

#include "base/target.h"
#include "trainer/model/config.h"
#include "trainer/run/engine.h"
#include "trainer/keep/events.h"
#include "trainer/keep/foreign_names.h"
#include "base/json.h"
#include "trainer/keep/metrics.h"
#include "trainer/keep/names.h"
#include "trainer/keep/state.h"

#define FILE_NAME "model.safetensors"

static struct error *const err = &tiny_err;

static struct model_config small_config(void)
{
    struct model_config config;
    assert_int_equal(model_config_named("tiny", &config), 0);
    config.hidden = 8;
    config.heads = 2;
    config.intermediate = 12;
    config.layers = 1;
    config.vocabulary = 10;
    config.positions = 16;
    return config;
}

struct fixture {
    char *directory, *path;
    struct params params;
    struct arena names;
    float *weights, *other;
    struct tensor *tensors; /* [params.count + 4] */
};

static int set_up(void **state)
{
    struct fixture *f = mem_clear(1, sizeof *f);
    const struct model_config config = small_config();
    f->directory = tiny_directory();
    f->path = path_join(f->directory, FILE_NAME);
    params_init(&f->params, &config);
    f->weights = mem_clear(f->params.size, sizeof(float));
    f->other = mem_clear(f->params.size, sizeof(float));
    f->tensors = mem_clear(f->params.count + 4, sizeof *f->tensors);
    params_draw_all(&f->params, 7, f->weights);
    names_tensors(&f->params, "", f->weights, &f->names, f->tensors);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    SCOPED(mem_free_at) struct fixture *f = *state;
    params_release(&f->params);
    arena_release(&f->names);
    tiny_remove(f->directory);
    mem_free(f->path);
    mem_free(f->weights);
    mem_free(f->other);
    mem_free(f->tensors);
    return 0;
}

static struct tensor *tensor_named(struct fixture *f, const char *name)
{
    for (size_t i = 0; i < f->params.count; i++)
        if (strcmp(f->tensors[i].name, name) == 0)
            return &f->tensors[i];
    fail_msg("no %s", name);
    return NULL;
}

static void write_tensors(struct fixture *f, size_t count)
{
    assert_ok(safetensors_write(f->path, f->tensors, count, NULL, err));
}

/* Reads the file without a report of tensors that were drawn or left over. */
static int read_weights(const struct fixture *f, const struct params *params, float *flat)
{
    struct names_report report;
    const int result = names_read(f->path, params, 7, flat, &report, err);
    names_report_release(&report);
    return result;
}

static void expect_same_weights(const struct fixture *f)
{
    assert_memory_equal(f->weights, f->other, f->params.size * sizeof(float));
}

TEST_WITH(written_files_read_back, set_up, tear_down)
{
    struct fixture *f = *state;
    struct names_report report;
    struct safetensors file;
    assert_ok(names_write(f->path, &f->params, f->weights, NULL, NULL, err));
    assert_ok(names_read(f->path, &f->params, 1, f->other, &report, err));
    assert_true(report.drawn.size == 0 && report.unused.size == 0);
    expect_same_weights(f);
    names_report_release(&report);

    memset(f->other, 0, f->params.size * sizeof(float));
    assert_ok(safetensors_open(&file, f->path, err));
    assert_int_equal(file.count, f->params.count);
    assert_int_equal(safetensors_find(&file, "bert.embeddings.word_embeddings.weight")->shape[0], 10); /* no padding */
    assert_null(safetensors_find(&file, "cls.predictions.decoder.weight"));
    assert_ok(names_read_own(&file, f->path, "", &f->params, f->other, err));
    expect_same_weights(f);
    assert_fails(names_read_own(&file, f->path, "first_moment.", &f->params, f->other, err), ERR_VERIFY);
    safetensors_close(&file);
}

TEST_WITH(older_names_are_read, set_up, tear_down)
{
    struct fixture *f = *state;
    struct names_report report;
    const int64_t ids[4] = {0, 1, 2, 3};
    size_t count = f->params.count;
    tensor_named(f, "bert.embeddings.LayerNorm.weight")->name = "bert.embeddings.LayerNorm.gamma";
    tensor_named(f, "bert.embeddings.LayerNorm.bias")->name = "embeddings.LayerNorm.beta";
    tensor_named(f, "bert.encoder.layer.0.intermediate.dense.weight")->name =
        "module.bert.encoder.layer.0.intermediate.dense_act.weight";
    tensor_named(f, "bert.encoder.layer.0.output.LayerNorm.weight")->name = "encoder.layer.0.output.LayerNorm.gamma";
    tensor_named(f, "bert.pooler.dense.bias")->name = "module.bert.pooler.dense_act.bias";
    /* A tied copy is ignored if its original exists, and used otherwise. */
    f->tensors[count++] = *tensor_named(f, "bert.embeddings.word_embeddings.weight");
    f->tensors[count - 1].name = "cls.predictions.decoder.weight";
    tensor_named(f, "cls.predictions.bias")->name = "cls.predictions.decoder.bias";
    f->tensors[count++] = (struct tensor){"bert.embeddings.position_ids", TENSOR_I64, 2, {1, 4}, ids, sizeof ids};
    f->tensors[count++] = (struct tensor){"classifier.weight", TENSOR_F32, 1, {2}, f->weights, 8};
    write_tensors(f, count);
    assert_ok(names_read(f->path, &f->params, 1, f->other, &report, err));
    assert_int_equal(report.drawn.size, 0);
    assert_string_equal(buf_text(&report.unused), "classifier.weight");
    expect_same_weights(f);
    names_report_release(&report);
}

TEST_WITH(absent_heads_are_drawn_and_named, set_up, tear_down)
{
    struct fixture *f = *state;
    struct names_report report;
    size_t count = 0;
    for (size_t i = 0; i < f->params.count; i++)
        if (!strstr(f->tensors[i].name, "cls."))
            f->tensors[count++] = f->tensors[i];
    write_tensors(f, count);
    assert_ok(names_read(f->path, &f->params, 7, f->other, &report, err)); /* the seed of f->weights */
    expect_same_weights(f);
    assert_non_null(strstr(buf_text(&report.drawn), "cls.seq_relationship.weight"));
    assert_null(strstr(buf_text(&report.drawn), "pooler"));
    names_report_release(&report);

    f->tensors[0] = f->tensors[--count];
    write_tensors(f, count); /* the word embedding is missing */
    assert_fails(read_weights(f, &f->params, f->other), ERR_MISMATCH);
    assert_non_null(strstr(tiny_err.text, "word_embeddings"));
}

TEST_WITH(what_does_not_fit_is_refused, set_up, tear_down)
{
    struct fixture *f = *state;
    struct tensor *bias = tensor_named(f, "bert.pooler.dense.bias");
    const struct tensor good = *bias;
    bias->shape[0] = 2;
    bias->shape[1] = 4;
    bias->rank = 2;
    write_tensors(f, f->params.count);
    assert_fails(read_weights(f, &f->params, f->other), ERR_MISMATCH);
    assert_non_null(strstr(tiny_err.text, "[2, 4]"));

    *bias = good;
    bias->type = TENSOR_I32;
    write_tensors(f, f->params.count);
    assert_fails(read_weights(f, &f->params, f->other), ERR_UNSAFE);

    *bias = good;
    f->tensors[f->params.count] = good;
    f->tensors[f->params.count].name = "module.bert.pooler.dense.bias";
    write_tensors(f, f->params.count + 1);
    assert_fails(read_weights(f, &f->params, f->other), ERR_UNSAFE);
    assert_non_null(strstr(tiny_err.text, "module.bert.pooler.dense.bias"));
    assert_non_null(strstr(tiny_err.text, "holds bert.pooler.dense.bias"));
}

TEST(wrappers_are_taken_off)
{
    static const struct {
        const char *theirs, *ours;
    } cases[] = {
        {"bert.pooler.dense.bias", "bert.pooler.dense.bias"},
        {"pooler.dense.bias", "bert.pooler.dense.bias"},
        {"_orig_mod.bert.pooler.dense.bias", "bert.pooler.dense.bias"},
        {"model.cls.predictions.bias", "cls.predictions.bias"},
        {"module._orig_mod.model.encoder.layer.0.output.dense.bias", "bert.encoder.layer.0.output.dense.bias"},
        {"_orig_mod.module.module.bert.encoder._fsdp_wrapped_module.layer.0._checkpoint_wrapped_module.output.dense."
         "bias",
         "bert.encoder.layer.0.output.dense.bias"},
        {"model.roberta_prelayernorm.embeddings.LayerNorm.bias", "bert.embeddings.LayerNorm.bias"},
        {"bert.model.pooler.dense.bias", "bert.model.pooler.dense.bias"}, /* a part of something else */
        {"mymodule.bert.pooler.dense.bias", "mymodule.bert.pooler.dense.bias"},
        {"module.", ""},
        {"", ""},
    };
    char name[FOREIGN_NAME_BYTES], wide[600];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        foreign_name(NULL, cases[i].theirs, name, sizeof name);
        assert_string_equal(name, cases[i].ours);
    }
    memset(wide, 'a', sizeof wide - 1);
    wide[sizeof wide - 1] = '\0';
    assert_null(foreign_name(NULL, wide, name, sizeof name).layout);
    assert_string_equal(name, "");
}

/* All tensors under one wrapper, and a file of which nothing fits. */
TEST_WITH(wrapped_files_are_read, set_up, tear_down)
{
    struct fixture *f = *state;
    struct names_report report;
    for (size_t i = 0; i < f->params.count; i++) {
        SCOPED(buf_release) struct buf name = {0};
        buf_addf(&name, "module._orig_mod.%s", f->tensors[i].name);
        f->tensors[i].name = arena_copy(&f->names, buf_str(&name)).data;
    }
    write_tensors(f, f->params.count);
    assert_ok(names_read(f->path, &f->params, 1, f->other, &report, err));
    assert_true(report.drawn.size == 0 && report.unused.size == 0);
    expect_same_weights(f);
    names_report_release(&report);

    f->tensors[0].name = "student.embeddings";
    write_tensors(f, 1);
    assert_fails(read_weights(f, &f->params, f->other), ERR_MISMATCH);
    assert_string_equal(tiny_err.text, "has no tensor bert.embeddings.word_embeddings.weight");
    assert_string_equal(tiny_err.hint, "it has 1 tensor: student.embeddings");
}

/* transformers computes with a decoder that the file holds beside the tied table. */
TEST_WITH(a_decoder_of_its_own_is_refused, set_up, tear_down)
{
    static const char *const pairs[][2] = {
        {"bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"},
        {"cls.predictions.bias", "module.cls.predictions.decoder.bias"},
    };
    struct fixture *f = *state;
    struct model_config spans = small_config();
    struct params body;
    spans.task_heads = 1u << HEAD_SPAN;
    params_init(&body, &spans);
    for (size_t i = 0; i < 2; i++) {
        struct tensor *copy = &f->tensors[f->params.count];
        float values[80], half[80];
        *copy = *tensor_named(f, pairs[i][0]);
        copy->name = pairs[i][1];
        memcpy(values, copy->data, copy->bytes);
        memcpy(half, values, sizeof half);
        copy->data = values;
        write_tensors(f, f->params.count + 1);
        assert_ok(read_weights(f, &f->params, f->other));
        expect_same_weights(f);

        values[copy->bytes / sizeof *values - 1] += 0.5f;
        write_tensors(f, f->params.count + 1);
        assert_fails(read_weights(f, &f->params, f->other), ERR_UNSAFE);
        assert_non_null(strstr(tiny_err.text, pairs[i][0]));
        assert_non_null(strstr(tiny_err.text, pairs[i][1]));
        assert_ok(read_weights(f, &body, f->other)); /* another task never reads it */

        copy->shape[0]--;
        copy->bytes -= copy->bytes / (copy->shape[0] + 1);
        copy->data = half;
        write_tensors(f, f->params.count + 1);
        assert_fails(read_weights(f, &f->params, f->other), ERR_UNSAFE);
    }
    params_release(&body);
}

/* A config.json of fewer layers than the file has: every reader gets the same list. */
TEST_WITH(layers_beyond_the_config_are_named, set_up, tear_down)
{
    struct fixture *f = *state;
    struct names_report report;
    struct model_config config = small_config();
    SCOPED(buf_release) struct buf unused = {0};
    const struct tensor norm = *tensor_named(f, "bert.embeddings.LayerNorm.bias");
    static const char *const more[] = {"module.bert.encoder.layer.1.output.dense.bias",
                                       "bert.encoder.layer.1.output.LayerNorm.beta",
                                       "encoder.layer.10.output.dense.bias", "bert.embeddings.odd"};
    SCOPED(mem_free_at) struct tensor *tensors = mem_array(f->params.count + 4, sizeof *tensors);
    memcpy(tensors, f->tensors, f->params.count * sizeof *tensors);
    for (size_t i = 0; i < 4; i++) {
        tensors[f->params.count + i] = norm;
        tensors[f->params.count + i].name = more[i];
    }
    assert_ok(safetensors_write(f->path, tensors, f->params.count + 4, NULL, err));
    assert_ok(names_read(f->path, &f->params, 1, f->other, &report, err));
    assert_string_equal(buf_text(&report.unused), buf_text(&report.body));
    assert_string_equal(buf_text(&report.body), "bert.embeddings.odd, bert.encoder.layer.1.*, bert.encoder.layer.10.*");
    names_body_unused(f->path, &config, &unused);
    assert_string_equal(buf_text(&unused), buf_text(&report.body));
    names_report_release(&report);
}

/* tie_word_embeddings false: the decoder must be there, equal, where one is used. */
TEST_WITH(an_untied_decoder_must_be_the_table, set_up, tear_down)
{
    struct fixture *f = *state;
    struct model_config config = small_config();
    static const struct {
        uint32_t heads;
        bool head, decoder;
        enum error_kind kind;
    } cases[] = {
        {1u << HEAD_MASKED | 1u << HEAD_NEXT, true, true, ERR_NONE},
        {1u << HEAD_MASKED | 1u << HEAD_NEXT, true, false, ERR_UNSAFE},
        {1u << HEAD_MASKED, false, false, ERR_NONE}, /* a bare encoder: the head is drawn, and tied */
        {1u << HEAD_CLASS, true, false, ERR_NONE},
        {1u << HEAD_SPAN, true, false, ERR_NONE},
    };
    config.own_decoder = true;
    config.labels = 2;
    const struct tensor table = *tensor_named(f, "bert.embeddings.word_embeddings.weight");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tensor tensors[64];
        struct params params;
        size_t count = 0;
        for (size_t k = 0; k < f->params.count; k++)
            if (cases[i].head || !strstr(f->tensors[k].name, "cls."))
                tensors[count++] = f->tensors[k];
        tensors[count] = table;
        tensors[count].name = "module.cls.predictions.decoder.weight";
        count += cases[i].decoder;
        assert_ok(safetensors_write(f->path, tensors, count, NULL, err));
        config.task_heads = cases[i].heads;
        params_init(&params, &config);
        if (cases[i].kind == ERR_NONE)
            assert_ok(read_weights(f, &params, NULL));
        else
            assert_fails(read_weights(f, &params, NULL), cases[i].kind);
        params_release(&params);
    }
}

/* Sizes that only config.json claims. Memory for the last of them would be 200 TB. */
TEST_WITH(claims_are_checked_first, set_up, tear_down)
{
    struct fixture *f = *state;
    struct model_config claims[8];
    for (size_t i = 0; i < 8; i++)
        claims[i] = small_config();
    write_tensors(f, f->params.count);
    assert_ok(names_check(f->path, &claims[0], err));
    claims[1].hidden = 65536;
    claims[2].layers = 1024;
    claims[3].intermediate = 262144;
    claims[4].vocabulary = 4194304;
    claims[5].positions = 65536;
    claims[6].types = 1024;
    claims[7] = claims[1];
    claims[7].layers = 1024;
    claims[7].intermediate = 262144;
    for (size_t i = 1; i < 8; i++) {
        assert_ok(model_config_check(&claims[i], err)); /* each is a size that some model may have */
        assert_fails(names_check(f->path, &claims[i], err), ERR_MISMATCH);
    }
    tensor_named(f, "bert.embeddings.LayerNorm.bias")->type = TENSOR_I32;
    write_tensors(f, f->params.count);
    assert_fails(names_check(f->path, &claims[0], err), ERR_UNSAFE);
}

/* Of a task's head too, unless it is drawn anew; not of tensors that nothing reads. */
TEST_WITH(a_training_starts_from_finite_numbers, set_up, tear_down)
{
    static const struct {
        const char *bad;
        bool draws_head;
        enum error_kind kind;
    } cases[] = {
        {"bert.embeddings.LayerNorm.bias", true, ERR_NUMERIC},
        {"bert.pooler.dense.bias", true, ERR_NUMERIC},
        {"classifier.bias", false, ERR_NUMERIC},
        {"classifier.bias", true, ERR_NONE},
        {"cls.seq_relationship.bias", false, ERR_NONE},
    };
    struct fixture *f = *state;
    struct model_config config = small_config();
    const float bad[] = {1, INFINITY, 0, 0, 0, 0, 0, 0};
    const size_t all = f->params.count;
    config.task_heads = 1u << HEAD_CLASS;
    config.labels = 2;
    f->tensors[all] = (struct tensor){"classifier.weight", TENSOR_F32, 2, {2, 8}, f->weights, 64};
    f->tensors[all + 1] = (struct tensor){"classifier.bias", TENSOR_F32, 1, {2}, f->weights, 8};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t at = 0;
        while (strcmp(f->tensors[at].name, cases[i].bad) != 0)
            at++;
        const void *good = f->tensors[at].data;
        f->tensors[at].data = bad;
        write_tensors(f, all + 2);
        f->tensors[at].data = good;
        if (cases[i].kind == ERR_NONE)
            assert_ok(names_check_kept(f->path, &config, NULL, cases[i].draws_head, err));
        else
            assert_fails(names_check_kept(f->path, &config, NULL, cases[i].draws_head, err), cases[i].kind);
    }
    assert_ok(names_check(f->path, &config, err));
}

/* Rows and biases of new pieces, computed by hand: the file's table has 10 rows, of which the last is spare. */
TEST_WITH(a_grown_table_has_means, set_up, tear_down)
{
    size_t ends[] = {1, 3, 6};
    uint32_t parts[] = {2, 3, 4, 1, 1, 8};
    const struct growth growth = {.rows = 10, .pieces = 9, .count = 3, .ends = ends, .parts = parts};
    struct fixture *f = *state;
    struct names_report report;
    struct model_config grown = small_config();
    struct params params;
    grown.vocabulary = 12;
    params_init(&params, &grown);
    const struct param *word = &params.items[0], *bias = params_find(&params, "cls.predictions.bias");
    float *old = f->weights, *read = mem_clear(params.size, sizeof *read);
    float *old_bias = f->weights + params_find(&f->params, "cls.predictions.bias")->offset;
    for (int i = 0; i < 80; i++)
        old[i] = (float)i; /* row r begins with 8 r */
    for (int i = 0; i < 10; i++)
        old_bias[i] = (float)(i * i);
    write_tensors(f, f->params.count);
    assert_ok(names_read_grown(f->path, &params, &growth, 1, read, &report, err));
    names_report_release(&report);
    assert_memory_equal(read + word->offset, old, 9 * 8 * sizeof *read);
    for (int i = 0; i < 8; i++) {
        assert_true(read[word->offset + 9 * 8 + (size_t)i] == (float)(16 + i)); /* the spare row is used first */
        assert_true(read[word->offset + 10 * 8 + (size_t)i] == (float)(28 + i));
        assert_true(read[word->offset + 11 * 8 + (size_t)i] == (float)((8 + 8 + 64) / 3.0 + i));
    }
    assert_memory_equal(read + bias->offset, old_bias, 9 * sizeof *read);
    assert_true(read[bias->offset + 9] == 4 && read[bias->offset + 10] == 12.5f && read[bias->offset + 11] == 22);
    const struct param *type = params_find(&params, "bert.embeddings.token_type_embeddings.weight");
    assert_memory_equal(read + type->offset, tensor_named(f, type->name)->data, type->count * sizeof *read);

    assert_fails(read_weights(f, &params, read), ERR_MISMATCH); /* only where it is asked for */
    mem_free(read);
    params_release(&params);
}

TEST_WITH(sixteen_bits_are_widened, set_up, tear_down)
{
    struct fixture *f = *state;
    uint16_t half[8] = {0x3f80, 0xbf80, 0, 0, 0, 0, 0, 0x4000};
    struct tensor *bias = tensor_named(f, "bert.pooler.dense.bias");
    *bias = (struct tensor){bias->name, TENSOR_BF16, 1, {8}, half, sizeof half};
    write_tensors(f, f->params.count);
    assert_ok(read_weights(f, &f->params, f->other));
    const float *read = f->other + params_find(&f->params, "bert.pooler.dense.bias")->offset;
    assert_true(read[0] == 1 && read[1] == -1 && read[2] == 0 && read[7] == 2);
}

/* ---- config.json ---- */

static void expect_config(struct fixture *f, const char *text, enum error_kind kind, const char *word)
{
    struct model_config config;
    SCOPED(mem_free_at) char *path = path_join(f->directory, "config.json");
    tiny_write(f->directory, "config.json", text, strlen(text));
    if (kind == ERR_NONE)
        assert_ok(config_read(path, &config, err));
    else
        assert_fails(config_read(path, &config, err), kind);
    if (word && !strstr(tiny_err.text, word))
        fail_msg("%s does not say %s", tiny_err.text, word);
}

#define SIZES "\"hidden_size\":8,\"num_hidden_layers\":1,\"num_attention_heads\":2,\"intermediate_size\":12"

TEST_WITH(configs_of_others, set_up, tear_down)
{
    struct fixture *f = *state;
    expect_config(f, "{" SIZES "}", ERR_NONE, NULL);
    expect_config(f, "{" SIZES ",\"model_type\":\"bert\",\"position_embedding_type\":null,\"unknown\":[{}]}", ERR_NONE,
                  NULL);
    expect_config(f, "{" SIZES ",\"model_type\":\"roberta\"}", ERR_UNSAFE, "model_type");
    expect_config(f, "{" SIZES ",\"hidden_act\":\"relu\"}", ERR_UNSAFE, "relu");
    expect_config(f, "{" SIZES ",\"position_embedding_type\":\"relative_key\"}", ERR_UNSAFE, "position_embedding_type");
    expect_config(f, "{" SIZES ",\"is_decoder\":true}", ERR_UNSAFE, "decoder");
    expect_config(f, "{" SIZES ",\"add_cross_attention\":true}", ERR_UNSAFE, "add_cross_attention");
    expect_config(f, "{" SIZES ",\"pruned_heads\":{\"0\":[1]}}", ERR_UNSAFE, "pruned_heads");
    expect_config(f, "{" SIZES ",\"pruned_heads\":{},\"is_decoder\":false}", ERR_NONE, NULL);
    expect_config(f, "{" SIZES ",\"quantization_config\":{\"bits\":4}}", ERR_UNSAFE, "quantization_config");
    expect_config(f, "{" SIZES ",\"tie_word_embeddings\":false}", ERR_NONE, NULL); /* the file decides */
    expect_config(f, "{" SIZES ",\"initializer\":\"xavier\"}", ERR_UNSAFE, "xavier");
    expect_config(f, "{" SIZES ",\"pre_layer_norm\":1}", ERR_UNSAFE, "pre_layer_norm");
    expect_config(f, "{" SIZES ",\"pre_layer_norm\":true,\"layer_norm_large_model\":true}", ERR_UNSAFE, "both");
    expect_config(f, "{" SIZES ",\"pre_layer_norm\":true,\"layer_norm_large_model\":false}", ERR_NONE, NULL);
    expect_config(f, "{" SIZES ",\"vocab_size\":-1}", ERR_UNSAFE, "vocab_size");
    expect_config(f, "{" SIZES ",\"vocab_size\":\"10\"}", ERR_UNSAFE, "vocab_size");
    expect_config(f, "{" SIZES ",\"layer_norm_eps\":\"small\"}", ERR_UNSAFE, "layer_norm_eps");
    expect_config(f, "{" SIZES ",\"num_attention_heads\":3}", ERR_UNSAFE, NULL); /* twice the key */
    expect_config(f, "{\"hidden_size\":8}", ERR_UNSAFE, "num_hidden_layers");
    expect_config(f, "{\"hidden_size\":8,\"num_hidden_layers\":1,\"num_attention_heads\":3}", ERR_UNSAFE, NULL);
    expect_config(f, "{\"hidden_size\":2147483647,\"num_hidden_layers\":2147483647,\"num_attention_heads\":1}",
                  ERR_UNSAFE, NULL);
    expect_config(f, "[]", ERR_UNSAFE, NULL);
    expect_config(f, "", ERR_UNSAFE, NULL);
    expect_config(f, "{" SIZES, ERR_UNSAFE, NULL);
}

TEST_WITH(a_config_reads_back, set_up, tear_down)
{
    struct fixture *f = *state;
    struct model_config config = small_config(), read;
    char *path = path_join(f->directory, "config.json"), name[32];
    config.hidden_dropout = 0.25;
    for (int gelu = 0; gelu < 2; gelu++) {
        config.gelu = gelu ? GELU_ERF : GELU_TANH;
        json_auto_t *json = config_json(&config, 0);
        assert_ok(json_file_write(path, json, err));
        assert_ok(config_read(path, &read, err));
        assert_int_equal(read.gelu, config.gelu);
        assert_int_equal(read.intermediate, 12);
        assert_int_equal(read.vocabulary, 10);
        assert_true(read.hidden_dropout == 0.25 && read.norm_epsilon == config.norm_epsilon);
    }
    assert_string_equal(config_name(&read, name), "1x8");

    /* Models other than plain BERT are read back too; their model_type is not one of another library. */
    static const char *const names[] = {"1x8", "1x8-preln", "1x8-lnlarge"};
    for (int order = ARCHITECTURE_BERT; order <= ARCHITECTURE_LARGE; order++) {
        config.architecture = (enum architecture_kind)order;
        config.initializer = order == ARCHITECTURE_LARGE ? INITIALIZER_TRUNCATED : INITIALIZER_NORMAL;
        json_auto_t *json = config_json(&config, 0);
        assert_int_equal(strcmp(json_string_value(json_object_get(json, "model_type")), "bert") == 0,
                         order == ARCHITECTURE_BERT);
        assert_int_equal(json_object_size(json), order == ARCHITECTURE_LARGE ? 17
                                                 : order == ARCHITECTURE_PRE ? 16
                                                                             : 15);
        assert_ok(json_file_write(path, json, err));
        assert_ok(config_read(path, &read, err));
        assert_true(read.architecture == config.architecture && read.initializer == config.initializer);
        assert_string_equal(config_name(&read, name), names[order]);
    }
    assert_ok(config_choose("large", &read, err));
    assert_string_equal(config_name(&read, name), "large");
    assert_ok(config_choose(path, &read, err));
    assert_fails(config_choose("huge", &read, err), ERR_USAGE);
    assert_fails(config_choose("no/such/config.json", &read, err), ERR_USAGE);
    mem_free(path);
}

/* base/target.c lists them itself, because base knows nothing of runs. */
TEST(files_of_runs_are_protected)
{
    static const char *const names[] = {MANIFEST_NAME, BUILD_NAME, VOCAB_NAME,   TEMPLATES_NAME, JOURNAL_NAME,
                                        RUN_NAME,      STATE_NAME, LATEST_NAME,  BEST_NAME,      METRICS_NAME,
                                        EVENTS_NAME,   TUNE_NAME,  WEIGHTS_NAME, MOMENTS_NAME};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_true(target_is_owned_name(names[i]));
    assert_false(target_is_owned_name("report.html"));
}
