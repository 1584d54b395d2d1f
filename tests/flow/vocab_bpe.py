#!/usr/bin/env python3
"""dsdata vocab --algo bpe against a naive implementation that recounts everything for each merge, on synthetic
texts: syllables, rows of one letter, many ties. Also compares two runs, two numbers of threads, and two orders of
the text."""
import pathlib
import random
import subprocess
import sys
import tempfile

SPECIALS = ["[PAD]"] + [f"[unused{i}]" for i in range(99)] + ["[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def text_of(piece):
    return ("##" if piece[0] else "") + piece[1]


def learn(counts, size, least):
    """A piece is (inside a word?, letters); its age decides between equal pairs."""
    letters = sorted({letter for word in counts for letter in word})
    singles = [(inside, letter) for inside in (False, True) for letter in letters]
    wanted = size - len(SPECIALS) - len(singles)
    ages = {piece: age for age, piece in enumerate(singles)}
    words = [([(i > 0, letter) for i, letter in enumerate(word)], n) for word, n in counts.items()]
    made, threshold = [], 0

    def useful():
        stands = dict.fromkeys(made, 0)
        for pieces, n in words:
            for piece in pieces:
                if piece in stands:
                    stands[piece] += n
        return [piece for piece in made if stands[piece] >= threshold]

    look_at = wanted
    while len(made) < 2 * wanted:
        pairs = {}
        for pieces, n in words:
            for pair in zip(pieces, pieces[1:]):
                pairs[pair] = pairs.get(pair, 0) + n
        best = min(pairs, key=lambda pair: (-pairs[pair], ages[pair[0]], ages[pair[1]]), default=None)
        if best is None or pairs[best] < least:
            break
        threshold = pairs[best]
        merged = (best[0][0], best[0][1] + best[1][1])
        if merged not in ages:
            ages[merged] = len(ages)
            made.append(merged)
        for pieces, _ in words:
            i = 0
            while i + 1 < len(pieces):
                if (pieces[i], pieces[i + 1]) == best:
                    pieces[i:i + 2] = [merged]
                i += 1
        if len(made) >= look_at:
            if len(useful()) >= wanted:
                break
            look_at = len(made) + wanted - len(useful())
    good = set(useful())
    others = [piece for piece in made if piece not in good][:max(wanted - len(good), 0)]
    chosen = [piece for piece in made if piece in good or piece in others][:wanted]
    return SPECIALS + [text_of(piece) for piece in singles + chosen]


def made_up(seed):
    random.seed(seed)
    syllables = ["ka", "no", "ri", "sto", "en", "a", "ing", "s", "t", "aa", "\u00f6", "\u0436\u0430"]
    counts = {"a" * n: 5 for n in range(2, 12)}
    for _ in range(150):
        word = "".join(random.choices(syllables, k=random.randint(1, 5)))
        counts[word] = counts.get(word, 0) + random.choice([1, 1, 1, 2, 2, 3, 5, 8, 40])
    return counts


def ours(dsdata, folder, counts, size, least, threads, backwards):
    lines = [word for word, n in counts.items() for _ in range(n)]
    (folder / "text").write_text("\n".join(lines[::-1] if backwards else lines) + "\n", encoding="utf-8")
    subprocess.run([dsdata, "vocab", "--text", folder / "text", "--accents", "keep", "--algo", "bpe", "--vocab-size",
                    str(size), "--min-frequency", str(least), "--threads", str(threads), "--out", folder / "out",
                    "--force", "--quiet"], check=True, stderr=subprocess.DEVNULL)
    return (folder / "out").read_text(encoding="utf-8").split("\n")[:-1]


def main():
    dsdata, wrong = pathlib.Path(sys.argv[1]) / "dsdata", 0
    with tempfile.TemporaryDirectory() as scratch:
        for seed, size, least in [(1, 200, 2), (2, 250, 2), (3, 300, 2), (4, 1000, 2), (5, 1000, 6), (6, 220, 50)]:
            counts = made_up(seed)
            expected = learn(counts, size, least)
            for threads, backwards in ((1, False), (2, False), (2, True)):
                got = ours(dsdata, pathlib.Path(scratch), counts, size, least, threads, backwards)
                if got != expected:
                    wrong += 1
                    first = next((i for i, (a, b) in enumerate(zip(got, expected)) if a != b), "the end")
                    print(f"seed {seed}, size {size}, threads {threads}, backwards {backwards}: {len(got)} pieces, "
                          f"not {len(expected)}; they differ from {first} on")
            print(f"seed {seed}, size {size}, least {least}: {len(expected)} pieces")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
