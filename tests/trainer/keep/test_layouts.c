/* Every architecture and every layout (model/architecture.h): a field or a row that is missing is named here. */
#include "tests/shards/tiny.h"

#include "base/json.h"
#include "trainer/keep/foreign_names.h"
#include "trainer/keep/names.h"
#include "trainer/model/config.h"
#include "trainer/model/head.h"

#define FILE_NAME "model.safetensors"

static struct error *const err = &tiny_err;

#define EXPECT(condition, ...)                                                                                         \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            fail_msg(__VA_ARGS__);                                                                                     \
    } while (0)

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

TEST(architectures_say_all_of_themselves)
{
    for (enum architecture_kind kind = 0; kind < ARCHITECTURE_KINDS; kind++) {
        const struct architecture *row = architectures[kind];
        EXPECT(row->layout && row->suffix, "architecture %d: no layout or no suffix", kind);
        EXPECT(row->feed_forward, "architecture %d: no feed_forward", kind);
        EXPECT(row->norms.unnormalised || !row->norms.pre_norm, "architecture %d: pre_norm of a sum that is normed",
               kind);
        const struct layout *out = row->exported ? row->exported : row->layout;
        EXPECT(row->unpublished || !(out->lacks >> HEAD_MASKED & 1),
               "architecture %d: its exports are no class of transformers, and unpublished does not say why", kind);
        EXPECT(out->keys == row->layout->keys, "architecture %d: exported has other keys than layout", kind);
        for (const struct name_rule *rule = out->names; rule && rule->ours && row->exported; rule++)
            EXPECT(rule->parts <= 1, "architecture %d: exported joins tensors (%s)", kind, rule->theirs);
        for (enum architecture_kind other = 0; other < kind; other++) {
            const struct architecture *before = architectures[other];
            if (before->layout->keys != row->layout->keys)
                continue; /* model_type tells them apart */
            EXPECT(!same_text(row->flag, before->flag), "architectures %d and %d: the same flag, or none", other, kind);
            EXPECT(!same_text(row->suffix, before->suffix), "architectures %d and %d: the same suffix", other, kind);
        }
    }
}

TEST(layouts_say_all_of_themselves)
{
    for (size_t i = 0; layouts[i]; i++) {
        const struct layout *row = layouts[i];
        struct model_config config;
        EXPECT(row->model_type, "layout %zu: no model_type", i);
        EXPECT(row->noun && row->class_begin && row->keys, "%s: no noun, class_begin or keys", row->model_type);
        EXPECT(row->defaults && model_config_named(row->defaults, &config) == 0, "%s: no defaults", row->model_type);
        EXPECT(!row->names == !row->starts, "%s: names without starts, or the reverse", row->model_type);
        EXPECT(!row->pads_positions || architectures[row->architecture]->layout != row,
               "%s: a checkpoint's positions are not padded", row->model_type);
        for (size_t before = 0; before < i; before++)
            EXPECT(strcmp(row->model_type, layouts[before]->model_type) != 0, "two layouts of %s", row->model_type);
    }
}

static void expect_same(const struct model_config *a, const struct model_config *b, const char *model_type)
{
#define SAME(field) EXPECT(a->field == b->field, "%s: config.json does not keep " #field, model_type)
    SAME(architecture);
    SAME(layers);
    SAME(hidden);
    SAME(heads);
    SAME(intermediate);
    SAME(vocabulary);
    SAME(positions);
    SAME(types);
    SAME(gelu);
    SAME(norm_epsilon);
    SAME(initializer_range);
    SAME(hidden_dropout);
    SAME(attention_dropout);
    SAME(embedding_dropout);
    SAME(inner_dropout);
    SAME(head_dropout);
    SAME(initializer);
    SAME(task_heads);
    SAME(window);
    SAME(global_layers[0]);
    SAME(theta_global);
    SAME(theta_local);
    SAME(lacks);
    SAME(own_decoder);
#undef SAME
}

