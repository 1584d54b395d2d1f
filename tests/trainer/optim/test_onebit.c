/* The compression of 1-bit Adam against golden numbers of DeepSpeed's all-reduce. With arguments, the program simulates
 * several processes, for tests/flow/onebit_like_numpy.py:
 *
 *     trainer_onebit SIZE GROUP STEPS COUNT…   tensors of COUNT elements; floats on stdin: p, v, then for each step and
 *                                              process its gradients; on stdout, for each step and process, bits and
 *                                              alphas sent; bits and sigmas of all; then p and m */
#include "base/file.h"
#include "tests/unit.h"
#include "trainer/cpu/cpu_backend.h"
#include "trainer/keep/errors.h"
#include "trainer/keep/safetensors.h"
#include "trainer/parallel/onebit_exchange.h"

/* A table of `tensors` tensors, the even ones with decay. */
static void make_table(struct params *table, size_t tensors, const size_t *counts)
{
    size_t chunk = 0;
    *table = (struct params){.items = mem_clear(tensors, sizeof *table->items), .count = tensors};
    for (size_t i = 0; i < tensors; i++)
        table->chunk_count += (counts[i] + PARAM_CHUNK - 1) / PARAM_CHUNK;
    table->chunks = mem_array(table->chunk_count, sizeof *table->chunks);
    for (size_t i = 0; i < tensors; i++) {
        table->items[i] =
            (struct param){.count = counts[i], .trained = counts[i], .offset = table->size, .decay = i % 2 == 0};
        for (size_t at = 0; at < counts[i]; at += PARAM_CHUNK) {
            const size_t left = counts[i] - at;
            table->chunks[chunk++] = (struct param_chunk){.offset = table->size + at,
                                                          .count = (int32_t)(left < PARAM_CHUNK ? left : PARAM_CHUNK),
                                                          .tensor = (int32_t)i,
                                                          .decay = i % 2 == 0};
        }
        table->size += counts[i];
    }
}

/* All processes of a run, simulated in one. */
struct processes {
    struct params table;
    struct onebit_layout layout;
    struct onebit_update update; /* params, first and second are shared by all */
    float **errors, **served;
    uint8_t **sent, *bits; /* sent by each; result for all */
    float **alphas, *sigmas;
};

static void open_processes(struct processes *t, uint32_t size, bool group, size_t tensors, const size_t *counts)
{
    *t = (struct processes){0};
    make_table(&t->table, tensors, counts);
    onebit_layout_init(&t->layout, &t->table, group, size);
    t->errors = mem_array(size, sizeof *t->errors);
    t->served = mem_array(size, sizeof *t->served);
    t->sent = mem_array(size, sizeof *t->sent);
    t->alphas = mem_array(size, sizeof *t->alphas);
    t->bits = mem_clear(t->layout.count / 8, 1);
    t->sigmas = mem_clear(t->layout.unit_count, sizeof *t->sigmas);
    for (uint32_t r = 0; r < size; r++) {
        t->errors[r] = mem_clear(t->layout.count, sizeof(float));
        t->served[r] = mem_clear(t->layout.part[r + 1] - t->layout.part[r], sizeof(float));
        t->sent[r] = mem_clear(t->layout.count / 8, 1);
        t->alphas[r] = mem_clear(t->layout.unit_count, sizeof(float));
    }
    t->update.params = mem_clear(t->table.size, sizeof(float));
    t->update.first = mem_clear(t->table.size, sizeof(float));
    t->update.second = mem_clear(t->table.size, sizeof(float));
}

static void close_processes(struct processes *t)
{
    for (uint32_t r = 0; r < t->layout.size; r++) {
        mem_free(t->errors[r]);
        mem_free(t->served[r]);
        mem_free(t->sent[r]);
        mem_free(t->alphas[r]);
    }
    void *const all[] = {t->errors,        t->served,       t->sent,
                         t->alphas,        t->bits,         t->sigmas,
                         t->update.params, t->update.first, (void *)t->update.second,
                         t->table.items,   t->table.chunks};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        mem_free(all[i]);
    onebit_layout_release(&t->layout);
}

