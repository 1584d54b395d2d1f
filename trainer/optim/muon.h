/* Muon (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon/), for hidden matrices; formulas as in
 * torch/optim/_muon.py. With g the clipped gradient of a matrix P [A, B]
 *
 *     m = mu m + (1 - mu) g;  u = mu m + (1 - mu) g with Nesterov, else m
 *     X = u / max(|u|, 1e-7), then five times  S = X X^T;  X = 3.4445 X + (-4.7750 S + 2.0315 S^2) X
 *     P = (1 - rate decay) P - rate adjust X
 *
 * with X^T for X where A > B. Five steps bring singular values into about [0.7, 1.2]: X has the directions of u, all
 * with nearly the same length. adjust is sqrt(max(1, A / B)) ("original"), or 0.2 sqrt(max(A, B)) ("match_rms_adamw",
 * Liu et al. 2025, Muon is scalable for LLM training), with which an entry moves as far as under AdamW, so that one
 * rate serves all.
 *
 * X is in storage: bf16 under bf16, as it always is in torch, but float under fp32 and fp16 under fp16. Sums are
 * floats; each product and each combination is rounded. */
#pragma once

#include "trainer/optim/optimizer.h"

extern const struct matrix_method muon;
