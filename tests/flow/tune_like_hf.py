#!/usr/bin/env python3
"""What dstrain says of text against transformers itself, where torch and transformers are installed: fill-mask on an
exported model."""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
    from transformers import AutoTokenizer, BertForMaskedLM, pipeline
except ImportError:
    print("torch or transformers is not installed: skipped")
    sys.exit(77)

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TEXTS = ["Paris is the [MASK] of France.", "The [MASK] of the [MASK] is very old, and it was [MASK] in 1850.", "[MASK]",
         "[MASK][MASK]", "Łódź ([MASK]) 東京[MASK]京 naïve ﬁne\u202f— [mask] [MASK]!", "a\tb  c [MASK] " + "d " * 300]


def run(program, *arguments):
    return subprocess.run([BUILD / program, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def make_model(scratch):
    run("dsdata", "build", "--wiki", ROOT / "samples/samplewiki.xml.bz2", "--vocab-size", 2000, "--seq", 64, "--out",
        scratch / "data")
    run("dstrain", "--shards", scratch / "data", "--model", "tiny", "--steps", 40, "--batch", 32, "--lr", 2e-3, "--out",
        scratch / "run")
    run("dstrain", "export", scratch / "run", "--out", scratch / "model")
    return scratch / "model"


def check_fill_mask(directory):
    tokenizer, model = AutoTokenizer.from_pretrained(directory), BertForMaskedLM.from_pretrained(directory).eval()
    lines = json.loads(run("dstrain", "fill-mask", directory, "--top", 20, "--json", *TEXTS))["lines"]
    most = 0.0
    for text, line in zip(TEXTS, lines, strict=True):
        ids = tokenizer(text, return_tensors="pt")
        places = (ids.input_ids[0] == tokenizer.mask_token_id).nonzero().view(-1)
        with torch.no_grad():
            rows = model(**ids).logits[0, places].softmax(-1)
        for row, guesses in zip(rows, line["masks"], strict=True):
            for guess, best in zip(guesses, row.topk(len(guesses)).values.tolist()):
                assert tokenizer.convert_ids_to_tokens(guess["id"]) == guess["piece"], (text, guess)
                most = max(most, abs(guess["probability"] - best), abs(guess["probability"] - row[guess["id"]].item()))
    assert most < 1e-5, most
    answers = pipeline("fill-mask", str(directory))(TEXTS[0])
    for answer, guess in zip(answers, lines[0]["masks"][0]):
        assert abs(answer["score"] - guess["probability"]) < 1e-5, (answer, guess)
    print(f"fill-mask: {sum(len(line['masks']) for line in lines)} masks, probabilities within {most:.1g}")


with tempfile.TemporaryDirectory() as folder:
    made = make_model(pathlib.Path(folder))
    check_fill_mask(made)