/* One update, with the gradients of each process. */
static void step(struct processes *t, float *const *gradients)
{
    const struct onebit_layout *l = &t->layout;
    for (uint32_t r = 0; r < l->size; r++) {
        t->update.gradients = gradients[r];
        onebit_compress(l, &t->update, t->errors[r], t->sent[r], t->alphas[r]);
    }
    for (uint32_t r = 0; r < l->size; r++) {
        const size_t bytes = (l->part[r + 1] - l->part[r]) / 8, units = l->first[r + 1] - l->first[r];
        SCOPED(mem_free_at) uint8_t *bits = mem_array(l->size, bytes);
        SCOPED(mem_free_at) float *alphas = mem_array(l->size, units * sizeof *alphas);
        for (uint32_t from = 0; from < l->size; from++) {
            memcpy(bits + from * bytes, t->sent[from] + l->part[r] / 8, bytes);
            memcpy(alphas + from * units, t->alphas[from] + l->first[r], units * sizeof *alphas);
        }
        onebit_serve(l, &t->update, r, bits, alphas, t->served[r], t->bits, t->sigmas);
    }
    onebit_apply(l, &t->update, t->bits, t->sigmas);
}

/* ---- golden numbers ---- */

static void close_to(float is, double wanted)
{
    assert_true(fabs((double)is - wanted) <= 1e-6 * wanted);
}

/* Two rounds of DeepSpeed's compressed all-reduce of 16 numbers in each of two processes. With beta1 = 0, the gradients
 * become m_i. */
TEST(group_is_deepspeeds)
{
    struct processes t;
    float own[2][16], *gradients[2] = {own[0], own[1]};
    open_processes(&t, 2, true, 1, (const size_t[]){16});
    t.update.gradient_factor = 1;
    t.update.epsilon = 1;
    for (int i = 0; i < 16; i++) {
        ((float *)t.update.second)[i] = 1;
        own[0][i] = (float)i - 7.5f;
        own[1][i] = ((float)i - 7.5f) * (i % 3 == 0 ? -2 : 0.5f);
    }
    assert_int_equal(t.layout.count, 16);
    step(&t, gradients);
    close_to(t.alphas[0][0], 4.6097722286464435);
    close_to(t.alphas[1][0], 6.498196865285015);
    assert_memory_equal(t.sent[0], "\x00\xff", 2);
    assert_memory_equal(t.sent[1], "\x92\xb6", 2);
    assert_memory_equal(t.bits, "\x92\xb6", 2);
    for (int i = 0; i < 2; i++)
        close_to(t.sigmas[i], 4.428717822997253);
    for (int i = 0; i < 8; i++)
        close_to(i % 3 == 0 ? t.update.first[i] : -t.update.first[i], 4.428717822997253);
    step(&t, gradients);
    close_to(t.alphas[0][0], 5.700319670128764);
    close_to(t.alphas[1][0], 9.661935329772659);
    assert_memory_equal(t.sent[0], "\x03\x3f", 2);
    assert_memory_equal(t.sent[1], "\xbd\x42", 2);
    assert_memory_equal(t.bits, "\x2d\x4b", 2);
    for (int i = 0; i < 2; i++)
        close_to(t.sigmas[i], 4.431698386786266);
    close_processes(&t);
}

/* Padded to a multiple of N lcm(8, N), in equal parts. */
TEST(groups_are_padded)
{
    const struct {
        uint32_t size;
        size_t count, padded;
    } cases[] = {{1, 9, 16}, {2, 17, 32}, {3, 100, 144}, {4, 32, 32}, {5, 1, 200}, {8, 65, 128}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct processes t;
        open_processes(&t, cases[i].size, true, 1, &cases[i].count);
        assert_int_equal(t.layout.count, cases[i].padded);
        for (uint32_t r = 0; r < cases[i].size; r++)
            assert_int_equal(t.layout.part[r + 1] - t.layout.part[r], cases[i].padded / cases[i].size);
        close_processes(&t);
    }
}

/* Every chunk is served once and undivided, and parts are as equal as chunks allow. */
/* What a checkpoint keeps of the errors has every element, but no padding, which depends on the processes. */
TEST(all_errors_but_no_padding_are_kept)
{
    const size_t counts[] = {PARAM_CHUNK + 5, 7, 3};
    struct error err;
    struct params table;
    struct ops *ops = cpu_open(&(struct cpu_options){.precision = PRECISION_FP32, .level = CPU_BASE}, &err);
    struct comm *comm = comm_open(COMM_SELF, &(struct comm_options){.size = 1, .timeout = 1}, &err);
    make_table(&table, 3, counts);
    struct onebit *onebit = onebit_open(&table, true, ops, comm);
    const struct checkpoint_errors errors = onebit_errors(onebit);
    assert_int_equal(errors.whole, PARAM_CHUNK + 5 + 7 + 3);
    assert_true(errors.count >= errors.whole);
    onebit_close(onebit);
    comm_close(comm);
    mem_free(table.items);
    mem_free(table.chunks);
    ops->close(ops);
}

