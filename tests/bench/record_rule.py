#!/usr/bin/env python3
"""Fits the rule of trainer/verbs/rule.h to rows of docs/RECORDS.md, and checks it on rows that it has not seen.

    record_rule.py ROW[@FLOP]... [--fit-up-to FLOP] [--records FILE] [--rows FILE]

ROWs differ in nothing but the shape of the model and the rate, which is the one that rule.h has for their steps. Those
of at most --fit-up-to FLOP are fitted, the others are for the check. Only E, A and B are fitted (least squares of the
relative error): the exponents are those of Hoffmann et al. 2022, equation 10, because a handful of rows cannot tell
them from E."""
import argparse
import pathlib

from record import ROOT, rows_of

EXPONENTS = 0.34, 0.28
NAMED = {"modern-mini": (6, 256, 384)}


def weights_of(row):
    """Weights in the matrices of the layers: four of H x H for attention, three of H x I for a gated unit."""
    model = row["model"]
    layers, hidden, inner = NAMED[model] if isinstance(model, str) else (
        model["num_hidden_layers"], model["hidden_size"], model["intermediate_size"])
    return layers * (4 * hidden * hidden + 3 * hidden * inner)


def rows_in(path, names):
    """(row, FLOP, tokens, loss) of each line of a table with seed 1 that a name means."""
    wanted = [(name, float(flop) if flop else None) for name, _, flop in (text.partition("@") for text in names)]
    for line in path.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        if len(cells) == 12 and cells[6] == "1" and any(
                name == cells[0] and (flop is None or abs(float(cells[2]) / flop - 1) < 0.01) for name, flop in wanted):
            yield cells[0], float(cells[2]), float(cells[4].split()[0]) * 1e6, float(cells[8])


def terms(weights, tokens):
    """What E, A and B are multiplied by."""
    return [1.0, (weights / 1e6) ** -EXPONENTS[0], (tokens / 1e6) ** -EXPONENTS[1]]


def solve(matrix, right):
    """By Gauss's elimination."""
    size, rows = len(right), [row + [value] for row, value in zip(matrix, right)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(size):
            if k != i:
                factor = rows[k][i] / rows[i][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i])]
    return [rows[i][size] / rows[i][i] for i in range(size)]


def fit(points):
    """E, A and B for (weights, tokens, loss) each."""
    ratios = [[term / loss for term in terms(weights, tokens)] for weights, tokens, loss in points]
    return solve([[sum(row[i] * row[k] for row in ratios) for k in range(3)] for i in range(3)],
                 [sum(row[i] for row in ratios) for i in range(3)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="ROW")
    parser.add_argument("--fit-up-to", type=float, default=2.5e13)
    parser.add_argument("--records", type=pathlib.Path, default=ROOT / "docs" / "RECORDS.md")
    parser.add_argument("--rows", type=pathlib.Path, default=ROOT / "tests" / "bench" / "record_rows.json")
    options = parser.parse_args()
    rows = rows_of(options.rows)
    found = [(name, flop, weights_of(rows[name]), tokens, loss)
             for name, flop, tokens, loss in rows_in(options.records, options.names)]
    constants = fit([row[2:] for row in found if row[1] <= options.fit_up_to])
    print("E {:.3f}  A {:.4f}  B {:.4f}".format(*constants))
    for name, flop, weights, tokens, loss in found:
        said = sum(c * term for c, term in zip(constants, terms(weights, tokens)))
        print(f"{name:10} {flop:7.2g} FLOP  {weights / 1e6:.2f} M weights {tokens / 1e6:6.2f} M tokens  measured "
              f"{loss:.3f}  rule {said:.3f}  {100 * (said / loss - 1):+.1f} %"
              + ("" if flop <= options.fit_up_to else "  not fitted"))


if __name__ == "__main__":
    main()
