#!/usr/bin/env python3
"""A checkpoint against transformers, if torch and transformers are installed: BertForPreTraining.from_pretrained
gives the held-out loss of dstrain, the gradients of --dump-gradients, and the same names and shapes; models saved by
transformers give the same loss in dstrain."""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
    from safetensors.torch import load_file
    from transformers import (AutoModelForMaskedLM, AutoTokenizer, BertConfig, BertForPreTraining,
                              RobertaPreLayerNormConfig, RobertaPreLayerNormForMaskedLM)
except ImportError:
    print("torch, transformers or safetensors is not installed: skipped")
    sys.exit(77)

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COLUMNS = ("input_ids", "input_mask", "segment_ids")


def run(program, *arguments):
    return subprocess.run([BUILD / program, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def samples(data, split, count):
    lines = run("dsdata", "export", data, "--seq", 128, "--split", split, "--out", "-").splitlines()
    return [json.loads(line) for line in lines[:count]]


def tensors_of(batch):
    ids, mask, segments = (torch.tensor([sample[name] for sample in batch]) for name in COLUMNS)
    labels = torch.full(ids.shape, -100)
    for row, sample in enumerate(batch):
        for at, piece, weight in zip(*(sample["masked_lm_" + name] for name in ("positions", "ids", "weights"))):
            if weight > 0:
                labels[row, at] = piece
    random_next = torch.tensor([sample["next_sentence_labels"] for sample in batch]).view(-1)
    return ids, mask, segments, labels, random_next


def loss(model, batch):
    ids, mask, segments, labels, random_next = tensors_of(batch)
    return model(input_ids=ids, attention_mask=mask, token_type_ids=segments, labels=labels,
                 next_sentence_label=random_next).loss


def check(scratch):
    data, first, second = scratch / "data", scratch / "first", scratch / "second"
    run("dsdata", "build", "--wiki", ROOT / "samples/samplewiki.xml.bz2", "--vocab-size", 1000, "--seq", 128, "--valid",
        0.1, "--out", data)
    common = ["dstrain", "--shards", data, "--batch", 4, "--dropout", 0, "--no-shuffle", "--precision", "fp32"]
    run(*common, "--model", "tiny", "--steps", 5, "--lr", 1e-3, "--out", first)
    run("dstrain", "export", first, "--out", scratch / "model")
    facts = json.loads(run(*common, "--init", scratch / "model", "--steps", 1, "--lr", 0, "--eval-samples", 8, "--json",
                           "--dump-gradients", scratch / "gradients.safetensors", "--out", second))

    model = BertForPreTraining.from_pretrained(scratch / "model").eval()
    with torch.no_grad():
        held_out = loss(model, samples(data, "valid", 8)).item()
    assert abs(held_out - facts["valid"]["loss"]) < 1e-5 * held_out, (held_out, facts)

    training = loss(model, samples(data, "train", 4))
    assert abs(training.item() - facts["train"]["loss"]) < 1e-5 * training.item(), (training, facts)
    training.backward()
    ours = load_file(scratch / "gradients.safetensors")
    theirs = {name: parameter.grad for name, parameter in model.named_parameters()}
    assert ours.keys() == theirs.keys(), ours.keys() ^ theirs.keys()
    for name, gradient in theirs.items():
        assert ours[name].shape == gradient.shape, name
        scale = theirs[name.replace("key.bias", "key.weight")].norm()  # key.bias: zero except for rounding
        assert (ours[name] - gradient).norm() <= 2e-4 * scale, name

    tokenizer = AutoTokenizer.from_pretrained(scratch / "model")
    assert tokenizer.convert_ids_to_tokens(tokenizer("a [MASK]").input_ids)[::3] == ["[CLS]", "[SEP]"]
    assert len(tokenizer) == model.config.vocab_size


def check_pre_ln(scratch):
    """A model with norms before the branches is exported as RobertaPreLayerNorm and gives the same masked-LM loss."""
    config = {"model_type": "bert", "pre_layer_norm": True, "hidden_size": 128, "num_hidden_layers": 3,
              "num_attention_heads": 2, "intermediate_size": 512, "hidden_act": "gelu"}
    (scratch / "pre.json").write_text(json.dumps(config))
    facts = json.loads(run("dstrain", "--shards", scratch / "data", "--model", scratch / "pre.json", "--batch", 4,
                           "--precision", "fp32", "--steps", 8, "--lr", 1e-3, "--eval-samples", 8, "--json", "--out",
                           scratch / "pre"))
    run("dstrain", "export", scratch / "pre", "--out", scratch / "roberta")
    model = AutoModelForMaskedLM.from_pretrained(scratch / "roberta").eval()
    ids, mask, segments, labels, _ = tensors_of(samples(scratch / "data", "valid", 8))
    with torch.no_grad():
        held_out = model(input_ids=ids, attention_mask=mask, token_type_ids=segments, labels=labels).loss.item()
    assert abs(held_out - facts["valid"]["mlm_loss"]) < 1e-5 * held_out, (held_out, facts)


def check_published(scratch):
    """Random models saved by transformers give the same loss in dstrain eval."""
    shape = {"vocab_size": 1000, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
             "intermediate_size": 128, "initializer_range": 0.2}
    torch.manual_seed(1)
    batch = samples(scratch / "data", "valid", 8)
    ids, mask, segments, labels, _ = tensors_of(batch)
    bert = BertForPreTraining(BertConfig(**shape)).eval()
    roberta = RobertaPreLayerNormForMaskedLM(RobertaPreLayerNormConfig(**shape, max_position_embeddings=130,
                                                                       pad_token_id=1,
                                                                      type_vocab_size=2)).eval()
    with torch.no_grad():
        expected = {"bert": loss(bert, batch).item(),
                    "roberta": roberta(input_ids=ids, attention_mask=mask, token_type_ids=segments, labels=labels,
                                       position_ids=torch.arange(2, 130).expand_as(ids)).loss.item()}
    bert.save_pretrained(scratch / "bert")
    roberta.save_pretrained(scratch / "roberta-random")
    for name, key in (("bert", "loss"), ("roberta-random", "mlm_loss")):
        facts = json.loads(run("dstrain", "eval", scratch / name, "--shards", scratch / "data", "--precision", "fp32",
                               "--eval-samples", 8, "--json"))
        assert abs(facts[key] - expected[name.split("-")[0]]) < 1e-5 * facts[key], (name, facts, expected)


with tempfile.TemporaryDirectory() as scratch:
    check(pathlib.Path(scratch))
    check_pre_ln(pathlib.Path(scratch))
    check_published(pathlib.Path(scratch))
print("all checks passed")