/* Errors of another length are not this run's. */
TEST(errors_have_their_length)
{
    char directory[] = "/tmp/trainer-onebit-XXXXXX", command[64];
    const float values[4] = {1, 2, 3, 4};
    float worker[4] = {0}, server[4] = {0};
    struct error err;
    assert_non_null(mkdtemp(directory));
    SCOPED(mem_free_at) char *folder = path_join(directory, "errors"), *path = path_join(folder, "mean.safetensors");
    const struct tensor tensors[] = {
        {.name = "worker_error", .type = TENSOR_F32, .rank = 1, .shape = {4}, .data = values, .bytes = sizeof values},
        {.name = "server_error", .type = TENSOR_F32, .rank = 1, .shape = {4}, .data = values, .bytes = sizeof values}};
    assert_int_equal(path_make_directory(folder, &err), 0);
    assert_int_equal(safetensors_write(path, tensors, 2, NULL, &err), 0);
    for (size_t count = 3; count <= 5; count++)
        assert_int_equal(errors_read_mean(directory, count, worker, server, &err), count == 4 ? 0 : -1);
    assert_int_equal(err.kind, ERR_MISMATCH);
    assert_memory_equal(server, values, sizeof values);
    snprintf(command, sizeof command, "rm -r %s", directory);
    assert_int_equal(system(command), 0);
}

TEST(chunks_have_one_server)
{
    const size_t counts[] = {3 * PARAM_CHUNK + 7, 5, 2 * PARAM_CHUNK, 100};
    for (uint32_t size = 1; size < 12; size++) {
        struct processes t;
        open_processes(&t, size, false, 4, counts);
        const struct onebit_layout *l = &t.layout;
        assert_int_equal(l->first[size], t.table.chunk_count);
        for (uint32_t r = 0; r < size; r++) {
            assert_true(l->first[r] <= l->first[r + 1] && l->part[r] % 8 == 0);
            assert_true(l->first[r] == l->unit_count || l->part[r] == l->units[l->first[r]].from);
            assert_true(fabs((double)(l->part[r + 1] - l->part[r]) - (double)l->count / size) <= PARAM_CHUNK + 8);
        }
        close_processes(&t);
    }
}

/* A zero is sent as plus, with minus the scale as its error, as DeepSpeed's sign().add(1).bool() does. */
TEST(zero_is_sent_as_plus)
{
    struct processes t;
    float own[16], *gradients[1] = {own};
    open_processes(&t, 1, true, 1, (const size_t[]){16});
    t.update.gradient_factor = 1;
    t.update.epsilon = 1;
    for (int i = 0; i < 16; i++) {
        ((float *)t.update.second)[i] = 1;
        own[i] = i % 3 == 0 ? 0 : -2;
    }
    step(&t, gradients);
    close_to(t.alphas[0][0], 1.5811388300841898); /* the root of 10 times 4 / 16 */
    assert_memory_equal(t.sent[0], "\x92\x49", 2);
    for (int i = 0; i < 16; i++)
        assert_true(t.errors[0][i] == own[i] - (i % 3 == 0 ? 1 : -1) * t.alphas[0][0]);
    close_processes(&t);
}

/* A parameter without a gradient until the second moments freeze does not change, even if it gets gradients later; it
 * has no error and does not change the scale of others. */