TEST_WITH(configs_keep_every_field, tiny_enter, tiny_tear_down)
{
    SCOPED(mem_free_at) char *path = path_join(*state, CONFIG_NAME);
    for (enum architecture_kind kind = 0; kind < ARCHITECTURE_KINDS; kind++)
        for (int gelu = 0; gelu < 2; gelu++) {
            struct model_config config, read;
            assert_int_equal(model_config_named(architectures[kind]->layout->defaults, &config), 0);
            config.architecture = kind;
            config.layers = 3;
            config.hidden = 24;
            config.heads = 4;
            config.intermediate = 40;
            config.vocabulary = 50;
            config.positions = 60;
            config.types = config.lacks >> OPTIONAL_TYPE_TABLE & 1 ? 1 : 5;
            config.window = config.window ? 6 : 0;
            config.global_layers[0] = config.window ? 5 : 0;
            config.theta_global = config.window ? 500 : 0;
            config.theta_local = config.window ? 100 : 0;
            config.lacks ^= config.window && gelu ? 1u << OPTIONAL_NORM_BIASES | 1u << OPTIONAL_DECODER_BIAS : 0;
            config.own_decoder = config.window && gelu;
            config.gelu = gelu ? GELU_ERF : GELU_TANH;
            config.norm_epsilon = 0.125;
            config.initializer_range = 0.25;
            config.hidden_dropout = 0.375;
            config.attention_dropout = 0.5;
            if (architectures[kind]->drops_inside) {
                config.embedding_dropout = 0.125;
                config.inner_dropout = 0.0625;
                config.head_dropout = 0.75;
            }
            config.initializer = INITIALIZER_TRUNCATED;
            json_auto_t *json = config_json(&config, 0);
            assert_ok(json_file_write(path, json, err));
            assert_ok(config_read(path, &read, err));
            expect_same(&config, &read, architectures[kind]->layout->model_type);
        }
}

/* Reads a small ModernBERT's config.json with these keys too. */
static int read_modern(const char *path, const char *more, struct model_config *config)
{
    SCOPED(buf_release) struct buf text = {0};
    buf_add_text(&text, "{\"model_type\": \"modernbert\", \"hidden_size\": 24, \"intermediate_size\": 20, "
                        "\"num_hidden_layers\": 4, \"vocab_size\": 40");
    if (!strstr(more, "num_attention_heads"))
        buf_add_text(&text, ", \"num_attention_heads\": 3");
    buf_addf(&text, "%s%s}", *more ? ", " : "", more);
    assert_ok(file_write_all(path, text.data, text.size, err));
    return config_read(path, config, err);
}

TEST_WITH(modern_configs_are_read_in_both_spellings, tiny_enter, tiny_tear_down)
{
    static const char *const spellings[] = {
        "\"global_attn_every_n_layers\": 3, \"global_rope_theta\": 500, \"local_rope_theta\": 100.5",
        "\"layer_types\": [\"full_attention\", \"sliding_attention\", \"sliding_attention\", \"full_attention\"], "
        "\"rope_parameters\": {\"full_attention\": {\"rope_type\": \"default\", \"rope_theta\": 500}, "
        "\"sliding_attention\": {\"rope_theta\": 100.5}}",
    };
    SCOPED(mem_free_at) char *path = path_join(*state, CONFIG_NAME);
    struct model_config config;
    for (size_t i = 0; i < 2; i++) {
        assert_ok(read_modern(path, spellings[i], &config));
        EXPECT(config.global_layers[0] == 9, "spelling %zu: layers %llx", i,
               (unsigned long long)config.global_layers[0]);
        EXPECT(config.theta_global == 500 && config.theta_local == 100.5, "spelling %zu: the thetas", i);
    }
    assert_ok(read_modern(path, "", &config)); /* what transformers takes for absent keys */
    assert_true(config.window == 128 && config.global_layers[0] == 9 && config.theta_global == 160000);
    assert_true(config.theta_local == 10000 && config.norm_epsilon == 1e-5 && config.gelu == GELU_ERF);
}

