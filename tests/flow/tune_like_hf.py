#!/usr/bin/env python3
# labels: long
"""dstrain's results for text against transformers, if torch and transformers are installed (TUNE_PYTHON names a
Python that has them): fill-mask on an exported model; score on synthetic pairs, and on 1,000 of BLiMP if
DS_DATA_DIR/blimp.jsonl.bz2 exists; answers of a model from squad in transformers' pipeline (which version 5 lacks), on
synthetic questions, some of them about words that are cut into pieces."""
import bz2
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

if os.environ.get("TUNE_PYTHON") and not os.environ.get("TUNE_INSIDE"):
    os.environ["TUNE_INSIDE"] = "1"
    os.execv(os.environ["TUNE_PYTHON"], [os.environ["TUNE_PYTHON"], *sys.argv])

try:
    import torch
    import transformers
    from transformers import AutoTokenizer, BertForMaskedLM, pipeline
except ImportError:
    print("torch or transformers is not installed: skipped")
    sys.exit(77)

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = pathlib.Path(os.environ.get("DS_DATA_DIR", "nowhere"))
BLIMP = DATA / "blimp.jsonl.bz2"
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


def pairs_of():
    if not BLIMP.exists():
        print(f"{BLIMP} does not exist: synthetic pairs only")
        return [{"good": "The cats sleep.", "bad": "The cats sleeps."}, {"good": "Łódź is old", "bad": "naïve 東京 ﬁne"}]
    return [json.loads(line) for line in bz2.open(BLIMP, "rt", encoding="utf-8")][::67]


def score(tokenizer, model, text):
    ids = tokenizer(text, return_tensors="pt").input_ids[0]
    count = len(ids) - 2
    rows = ids.repeat(count, 1)
    at = torch.arange(count)
    rows[at, at + 1] = tokenizer.mask_token_id
    with torch.no_grad():
        return model(input_ids=rows).logits[at, at + 1].log_softmax(-1)[at, ids[1:-1]].double().sum().item()


def check_score(directory, scratch):
    pairs = pairs_of()
    (scratch / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    said = json.loads(run("dstrain", "score", directory, scratch / "pairs.jsonl", "--json", "--details",
                          scratch / "details"))
    tokenizer, model = AutoTokenizer.from_pretrained(directory), BertForMaskedLM.from_pretrained(directory).eval()
    torch.set_num_threads(2)
    begun = time.perf_counter()
    theirs = [[score(tokenizer, model, pair[key]) for key in ("good", "bad")] for pair in pairs]
    seconds = time.perf_counter() - begun
    ours = [json.loads(line) for line in open(scratch / "details", encoding="utf-8")]
    most = max(abs(a - b[key]) for t, b in zip(theirs, ours, strict=True) for a, key in zip(t, ("good", "bad")))
    assert most < 1e-4, most
    right = sum(good > bad for good, bad in theirs) / len(pairs)
    assert abs(said["accuracy"] - right) < 1e-9, (said["accuracy"], right)
    print(f"score: {len(pairs)} pairs within {most:.1g}; {said['seconds']:.2f} s, transformers {seconds:.2f} s")


def made_questions(path, count, split):
    """One answer in each context, among words of the model's vocabulary; with `split` also among words that are not in
    it, in capital letters and next to marks."""
    words = "the city is in of a river and was old house stands near town new people year".split()
    paragraphs = []
    for i in range(count):
        context = [random.choice(words) for _ in range(random.randint(5, 60))]
        if split:
            context = [word if random.random() < 0.5 else random.choice(
                ["Sel" + word, word.upper() + "ters", "(" + word + "ido)", "Äno-" + word, word[::-1] + ","])
                for word in context]
        at = random.randrange(len(context))
        context[at:at + 1] = answer = random.choice([["north", "side"], ["south"], ["west", "end"]])
        paragraphs.append({"context": " ".join(context) + ".", "qas": [{
            "id": str(i), "question": "Where is it?",
            "answers": [{"text": " ".join(answer), "answer_start": len(" ".join(context[:at] + [""]))}]}]})
    path.write_text(json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]}))


def expected(tokenizer, context, answer):
    """The text of a pipeline's answer as transformers' compute_predictions_logits gives it, and whether it begins and
    ends inside a word. An answer that begins there is extended to whole words, as "##" of its first piece stays."""
    start, end = answer["start"], answer["end"]
    pieces = tokenizer(context, add_special_tokens=False, return_offsets_mapping=True)
    marked = [tokenizer.convert_ids_to_tokens(piece).startswith("##") for piece in pieces.input_ids]
    places = dict(zip((first for first, _ in pieces.offset_mapping), marked))
    begins_inside, ends_inside = places[start], places.get(end, False)
    if begins_inside:
        start = context.rfind(" ", 0, start) + 1
        end = (context + " ").find(" ", end)
    return context[start:end], begins_inside, ends_inside


def check_answers(directory, scratch):
    """Questions of one window, because transformers weighs the windows of a question in another way than Google's
    program. By default its pipeline also extends an answer to whole words, which align_to_words=False turns off."""
    if int(transformers.__version__.split(".")[0]) > 4:
        print("answers: this version of transformers has no pipeline for questions: left out")
        return
    random.seed(3)
    for split, rate in ((False, 2e-4), (True, 2e-5)):  # a model that has learned little answers with parts of words
        for part, count in (("train", 300), ("dev", 60)):
            made_questions(scratch / f"{part}.json", count, split)
        out, exported = scratch / f"squad-{split}", scratch / f"answers-{split}"
        run("dstrain", "squad", "--init", directory, "--train", scratch / "train.json", "--dev", scratch / "dev.json",
            "--lr", rate, "--epochs", 4, "--out", out)
        run("dstrain", "export", out, "--out", exported)
        ours = json.loads((out / "predictions.json").read_text())
        ask = pipeline("question-answering", str(exported), tokenizer=str(exported))
        begun = ended = 0
        for paragraph in json.loads((scratch / "dev.json").read_text())["data"][0]["paragraphs"]:
            qa, context = paragraph["qas"][0], paragraph["context"]
            answer = ask(question=qa["question"], context=context, max_answer_len=30, align_to_words=not split)
            theirs, begins_inside, ends_inside = expected(ask.tokenizer, context, answer)
            assert theirs == ours[qa["id"]], (qa, answer, theirs, ours[qa["id"]])
            begun, ended = begun + begins_inside, ended + (ends_inside and not begins_inside)
        assert len(set(ours.values())) > 1 and (begun + ended > 0) == split, (begun, ended)
        print(f"answers: {len(ours)} questions, the same answers, {len(set(ours.values()))} of them different; {begun} "
              f"begin inside a word, {ended} others end inside one")


with tempfile.TemporaryDirectory() as folder:
    made = make_model(pathlib.Path(folder))
    check_fill_mask(made)
    check_answers(made, pathlib.Path(folder))
    check_score(made, pathlib.Path(folder))
