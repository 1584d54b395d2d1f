/* The reader and writer of safetensors: written tensors are read back, and no file makes the reader read outside it. */
#include "tests/shards/tiny.h"

#include "trainer/keep/safetensors.h"

#define FILE_NAME "tensors.safetensors"

static struct error *const err = &tiny_err;

TEST(equal_tensors_give_equal_bytes_and_come_back)
{
    const float matrix[2][3] = {{1, 2, 3}, {-4, 0.5f, 1e-30f}};
    const float scalar = 7;
    const int64_t whole[2] = {-1, INT64_MAX};
    struct tensor tensors[] = {
        {"b.weight", TENSOR_F32, 2, {2, 3}, matrix, sizeof matrix},
        {"a.empty", TENSOR_F32, 2, {0, 5}, matrix, 0},
        {"z", TENSOR_I64, 1, {2}, whole, sizeof whole},
        {"a.scalar", TENSOR_F32, 0, {0}, &scalar, sizeof scalar},
    };
    SCOPED(mem_free_at) char *path = path_join(*state, FILE_NAME);
    uint64_t hash, again;
    assert_ok(safetensors_write(path, tensors, 4, &hash, err));
    SCOPED(buf_release) struct buf bytes = tiny_read(*state, FILE_NAME);
    assert_int_equal(hash, hash64(bytes.data, bytes.size));
    const struct tensor first = tensors[0];
    tensors[0] = tensors[3];
    tensors[3] = first;
    assert_ok(safetensors_write(path, tensors, 4, &again, err));
    assert_int_equal(hash, again);
    uint64_t header = 0;
    memcpy(&header, bytes.data, 8);
    assert_int_equal(header % 8, 0);

    struct safetensors file;
    assert_ok(safetensors_open(&file, path, err));
    assert_int_equal(file.count, 4);
    assert_string_equal(file.tensors[0].name, "a.empty");
    assert_null(safetensors_find(&file, "b"));
    const struct tensor *b = safetensors_find(&file, "b.weight");
    assert_int_equal(b->rank, 2);
    assert_int_equal(b->shape[1], 3);
    assert_memory_equal(b->data, matrix, sizeof matrix);
    assert_int_equal(tensor_elements(safetensors_find(&file, "a.empty")), 0);
    assert_int_equal(tensor_elements(safetensors_find(&file, "a.scalar")), 1);
    assert_memory_equal(safetensors_find(&file, "z")->data, whole, sizeof whole);
    float out[2];
    assert_int_equal(tensor_to_f32(safetensors_find(&file, "z"), out), -1);
    safetensors_close(&file);
}

TEST(no_tensors_at_all)
{
    struct safetensors file;
    SCOPED(mem_free_at) char *path = path_join(*state, FILE_NAME);
    assert_ok(safetensors_write(path, NULL, 0, NULL, err));
    assert_ok(safetensors_open(&file, path, err));
    assert_int_equal(file.count, 0);
    assert_null(safetensors_find(&file, "a"));
    safetensors_close(&file);
}

TEST(half_precision_is_exact)
{
    const uint16_t half[] = {0x0000, 0x8000, 0x3c00, 0xc000, 0x7bff, 0x0001, 0x03ff, 0x0400, 0x7c00, 0xfc00, 0x3555};
    const float expected[] = {0,        -0.0f,     1,          -2,         65504, 0x1p-24f, 0x1.ff8p-15f,
                              0x1p-14f, HUGE_VALF, -HUGE_VALF, 0x1.554p-2f};
    float out[11];
    assert_int_equal(tensor_to_f32(&(struct tensor){"h", TENSOR_F16, 1, {11}, half, sizeof half}, out), 0);
    assert_memory_equal(out, expected, sizeof expected);
    const uint16_t brain[] = {0x3f80, 0xc000, 0x7f80};
    assert_int_equal(tensor_to_f32(&(struct tensor){"b", TENSOR_BF16, 1, {3}, brain, sizeof brain}, out), 0);
    assert_true(out[0] == 1 && out[1] == -2 && out[2] == HUGE_VALF);
    const double wide[] = {1.0 / 3};
    assert_int_equal(tensor_to_f32(&(struct tensor){"d", TENSOR_F64, 1, {1}, wide, sizeof wide}, out), 0);
    assert_true(out[0] == (float)(1.0 / 3));
}

