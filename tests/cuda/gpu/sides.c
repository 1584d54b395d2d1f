/* Numbers are rounded as TESTED stores them before any side gets them, so that all sides begin alike. */
#include "tests/cuda/gpu/sides.h"

#include <stdarg.h>

#include "trainer/backend/bf16.h"
#include "trainer/backend/fp16.h"

static struct ops *opened[SIDES];
static enum side open_count;
static enum precision precision;
static bool on_cpu;
static uint64_t drawn = 5;
static int failed, done;

int sides_open(enum device_kind device, const struct cpu_options *options, bool host, struct error *err)
{
    precision = options->precision;
    on_cpu = device == DEVICE_CPU;
    opened[TESTED] = backend_open(device, options, NULL, err);
    if (!opened[TESTED])
        return -1;
    opened[EXACT] = made_ops(PRECISION_FP64, CPU_BASE, 0);
    open_count = host ? SIDES : HOST;
    if (host)
        opened[HOST] = made_ops(precision, cpu_level(), 0);
    return 0;
}

void sides_close(void)
{
    EACH_SIDE (s)
        OPS(s)->close(OPS(s));
}

enum side sides_count(void)
{
    return open_count;
}

struct ops *side_ops(enum side side)
{
    return opened[side];
}

const char *sides_name(void)
{
    static const char *const names[] = {"fp32", "bf16", "fp16"};
    return names[precision];
}

/* ---- numbers ---- */

static size_t size_on(enum side side, enum number number)
{
    return number == DOUBLE ? sizeof(double) : number == REAL ? opened[side]->real_size : opened[side]->storage_size;
}

static double get(const void *memory, size_t size, size_t i)
{
    if (size == 8)
        return ((const double *)memory)[i];
    if (size == 4)
        return (double)((const float *)memory)[i];
    const uint16_t stored = ((const uint16_t *)memory)[i];
    return (double)(precision == PRECISION_FP16 ? fp16_to_float(stored) : bf16_to_float(stored));
}

double side_number(enum side side, const void *memory, enum number number, size_t i)
{
    const struct ops *ops = opened[side];
    const size_t size = size_on(side, number);
    double room; /* large enough for every type */
    ops->send(ops->device, 0, (const char *)memory + i * size, size);
    ops->receive(ops->device, 0, &room, size);
    return get(&room, size, 0);
}

static void put(void *memory, size_t size, size_t i, double value)
{
    if (size == 8)
        ((double *)memory)[i] = value;
    else if (size == 4)
        ((float *)memory)[i] = (float)value;
    else
        ((uint16_t *)memory)[i] =
            precision == PRECISION_FP16 ? fp16_from_float((float)value) : bf16_from_float((float)value);
}

/* The value rounded as the side under test stores it. */
static double rounded(double value, enum number number)
{
    uint64_t room;
    const size_t size = size_on(TESTED, number);
    put(&room, size, 0, value);
    return get(&room, size, 0);
}

/* SplitMix64 (Steele et al. 2014), which is fast. */
double draw(void)
{
    uint64_t x = drawn += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return (double)((x ^ x >> 31) >> 32) * 0x1p-31 - 1;
}

void draw_again(uint32_t seed)
{
    drawn = seed;
}

/* ---- arrays ---- */

static struct array array_make(size_t count, enum number number)
{
    struct array array = {.number = number, .count = count};
    EACH_SIDE (s)
        AT(array) = OPS(s)->allocate(OPS(s)->device, count * size_on(s, number));
    return array;
}

void array_put(struct array *array, const double *values)
{
    EACH_SIDE (s) {
        const size_t size = size_on(s, array->number), bytes = array->count * size;
        void *host = OPS(s)->map(OPS(s)->device, AT(*array), bytes, MAP_FILL);
        for (size_t i = 0; i < array->count; i++)
            put(host, size, i, rounded(values[i], array->number));
        OPS(s)->unmap(OPS(s)->device, AT(*array), host, bytes, MAP_FILL);
    }
}

void array_get(const struct array *array, enum side s, double *values)
{
    const size_t size = size_on(s, array->number), bytes = array->count * size;
    void *host = OPS(s)->map(OPS(s)->device, AT(*array), bytes, MAP_READ);
    for (size_t i = 0; i < array->count; i++)
        values[i] = get(host, size, i);
    OPS(s)->unmap(OPS(s)->device, AT(*array), host, bytes, MAP_READ);
}

struct array array_zero(size_t count, enum number number)
{
    return array_make(count, number);
}

