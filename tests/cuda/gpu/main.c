/* dstrain_cuda_test: compares the CUDA backend with the CPU backend, in all precisions. Exit code 0: all checks pass;
 * 1: some fail, or CUDA cannot be used; 77: there is no NVIDIA card, nothing was tested.
 *
 *     dstrain_cuda_test [--device cpu|cuda] [--precision fp32|bf16|fp16] [--part PART] [--sizes small] [--curve FILE]
 *     parts: ops (memory, convert, products, rows, attention, loss), shapes, models, modern, optimizers,
 *            curve, bits
 *     dstrain_cuda_test --part shapes [--share N] [--tune FILE]
 *     dstrain_cuda_test --make-curve FILE
 *
 * --device cpu compares the CPU with itself, to test the tests. --sizes small leaves out the ops at the sizes of real
 * models. --share divides the sizes of shapes (default: 16 with --device cpu, else 1); --tune first times all
 * algorithms of cuBLASLt, writes the table of choices and checks those. --curve names golden/curve-mini.txt. */
#include "tests/cuda/gpu/sides.h"

#include "base/progress.h"

struct wishes {
    enum device_kind device;
    const char *precision, *part; /* NULL: all */
    const char *curve, *tune;
    int share;
    bool small;
};

static bool wants(const char *wish, const char *name)
{
    return !wish || strcmp(wish, name) == 0;
}

static int test_precision(const struct wishes *w, enum precision precision, struct error *err)
{
    TRY(sides_open(w->device, &(struct cpu_options){.precision = precision, .level = cpu_level()}, true, err));
    printf("%s\n", side_ops(TESTED)->name);
    check_ops(wants(w->part, "ops") ? NULL : w->part, !w->small, 2);
    if (wants(w->part, "shapes"))
        TRY(check_shapes(w->share, w->tune, err));
    if (wants(w->part, "models"))
        check_models();
    if (wants(w->part, "modern"))
        check_modern();
    if (wants(w->part, "optimizers"))
        check_optimizers(2);
    sides_close();
    return 0;
}

static int test_all(const struct wishes *w, struct error *err)
{
    TRY(backend_probe(w->device, NULL, err));
    for (enum precision precision = 0; precision < PRECISION_KINDS; precision++)
        if (precision_kinds[precision].offered && wants(w->precision, precision_name(precision)))
            TRY(test_precision(w, precision, err));
    for (enum precision precision = 0; precision < PRECISION_FP16; precision++) {
        if (!wants(w->precision, precision_name(precision)))
            continue;
        if (wants(w->part, "bits"))
            check_same_bits(w->device, precision);
        if (wants(w->part, "curve"))
            check_curve(w->device, precision, w->curve);
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct wishes w = {.device = DEVICE_CUDA, .curve = SOURCE_DIR "/tests/golden/curve-mini.txt", .share = 0};
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *value = argv[i + 1];
        if (strcmp(argv[i], "--make-curve") == 0)
            return make_curve(value) < 0;
        if (strcmp(argv[i], "--device") == 0)
            w.device = strcmp(value, "cpu") == 0 ? DEVICE_CPU : DEVICE_CUDA;
        else if (strcmp(argv[i], "--precision") == 0)
            w.precision = value;
        else if (strcmp(argv[i], "--part") == 0)
            w.part = value;
        else if (strcmp(argv[i], "--curve") == 0)
            w.curve = value;
        else if (strcmp(argv[i], "--tune") == 0)
            w.tune = value;
        else if (strcmp(argv[i], "--share") == 0)
            w.share = atoi(value);
        else if (strcmp(argv[i], "--sizes") == 0)
            w.small = strcmp(value, "small") == 0;
    }
    if (w.share < 1)
        w.share = w.device == DEVICE_CPU ? 16 : 1;
    struct error err;
    const double begun = clock_now();
    if (test_all(&w, &err) < 0) {
        const bool card = backend_cards() > 0;
        printf("%s: %s\n", card ? "there is an NVIDIA card, but" : "nothing tested", err.text);
        return err.kind == ERR_RESOURCE && !card ? 77 : 1;
    }
    printf("%d checks, %d wrong, %.1f s\n", checks_done(), checks_failed(), clock_now() - begun);
    return checks_failed() > 0;
}