/* Expects this kind of error from a file with this header and `data_bytes` zeros after it. */
static void expect_header(const char *directory, const char *header, size_t data_bytes, enum error_kind kind)
{
    SCOPED(buf_release) struct buf bytes = {0};
    struct safetensors file;
    SCOPED(mem_free_at) char *path = path_join(directory, FILE_NAME);
    const uint64_t size = strlen(header);
    buf_add(&bytes, &size, 8);
    buf_add_text(&bytes, header);
    for (size_t i = 0; i < data_bytes; i++)
        buf_add_byte(&bytes, 0);
    tiny_write(directory, FILE_NAME, bytes.data, bytes.size);
    if (kind == ERR_NONE) {
        assert_ok(safetensors_open(&file, path, err));
        safetensors_close(&file);
    } else {
        tiny_err = (struct error){0};
        const int result = safetensors_open(&file, path, err);
        if (result == 0 || tiny_err.kind != kind)
            fail_msg("header %s, %zu bytes: %d, kind %d, %s", header, data_bytes, result, tiny_err.kind, tiny_err.text);
        assert_null(file.tensors);
    }
}

#define ENTRY(type, shape, from, to) "{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[" from "," to "]}"

TEST(hostile_headers_are_refused)
{
    static const struct {
        const char *header;
        size_t data;
        enum error_kind kind;
    } cases[] = {
        {"{}", 0, ERR_NONE},
        {"{}      ", 0, ERR_NONE},
        {"{\"a\":" ENTRY("F32", "[2]", "0", "8") "}", 8, ERR_NONE},
        {"{\"a\":" ENTRY("F32", "[]", "0", "4") "}", 4, ERR_NONE},
        {"{\"a\":" ENTRY("F32", "[0,99999999999999]", "0", "0") "}", 0, ERR_NONE},
        {"{\"__metadata__\":{\"format\":\"pt\"}}", 0, ERR_NONE},
        {"{\"b\":" ENTRY("F32", "[1]", "4", "8") ",\"a\":" ENTRY("I8", "[4]", "0", "4") "}", 8, ERR_NONE},
        {"", 0, ERR_UNSAFE},
        {"{", 0, ERR_UNSAFE},
        {"[]", 0, ERR_UNSAFE},
        {" {}", 0, ERR_UNSAFE},
        {"{}}", 0, ERR_UNSAFE},
        {"{\"a\":1}", 0, ERR_UNSAFE},
        {"{\"a\":{}}", 0, ERR_UNSAFE},
        {"{}", 1, ERR_VERIFY},                                          /* appended */
        {"{\"a\":" ENTRY("F32", "[2]", "0", "8") "}", 7, ERR_VERIFY},   /* cut off */
        {"{\"a\":" ENTRY("F32", "[2]", "4", "12") "}", 12, ERR_UNSAFE}, /* a gap before it */
        {"{\"a\":" ENTRY("F32", "[1]", "0", "4") ",\"b\":" ENTRY("F32", "[1]", "8", "12") "}", 12, ERR_UNSAFE},
        {"{\"a\":" ENTRY("F32", "[1]", "0", "4") ",\"b\":" ENTRY("F32", "[1]", "0", "4") "}", 4, ERR_UNSAFE},
        {"{\"a\":" ENTRY("F32", "[2]", "0", "8") ",\"b\":" ENTRY("F32", "[1]", "4", "8") "}", 8, ERR_UNSAFE},
        {"{\"a\":" ENTRY("F32", "[1]", "0", "4") ",\"a\":" ENTRY("F32", "[1]", "4", "8") "}", 8, ERR_UNSAFE},
        {"{\"a\":" ENTRY("F32", "[2]", "0", "4") "}", 4, ERR_UNSAFE}, /* sizes disagree */
        {"{\"a\":" ENTRY("F32", "[2]", "8", "0") "}", 8, ERR_UNSAFE},
        {"{\"a\":" ENTRY("F32", "[-1]", "0", "4") "}", 4, ERR_UNSAFE},
        {"{\"a\":" ENTRY("F32", "[1.0]", "0", "4") "}", 4, ERR_UNSAFE},
        {"{\"a\":" ENTRY("F32", "[true]", "0", "4") "}", 4, ERR_UNSAFE},
        {"{\"a\":" ENTRY("F32", "\"1\"", "0", "4") "}", 4, ERR_UNSAFE},
        {"{\"a\":" ENTRY("F33", "[1]", "0", "4") "}", 4, ERR_UNSAFE},
        {"{\"a\":" ENTRY("F32", "[1,1,1,1,1,1,1,1,1]", "0", "4") "}", 4, ERR_UNSAFE},     /* too many axes */
        {"{\"a\":" ENTRY("F32", "[4611686018427387904,4]", "0", "0") "}", 0, ERR_UNSAFE}, /* 2^64 wraps to 0 */
        {"{\"a\":" ENTRY("F32", "[9223372036854775807]", "0", "4") "}", 4, ERR_UNSAFE},
        {"{\"a\":" ENTRY("F32", "[99999999999999999999]", "0", "4") "}", 4, ERR_UNSAFE},
        {"{\"a\":" ENTRY("U8", "[9223372036854775807]", "0", "9223372036854775807") "}", 4, ERR_VERIFY},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0]}}", 1, ERR_UNSAFE},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1,1]}}", 1, ERR_UNSAFE},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"x\":0}}", 1, ERR_UNSAFE},
        {"{\"a\\u0000b\":" ENTRY("U8", "[1]", "0", "1") "}", 1, ERR_UNSAFE}, /* a NUL in a name */
        {"{\"\xff\":" ENTRY("U8", "[1]", "0", "1") "}", 1, ERR_UNSAFE},      /* not UTF-8 */
        {"{\"__metadata__\":{\"format\":1}}", 0, ERR_UNSAFE},
        {"{\"__metadata__\":[]}", 0, ERR_UNSAFE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_header(*state, cases[i].header, cases[i].data, cases[i].kind);
}

