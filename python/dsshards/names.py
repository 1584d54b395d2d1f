"""Random numbers by name, as base/random.h and shards/order.h define them. The constants determine what
a training reads; tests compare the results with the C program.

In: names made of whole numbers. Out: XXH3-64, Philox 4x32-10, permutations, the order of an epoch."""

import struct

import numpy as np

_M64 = (1 << 64) - 1
_M32 = np.uint64(0xFFFFFFFF)

# ---- XXH3-64 of 17 to 64 bytes, seed 0 (https://github.com/Cyan4973/xxHash, specification of XXH3) ----

_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c")
_PRIME = 0x9E3779B185EBCA87
_AVALANCHE = 0x165667919E3779F9


def _mix16(data, at, secret):
    low, high = struct.unpack_from("<QQ", data, at)
    key_low, key_high = struct.unpack_from("<QQ", _SECRET, secret)
    product = (low ^ key_low) * (high ^ key_high)
    return (product & _M64) ^ (product >> 64)


def xxh3(data):
    """XXH3-64 of 17 to 64 bytes, the size of names."""
    size = len(data)
    if not 17 <= size <= 64:
        raise ValueError(f"names have 17 to 64 bytes, not {size}")
    total = size * _PRIME
    if size > 32:
        total += _mix16(data, 16, 32) + _mix16(data, size - 32, 48)
    total += _mix16(data, 0, 0) + _mix16(data, size - 16, 16)
    total &= _M64
    total = (total ^ total >> 37) * _AVALANCHE & _M64
    return total ^ total >> 32


def name_of(*words):
    """XXH3-64 of numbers as 8-byte little-endian words."""
    return xxh3(struct.pack(f"<{len(words)}Q", *words))


# ---- Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011) ----


def philox(counter, key):
    """Four arrays of 32 random bits (as uint64) for arrays or numbers in `counter` (4) and `key` (2)."""
    c0, c1, c2, c3 = (np.asarray(word, np.uint64) & _M32 for word in counter)
    k0, k1 = (int(word) & 0xFFFFFFFF for word in key)
    for _ in range(10):
        a, b = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c2 = (b >> np.uint64(32)) ^ c1 ^ np.uint64(k0), (a >> np.uint64(32)) ^ c3 ^ np.uint64(k1)
        c1, c3 = b & _M32, a & _M32
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0, c1, c2, c3


# ---- permutations ----


def permute(places, n, key):
    """The images of these places in the permutation of [0, n) that `key` selects: twelve Feistel rounds over the
    next even number of bits, repeated until the result is below n."""
    bits = ((n - 1) | 1).bit_length()
    half = np.uint64((bits + bits % 2) // 2)
    mask = np.uint64((1 << int(half)) - 1)
    out = np.array(places, np.uint64).reshape(-1)
    todo = np.arange(out.size)
    while todo.size:
        left, right = out[todo] >> half, out[todo] & mask
        for number in range(12):
            word = philox((right, number, n & 0xFFFFFFFF, n >> 32), (key & 0xFFFFFFFF, key >> 32))[0]
            left, right = right, left ^ (word & mask)
        out[todo] = left << half | right
        todo = todo[out[todo] >= np.uint64(n)]
    return out


# ---- the order of an epoch (shards/order.h) ----

_SHARD_ORDER, _RECORD_ORDER, _LEFT_OVER_ORDER = 1, 2, 3


def shard_first(samples, shards, shard):
    return shard * (samples // shards) + min(shard, samples % shards)


def shard_records(samples, shards, shard):
    return samples // shards + (shard < samples % shards)


def order(samples, shards, seed, epoch, first, count):
    """The samples at the places [first, first + count) of an epoch, as an array of their numbers."""
    each, longer = divmod(samples, shards)
    parts = []
    at, end = first, min(first + count, samples)
    while at < end:
        if at < shards * each:
            shard = int(permute([at // each], shards, name_of(seed, epoch, _SHARD_ORDER, 0))[0])
            take = min(end - at, each - at % each)
            places = np.arange(at % each, at % each + take)
        else:
            shard = int(permute([at - shards * each], longer, name_of(seed, epoch, _LEFT_OVER_ORDER, 0))[0])
            take, places = 1, [each]
        records = permute(places, shard_records(samples, shards, shard), name_of(seed, epoch, _RECORD_ORDER, shard))
        parts.append(records.astype(np.int64) + shard_first(samples, shards, shard))
        at += take
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
