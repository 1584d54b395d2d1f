/* The kernels of gradients as integers and of bits that are exchanged, run on the host by emulator.h, against the CPU;
 * gpu/ops.c and gpu/model.c have the others (ctests cuda_ops, cuda_optimizers). */
#include "tests/trainer/made.h"
#include "tests/unit.h"
#include "trainer/cuda/kernels.h"
#include "trainer/optim/onebit.h"
#include "trainer/optim/optimizer.h"

extern int emulated_order; /* emulator.h */

static uint32_t drawn;

static double uniform(void) /* -1 to 1 */
{
    uint32_t words[4];
    philox4x32((const uint32_t[4]){drawn++, 0, 0, 0}, (const uint32_t[2]){5, 9}, words);
    return words[0] * 0x1p-31 - 1;
}

/* The same integers as on the CPU, and the same floats back. */
TEST(gradients_convert_to_integers_and_back)
{
    enum { GRADIENTS = 1000 };
    const double unit = 0x1p44, limit = 0x1p58;
    SCOPED(ops_close_at) struct ops *cpu = made_ops(PRECISION_FP32, CPU_BASE, 1);
    float here[GRADIENTS], there[GRADIENTS];
    int64_t sums[GRADIENTS], wanted[GRADIENTS], refused = 0, refused_there = 0;
    for (int i = 0; i < GRADIENTS; i++) {
        here[i] = there[i] = i == 999 ? NAN : (float)(1e-2 * uniform());
        sums[i] = wanted[i] = i;
    }
    CALL(cpu, fixed_add, .sums = wanted, .gradients = here, .count = GRADIENTS, .unit = unit, .limit = limit,
         .refused = &refused);
    kernel_fixed_add(NULL, &(struct fixed_add_args){sums, there, GRADIENTS, unit, limit, &refused_there});
    assert_true(refused == 1 && refused_there == 1);
    assert_memory_equal(sums, wanted, sizeof sums);
    for (int i = 0; i < GRADIENTS; i++)
        assert_true(there[i] == 0);
    kernel_fixed_take(NULL, &(struct fixed_take_args){there, sums, GRADIENTS, unit});
    for (int i = 0; i < GRADIENTS; i++)
        assert_true(sums[i] == 0 && there[i] == (float)wanted[i] * 0x1p-44f);
}

/* ---- updates that exchange bits ---- */

enum { BIT_PROCESSES = 3, BIT_CHUNKS = 7, BIT_STEPS = 3 };

/* What the processes have, on one side: that of the CPU, or that of the kernels. */
struct bits_side {
    float *params, *first, *gradients[BIT_PROCESSES], *errors[BIT_PROCESSES], *served, *alphas_of_all, *sigmas;
    float alphas[BIT_PROCESSES][BIT_CHUNKS];
    uint8_t *bits[BIT_PROCESSES], *bits_of_all, *bits_back;
};

struct bits_trial {
    struct param_chunk chunks[BIT_CHUNKS];
    struct params table;
    struct onebit_layout layout;
    float *second;
    struct bits_side cpu, gpu;
};

static void side_open(struct bits_side *s, const struct onebit_layout *l, size_t flat)
{
    s->params = mem_clear(flat, sizeof(float));
    s->first = mem_clear(flat, sizeof(float));
    for (int i = 0; i < BIT_PROCESSES; i++) {
        s->gradients[i] = mem_clear(flat, sizeof(float));
        s->errors[i] = mem_clear(l->count, sizeof(float));
        s->bits[i] = mem_clear(l->count / 8, 1);
    }
    s->served = mem_clear(l->count, sizeof(float));
    s->alphas_of_all = mem_clear(BIT_PROCESSES * BIT_CHUNKS, sizeof(float));
    s->sigmas = mem_clear(BIT_CHUNKS, sizeof(float));
    s->bits_of_all = mem_clear(BIT_PROCESSES, l->count / 8);
    s->bits_back = mem_clear(l->count / 8, 1);
}

static void side_close(struct bits_side *s)
{
    void *const all[] = {s->params, s->first, s->served, s->alphas_of_all, s->sigmas, s->bits_of_all, s->bits_back};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        mem_free(all[i]);
    for (int i = 0; i < BIT_PROCESSES; i++) {
        mem_free(s->gradients[i]);
        mem_free(s->errors[i]);
        mem_free(s->bits[i]);
    }
}

