/* One operation, done by a library that knows only bytes. */
#ifndef TRAINER_COMM_WORK_H
#define TRAINER_COMM_WORK_H

#include "trainer/comm/library.h"

/* Memory that operations need on the way; a zeroed one is ready. It grows to what the largest operation needs. */
struct work_scratch {
    void *memory;
    size_t bytes;
    size_t *in_sizes, *out_sizes; /* [size] bytes of parts */
    size_t *counts;               /* [size] elements of parts, of a sum in bf16 */
};

void work_scratch_init(struct work_scratch *scratch, uint32_t size);
void work_scratch_release(struct work_scratch *scratch);

/* Asserts what the caller must get right. */
void work_check(const struct comm_work *work, uint32_t rank, uint32_t size);
/* 0, or what the library returned. */
int work_do(const struct comm_work *work, const struct comm_library *library, void *opened, uint32_t rank,
            uint32_t size, struct work_scratch *scratch, struct error *err);
/* Elements of the part that process `rank` owns of a sum of `count` in bf16: nearly equal ones. */
size_t comm_part(size_t count, uint32_t rank, uint32_t size);
const char *work_name(enum comm_operation operation);             /* "an all-reduce" */
uint64_t work_bytes(const struct comm_work *work, uint32_t size); /* of the larger of its arrays */

#endif
