/* Runs the same work on several backends, to test one of them. Side EXACT is the CPU in doubles, side TESTED the
 * backend under test, side HOST, where it is open, the CPU in the precision under test. All begin with the same
 * numbers, rounded to that precision; the test compares their distances from EXACT.
 *
 *     EACH_SIDE (s)
 *         CALL(OPS(s), linear, .y = AT(y), .x = AT(x), .w = AT(w), .rows = rows, .out = out, .in = in);
 *     compare(&y, 1, "linear"); */
#pragma once

#include "tests/trainer/made.h"
#include "trainer/device/backend.h"

enum side { EXACT, TESTED, HOST, SIDES };

/* Opens EXACT, TESTED and, with `host`, HOST. ERR_RESOURCE if there is no GPU. */
int sides_open(enum device_kind device, const struct cpu_options *options, bool host, struct error *err);
void sides_close(void);
enum side sides_count(void);
struct ops *side_ops(enum side side);
const char *sides_name(void); /* "fp32" */

#define EACH_SIDE(s) for (enum side s = EXACT; s < sides_count(); s++)
#define OPS(s)       side_ops(s)

/* An array on every side. */
enum number { STORED, REAL, DOUBLE };
struct array {
    enum number number;
    size_t count;
    void *memory[SIDES]; /* one for each side */
};
#define AT(array) ((array).memory[s])

struct array array_nan(size_t count, enum number number); /* so that missing writes are noticed */
struct array array_zero(size_t count, enum number number);
/* The first `live` uniform in (-scale, scale), the others zero. */
struct array array_random(size_t live, size_t count, enum number number, double scale);
struct array array_copy(const struct array *array);
void array_release(struct array *array);
void array_get(const struct array *array, enum side side, double *values);
void array_put(struct array *array, const double *values); /* to all sides, rounded to the precision */

/* Number i of an array in a side's memory. */
double side_number(enum side side, const void *memory, enum number number, size_t i);

/* Integers in each side's memory. */
struct index_array {
    int32_t *memory[SIDES];
    size_t count;
};
struct index_array index_make(const int32_t *values, size_t count);
void index_release(struct index_array *array);

double draw(void); /* uniform in (-1, 1): the same numbers in every run */
void draw_again(uint32_t seed);

/* Gives the other sides the numbers of TESTED, so that what follows begins with the same. */
void array_agree(struct array *array);

/* Relative L2 distance between `side` and EXACT. */
double distance(const struct array *array, enum side side);
/* Checks that the distance is at most `times` the rounding of one stored number, or of one sum of some hundred terms;
 * on a GPU also at most 1e-5 (3e-5 where `times` is 3 or more) in fp32, and 1.5 times HOST's + 1e-3 in 16 bits.
 * The second checks that an array is zero from `dead` on. */
void compare(const struct array *array, double times, const char *format, ...) __attribute__((format(printf, 3, 4)));
void compare_zero_from(const struct array *array, size_t dead, const char *what);
/* Single numbers: in 16 bits at most 1.5 times HOST's distance + 1e-3. */
void compare_numbers(double exact, double host, double tested, double limit, const char *what);
/* What is compared in pass 1 must have the bits that it had in pass 0; the emulator's threads run in another order
 * (EMULATED_ORDER, tests/cuda/emulator.cpp). */
void begin_pass(int pass);

/* Counts a check and prints it if it failed. */
void check(bool right, const char *format, ...) __attribute__((format(printf, 2, 3)));
int checks_failed(void);
int checks_done(void);

/* ops.c, model.c: the checks themselves, on open sides. `part` names one of ops' parts; NULL: all. `large`: also at the
 * sizes of real models. `passes`: 2 also checks that the bits of both are the same. */
void check_ops(const char *part, bool large, int passes);
void check_models(void);
void check_gradients(const struct model_config *config, const char *what); /* of one model, against the CPU's */
/* modern.c: gradients and a short training of ModernBERTs. */
void check_modern(void);
/* shapes.c: products at the sizes of a real training, each divided by `share`. With `tune`, times all algorithms that
 * the library offers and writes their table to that file. */
int check_shapes(int share, const char *tune, struct error *err);
/* These open their own backends. */
void check_curve(enum device_kind device, enum precision precision, const char *golden);
void check_same_bits(enum device_kind device, enum precision precision);
void check_optimizers(int passes);
int make_curve(const char *path);