/* The old key for global layers is written where it says the same as layer_types. */
TEST_WITH(modern_layers_are_written_in_both_spellings, tiny_enter, tiny_tear_down)
{
    static const struct {
        const char *types; /* of four layers: f is a full_attention, s a sliding_attention */
        json_int_t every;  /* 0: not written */
    } rows[] = {{"ffff", 1}, {"fsfs", 2}, {"fssf", 3}, {"fsss", 4}, {"ssss", 0}, {"sffs", 0}, {"fsff", 0}, {"ffss", 0}};
    SCOPED(mem_free_at) char *path = path_join(*state, CONFIG_NAME);
    struct model_config config;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        SCOPED(buf_release) struct buf text = {0};
        buf_add_text(&text, "\"layer_types\": [");
        for (int k = 0; k < 4; k++)
            buf_addf(&text, "%s\"%s_attention\"", k ? ", " : "", rows[i].types[k] == 'f' ? "full" : "sliding");
        buf_add_text(&text, "]");
        assert_ok(read_modern(path, buf_text(&text), &config));
        json_auto_t *json = config_json(&config, 0);
        const json_int_t every = json_integer_value(json_object_get(json, "global_attn_every_n_layers"));
        EXPECT(every == rows[i].every, "%s: each layer %lld", rows[i].types, (long long)every);
    }
}

/* Of any model, as a fine-tuning of it goes on with its pooling. */
TEST_WITH(modern_configs_keep_their_pooling, tiny_enter, tiny_tear_down)
{
    static const char *const poolings[] = {"cls", "mean"};
    char *path = path_join(*state, CONFIG_NAME), text[64];
    struct model_config config;
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "\"classifier_pooling\": \"%s\"", poolings[i]);
        assert_ok(read_modern(path, text, &config));
        json_auto_t *json = config_json(&config, 0);
        EXPECT(config.pools_mean == (i == 1), "%s is read as %d", poolings[i], config.pools_mean);
        assert_string_equal(json_string_value(json_object_get(json, "classifier_pooling")), poolings[i]);
    }
    assert_ok(read_modern(path, "", &config));
    assert_false(config.pools_mean);
    mem_free(path);
}

/* As transformers means it: attention_dropout is also that of the attention's output, unless our key says otherwise. */
TEST_WITH(modern_dropouts_have_their_places, tiny_enter, tiny_tear_down)
{
    SCOPED(mem_free_at) char *path = path_join(*state, CONFIG_NAME);
    struct model_config config;
    assert_ok(read_modern(path, "", &config));
    assert_true(config.attention_dropout == 0 && config.hidden_dropout == 0 && config.head_dropout == 0);
    assert_ok(
        read_modern(path, "\"attention_dropout\": 0.25, \"mlp_dropout\": 0.5, \"hidden_dropout_prob\": 0", &config));
    assert_true(config.attention_dropout == 0.25 && config.hidden_dropout == 0.25 && config.inner_dropout == 0.5);
    assert_true(config.embedding_dropout == 0);
    assert_ok(read_modern(path, "\"attention_dropout\": 0, \"attention_output_dropout\": 0.125", &config));
    assert_true(config.attention_dropout == 0 && config.hidden_dropout == 0.125);
}

