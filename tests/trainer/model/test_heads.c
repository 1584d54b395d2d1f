/* What every row of head_kinds must have, and that a model with the head survives its config.json. */
#include "base/json.h"
#include "base/str.h"
#include "tests/unit.h"
#include "trainer/model/config.h"
#include "trainer/model/head.h"
#include "trainer/model/label_names.h"

static struct error error;
static struct error *const err = &error;

#define expect(condition)                                                                                              \
    do                                                                                                                 \
        if (!(condition))                                                                                              \
            fail_msg("head %u, %s: %s", (unsigned)h, head->class_end ? head->class_end : "?", #condition);             \
    while (0)

static bool begins(const char *text, const char *start)
{
    return text && start && strncmp(text, start, strlen(start)) == 0;
}

TEST(rows_are_complete)
{
    for (enum head_kind h = 0; h < HEAD_KINDS; h++) {
        const struct head *head = head_kinds[h];
        bool a_tensor_has_its_prefix = false;
        expect(head->tensors && head->tensor_count > 0);
        expect(head->buffers && head->buffer_count > 0 && head->buffer_count <= HEAD_BUFFERS_MAX);
        expect(head->logits < head->buffer_count && strstr(head->buffers[head->logits].name, "logits"));
        expect(head->work && head->pass);
        expect(begins(head->class_end, "For"));
        for (size_t i = 0; i < head->tensor_count; i++)
            a_tensor_has_its_prefix |= begins(head->tensors[i].name, head->prefix);
        expect(a_tensor_has_its_prefix);
        expect(!head->trial || head->pipeline);
        if (head->buffers[head->logits].columns == OF_LABELS) /* whose names belong to a task */
            expect(head->tuned);
        for (enum head_kind other = 0; other < h; other++) {
            expect(strcmp(head_kinds[other]->class_end, head->class_end) != 0 ||
                   (head->problem && head_kinds[other]->problem));
            expect(strcmp(head_kinds[other]->prefix, head->prefix) != 0 ||
                   !(head->prefix_tells || head_kinds[other]->prefix_tells));
        }
    }
}

static struct model_config with_head(enum head_kind h, int32_t labels)
{
    struct model_config config;
    assert_int_equal(model_config_named("tiny", &config), 0);
    config.task_heads = 1u << h;
    config.labels = model_names_labels(&config) ? labels : 0;
    char(*texts)[LABEL_NAME_SIZE] = mem_clear((size_t)config.labels, sizeof *texts);
    const char **names = mem_array((size_t)config.labels, sizeof *names);
    for (int32_t i = 0; i < config.labels; i++) {
        snprintf(texts[i], sizeof texts[i], "name %d", (int)i);
        names[i] = texts[i];
    }
    config.label_names = config.labels > 1 ? label_names(names, (size_t)config.labels) : NULL;
    mem_free(names);
    mem_free(texts);
    return config;
}

/* Writes a config.json, with another class if it is not NULL, and reads it. */
static struct model_config reread(const struct model_config *config, const char *begin, const char *end)
{
    char path[] = "/tmp/heads-XXXXXX";
    const int file = mkstemp(path);
    struct model_config read;
    json_t *json = config_json(config, 0);
    assert_true(file >= 0);
    close(file);
    if (begin)
        json_object_set_new(json, "architectures", json_pack("[s+]", begin, end));
    assert_int_equal(json_file_write(path, json, err), 0);
    assert_int_equal(config_read(path, &read, err), 0);
    json_decref(json);
    unlink(path);
    return read;
}

TEST(heads_survive_their_config)
{
    for (enum head_kind h = 0; h < HEAD_KINDS; h++)
        for (int32_t labels = 1; labels <= 5000; labels = labels == 8 ? 5000 : labels + 1) {
            const struct head *head = head_kinds[h];
            if (!head->tuned)
                continue;
            const struct model_config config = with_head(h, labels), read = reread(&config, NULL, NULL);
            expect(read.task_heads == config.task_heads);
            expect(model_tuned_head(&read) == h);
            expect(strcmp(model_class_end(&read), head->class_end) == 0);
            expect(read.labels == config.labels);
            if (config.labels > 1)
                expect(read.label_names == config.label_names); /* the same list */
            const struct model_config roberta = reread(&config, "RobertaPreLayerNorm", head->class_end);
            expect(roberta.task_heads == config.task_heads);
            const struct model_config other = reread(&config, "Albert", head->class_end);
            expect(model_tuned_head(&other) == HEAD_KINDS);
        }
}

TEST(heads_of_pre_training_have_their_classes)
{
    struct model_config config = with_head(HEAD_MASKED, 0);
    assert_string_equal(model_class_end(&config), "ForMaskedLM");
    config.task_heads |= 1u << HEAD_NEXT;
    assert_string_equal(model_class_end(&config), "ForPreTraining");
    assert_int_equal(model_tuned_head(&config), HEAD_KINDS);
    assert_int_equal(reread(&config, NULL, NULL).task_heads, config.task_heads);
    assert_int_equal(head_labels(HEAD_MASKED, &config), 30522);
    config.spare = 22;
    assert_int_equal(head_labels(HEAD_MASKED, &config), 30500);
    assert_int_equal(head_labels(HEAD_NEXT, &config), 2);
    assert_int_equal(head_labels(HEAD_SPAN, &config), 2);
    config.labels = 5;
    assert_int_equal(head_labels(HEAD_CLASS, &config), 5);
}
