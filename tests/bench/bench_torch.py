#!/usr/bin/env python3
"""The same training step in PyTorch, for comparison: BERT with its pre-training heads, scaled_dot_product_attention,
masked rows gathered before the head, bf16 autocast, fused AdamW, compiled; full sequences of synthetic words, as in
`dstrain bench`.

    bench_torch.py [--model base|large] [--seq 128] [--batch 256] [--steps 20] [--no-compile] [--json]
"""
import argparse
import json
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

SHAPES = {"base": (12, 768, 12), "large": (24, 1024, 16)}
VOCABULARY, POSITIONS, DROPOUT = 30528, 512, 0.1


class Layer(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.output = nn.Linear(hidden, hidden)
        self.up = nn.Linear(hidden, 4 * hidden)
        self.down = nn.Linear(4 * hidden, hidden)
        self.norms = nn.ModuleList([nn.LayerNorm(hidden, 1e-12) for _ in range(2)])

    def forward(self, x):
        batch, length, hidden = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, hidden // self.heads).permute(2, 0, 3, 1, 4)
        context = F.scaled_dot_product_attention(q, k, v, dropout_p=DROPOUT if self.training else 0)
        context = context.transpose(1, 2).reshape(batch, length, hidden)
        x = self.norms[0](x + F.dropout(self.output(context), DROPOUT, self.training))
        y = self.down(F.gelu(self.up(x), approximate="tanh"))
        return self.norms[1](x + F.dropout(y, DROPOUT, self.training))


class Bert(nn.Module):
    def __init__(self, layers, hidden, heads):
        super().__init__()
        self.word = nn.Embedding(VOCABULARY, hidden)
        self.position = nn.Embedding(POSITIONS, hidden)
        self.segment = nn.Embedding(2, hidden)
        self.norm = nn.LayerNorm(hidden, 1e-12)
        self.layers = nn.ModuleList([Layer(hidden, heads) for _ in range(layers)])
        self.transform = nn.Linear(hidden, hidden)
        self.head_norm = nn.LayerNorm(hidden, 1e-12)
        self.bias = nn.Parameter(torch.zeros(VOCABULARY))
        self.pooler = nn.Linear(hidden, hidden)
        self.next = nn.Linear(hidden, 2)
        for weight in self.parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, 0, 0.02)

    def forward(self, ids, types, masked, labels, next_labels):
        x = self.word(ids) + self.position.weight[: ids.shape[1]] + self.segment(types)
        x = F.dropout(self.norm(x), DROPOUT, self.training)
        for layer in self.layers:
            x = layer(x)
        picked = x.flatten(0, 1)[masked]
        features = self.head_norm(F.gelu(self.transform(picked), approximate="tanh"))
        logits = F.linear(features, self.word.weight, self.bias)
        following = self.next(torch.tanh(self.pooler(x[:, 0])))
        return F.cross_entropy(logits.float(), labels) + F.cross_entropy(following.float(), next_labels)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=SHAPES, default="large")
    parser.add_argument("--seq", type=int, default=128)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(1)
    layers, hidden, heads = SHAPES[args.model]
    model = Bert(layers, hidden, heads).cuda()
    predictions = -(-args.seq * 15 // 400) * 4
    ids = torch.randint(0, VOCABULARY, (args.batch, args.seq), device="cuda")
    types = (torch.arange(args.seq, device="cuda") >= args.seq // 2).long().expand(args.batch, -1).contiguous()
    rows = torch.arange(args.batch, device="cuda")[:, None] * args.seq
    masked = (rows + torch.arange(predictions, device="cuda") * (args.seq // predictions)).flatten()
    labels, next_labels = ids.flatten()[masked], torch.randint(0, 2, (args.batch,), device="cuda")
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    compute = model if args.no_compile else torch.compile(model)

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            loss = compute(ids, types, masked, labels, next_labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    for _ in range(4):
        step()
    torch.cuda.synchronize()
    begun = time.perf_counter()
    for _ in range(args.steps):
        step()
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - begun) / args.steps
    facts = {"model": args.model, "seq": args.seq, "batch": args.batch, "torch": torch.__version__,
             "device": torch.cuda.get_device_name(), "compiled": not args.no_compile, "step_seconds": seconds,
             "sequences_per_second": args.batch / seconds,
             "memory_bytes": torch.cuda.max_memory_allocated()}
    print(json.dumps(facts, indent=2) if args.json else
          "PyTorch %(torch)s, %(model)s, %(batch)d of %(seq)d: %(sequences_per_second).1f sequences/s" % facts)


if __name__ == "__main__":
    main()