TEST(nesting_costs_no_stack)
{
    SCOPED(buf_release) struct buf deep = {0};
    buf_add_text(&deep, "{\"a\":");
    for (int i = 0; i < 1000000; i++)
        buf_add_byte(&deep, '[');
    expect_header(*state, buf_text(&deep), 0, ERR_UNSAFE);
}

TEST(a_wrong_length_is_refused)
{
    struct safetensors file;
    SCOPED(mem_free_at) char *path = path_join(*state, FILE_NAME);
    const uint64_t sizes[] = {3, 8, 1000, 100000001, UINT64_MAX, UINT64_MAX - 7};
    const enum error_kind kinds[] = {ERR_VERIFY, ERR_VERIFY, ERR_VERIFY, ERR_UNSAFE, ERR_UNSAFE, ERR_UNSAFE};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char bytes[10] = {0};
        memcpy(bytes, &sizes[i], 8);
        memcpy(bytes + 8, "{}", 2);
        tiny_write(*state, FILE_NAME, bytes, sizeof bytes);
        assert_fails(safetensors_open(&file, path, err), kinds[i]);
    }
    for (size_t size = 0; size < 8; size++) {
        tiny_write(*state, FILE_NAME, "\2\0\0\0\0\0\0\0", size);
        assert_fails(safetensors_open(&file, path, err), ERR_VERIFY);
    }
    assert_fails(safetensors_open(&file, "no/such/file", err), ERR_USAGE);
}

/* A valid file cut anywhere is refused. With any byte of its header changed, it is refused or all tensors are inside
 * the file. */
