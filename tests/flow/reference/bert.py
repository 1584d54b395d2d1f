"""BERT's masked-LM forward pass in plain Python, from the files of a Hugging Face directory: slow, and independent
of dstrain. For models of a few thousand numbers."""
import json
import math
import pathlib
import struct


class Bert:
    def __init__(self, directory):
        directory = pathlib.Path(directory)
        self.config = json.loads((directory / "config.json").read_text())
        self.pieces = (directory / "vocab.txt").read_text().splitlines()
        data = (directory / "model.safetensors").read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        self.tensors = {}
        for name, facts in json.loads(data[8:8 + size]).items():
            if name != "__metadata__":
                start, end = (8 + size + at for at in facts["data_offsets"])
                values = struct.unpack(f"<{(end - start) // 4}f", data[start:end])
                columns = facts["shape"][-1]
                rows = [list(values[i:i + columns]) for i in range(0, len(values), columns)]
                self.tensors[name] = rows if len(facts["shape"]) == 2 else rows[0]

    def linear(self, rows, name):
        weight, bias = self.tensors[name + ".weight"], self.tensors[name + ".bias"]
        return [[sum(a * b for a, b in zip(row, w)) + c for w, c in zip(weight, bias)] for row in rows]

    def norm(self, rows, name):
        gain, bias, out = self.tensors[name + ".weight"], self.tensors[name + ".bias"], []
        for row in rows:
            mean = sum(row) / len(row)
            scale = 1 / math.sqrt(sum((x - mean) ** 2 for x in row) / len(row) + self.config["layer_norm_eps"])
            out.append([(x - mean) * scale * g + b for x, g, b in zip(row, gain, bias)])
        return out

    def gelu(self, rows):
        if self.config["hidden_act"] == "gelu":
            return [[x / 2 * (1 + math.erf(x / math.sqrt(2))) for x in row] for row in rows]
        return [[x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))) for x in row]
                for row in rows]

    def attention(self, rows, name):
        heads = self.config["num_attention_heads"]
        size = len(rows[0]) // heads
        query, key, value = (self.linear(rows, f"{name}.self.{part}") for part in ("query", "key", "value"))
        out = []
        for q in query:
            row = []
            for first in range(0, heads * size, size):
                part = slice(first, first + size)
                scores = softmax([sum(a * b for a, b in zip(q[part], k[part])) / math.sqrt(size) for k in key])
                row += [sum(s * v[i] for s, v in zip(scores, value)) for i in range(first, first + size)]
            out.append(row)
        return self.norm(add(self.linear(out, name + ".output.dense"), rows), name + ".output.LayerNorm")

    def probabilities(self, ids):
        """Probabilities [token][piece] of one sequence in segment A."""
        names = [f"bert.embeddings.{part}_embeddings.weight" for part in ("word", "position", "token_type")]
        word, position, kind = (self.tensors[name] for name in names)
        rows = [[a + b + c for a, b, c in zip(word[id], position[i], kind[0])] for i, id in enumerate(ids)]
        rows = self.norm(rows, "bert.embeddings.LayerNorm")
        for layer in range(self.config["num_hidden_layers"]):
            name = f"bert.encoder.layer.{layer}"
            rows = self.attention(rows, name + ".attention")
            up = self.gelu(self.linear(rows, name + ".intermediate.dense"))
            rows = self.norm(add(self.linear(up, name + ".output.dense"), rows), name + ".output.LayerNorm")
        head = "cls.predictions.transform"
        rows = self.norm(self.gelu(self.linear(rows, head + ".dense")), head + ".LayerNorm")
        bias = self.tensors["cls.predictions.bias"]
        return [softmax([sum(a * b for a, b in zip(row, w)) + c for w, c in zip(word, bias)]) for row in rows]

    def ids(self, text):
        """Ids of words that are pieces, separated by blanks, between [CLS] and [SEP]."""
        return [self.pieces.index(word) for word in ["[CLS]", *text.split(), "[SEP]"]]


def add(a, b):
    return [[x + y for x, y in zip(*rows)] for rows in zip(a, b)]


def softmax(values):
    most = max(values)
    powers = [math.exp(x - most) for x in values]
    return [x / sum(powers) for x in powers]
