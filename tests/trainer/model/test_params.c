/* The table of parameters: names, shapes, offsets, initial values. */
#include "tests/unit.h"
#include "trainer/model/params.h"

static struct params table_of(const char *name, int32_t vocabulary, bool next_sentence)
{
    struct model_config config;
    assert_int_equal(model_config_named(name, &config), 0);
    config.vocabulary = vocabulary;
    config.task_heads = 1u << HEAD_MASKED | (next_sentence ? 1u << HEAD_NEXT : 0);
    struct error err;
    assert_int_equal(model_config_check(&config, &err), 0);
    struct params params;
    params_init(&params, &config);
    return params;
}

/* Published sizes of the models, heads included. */
TEST(counts_are_the_published_ones)
{
    const struct {
        const char *name;
        int32_t vocabulary;
        size_t count;
    } cases[] = {
        {"base", 30522, 110106428},  {"base", 30528, 110111042},  {"large", 30522, 336226108},
        {"large", 30528, 336232258}, {"1.5b", 30528, 1530388930},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(params_release) struct params params = table_of(cases[i].name, cases[i].vocabulary, true);
        assert_true(params.total == cases[i].count);
    }
    struct model_config config;
    assert_int_equal(model_config_named("huge", &config), -1);
}

TEST(tensors_stand_apart_and_qkv_together)
{
    SCOPED(params_release) struct params params = table_of("tiny", 30522, true);
    size_t end = 0, at = 0;
    for (size_t i = 0; i < params.count; i++, at++) {
        assert_true(params.items[i].offset >= end);
        assert_true(params.items[i].offset - end < 128 * 128); /* a gap, or padding of the vocabulary */
        end = params.items[i].offset + params.items[i].count;
        assert_ptr_equal(params_find(&params, params.items[i].name), &params.items[i]);
        at += params.places[at] == NULL; /* of the decoder, which a BERT lacks */
        assert_ptr_equal(params.places[at], &params.items[i]);
        assert_int_equal(params.items[i].decay, params.items[i].dimensions == 2);
        assert_int_equal(params.items[i].hidden,
                         params.items[i].dimensions == 2 && strstr(params.items[i].name, ".encoder.layer."));
    }
    assert_int_equal(at, params.count + 1);
    assert_null(params.places[at]);
    assert_true(params.size >= end && params.size % 16 == 0);
    for (int32_t layer = 0; layer < 2; layer++)
        for (int place = LAYER_QUERY_WEIGHT; place <= LAYER_QUERY_BIAS; place += LAYER_QUERY_BIAS) {
            const struct param *query = params_layer(&params, layer, (enum layer_place)place);
            assert_int_equal(query->offset % 16, 0);
            assert_true(query[1].offset == query->offset + query->count);
            assert_true(query[2].offset == query[1].offset + query[1].count);
        }
    const struct param *word = &params.items[PARAM_WORD];
    assert_true(params.items[PARAM_POSITION].offset == (size_t)30528 * 128 && word->count == (size_t)30522 * 128);
    assert_string_equal(word->name, "bert.embeddings.word_embeddings.weight");
    assert_string_equal(params_layer(&params, 1, LAYER_UP_BIAS)->name, "bert.encoder.layer.1.intermediate.dense.bias");
    assert_string_equal(params_head(&params, HEAD_MASKED, 4)->name, "cls.predictions.bias");
    assert_string_equal(params_head(&params, HEAD_NEXT, 3)->name, "cls.seq_relationship.bias");
    assert_null(params_find(&params, "cls.predictions.decoder.weight"));
}

TEST(without_next_sentence_there_is_no_pooler)
{
    SCOPED(params_release) struct params with = table_of("tiny", 1000, true), without = table_of("tiny", 1000, false);
    assert_int_equal(with.count - without.count, 4);
    assert_null(params_find(&without, "bert.pooler.dense.weight"));
    assert_null(params_find(&without, "cls.seq_relationship.bias"));
}