static void assert_floats(const float *got, const float *wanted, size_t count, const char *what)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - (double)wanted[i]) <= 1e-6 * fmax(fabs((double)wanted[i]), 1e-3)))
            fail_msg("%s: element %zu is %g, not %g", what, i, (double)got[i], (double)wanted[i]);
}

/* The exchange: the part of process `rank` from all. */
static void send_part(const struct onebit_layout *l, struct bits_side *s, uint32_t rank)
{
    const size_t bytes = (l->part[rank + 1] - l->part[rank]) / 8, units = l->first[rank + 1] - l->first[rank];
    for (int i = 0; i < BIT_PROCESSES; i++) {
        memcpy(s->bits_of_all + (size_t)i * bytes, s->bits[i] + l->part[rank] / 8, bytes);
        memcpy(s->alphas_of_all + (size_t)i * units, s->alphas[i] + l->first[rank], units * sizeof(float));
    }
}

static struct bits_operands operands_of(const struct bits_trial *t, const struct onebit_update *u)
{
    return (struct bits_operands){
        .chunks = t->chunks,
        .at = t->layout.at,
        .params = u->params,
        .first = u->first,
        .second = u->second,
        .gradients = u->gradients,
        .factor = (float)u->gradient_factor,
        .beta = (float)u->beta1,
        .share = (float)(1 - u->beta1),
        .rate = (float)u->rate,
        .epsilon = (float)u->epsilon,
        .matrix_shrink = (float)u->rate * (float)u->weight_decay,
        .vector_shrink = (float)u->rate * (float)u->vector_decay,
    };
}

static struct onebit_update update_on(const struct bits_trial *t, const struct bits_side *s, int process)
{
    return (struct onebit_update){s->params, s->first, t->second, s->gradients[process], 1.7, 0.9, 1e-2, 1e-6, 0.01, 0};
}

static void compressed(struct bits_trial *t, int i)
{
    const struct onebit_layout *l = &t->layout;
    const struct onebit_update cpu = update_on(t, &t->cpu, i), gpu = update_on(t, &t->gpu, i);
    const struct bits_operands operands = operands_of(t, &gpu);
    const size_t bytes = l->count * sizeof(float);
    float *before = mem_array(l->count, sizeof *before), *first = mem_array(l->count, sizeof *first);
    memcpy(before, t->gpu.errors[i], bytes);
    onebit_compress(l, &cpu, t->cpu.errors[i], t->cpu.bits[i], t->cpu.alphas[i]);
    emulated_order = 1;
    kernel_compress(NULL, &operands, BIT_CHUNKS, t->gpu.errors[i], t->gpu.bits[i], t->gpu.alphas[i]);
    memcpy(first, t->gpu.errors[i], bytes);
    memcpy(t->gpu.errors[i], before, bytes);
    memset(t->gpu.bits[i], 0x55, l->count / 8);
    emulated_order = 0;
    kernel_compress(NULL, &operands, BIT_CHUNKS, t->gpu.errors[i], t->gpu.bits[i], t->gpu.alphas[i]);
    assert_memory_equal(first, t->gpu.errors[i], bytes);
    assert_memory_equal(t->gpu.bits[i], t->cpu.bits[i], l->count / 8);
    assert_floats(t->gpu.alphas[i], t->cpu.alphas[i], BIT_CHUNKS, "alpha");
    assert_floats(t->gpu.errors[i], t->cpu.errors[i], l->count, "an error");
    mem_free(before);
    mem_free(first);
}

static void served(struct bits_trial *t, uint32_t rank)
{
    const struct onebit_layout *l = &t->layout;
    const size_t from = l->part[rank], elements = l->part[rank + 1] - from;
    const struct served_part part = {l->first[rank], l->first[rank + 1] - l->first[rank], from, elements, l->size};
    const struct onebit_update cpu = update_on(t, &t->cpu, 0), gpu = update_on(t, &t->gpu, 0);
    const struct bits_operands operands = operands_of(t, &gpu);
    send_part(l, &t->cpu, rank);
    send_part(l, &t->gpu, rank);
    onebit_serve(l, &cpu, rank, t->cpu.bits_of_all, t->cpu.alphas_of_all, t->cpu.served + from, t->cpu.bits_back,
                 t->cpu.sigmas);
    emulated_order = (int)rank % 2;
    kernel_serve(NULL, &operands, &part,
                 &(struct serve_args){.rank = rank,
                                      .bits_of_all = t->gpu.bits_of_all,
                                      .alphas_of_all = t->gpu.alphas_of_all,
                                      .served = t->gpu.served + from,
                                      .bits = t->gpu.bits_back,
                                      .sigmas = t->gpu.sigmas});
}

