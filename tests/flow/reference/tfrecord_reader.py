"""Reads a TFRecord file of tf.train.Example messages with an independent reader (framing, CRC-32C, protobuf) and
compares it with the lines of `dsdata export --format jsonl`:

    tfrecord_reader.py FILE.tfrecord FILE.jsonl

The packages `crc32c` and `tfrecord` (PyPI), if installed, must agree."""

import json
import struct
import sys

INTEGERS = ("input_ids", "input_mask", "segment_ids", "masked_lm_positions", "masked_lm_ids", "next_sentence_labels")
FLOATS = ("masked_lm_weights",)


def crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = crc_table()


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        length, crc = struct.unpack_from("<QI", data, at)
        assert crc == masked_crc(data[at : at + 8]), f"CRC of the length at byte {at}"
        body = data[at + 12 : at + 12 + length]
        (crc,) = struct.unpack_from("<I", data, at + 12 + length)
        assert crc == masked_crc(body), f"CRC of the record at byte {at}"
        yield body
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """(number, bytes) of each field of a message whose fields all have a length."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        assert tag & 7 == 2, f"wire type {tag & 7}"
        size, at = varint(data, at)
        assert at + size <= len(data), "a field goes past its message"
        yield tag >> 3, data[at : at + size]
        at += size


def only(data, number):
    found = list(fields(data))
    assert [n for n, _ in found] == [number], (found, number)
    return found[0][1]


def varints(data):
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def example(data):
    features = {}
    for number, entry in fields(only(data, 1)):
        assert number == 1
        parts = dict(fields(entry))
        name = parts[1].decode()
        assert name not in features, name
        (kind, packed) = next(fields(parts[2]))
        values = only(packed, 1)
        if kind == 3:
            assert name in INTEGERS, name
            features[name] = varints(values)
        else:
            assert kind == 2 and name in FLOATS, name
            features[name] = list(struct.unpack(f"<{len(values) // 4}f", values))
    return features


def other_readers(path, samples):
    """Reads with other packages, if they are installed."""
    try:
        import crc32c

        value = crc32c.crc32c(b"a few bytes")
        assert ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF == masked_crc(b"a few bytes")
    except ImportError:
        pass
    try:
        from tfrecord.reader import tfrecord_loader
    except ImportError:
        return
    description = dict.fromkeys(INTEGERS, "int") | dict.fromkeys(FLOATS, "float")
    theirs = [{k: v.tolist() for k, v in each.items()} for each in tfrecord_loader(path, None, description)]
    assert theirs == samples
    print("the package tfrecord agrees")


def main():
    path, lines = sys.argv[1:]
    with open(path, "rb") as file:
        samples = [example(record) for record in records(file.read())]
    with open(lines, encoding="utf-8") as file:
        expected = [json.loads(line) for line in file]
    assert len(samples) == len(expected) > 0, (len(samples), len(expected))
    for number, (sample, line) in enumerate(zip(samples, expected)):
        line["next_sentence_labels"] = [line["next_sentence_labels"]]
        del line["page_id"]
        assert list(sample) == list(line), (number, list(sample))
        for name, values in line.items():
            assert sample[name] == values, (number, name, sample[name], values)
    other_readers(path, samples)
    print(f"{len(samples)} samples")


if __name__ == "__main__":
    try:
        main()
    except AssertionError as error:
        sys.exit(f"not equal: {error}")