TEST(chunks_cover_every_tensor_from_its_start)
{
    struct model_config config;
    struct params params;
    assert_int_equal(model_config_named("mini", &config), 0);
    config.spare = 700; /* which no chunk covers */
    params_init(&params, &config);
    const struct param_chunk *chunk = params.chunks;
    for (size_t i = 0; i < params.count; i++) {
        size_t covered = 0;
        while (covered < params.items[i].trained) {
            assert_int_equal(chunk->tensor, i);
            assert_true(chunk->offset == params.items[i].offset + covered);
            assert_int_equal(chunk->decay, params.items[i].decay);
            covered += (size_t)chunk->count;
            assert_true(chunk->count == PARAM_CHUNK || covered == params.items[i].trained);
            chunk++;
        }
        assert_true(covered == params.items[i].trained);
    }
    assert_true(params.items->count - params.items->trained == 700 * 256);
    assert_ptr_equal(chunk, params.chunks + params.chunk_count);
    params_release(&params);
}

TEST(first_values_are_named)
{
    SCOPED(params_release) struct params small = table_of("tiny", 1000, false), large = table_of("mini", 30522, true);
    SCOPED(mem_free_at) float *a = mem_aligned(small.size * sizeof *a), *b = mem_aligned(large.size * sizeof *b);
    params_draw_all(&small, 42, a);
    params_draw(&large, &large.items[PARAM_WORD], 42, b);
    assert_memory_equal(a, b, (size_t)1000 * 128 * sizeof *a); /* the same name, another table */
    const struct param *word = &small.items[PARAM_WORD];
    double sum = 0, squares = 0, cubes = 0, most = 0;
    for (size_t i = 0; i < word->count; i++) {
        const double value = (double)a[i] / 0.02;
        sum += value;
        squares += value * value;
        cubes += value * value * value;
        most = fabs(value) > most ? fabs(value) : most;
    }
    const double count = (double)word->count;
    assert_true(fabs(sum / count) < 4 / sqrt(count));
    assert_true(fabs(squares / count - 1) < 4 * sqrt(2 / count));
    assert_true(fabs(cubes / count) < 4 * sqrt(15 / count));
    assert_true(most > 3.5 && most < 7);
    for (size_t i = word->offset + word->count; i < small.items[PARAM_POSITION].offset; i++)
        assert_true(a[i] == 0);
    for (size_t i = 0; i < small.count; i++)
        if (small.items[i].init != INIT_NORMAL)
            assert_true(a[small.items[i].offset] == (small.items[i].init == INIT_ONE ? 1 : 0));
    const struct param *query = params_layer(&small, 0, LAYER_QUERY_WEIGHT);
    assert_true(a[query[0].offset] != a[query[1].offset]);
    params_draw(&large, &large.items[PARAM_WORD], 43, b);
    assert_true(a[0] != b[0]);
}

/* Names and initial values of DeepSpeed's BERT; otherwise the names of transformers. */
TEST(the_orders_have_their_tensors)
{
    struct model_config config;
    assert_int_equal(model_config_named("tiny", &config), 0);
    struct params post, pre, large;
    params_init(&post, &config);
    config.architecture = ARCHITECTURE_PRE;
    params_init(&pre, &config);
    config.architecture = ARCHITECTURE_LARGE;
    params_init(&large, &config);
    assert_true(pre.total == post.total + 2 * 128 && large.total == post.total);
    assert_string_equal(params_final(&pre, FINAL_NORM_WEIGHT)->name, "bert.encoder.FinalLayerNorm.weight");
    assert_string_equal(params_layer(&pre, 1, LAYER_ATTENTION_NORM_WEIGHT)->name,
                        "bert.encoder.layer.1.PreAttentionLayerNorm.weight");
    assert_string_equal(params_layer(&pre, 1, LAYER_NORM_BIAS)->name,
                        "bert.encoder.layer.1.PostAttentionLayerNorm.bias");
    for (size_t place = 0; place < 5; place++)
        assert_string_equal(params_head(&pre, HEAD_MASKED, place)->name, params_head(&post, HEAD_MASKED, place)->name);
    for (size_t place = 0; place < 4; place++)
        assert_string_equal(params_head(&pre, HEAD_NEXT, place)->name, params_head(&post, HEAD_NEXT, place)->name);
    for (size_t i = 0; i < post.count; i++) {
        assert_string_equal(post.items[i].name, large.items[i].name);
        assert_true(post.items[i].deviation == 0.02 && large.items[i].deviation == 0.02);
    }
    for (size_t i = 0; i < pre.count; i++) {
        const bool output = strstr(pre.items[i].name, "output.dense.weight");
        assert_true(fabs(pre.items[i].deviation - (output ? 0.01 : 0.02)) < 1e-12); /* 2 layers: 0.02 / sqrt(4) */
    }
    params_release(&post);
    params_release(&pre);
    params_release(&large);
}