/* Brings the kernels' side to the CPU's numbers, so that one step is compared at a time. */
static void side_copy(struct bits_trial *t, size_t flat)
{
    memcpy(t->gpu.params, t->cpu.params, flat * sizeof(float));
    memcpy(t->gpu.first, t->cpu.first, flat * sizeof(float));
    memcpy(t->gpu.served, t->cpu.served, t->layout.count * sizeof(float));
    for (int i = 0; i < BIT_PROCESSES; i++) {
        memcpy(t->gpu.errors[i], t->cpu.errors[i], t->layout.count * sizeof(float));
        memcpy(t->gpu.gradients[i], t->cpu.gradients[i], flat * sizeof(float));
    }
}

/* Three processes' updates: chunks that are whole, short, not a multiple of 8, and one without any gradient. */
TEST(bits_are_those_of_the_cpu)
{
    static const int32_t counts[BIT_CHUNKS] = {PARAM_CHUNK, PARAM_CHUNK, 37, 8, 1, 1000, 4099};
    static struct bits_trial t;
    size_t flat = 0;
    for (int k = 0; k < BIT_CHUNKS; k++) {
        t.chunks[k] = (struct param_chunk){.offset = flat, .count = counts[k], .tensor = k, .decay = k % 2 == 0};
        flat += ((size_t)counts[k] + 15) / 16 * 16;
    }
    t.table = (struct params){.chunks = t.chunks, .chunk_count = BIT_CHUNKS, .size = flat};
    onebit_layout_init(&t.layout, &t.table, false, BIT_PROCESSES);
    side_open(&t.cpu, &t.layout, flat);
    side_open(&t.gpu, &t.layout, flat);
    t.second = mem_clear(flat, sizeof(float));
    for (size_t i = 0; i < flat; i++) {
        t.second[i] = i % 9 == 4 || (i >= t.chunks[5].offset && i < t.chunks[6].offset) ? 0 : (float)(1 + uniform());
        t.cpu.params[i] = (float)uniform();
        t.cpu.first[i] = t.second[i] != 0 ? (float)uniform() : 0;
    }
    for (int step = 0; step < BIT_STEPS; step++) {
        for (int i = 0; i < BIT_PROCESSES; i++)
            for (size_t k = 0; k < flat; k++)
                t.cpu.gradients[i][k] = (float)uniform();
        side_copy(&t, flat);
        for (int i = 0; i < BIT_PROCESSES; i++)
            compressed(&t, i);
        for (uint32_t rank = 0; rank < BIT_PROCESSES; rank++)
            served(&t, rank);
        assert_memory_equal(t.gpu.bits_back, t.cpu.bits_back, t.layout.count / 8);
        assert_floats(t.gpu.sigmas, t.cpu.sigmas, BIT_CHUNKS, "sigma");
        assert_floats(t.gpu.served, t.cpu.served, t.layout.count, "the server's error");
        assert_true(t.gpu.sigmas[5] == 0 && t.gpu.sigmas[0] > 0);
        const struct onebit_update cpu = update_on(&t, &t.cpu, 0), gpu = update_on(&t, &t.gpu, 0);
        const struct bits_operands operands = operands_of(&t, &gpu);
        onebit_apply(&t.layout, &cpu, t.cpu.bits_back, t.cpu.sigmas);
        kernel_decompress(NULL, &operands, BIT_CHUNKS, t.gpu.bits_back, t.gpu.sigmas);
        assert_floats(t.gpu.first, t.cpu.first, flat, "momentum");
        assert_floats(t.gpu.params, t.cpu.params, flat, "a parameter");
    }
    side_close(&t.cpu);
    side_close(&t.gpu);
    mem_free(t.second);
    onebit_layout_release(&t.layout);
}
