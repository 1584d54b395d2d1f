// room: trainer
/* In: a file of safetensors; or, where the first byte is odd, its header up to a zero byte and its data: then the
 * length of the header is right. Held: it is refused with a message, or its tensors have unique names and cover the
 * data without a hole or an overlap; as weights of a model they are taken or refused. */
#include "tests/fuzz/fuzz.h"

#include "trainer/keep/names.h"

static void check_cover(const struct safetensors *file, size_t size)
{
    uint64_t sum = 0, header = 0;
    memcpy(&header, file->file.data, sizeof header);
    const uint8_t *const begin = file->file.data + 8 + header, *const end = file->file.data + size;
    for (size_t i = 0; i < file->count; i++) {
        const struct tensor *tensor = &file->tensors[i];
        const uint8_t *bytes = tensor->data;
        assert(bytes >= begin && tensor->bytes <= (uint64_t)(end - bytes));
        assert(tensor_elements(tensor) * tensor_type_bytes(tensor->type) == tensor->bytes);
        assert(i == 0 || strcmp(file->tensors[i - 1].name, tensor->name) < 0);
        assert(safetensors_find(file, tensor->name) == tensor);
        sum += tensor->bytes;
    }
    assert(sum == (uint64_t)(end - begin));
}

static void check_values(const struct safetensors *file)
{
    for (size_t i = 0; i < file->count; i++) {
        SCOPED(mem_free_at) float *values = mem_array(tensor_elements(&file->tensors[i]), sizeof *values);
        char shape[200];
        tensor_to_f32(&file->tensors[i], values);
        tensor_shape_text(&file->tensors[i], shape, sizeof shape);
    }
}

static void check_weights(const char *path)
{
    static struct params params;
    static float *flat;
    if (!flat) {
        struct model_config config;
        model_config_named("tiny", &config);
        config.layers = 1;
        config.hidden = config.heads = config.intermediate = 2;
        config.vocabulary = 5;
        config.positions = 4;
        params_init(&params, &config);
        flat = mem_clear(params.size, sizeof *flat);
    }
    SCOPED(names_report_release) struct names_report report = {0};
    struct error err = {0};
    if (names_read(path, &params, 1, flat, &report, &err) < 0)
        assert((err.kind == ERR_UNSAFE || err.kind == ERR_MISMATCH) && err.text[0]);
}

int fuzz_input(const uint8_t *data, size_t size)
{
    const unsigned mend = take_byte(&data, &size);
    struct safetensors file;
    struct error err = {0};
    SCOPED(buf_release) struct buf bytes = {0};
    if (mend & 1) {
        const struct str header = take_until(0, &data, &size);
        const uint64_t header_size = header.size;
        buf_add(&bytes, &header_size, sizeof header_size);
        buf_add_str(&bytes, header);
    }
    buf_add(&bytes, data, size);
    const char *path = fuzz_file(buf_str(&bytes));
    if (safetensors_open(&file, path, &err) == 0) {
        check_cover(&file, bytes.size);
        check_values(&file);
        safetensors_close(&file);
        check_weights(path);
    } else {
        assert((err.kind == ERR_UNSAFE || err.kind == ERR_VERIFY) && err.text[0]);
    }
    return 0;
}