TEST_WITH(other_modern_configs_are_refused_by_their_key, tiny_enter, tiny_tear_down)
{
    static const struct {
        const char *key, *more;
    } wrong[] = {
        {"hidden_dropout_prob", "\"hidden_dropout_prob\": 0.1"},
        {"attention_probs_dropout_prob", "\"attention_probs_dropout_prob\": 0.1"},
        {"attention_dropout", "\"attention_dropout\": 1"},
        {"mlp_dropout", "\"mlp_dropout\": 1"},
        {"embedding_dropout", "\"embedding_dropout\": -0.5"},
        {"classifier_dropout", "\"classifier_dropout\": 2"},
        {"attention_output_dropout", "\"attention_output_dropout\": 2"},
        {"norm_eps", "\"norm_eps\": 0"},
        {"initializer_range", "\"initializer_range\": -1"},
        {"initializer_cutoff_factor", "\"initializer_cutoff_factor\": 3.0"},
        {"initializer_cutoff_factor", "\"initializer_cutoff_factor\": \"2\""},
        {"tie_word_embeddings", "\"tie_word_embeddings\": 0"},
        {"max_position_embeddings", "\"max_position_embeddings\": 100000"},
        {"layer_types", "\"layer_types\": [\"full_attention\"]"},
        {"layer_types", "\"layer_types\": [\"full_attention\", \"other\", \"other\", \"full_attention\"]"},
        {"global_attn_every_n_layers", "\"global_attn_every_n_layers\": 0"},
        {"local_attention", "\"local_attention\": 0"},
        {"local_attention", "\"local_attention\": \"128\""},
        {"rope_type", "\"rope_parameters\": {\"full_attention\": {\"rope_type\": \"yarn\", \"rope_theta\": 5}}"},
        {"rope_theta", "\"rope_parameters\": {\"full_attention\": {\"rope_type\": \"default\", \"rope_theta\": 0}}"},
        {"rope_parameters", "\"rope_parameters\": {\"rope_type\": \"default\", \"rope_theta\": 500}"},
        {"rope_parameters", "\"rope_parameters\": 500"},
        {"full_attention", "\"rope_parameters\": {\"full_attention\": 500}"},
        {"rope_scaling", "\"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 2}"},
        {"global_rope_theta", "\"global_rope_theta\": \"1e5\""},
        {"local_rope_theta", "\"local_rope_theta\": null"},
        {"num_attention_heads", "\"num_attention_heads\": 8"},
        {"num_attention_heads", "\"num_attention_heads\": 5"},
        {"norm_bias", "\"norm_bias\": 1"},
        {"hidden_activation", "\"hidden_activation\": \"relu\""},
        {"classifier_activation", "\"classifier_activation\": \"silu\""},
        {"classifier_pooling", "\"classifier_pooling\": \"max\""},
        {"classifier_pooling", "\"classifier_pooling\": true"},
        {"classifier_pooling", "\"classifier_pooling\": null"},
    };
    SCOPED(mem_free_at) char *path = path_join(*state, CONFIG_NAME);
    struct model_config config;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_fails(read_modern(path, wrong[i].more, &config), ERR_UNSAFE);
        EXPECT(strstr(tiny_err.text, wrong[i].key), "%s: %s", wrong[i].more, tiny_err.text);
    }
}

static bool begins_as_layout(const struct layout *layout, const char *name)
{
    for (const char *const *start = layout->starts; *start; start++)
        if (strncmp(name, *start, strlen(*start)) == 0)
            return true;
    return false;
}

static void expect_names(const struct layout *layout, const struct params *params)
{
    char(*names)[FOREIGN_NAME_BYTES] = mem_clear(params->count, sizeof *names);
    for (size_t i = 0; i < params->count; i++) {
        const char *ours = params->items[i].name;
        char back[FOREIGN_NAME_BYTES];
        if (params->items[i].parts == 0)
            continue;
        const int32_t parts = layout_name(layout, params->task_heads, ours, names[i], sizeof names[i]);
        EXPECT(!layout->names || begins_as_layout(layout, names[i]) ||
                   (strcmp(names[i], ours) == 0 && foreign_is_task_head(ours)),
               "%s: names do not say what %s is called", layout->model_type, ours);
        const struct foreign foreign = foreign_name(layout, names[i], back, sizeof back);
        EXPECT(strcmp(back, ours) == 0 && foreign.parts == parts, "%s: %s is read as %s of %d", layout->model_type,
               names[i], back, foreign.parts);
        foreign_name(NULL, names[i], back, sizeof back);
        EXPECT(strcmp(back, ours) == 0, "%s: %s is read as %s where the layout is not known", layout->model_type,
               names[i], back);
        for (size_t before = 0; before < i; before++)
            EXPECT(strcmp(names[before], names[i]) != 0, "%s: %s and %s have the same name", layout->model_type, ours,
                   params->items[before].name);
    }
    mem_free(names);
}

