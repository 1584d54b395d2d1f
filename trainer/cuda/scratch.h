/* How kernels cut rows into blocks where a block leaves a partial sum in scratch; scratch.c needs it too. */
#pragma once

#define COLUMN_SUM_ROWS 128 /* rows.cu */
#define NORM_ROWS       32  /* norm.cu, at least; two partial sums per column: dgain, dbias */
#define EMBED_ROWS      64  /* embed.cu; two partial sums: of the ids at the block's borders */
#define ATTENTION_KEYS  128 /* attention_backward.cu; dQ of longer sequences is added up in scratch */