/* The variance of a normal distribution truncated at two deviations is 0.774 of that of the full one. */
TEST(truncated_values_end_at_two_deviations)
{
    struct model_config config;
    assert_int_equal(model_config_named("tiny", &config), 0);
    struct params whole, cut;
    params_init(&whole, &config);
    config.initializer = INITIALIZER_TRUNCATED;
    params_init(&cut, &config);
    SCOPED(mem_free_at) float *a = mem_aligned(whole.size * sizeof *a), *b = mem_aligned(cut.size * sizeof *b);
    params_draw_all(&whole, 42, a);
    params_draw_all(&cut, 42, b);
    const size_t count = whole.items[PARAM_WORD].count;
    double squares = 0;
    size_t beyond = 0;
    for (size_t i = 0; i < count; i++) {
        const bool inside = fabs((double)a[i]) <= 0.04;
        assert_true(fabs((double)b[i]) <= 0.0400001 && (!inside || a[i] == b[i]));
        squares += (double)b[i] * (double)b[i] / 4e-4;
        beyond += !inside;
    }
    assert_true(fabs((double)beyond / (double)count - 0.0455) < 0.001);
    assert_true(fabs(squares / (double)count - 0.7737) < 0.003);
    params_release(&whole);
    params_release(&cut);
}

TEST(layer_drop_is_checked)
{
    struct model_config config;
    struct error err;
    assert_int_equal(model_config_named("tiny", &config), 0);
    config.layer_drop = (struct layer_drop){.theta = 0.5, .gamma = 0.001};
    assert_int_equal(model_config_check(&config, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_non_null(strstr(err.hint, "pre_layer_norm"));
    config.architecture = ARCHITECTURE_PRE;
    assert_int_equal(model_config_check(&config, &err), 0);
    const struct layer_drop bad[] = {{1.1, 0, false}, {-0.1, 0, false}, {0.5, -1, false}, {(double)NAN, 0, false}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        config.layer_drop = bad[i];
        assert_int_equal(model_config_check(&config, &err), -1);
        assert_int_equal(err.kind, ERR_USAGE);
    }
}

TEST(sizes_from_outside_are_checked)
{
    struct model_config good;
    assert_int_equal(model_config_named("tiny", &good), 0);
    struct model_config bad[8];
    for (size_t i = 0; i < 8; i++)
        bad[i] = good;
    bad[0].layers = 0;
    bad[1].hidden = 129;
    bad[2].heads = -1;
    bad[3].vocabulary = INT32_MAX;
    bad[4].norm_epsilon = (double)NAN;
    bad[5].hidden_dropout = 1;
    bad[6].attention_dropout = -0.1;
    bad[7].positions = 0;
    for (size_t i = 0; i < 8; i++) {
        struct error err;
        assert_int_equal(model_config_check(&bad[i], &err), -1);
        assert_int_equal(err.kind, ERR_UNSAFE);
    }
}
