"""Fresh masks, as defined in shards/masking.h. They depend only on seed, epoch and sample, so that every reader makes
the same.

In: samples without masks. Out: the ids that the model gets, and the masked positions."""

import numpy as np

from .names import name_of, philox

_FRESH = 4  # enum random_purpose of base/random.h
_MILLION = np.uint64(1000000)
_32 = np.uint64(32)


def mask_count(tokens, millionths, predictions):
    """Number of masks of a sample of `tokens` tokens: tokens · probability rounded half to even, at least 1, at most
    `predictions`."""
    count, rest = divmod(int(tokens) * millionths, 1000000)
    count += rest > 500000 or (rest == 500000 and count % 2 == 1)
    return min(max(count, 1), predictions)


def _chance(words, millionths):
    return words * _MILLION >> _32 < np.uint64(millionths)


def _choose_pieces(keys, allowed, count):
    places = np.flatnonzero(allowed)
    return np.sort(places[np.argsort(keys[places])[:count]])


def _choose_words(keys, starts, allowed, count):
    words, inside = [], False  # [first, size] of each word
    for place, fits in enumerate(allowed):
        if not fits:
            inside = False
        elif inside and not starts[place]:
            words[-1][1] += 1
        else:
            words.append([place, 1])
            inside = True
    chosen = []
    for first, size in sorted(words, key=lambda word: keys[word[0]]):
        if count == 0:
            break
        if size <= count:
            chosen.extend(range(first, first + size))
            count -= size
    return np.array(sorted(chosen), np.int64)


def lay(ids, index, seed, epoch, rules):
    """Masks a sample. ids: the original ids of sample `index`; rules: a Shards. Returns (ids with masks, sorted
    positions)."""
    size = len(ids)
    name = name_of(_FRESH, 0, epoch, index >> 32, rules.seq, 0)
    places = np.arange(size, dtype=np.uint64)
    words = philox((name & 0xFFFFFFFF, name >> 32, index & 0xFFFFFFFF, places), (seed & 0xFFFFFFFF, seed >> 32))
    keys = words[0] << _32 | places
    allowed = (ids != rules.cls) & (ids != rules.sep)
    count = mask_count(size, rules.mask_millionths, rules.predictions)
    if rules.words is None:
        positions = _choose_pieces(keys, allowed, count)
    else:
        positions = _choose_words(keys, rules.words.starts(ids), allowed, count)
    hidden, keep, piece = (word[positions] for word in words[1:])
    piece = (piece * np.uint64(rules.vocab_size) >> _32).astype(ids.dtype)
    out = ids.copy()
    out[positions] = np.where(_chance(hidden, 800000), rules.mask,
                              np.where(_chance(keep, 500000), ids[positions], piece))
    return out, positions