TEST(what_has_no_gradient_stays)
{
    for (int group = 0; group < 2; group++) {
        struct processes t;
        float own[2][40], *gradients[2] = {own[0], own[1]};
        open_processes(&t, 2, group, 2, (const size_t[]){21, 19});
        t.update.gradient_factor = 1;
        t.update.rate = 0.1;
        t.update.epsilon = 1e-8;
        for (int i = 0; i < 40; i++) {
            ((float *)t.update.second)[i] = i < 21 && i % 2 == 0 ? 1 : 0; /* all zero in the second tensor */
            own[0][i] = own[1][i] = i % 2 == 0 && i < 21 ? 2 : 5;
            t.update.params[i] = 3;
        }
        for (int n = 0; n < 5; n++)
            step(&t, gradients);
        for (int i = 0; i < 40; i++) {
            const bool masked = t.update.second[i] == 0;
            assert_true((t.update.params[i] == 3) == masked && (t.update.first[i] == 0) == masked);
        }
        for (uint32_t r = 0; r < 2 && !group; r++) {
            close_to(t.alphas[r][0], 2);
            assert_true(t.alphas[r][1] == 0 && t.sigmas[1] == 0);
            for (size_t i = 0; i < t.layout.count; i++)
                assert_true(t.errors[r][i] == 0);
        }
        close_processes(&t);
    }
}

/* Errors are 0 after a chunk's last element, so that the bits sent for padding never vary. */
TEST(padding_has_no_errors)
{
    const size_t counts[] = {PARAM_CHUNK + 5, 7, 3};
    for (uint32_t size = 1; size <= 3; size++) {
        struct processes t;
        open_processes(&t, size, false, 3, counts);
        const struct onebit_layout *l = &t.layout;
        float *own = mem_array(t.table.size, sizeof *own), *gradients[3] = {own, own, own};
        t.update.gradient_factor = t.update.epsilon = 1;
        for (size_t i = 0; i < t.table.size; i++) {
            ((float *)t.update.second)[i] = 1;
            own[i] = (float)(i * 7 % 11) - 5;
        }
        for (int n = 0; n < 3; n++)
            step(&t, gradients);
        for (size_t k = 0; k < t.table.chunk_count; k++)
            for (size_t i = l->at[k] + (size_t)t.table.chunks[k].count; i % 8 != 0; i++)
                for (uint32_t r = 0; r < size; r++) {
                    assert_true(t.errors[r][i] == 0);
                    assert_true(i < l->part[r] || i >= l->part[r + 1] || t.served[r][i - l->part[r]] == 0);
                    assert_true(t.sent[r][i / 8] >> (7 - i % 8) & 1);
                }
        mem_free(own);
        close_processes(&t);
    }
}

/* ---- the program ---- */

static void take(float *out, size_t count)
{
    if (fread(out, sizeof *out, count, stdin) != count)
        exit(1);
}

static void tell(const void *bytes, size_t size)
{
    if (fwrite(bytes, 1, size, stdout) != size)
        exit(1);
}

static int simulate(int argc, char **argv)
{
    const uint32_t size = (uint32_t)atoi(argv[1]);
    const bool group = atoi(argv[2]) != 0;
    const size_t tensors = (size_t)argc - 4;
    SCOPED(mem_free_at) size_t *counts = mem_array(tensors, sizeof *counts);
    struct processes t;
    for (size_t i = 0; i < tensors; i++)
        counts[i] = (size_t)atoi(argv[4 + i]);
    open_processes(&t, size, group, tensors, counts);
    t.update.gradient_factor = 0.5;
    t.update.beta1 = 0.9;
    t.update.rate = 0.01;
    t.update.epsilon = 1e-3;
    t.update.weight_decay = 0.1;
    take(t.update.params, t.table.size);
    take((float *)t.update.second, t.table.size);
    float **gradients = mem_array(size, sizeof *gradients);
    for (uint32_t r = 0; r < size; r++)
        gradients[r] = mem_array(t.table.size, sizeof **gradients);
    for (int n = 0; n < atoi(argv[3]); n++) {
        for (uint32_t r = 0; r < size; r++)
            take(gradients[r], t.table.size);
        step(&t, gradients);
        for (uint32_t r = 0; r < size; r++) {
            tell(t.sent[r], t.layout.count / 8);
            tell(t.alphas[r], t.layout.unit_count * sizeof *t.sigmas);
        }
        tell(t.bits, t.layout.count / 8);
        tell(t.sigmas, t.layout.unit_count * sizeof *t.sigmas);
        tell(t.update.params, t.table.size * sizeof(float));
        tell(t.update.first, t.table.size * sizeof(float));
    }
    for (uint32_t r = 0; r < size; r++)
        mem_free(gradients[r]);
    mem_free(gradients);
    close_processes(&t);
    return 0;
}

int main(int argc, char **argv)
{
    return argc > 4 ? simulate(argc, argv) : unit_run();
}
