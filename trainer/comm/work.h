/* One operation, carried out by a library that knows only bytes. */
#pragma once

#include "trainer/comm/library.h"

/* Temporary memory of operations; it grows to what the largest one needs. */
struct work_scratch {
    void *memory;
    size_t bytes;
    size_t *in_sizes, *out_sizes; /* [size] bytes of each part */
    size_t *counts;               /* [size] elements of each part, in a sum in bf16 */
};

void work_scratch_init(struct work_scratch *scratch, uint32_t size);
void work_scratch_release(struct work_scratch *scratch);

/* Asserts what the caller must ensure. */
void work_check(const struct comm_work *work, uint32_t rank, uint32_t size);
/* Carries out the operation. 0, or what the library returned. */
int work_do(const struct comm_work *work, const struct comm_library *library, void *opened, uint32_t rank,
            uint32_t size, struct work_scratch *scratch, struct error *err);
/* Elements of the part of a bf16 sum of `count` that process `rank` owns; parts are nearly equal. */
size_t comm_part(size_t count, uint32_t rank, uint32_t size);
const char *work_name(enum comm_operation operation);             /* "an all-reduce" */
uint64_t work_bytes(const struct comm_work *work, uint32_t size); /* of its larger array */
