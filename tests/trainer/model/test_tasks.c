/* The heads of fine-tuning against PyTorch: loss, logits and every gradient of tests/golden/tasks.safetensors, which
 * scripts/golden_tasks.py wrote from BertForSequenceClassification and BertForQuestionAnswering with random weights. */
#include "tests/trainer/made.h"
#include "tests/unit.h"
#include "trainer/keep/safetensors.h"

static struct safetensors golden;

static const struct tensor *tensor_of(const char *prefix, const char *name)
{
    char key[160];
    snprintf(key, sizeof key, "%s.%s", prefix, name);
    const struct tensor *tensor = safetensors_find(&golden, key);
    if (!tensor)
        fail_msg("no tensor %s", key);
    return tensor;
}

static float *floats_of(const char *prefix, const char *name)
{
    const struct tensor *tensor = tensor_of(prefix, name);
    float *values = mem_array(tensor_elements(tensor), sizeof *values);
    assert_int_equal(tensor_to_f32(tensor, values), 0);
    return values;
}

static void copy_column(int32_t *to, const char *name)
{
    const struct tensor *tensor = tensor_of("batch", name);
    memcpy(to, tensor->data, tensor_elements(tensor) * sizeof *to);
}

#define SEQUENCES 7

/* A synthetic batch of the same lengths, overwritten with the golden one; labels in the form of the head. */
static struct batch golden_batch(enum head_kind head, int32_t labels)
{
    int32_t lengths[SEQUENCES], starts[SEQUENCES];
    copy_column(lengths, "lengths");
    struct batch batch = made_batch(&(struct made_source){1, 60, 0}, lengths, 0, SEQUENCES);
    copy_column(batch.ids, "ids");
    copy_column(batch.segments, "segments");
    copy_column(batch.heads[head].labels, head == HEAD_SPAN ? "ends" : labels == 1 ? "numbers" : "classes");
    copy_column(starts, "starts");
    for (int32_t i = 0; i < SEQUENCES; i++)
        batch.heads[HEAD_SPAN].index[i] = batch.starts[i] + starts[i];
    return batch;
}

static void fill(struct model *model, const char *name)
{
    const struct params *params = model_table(model);
    for (size_t i = 0; i < params->count; i++) {
        char key[100];
        snprintf(key, sizeof key, "weight.%s", params->items[i].name);
        SCOPED(mem_free_at) float *values = floats_of(name, key);
        memcpy((float *)model_params(model) + params->items[i].offset, values, params->items[i].count * sizeof *values);
    }
    model_refresh(model);
}

static double norm_of(const float *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)values[i] * (double)values[i];
    return sqrt(sum);
}

/* Their true gradients are zero, so errors are relative to the gradient of the word embedding. */
static bool is_zero(const char *name, enum head_kind head)
{
    return strstr(name, "key.bias") ||
           (head == HEAD_SPAN && (strstr(name, "0.output.LayerNorm.bias") || strstr(name, "qa_outputs.bias")));
}

static void check_gradients(struct model *model, const char *name, enum head_kind head)
{
    const struct params *params = model_table(model);
    const float *flat = model_gradients(model);
    for (size_t i = 0; i < params->count; i++) {
        const struct param *param = &params->items[i];
        char key[100];
        snprintf(key, sizeof key, "gradient.%s", param->name);
        SCOPED(mem_free_at)
        float *theirs = floats_of(name, key),
              *word = floats_of(name, "gradient.bert.embeddings.word_embeddings.weight");
        const double size = is_zero(param->name, head) ? norm_of(word, 60 * 16) : norm_of(theirs, param->count);
        for (size_t j = 0; j < param->count; j++)
            theirs[j] -= flat[param->offset + j];
        const double error = norm_of(theirs, param->count) / size;
        if (!(error < 5e-5))
            fail_msg("%s, %s: relative error %g", name, param->name, error);
    }
}

static void check_logits(struct model *model, const char *name, enum head_kind head, const struct batch *batch)
{
    const size_t count = tensor_elements(tensor_of(name, "logits"));
    const size_t columns = head == HEAD_SPAN ? 2 : (size_t)model_config(model)->labels;
    SCOPED(mem_free_at) float *theirs = floats_of(name, "logits");
    struct model_metrics metrics = {0};
    model_evaluate(model, batch, &metrics);
    const float *ours = model_logits(model, head);
    assert_true(count == columns * (size_t)(head == HEAD_SPAN ? batch->tokens : batch->sequences));
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)theirs[i] - (double)ours[i]) < 1e-5))
            fail_msg("%s: logit %zu is %g, should be %g", name, i, (double)ours[i], (double)theirs[i]);
}

static void check_case(const char *name, enum head_kind head, int32_t labels)
{
    const struct model_config config = {
        .layers = 1,
        .hidden = 16,
        .heads = 2,
        .intermediate = 32,
        .vocabulary = 60,
        .positions = 16,
        .types = 2,
        .gelu = GELU_TANH,
        .task_heads = 1u << head,
        .labels = labels,
        .norm_epsilon = 1e-12,
    };
    SCOPED(ops_close_at) struct ops *ops = made_ops(PRECISION_FP32, cpu_level(), 1);
    SCOPED(made_batch_release) struct batch batch = golden_batch(head, labels);
    const struct model_budget budget = made_budget(&batch);
    SCOPED(model_close_at) struct model *model = model_open(&config, ops, &budget);
    struct model_metrics metrics = {0};
    SCOPED(mem_free_at) float *loss = floats_of(name, "loss");
    fill(model, name);
    const struct step_settings settings = made_step(1, 1, &batch, 1);
    model_begin_step(model, &settings);
    model_forward_backward(model, &batch, NULL, &metrics);
    assert_true(fabs(made_mean(&metrics, head) / (double)*loss - 1) < 1e-5);
    check_gradients(model, name, head);
    check_logits(model, name, head, &batch);
}

TEST(classes_are_those_of_pytorch)
{
    check_case("class", HEAD_CLASS, 3);
}

TEST(numbers_are_those_of_pytorch)
{
    check_case("number", HEAD_CLASS, 1);
}

TEST(spans_are_those_of_pytorch)
{
    check_case("span", HEAD_SPAN, 0);
}

int main(void)
{
    struct error err;
    if (safetensors_open(&golden, SOURCE_DIR "/tests/golden/tasks.safetensors", &err) < 0) {
        error_print(&err, "test", 0);
        return 1;
    }
    const int failed = unit_run();
    safetensors_close(&golden);
    return failed;
}
