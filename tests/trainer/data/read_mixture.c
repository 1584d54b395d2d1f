/* Prints what a run reads from one dataset or from a mixture, for tests/flow/dsshards_mixture.py: samples [FIRST, FIRST
 * + COUNT) of its endless sequence, one JSON array per line: dataset, sample number, ids, tokens of A, positions of
 * masks, their labels, whether B is random.
 *
 *     read_mixture SEQ SEED auto|stored|fresh shuffled|straight FIRST COUNT DIR[=WEIGHT]… */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trainer/task/pretraining.h"

static void print_list(const uint32_t *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        printf("%s%" PRIu32, i == 0 ? "[" : ", ", values[i]);
    printf("%s", count == 0 ? "[], " : "], ");
}

static int print_samples(const struct source *source, uint64_t first, uint64_t count, struct error *err)
{
    SCOPED(sequence_release) struct sequence sequence = sequence_make(&source->room);
    const struct marks *masked = &sequence.marks[HEAD_MASKED], *next = &sequence.marks[HEAD_NEXT];
    int result = 0;
    for (uint64_t k = first; k < first + count && result == 0; k++) {
        result = source->fetch(source->context, k, &sequence, err);
        printf("[%" PRIu32 ", %" PRIu64 ", ", source->part ? source->part(source->context, k) : 0,
               source->number(source->context, k));
        print_list(sequence.ids, sequence.length);
        printf("%" PRIu32 ", ", sequence.a_length);
        print_list(masked->tokens, masked->count);
        print_list(masked->labels, masked->count);
        printf("%" PRIu32 "]\n", next->count > 0 ? next->labels[0] : 0);
    }
    return result;
}

int main(int argc, char **argv)
{
    if (argc < 8)
        return 2;
    struct error err = {0};
    struct datasets datasets;
    struct pretraining pretraining = {0};
    const struct opt_paths shards = {.items = (const char **)argv + 7, .count = (size_t)argc - 7};
    const struct recipe recipe = {
        .seed = (uint32_t)strtoul(argv[2], NULL, 10),
        .masks = strcmp(argv[3], "fresh") == 0    ? MASKS_FRESH
                 : strcmp(argv[3], "stored") == 0 ? MASKS_STORED
                                                  : MASKS_AUTO,
        .split = MASK_SPLIT_BERT,
        .shuffled = strcmp(argv[4], "shuffled") == 0,
    };
    int result = datasets_open(&datasets, &shards, (uint32_t)strtoul(argv[1], NULL, 10), &err);
    if (result == 0) {
        const struct task task = pretraining_task(&pretraining, &datasets, &recipe, 0);
        result = print_samples(&task.samples, strtoull(argv[5], NULL, 10), strtoull(argv[6], NULL, 10), &err);
        pretraining_release(&pretraining);
    }
    datasets_close(&datasets);
    if (result < 0)
        fprintf(stderr, "%s\n", err.text);
    return result < 0;
}
