/* Implements sides.h. */
#include "tests/cuda/gpu/sides.h"

#include <math.h>
#include <stdarg.h>

#include "trainer/backend/bf16.h"
#include "trainer/backend/fp16.h"

static struct ops *opened[SIDES];
static enum precision precision;
static uint32_t drawn, draw_seed = 5;
static int failed, done;

int sides_open(enum device_kind device, enum precision wanted, struct error *err)
{
    precision = wanted;
    const struct cpu_options options = {.precision = wanted, .level = cpu_level()};
    opened[TESTED] = backend_open(device, &options, NULL, err);
    if (!opened[TESTED])
        return -1;
    opened[EXACT] = made_ops(PRECISION_FP64, CPU_BASE, 0);
    opened[HOST] = made_ops(wanted, cpu_level(), 0);
    return 0;
}

void sides_close(void)
{
    EACH_SIDE (s)
        OPS(s)->close(OPS(s));
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

double draw(void)
{
    const struct random_stream stream = random_stream(draw_seed, RANDOM_FRESH, 9, 0, 0, 0, 0);
    return random_at(&stream, drawn++, 0) * 0x1p-31 - 1;
}

void draw_again(uint32_t seed)
{
    draw_seed = seed;
    drawn = 0;
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

/* The limit itself in fp32. In 16 bits it depends on the error of the CPU with the same rounding. */
static double allowed(double limit, double host)
{
    return precision == PRECISION_FP32 ? limit : 1.5 * host + 1e-3;
}

void compare(const struct array *array, double limit, const char *format, ...)
{
    char what[200];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    const double host = distance(array, HOST), tested = distance(array, TESTED);
    check(tested <= allowed(limit, host), "%s %s: relative error %.3g, the CPU's %.3g", sides_name(), what, tested,
          host);
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
    check(far <= allowed(limit, near), "%s %s: %.9g, the CPU's %.9g, exactly %.9g", sides_name(), what, tested, host,
          exact);
}