struct array array_nan(size_t count, enum number number)
{
    struct array array = array_make(count, number);
    double *values = mem_array(count, sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = (double)NAN;
    array_put(&array, values);
    mem_free(values);
    return array;
}

struct array array_random(size_t live, size_t count, enum number number, double scale)
{
    struct array array = array_make(count, number);
    double *values = mem_array(count, sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = i < live ? scale * draw() : 0;
    array_put(&array, values);
    mem_free(values);
    return array;
}

/* Copies each side's numbers separately. */
struct array array_copy(const struct array *array)
{
    struct array copy = array_make(array->count, array->number);
    EACH_SIDE (s) {
        const size_t bytes = array->count * size_on(s, array->number);
        void *from = OPS(s)->map(OPS(s)->device, AT(*array), bytes, MAP_READ);
        void *to = OPS(s)->map(OPS(s)->device, AT(copy), bytes, MAP_FILL);
        memcpy(to, from, bytes);
        OPS(s)->unmap(OPS(s)->device, AT(copy), to, bytes, MAP_FILL);
        OPS(s)->unmap(OPS(s)->device, AT(*array), from, bytes, MAP_READ);
    }
    return copy;
}

void array_release(struct array *array)
{
    EACH_SIDE (s)
        OPS(s)->release(OPS(s)->device, AT(*array));
}

void array_agree(struct array *array)
{
    double *values = mem_array(array->count, sizeof *values);
    array_get(array, TESTED, values);
    array_put(array, values);
    mem_free(values);
}

struct index_array index_make(const int32_t *values, size_t count)
{
    struct index_array array = {.count = count};
    const size_t bytes = count * sizeof *values;
    EACH_SIDE (s) {
        AT(array) = OPS(s)->allocate(OPS(s)->device, bytes);
        void *host = OPS(s)->map(OPS(s)->device, AT(array), bytes, MAP_FILL);
        memcpy(host, values, bytes);
        OPS(s)->unmap(OPS(s)->device, AT(array), host, bytes, MAP_FILL);
    }
    return array;
}

void index_release(struct index_array *array)
{
    EACH_SIDE (s)
        OPS(s)->release(OPS(s)->device, AT(*array));
}

/* ---- comparing ---- */

void check(bool right, const char *format, ...)
{
    va_list args;
    done++;
    if (right)
        return;
    failed++;
    printf("  WRONG  ");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
}

int checks_failed(void)
{
    return failed;
}

int checks_done(void)
{
    return done;
}

double distance(const struct array *array, enum side side)
{
    double *values[2], error = 0, size = 0;
    for (int i = 0; i < 2; i++) {
        values[i] = mem_array(array->count, sizeof(double));
        array_get(array, i == 0 ? EXACT : side, values[i]);
    }
    for (size_t i = 0; i < array->count; i++) {
        const double step = values[1][i] - values[0][i];
        error += step * step;
        size += values[0][i] * values[0][i];
    }
    mem_free(values[0]);
    mem_free(values[1]);
    return size > 0 ? sqrt(error / size) : sqrt(error);
}

/* The error of one number in the precision under test: the last bit of storage, or the error of a sum. */
static double unit_of(enum number number)
{
    if (number == STORED && precision != PRECISION_FP32)
        return precision == PRECISION_FP16 ? 1e-3 : 4e-3;
    if (number == DOUBLE) /* the sum of the loss over rows, each in single precision */
        return on_cpu ? 1e-6 : 1e-5;
    return precision == PRECISION_FP32 && on_cpu ? 2e-6 : 2e-5;
}

/* A second limit, on a GPU: in 16 bits it follows from the CPU's error in the same precision. */
static double most_on_gpu(const struct array *array, double times)
{
    if (precision != PRECISION_FP32)
        return 1.5 * distance(array, HOST) + 1e-3;
    return times < 3 ? 1e-5 : 3e-5; /* 3: gradients of norms and attention */
}

/* ---- two passes ---- */

static struct {
    uint64_t *hashes; /* of what the first pass compared, in order */
    size_t count, room, next;
    bool is_first;
} passes;

void begin_pass(int pass)
{
    setenv("EMULATED_ORDER", pass == 0 ? "0" : "1", 1);
    passes.is_first = pass == 0;
    passes.next = 0;
    passes.count = pass == 0 ? 0 : passes.count;
}

static void compare_pass(const double *values, size_t count, const char *what)
{
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a of the numbers */
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        hash = (hash ^ bits ^ bits >> 32) * 0x100000001b3;
    }
    if (!passes.is_first) {
        check(passes.next < passes.count && passes.hashes[passes.next] == hash, "%s %s: two runs differ", sides_name(),
              what);
        passes.next++;
        return;
    }
    passes.hashes = mem_room(passes.hashes, passes.count + 1, &passes.room, sizeof *passes.hashes);
    passes.hashes[passes.count++] = hash;
}

void compare(const struct array *array, double times, const char *format, ...)
{
    char what[200];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    const double tested = distance(array, TESTED), most = times * unit_of(array->number);
    check(tested <= (on_cpu ? most : fmin(most, most_on_gpu(array, times))), "%s %s: relative error %.3g",
          OPS(TESTED)->name, what, tested);
    double *values = mem_array(array->count, sizeof *values);
    array_get(array, TESTED, values);
    compare_pass(values, array->count, what);
    mem_free(values);
}

void compare_zero_from(const struct array *array, size_t dead, const char *what)
{
    double *values = mem_array(array->count, sizeof *values);
    array_get(array, TESTED, values);
    size_t wrong = array->count;
    for (size_t i = array->count; i-- > dead;)
        if (!(values[i] == 0))
            wrong = i;
    check(wrong == array->count, "%s %s: not zero at %zu, after the %zu live ones", sides_name(), what, wrong, dead);
    mem_free(values);
}

void compare_numbers(double exact, double host, double tested, double limit, const char *what)
{
    const double scale = fabs(exact) > 0 ? fabs(exact) : 1;
    const double far = fabs(tested - exact) / scale, near = fabs(host - exact) / scale;
    check(far <= (precision == PRECISION_FP32 ? limit : 1.5 * near + 1e-3), "%s %s: %.9g, the CPU's %.9g, exactly %.9g",
          sides_name(), what, tested, host, exact);
}