/* Under each layout's names, the tensors of each head that it has. */
TEST(names_go_out_and_come_in)
{
    for (size_t i = 0; layouts[i]; i++)
        for (enum head_kind head = 0; head < HEAD_KINDS; head++) {
            struct model_config config;
            struct params params;
            if (layouts[i]->lacks >> head & 1)
                continue;
            assert_int_equal(model_config_named(layouts[i]->defaults, &config), 0);
            config.architecture = layouts[i]->architecture;
            config.task_heads = 1u << head;
            config.labels = 3;
            params_init(&params, &config);
            expect_names(layouts[i], &params);
            params_release(&params);
        }
}

/* ---- tensors that are one in files: query, key and value of ModernBERT ---- */

TEST_WITH(joined_tensors_go_out_and_come_in, tiny_enter, tiny_tear_down)
{
    SCOPED(mem_free_at) char *path = path_join(*state, FILE_NAME);
    struct model_config config;
    struct params params;
    struct safetensors file;
    struct names_report report;
    struct arena names = {0};
    assert_int_equal(model_config_named("modern-mini", &config), 0);
    config.layers = 2;
    config.hidden = 8;
    config.vocabulary = 10;
    config.lacks &= ~(1u << OPTIONAL_ATTENTION_BIASES);
    params_init(&params, &config);
    SCOPED(mem_free_at)
    float *weights = mem_clear(params.size, sizeof *weights), *other = mem_clear(params.size, sizeof *other);
    params_draw_all(&params, 7, weights);
    weights[params_layer(&params, 1, LAYER_KEY_BIAS)->offset] = 5;
    assert_ok(names_write(path, &params, weights, NULL, NULL, err));

    assert_ok(safetensors_open(&file, path, err));
    assert_int_equal(file.count, params.count - 2 * 4); /* of each layer four tensors are in others */
    const struct tensor *matrix = safetensors_find(&file, "model.layers.1.attn.Wqkv.weight");
    const struct tensor *bias = safetensors_find(&file, "model.layers.1.attn.Wqkv.bias");
    assert_true(matrix && matrix->rank == 2 && matrix->shape[0] == 24 && matrix->shape[1] == 8);
    assert_true(bias && bias->rank == 1 && bias->shape[0] == 24 && ((const float *)bias->data)[8] == 5);
    assert_ok(names_read_own(&file, path, "", &params, other, err));
    assert_memory_equal(weights, other, params.size * sizeof *weights);
    safetensors_close(&file);

    memset(other, 0, params.size * sizeof *other);
    assert_ok(names_read(path, &params, 1, other, &report, err));
    assert_true(report.drawn.size == 0 && report.unused.size == 0);
    assert_memory_equal(weights, other, params.size * sizeof *weights);
    names_report_release(&report);

    /* A part beside the whole, and a whole of other rows. */
    SCOPED(mem_free_at) struct tensor *tensors = mem_array(params.count + 1, sizeof *tensors);
    const size_t count = names_tensors(&params, "", weights, &names, tensors);
    tensors[count] = tensors[0];
    tensors[count].name = "bert.encoder.layer.1.attention.self.key.weight";
    assert_ok(safetensors_write(path, tensors, count + 1, NULL, err));
    assert_fails(names_read(path, &params, 1, other, &report, err), ERR_UNSAFE);
    assert_non_null(strstr(tiny_err.text, "two names"));
    names_report_release(&report);
    for (size_t i = 0; i < count; i++)
        if (strcmp(tensors[i].name, "model.layers.0.attn.Wqkv.weight") == 0) {
            tensors[i].shape[0] -= 8;
            tensors[i].bytes -= 8 * 8 * sizeof *weights;
        }
    assert_ok(safetensors_write(path, tensors, count, NULL, err));
    assert_fails(names_read(path, &params, 1, other, &report, err), ERR_MISMATCH);
    assert_non_null(strstr(tiny_err.text, "[16, 8]"));
    names_report_release(&report);
    arena_release(&names);
    params_release(&params);
}