TEST(damage_anywhere)
{
    const float values[6] = {1, 2, 3, 4, 5, 6};
    const struct tensor tensors[] = {{"one", TENSOR_F32, 2, {2, 2}, values, 16},
                                     {"two", TENSOR_F32, 1, {2}, values + 4, 8}};
    struct safetensors file;
    SCOPED(mem_free_at) char *path = path_join(*state, FILE_NAME);
    assert_ok(safetensors_write(path, tensors, 2, NULL, err));
    SCOPED(buf_release) struct buf bytes = tiny_read(*state, FILE_NAME);
    for (size_t size = 0; size < bytes.size; size++) {
        tiny_write(*state, FILE_NAME, bytes.data, size);
        assert_true(safetensors_open(&file, path, err) < 0);
    }
    for (size_t at = 0; at < bytes.size - sizeof values; at++)
        for (int bit = 0; bit < 8; bit++) {
            bytes.data[at] ^= (char)(1 << bit);
            tiny_write(*state, FILE_NAME, bytes.data, bytes.size);
            if (safetensors_open(&file, path, err) == 0) {
                for (size_t i = 0; i < file.count; i++) {
                    const uint8_t *data = file.tensors[i].data;
                    assert_true(data >= file.file.data &&
                                data + file.tensors[i].bytes <= file.file.data + file.file.size);
                }
                safetensors_close(&file);
            }
            bytes.data[at] ^= (char)(1 << bit);
        }
}

/* ---- an index and its parts ---- */

#define INDEX "big.safetensors.index.json"
#define A     "big-00001-of-00002.safetensors"
#define B     "big-00002-of-00002.safetensors"

/* Writes a part that holds tensors of these names, each one character, with its number as the only value. */
static void write_part(const char *directory, const char *name, const char *tensors)
{
    float values[8];
    char names[8][2] = {{0}};
    struct tensor parts[8];
    const size_t count = strlen(tensors);
    for (size_t i = 0; i < count; i++) {
        names[i][0] = tensors[i];
        values[i] = (float)(tensors[i] - 'a');
        parts[i] = (struct tensor){names[i], TENSOR_F32, 1, {1}, &values[i], sizeof values[i]};
    }
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    assert_ok(safetensors_write(path, parts, count, NULL, err));
}

static int open_index(const char *directory, const char *text, struct safetensors *file)
{
    SCOPED(mem_free_at) char *path = path_join(directory, INDEX);
    tiny_write(directory, INDEX, text, strlen(text));
    tiny_err = (struct error){0};
    const int result = safetensors_open(file, path, err);
    return result;
}

TEST(parts_are_one_table)
{
    struct safetensors file;
    SCOPED(mem_free_at) char *folder = path_join(*state, "parts");
    assert_ok(path_make_directory(folder, err));
    assert_null(safetensors_locate(folder, "big.safetensors"));
    write_part(folder, A, "ca");
    write_part(folder, B, "bd");
    static const char index[] = "{\"metadata\":{\"total_size\":16},\"weight_map\":{\"d\":\"" B "\",\"c\":\"" A
                                "\",\"a\":\"" A "\",\"b\":\"" B "\"}}";
    assert_ok(open_index(folder, index, &file));
    assert_true(file.count == 4 && file.part_count == 2);
    for (size_t i = 0; i < 4; i++) {
        float value;
        const struct tensor *tensor = safetensors_find(&file, (const char[]){(char)('a' + i), 0});
        assert_true(tensor == &file.tensors[i] && tensor_to_f32(tensor, &value) == 0 && value == (float)i);
    }
    safetensors_close(&file);

    char *found = safetensors_locate(folder, "big.safetensors");
    uint64_t first, again, other;
    assert_true(str_ends(str_of(found), STR("/" INDEX)));
    assert_ok(safetensors_hash(found, &first, err));
    assert_fails(open_index(folder, "{\"weight_map\":{\"a\":\"" A "\",\"b\":\"" B "\"}}", &file), ERR_VERIFY);
    assert_ok(safetensors_hash(found, &again, err));
    write_part(folder, B, "bde");
    assert_ok(safetensors_hash(found, &other, err));
    assert_true(first == again && first != other); /* of the weights alone */
    mem_free(found);
    write_part(folder, "big.safetensors", "a");
    found = safetensors_locate(folder, "big.safetensors");
    assert_true(str_ends(str_of(found), STR("/big.safetensors")));
    mem_free(found);
}

TEST(an_index_that_its_parts_contradict_is_refused)
{
    static const struct {
        const char *map; /* of names to files, where A and B hold "a" and "b" */
        enum error_kind kind;
        const char *says;
    } cases[] = {
        {"{\"a\":\"" A "\",\"b\":\"" B "\"}", ERR_NONE, ""},
        {"{}", ERR_UNSAFE, "weight_map"},
        {"[]", ERR_UNSAFE, "weight_map"},
        {"{\"a\":\"" A "\",\"b\":7}", ERR_UNSAFE, "tensor b"},
        {"{\"a\":\"../" A "\"}", ERR_UNSAFE, "not in the directory"},
        {"{\"a\":\"/etc/x.safetensors\"}", ERR_UNSAFE, "not in the directory"},
        {"{\"a\":\"..\"}", ERR_UNSAFE, ".safetensors"},
        {"{\"a\":\"\"}", ERR_UNSAFE, ".safetensors"},
        {"{\"a\":\"" INDEX "\"}", ERR_UNSAFE, ".safetensors"},
        {"{\"a\":\"big-00001-of-00002.bin\"}", ERR_UNSAFE, ".safetensors"},
        {"{\"a\":\"" A "\",\"b\":\"no.safetensors\"}", ERR_VERIFY, "no.safetensors, which is missing, for tensor b"},
        {"{\"a\":\"" A "\",\"b\":\"" A "\"}", ERR_VERIFY, "tensor b in " A ", which does not hold it"},
        {"{\"a\":\"" A "\",\"b\":\"" B "\",\"c\":\"" B "\"}", ERR_VERIFY, "tensor c in " B ", which does not"},
        {"{\"a\":\"" B "\",\"b\":\"" A "\"}", ERR_VERIFY, "tensor a in " B ", but " A " holds it"},
        {"{\"a\":\"" A "\"}", ERR_VERIFY, "does not name " B},
        {"{\"a\":\"" A "\",\"b\":\"" B "\",\"z\":\"twice.safetensors\"}", ERR_VERIFY,
         "tensor b is in " B " and in twice.safetensors"},
        {"{\"z\":\"twice.safetensors\"}", ERR_VERIFY, "does not name tensor b, which twice.safetensors holds"},
    };
    SCOPED(mem_free_at) char *folder = path_join(*state, "wrong");
    assert_ok(path_make_directory(folder, err));
    write_part(folder, A, "a");
    write_part(folder, B, "b");
    write_part(folder, "twice.safetensors", "zb");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct safetensors file;
        char text[400];
        snprintf(text, sizeof text, "{\"weight_map\":%s}", cases[i].map);
        const int result = open_index(folder, text, &file);
        if ((result == 0) != (cases[i].kind == ERR_NONE) || tiny_err.kind != cases[i].kind ||
            !strstr(tiny_err.text, cases[i].says))
            fail_msg("%s: %d, kind %d, %s", cases[i].map, result, tiny_err.kind, tiny_err.text);
        safetensors_close(&file);
    }
}

/* Every cut and every flipped bit of an index is refused, or the table is still whole. */
TEST(a_damaged_index)
{
    struct safetensors file;
    char *folder = path_join(*state, "damaged"), text[] = "{\"weight_map\":{\"a\":\"x.safetensors\"}}";
    assert_ok(path_make_directory(folder, err));
    write_part(folder, "x.safetensors", "a");
    for (size_t at = 0; at < sizeof text - 1; at++)
        for (int bit = 0; bit < 8; bit++) {
            text[at] ^= (char)(1 << bit);
            if (open_index(folder, text, &file) == 0)
                assert_true(file.count == 1 && safetensors_find(&file, "a"));
            safetensors_close(&file);
            text[at] ^= (char)(1 << bit);
        }
    mem_free(folder);
}

GROUP(tiny_enter, tiny_tear_down)
