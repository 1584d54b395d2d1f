#!/usr/bin/env python3
# labels: long
"""ModernBERTs that transformers made against dstrain: models of fixed and of ten random configurations (the seed is
printed) guess the same in fill-mask; random models with each head of fine-tuning give the same to predict, and others
to score and embed; an export loads without a missing or an unexpected tensor, and has the losses of eval after glue and
the logits of answers. The same with the byte-level BPEs that tokenizers learns from the project's documents, of GPT-2's
and cl100k's pattern and with the frames of BERT and RoBERTa, also for a BERT, and AutoTokenizer loads the same
tokenizer from an export.

modern_like_hf.py BUILD [SEED]: needs torch and transformers; exit 77 without. TUNE_PYTHON names a Python that has
them."""
import csv
import json
import os
import pathlib
import random
import shutil
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
    from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                            trainers)
    from transformers import AutoTokenizer, BertConfig, ModernBertConfig, PreTrainedTokenizerFast
except ImportError as error:
    print(f"a package is not installed ({error}): skipped")
    sys.exit(77)

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
RANDOM = 10
TEXTS = ["The [MASK] of the town is old, and the river was [MASK]. " * 6, "[MASK]", "A [MASK] city.",
         "A [MASK]city,[MASK]  [MASK] na\u0308ive [MASK]\u6771\u4eac \U0001f642[MASK]"]
FIXED = [{}, {"local_attention": 1}, {"local_attention": 128, "global_attn_every_n_layers": 1},
         {"norm_bias": True, "attention_bias": True, "mlp_bias": True, "classifier_bias": True, "decoder_bias": False},
         {"tie_word_embeddings": False}, {"hidden_activation": "silu"}, {"hidden_activation": "gelu_pytorch_tanh"}]


def run(program, *arguments):
    done = subprocess.run([BUILD / program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{program} {' '.join(map(str, arguments))}: {done.returncode}\n{done.stderr}")
    return done.stdout


def drawn():
    layers, heads = random.randint(1, 5), random.randint(1, 4)
    settings = {"hidden_size": heads * 2 * random.choice([1, 3, 8, 16, 20, 32, 64]), "num_attention_heads": heads,
                "num_hidden_layers": layers, "intermediate_size": random.randint(3, 90),
                "hidden_activation": random.choice(["gelu", "gelu_pytorch_tanh", "silu"]),
                "classifier_pooling": random.choice(["cls", "mean"]),
                "local_attention": random.randint(1, 60), "norm_eps": random.choice([1e-12, 1e-5, 1e-2]),
                **{key: random.random() < 0.5 for key in ("norm_bias", "attention_bias", "mlp_bias", "classifier_bias",
                                                          "decoder_bias", "tie_word_embeddings")}}
    if random.random() < 0.5:
        settings["layer_types"] = [random.choice(["full_attention", "sliding_attention"]) for _ in range(layers)]
    else:
        settings["global_attn_every_n_layers"] = random.randint(1, 4)
    if random.random() < 0.5:
        settings["global_rope_theta"], settings["local_rope_theta"] = (round(10 ** random.uniform(1, 6), 2)
                                                                       for _ in "12")
    return settings


CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
# cl100k's pattern; RoBERTa's names and frames; add_prefix_space; NFC; a BERT, whose tokenizer gives token types
BPES = {"modern": (False, False, False, True, False), "roberta": (False, True, False, False, False),
        "prefixed": (False, True, True, False, False), "cl100k": (True, False, False, True, False),
        "typed": (False, False, True, False, True), "merges": (False, True, False, False, True)}


def learn(to, cl100k, roberta, prefix, nfc, bert):
    """A byte-level BPE of the project's documents, in directory `to`."""
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] if roberta else ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
    bpe = Tokenizer(models.BPE())
    bpe.decoder = decoders.ByteLevel()
    bpe.normalizer = normalizers.NFC() if nfc else None
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    if cl100k:
        bpe.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(CL100K), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    texts = [path.read_text() for path in sorted(ROOT.glob("docs/*.md"))] + ["\u6771\u4eac caf\u00e9"] * 9
    bpe.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=1200, special_tokens=names, show_progress=False,
                                                       initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    cls, sep = ((name, bpe.token_to_id(name)) for name in (names[0], names[2]))
    bpe.post_processor = processors.RobertaProcessing(sep, cls, add_prefix_space=prefix) if roberta else \
        processors.TemplateProcessing(f"{cls[0]} $A {sep[0]}", f"{cls[0]} $A {sep[0]} $B:1 {sep[0]}:1", [cls, sep])
    if to.name == "merges":
        to.mkdir()
        bpe.model.save(str(to))
        (to / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "RobertaTokenizer"}))
        return
    PreTrainedTokenizerFast(
        tokenizer_object=bpe, cls_token=names[0], pad_token=names[1], sep_token=names[2], unk_token=names[3],
        mask_token=AddedToken(names[4], lstrip=roberta), add_prefix_space=prefix,
        model_input_names=["input_ids", "attention_mask", *["token_type_ids"] * bert]).save_pretrained(to)


def make(kind, settings, source, to, **more):
    """A random model of class ModernBert`kind`, in directory `to` with the tokenizer of `source`. Beside a tokenizer
    that BPES calls so it is a BERT."""
    tokenizer = AutoTokenizer.from_pretrained(source)
    ids = {"pad_token_id": tokenizer.pad_token_id, "bos_token_id": tokenizer.cls_token_id,
           "cls_token_id": tokenizer.cls_token_id, "eos_token_id": tokenizer.sep_token_id,
           "sep_token_id": tokenizer.sep_token_id}
    family = "Bert" if BPES.get(source.name, [False])[-1] else "ModernBert"
    config = (BertConfig if family == "Bert" else ModernBertConfig)(
        **{"vocab_size": len(tokenizer), "hidden_size": 48, "intermediate_size": 40, "num_hidden_layers": 4,
           "num_attention_heads": 3, "local_attention": 16, "max_position_embeddings": 512, **ids, **settings}, **more)
    model = getattr(transformers, family + kind)(config).eval()
    deviation = min(0.15, 1.9 / config.hidden_size ** 0.5)  # with more, torch's own error is 1e-5 in wide models
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            tensor.normal_(1.0 if "norm.weight" in name else 0.0, deviation)
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(source, to, ignore=shutil.ignore_patterns("config.json", "model.safetensors", "README.md"))
    model.save_pretrained(to)
    return tokenizer, model


def fill_masks(source, to, settings):
    tokenizer, model = make("ForMaskedLM", settings, source, to)
    texts = [text.replace("[MASK]", tokenizer.mask_token) for text in TEXTS]
    lines = json.loads(run("dstrain", "fill-mask", to, "--top", 20, "--json", *texts))["lines"]
    most = 0.0
    for text, line in zip(texts, lines, strict=True):
        ids = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            rows = model(**ids).logits[0, ids.input_ids[0] == tokenizer.mask_token_id].softmax(-1)
        for row, guesses in zip(rows, line["masks"], strict=True):
            most = max([most, *(abs(guess["probability"] - row[guess["id"]].item()) for guess in guesses)])
            for guess in guesses:
                assert guess["piece"] == tokenizer.convert_ids_to_tokens(guess["id"])
                assert guess.get("text") in (None, tokenizer.decode([guess["id"]]))
    theirs = transformers.pipeline("fill-mask", model=model, tokenizer=tokenizer)(texts[2], top_k=20)
    assert [one["token"] for one in theirs] == [guess["id"] for guess in lines[2]["masks"][0]]
    print(f"fill-mask, {settings}: {most:.1g}", flush=True)
    assert most < 1e-5


def same_classes(directory, tokenizer, model, what):
    """The probabilities that predict gives a model's classes are those of transformers' model."""
    texts = ["The town is old.", "Rivers.", "The city was new and large, and people came. " * 5]
    with open(directory.parent / "in.csv", "w", newline="") as file:
        csv.writer(file).writerows([["text"], *([text] for text in texts)])
    run("dstrain", "predict", directory, directory.parent / "in.csv", "--seq", 96, "--force", "--out",
        directory.parent / "out.csv")
    with torch.no_grad():
        theirs = [model(**tokenizer(text, truncation=True, max_length=96, return_tensors="pt")).logits[0].softmax(-1)
                  for text in texts]
    ours = list(csv.DictReader(open(directory.parent / "out.csv", newline="")))
    most = max(abs(float(row["probability"]) - one.max().item()) for row, one in zip(ours, theirs, strict=True))
    print(f"predict, {what}: {most:.1g}", flush=True)
    assert most < 1e-5


def classes(source, to, settings):
    same_classes(to, *make("ForSequenceClassification", settings, source, to, num_labels=3), settings)


def tags(source, to, settings):
    tokenizer, model = make("ForTokenClassification", settings, source, to, num_labels=4)
    words = "the town near river , was old and na\u00efve people came to \u6771\u4eac \U0001f642".split() * 9
    (to.parent / "in.conll").write_text("".join(f"{word}\n" for word in words) + "\n", encoding="utf-8")
    run("dstrain", "predict", to, to.parent / "in.conll", "--force", "--out",
        to.parent / "out.conll")
    features = tokenizer([" " + word for word in words], is_split_into_words=True, return_tensors="pt")
    with torch.no_grad():
        best = model(**features).logits[0].argmax(1).tolist()
    numbers = features.word_ids()
    theirs = [model.config.id2label[best[numbers.index(i)]] for i in range(len(words))]
    ours = [line.split()[-1] for line in open(to.parent / "out.conll") if line.strip()]
    assert ours == theirs
    print(f"tags, {settings}: the same", flush=True)


def exports(scratch, source):
    """Of short fine-tunings: transformers finds every tensor in them, and no other."""
    rows = [["the town is old", "a"], ["the river was new", "b"]] * 8
    with open(scratch / "train.csv", "w", newline="") as file:
        csv.writer(file).writerows([["text", "label"], *rows])
    (scratch / "train.conll").write_text("\n".join("".join(f"{word} {'NV'[len(word) % 2]}\n" for word in row[0].split())
                                                   for row in rows))
    questions = [{"id": str(i), "question": "What is old?", "answers": [{"text": "town", "answer_start": 4}]}
                 for i in range(8)]
    (scratch / "train.json").write_text(json.dumps({"version": "1.1", "data": [
        {"title": "t", "paragraphs": [{"context": "The town is old.", "qas": questions}]}]}))
    make("ForMaskedLM", {"classifier_pooling": "mean"}, source, scratch / "pooled")
    for verb, train, kind in (("classify", "train.csv", "ForSequenceClassification"),
                              ("tag", "train.conll", "ForTokenClassification"),
                              ("squad", "train.json", "ForQuestionAnswering")):
        out, exported = scratch / verb, scratch / f"{verb}-export"
        run("dstrain", verb, "--init", scratch / "pooled", "--train", scratch / train, "--dev", scratch / train,
            "--steps", 2, "--seq", 96, "--out", out)
        run("dstrain", "export", out, "--out", exported)
        model, info = getattr(transformers, "ModernBert" + kind).from_pretrained(exported, output_loading_info=True)
        assert model.config.architectures == ["ModernBert" + kind], model.config.architectures
        assert not any(info[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")), info
        assert model.config.classifier_pooling == "mean"
        print(f"{verb}: {len(model.state_dict())} tensors", flush=True)
        if verb == "classify":
            same_classes(exported, AutoTokenizer.from_pretrained(exported), model.eval(), "an export with means")


def scores(source, to, settings):
    """score: the sum of the logarithms of a sentence's pieces, each masked in turn."""
    tokenizer, model = make("ForMaskedLM", settings, source, to)
    pairs = [{"good": "The town is old.", "bad": "The town are old."},
             {"good": "People came to the new city " * 3, "bad": "naïve 東京 and the river"}]
    (to.parent / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    run("dstrain", "score", to, to.parent / "pairs.jsonl", "--details", to.parent / "details", "--force")
    ours = [json.loads(line) for line in open(to.parent / "details", encoding="utf-8")]
    most = 0.0
    for pair, line in zip(pairs, ours, strict=True):
        for key in pair:
            ids = tokenizer(pair[key], return_tensors="pt").input_ids[0]
            at = torch.arange(len(ids) - 2)
            rows = ids.repeat(len(at), 1)
            rows[at, at + 1] = tokenizer.mask_token_id
            with torch.no_grad():
                logs = model(input_ids=rows).logits[at, at + 1].log_softmax(-1)[at, ids[1:-1]]
            most = max(most, abs(logs.double().sum().item() - line[key]))
    print(f"score, {settings}: {most:.1g}", flush=True)
    assert most < 1e-4


def vectors(source, to, settings):
    tokenizer, model = make("ForMaskedLM", settings, source, to)
    texts = ["The river flows past the old mill.", "Stones.", "The city was new and large. " * 8]
    (to.parent / "texts").write_text("\n".join(texts) + "\n")
    with torch.no_grad():
        hidden = [model.base_model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0] for text in texts]
    for pooling, theirs in (("mean", [h.mean(0) for h in hidden]), ("cls", [h[0] for h in hidden]),
                            ("max", [h.max(0)[0] for h in hidden])):
        run("dstrain", "embed", to, to.parent / "texts", "--pooling", pooling, "--seq", 128, "--force", "--out",
            to.parent / "v.jsonl")
        ours = torch.tensor([json.loads(line) for line in open(to.parent / "v.jsonl")])
        most = (ours - torch.stack(theirs)).abs().max().item()
        print(f"embed, {pooling}, {settings}: {most:.1g}", flush=True)
        assert most < 1e-5


def glue(scratch, source):
    """A task with pairs of sentences: eval has the loss and the accuracy of transformers' model on the export."""
    rows = [[i * 7 % 3 % 2, "The town is old.", f"The {'river city hill'.split()[i % 3]} was new and large."]
            for i in range(24)]
    (scratch / "MRPC").mkdir(exist_ok=True)
    for part in ("train", "dev"):
        with open(scratch / "MRPC" / f"{part}.tsv", "w") as file:
            file.write("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n")
            file.writelines(f"{label}\t1\t2\t{a}\t{b}\n" for label, a, b in rows)
    out, exported = scratch / f"glue-{source.name}", scratch / f"glue-{source.name}-export"
    run("dstrain", "glue", "mrpc", "--init", source, "--data", scratch, "--steps", 3, "--seq", 64, "--precision",
        "fp32", "--out", out)
    said = json.loads(run("dstrain", "eval", out, "--json"))
    run("dstrain", "export", out, "--out", exported)
    tokenizer = AutoTokenizer.from_pretrained(exported)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(exported).eval()
    types = {} if model.config.model_type == "bert" else {"return_token_type_ids": False}
    with torch.no_grad():
        logits = torch.cat([model(**tokenizer(a, b, return_tensors="pt", **types)).logits for _, a, b in rows])
    labels = torch.tensor([label for label, _, _ in rows])
    loss, right = torch.nn.functional.cross_entropy(logits, labels).item(), (logits.argmax(1) == labels).double().mean()
    print(f"glue, eval, {source.name}: {said['eval_loss']:.6f}, {said['acc']:.3f}; {loss:.6f}, {right:.3f}", flush=True)
    assert abs(said["eval_loss"] - loss) < 1e-5 and abs(said["acc"] - right) < 1e-9


def questions(scratch, source):
    """The logits of the best answers to questions. The words of a context are pieces, all different, so that each
    answer is one span."""
    tokenizer = AutoTokenizer.from_pretrained(source)
    words = sorted(word for word in tokenizer.get_vocab() if word.isascii() and word.isalpha() and len(word) > 2)
    paragraphs = []
    for i in range(8):
        context = random.sample(words, 30)
        paragraphs.append({"context": " ".join(context), "qas": [{
            "id": str(i), "question": f"What is {words[i]}?",
            "answers": [{"text": context[5], "answer_start": len(" ".join(context[:5])) + 1}]}]})
    (scratch / "questions.json").write_text(json.dumps({"version": "1.1", "data": [{"title": "t",
                                                                                     "paragraphs": paragraphs}]}))
    run("dstrain", "squad", "--init", source, "--train", scratch / "questions.json", "--dev",
        scratch / "questions.json", "--steps", 3, "--seq", 96, "--precision", "fp32", "--out", scratch / "asked")
    run("dstrain", "export", scratch / "asked", "--out", scratch / "asked-export")
    model = transformers.ModernBertForQuestionAnswering.from_pretrained(scratch / "asked-export").eval()
    ours = json.loads((scratch / "asked/nbest_predictions.json").read_text())
    most, count = 0.0, 0
    for paragraph in paragraphs:
        qa, context = paragraph["qas"][0], paragraph["context"]
        features = tokenizer(qa["question"], context, return_tensors="pt", return_token_type_ids=False)
        with torch.no_grad():
            logits = model(**features)
        begin = features.input_ids[0].tolist().index(tokenizer.sep_token_id) + 1
        for answer in ours[qa["id"]]:
            found = answer["text"].split()
            first = begin + context.split().index(found[0])
            assert " ".join(found) in context
            theirs = logits.start_logits[0, first].item(), logits.end_logits[0, first + len(found) - 1].item()
            most = max(most, abs(theirs[0] - answer["start_logit"]), abs(theirs[1] - answer["end_logit"]))
            count += 1
    print(f"squad: {count} answers, logits within {most:.1g}", flush=True)
    assert most < 1e-5 and count >= 8 * 10


PASSAGES = [("Zo\u00eb's caf\u00e9 in \u6771\u4eac\u90fd sells \U0001f355 and "
             "\U0001f468\u200d\U0001f469\u200d\U0001f467 cr\u00eapes  every day.",
             ["\U0001f469", "\u4eac", "cr\u00eape", "Zo\u00eb's caf\u00e9", "every day."]),
            ("\U0001f642\U0001f642 na\u00efve\n\nr\u00e9sum\u00e9\tof \u0395\u03bb\u03bb\u03ac\u03b4\u03b1 "
             "(\u4e2d\u6587), 3.5\u20ac",
             ["\U0001f642", "3.5\u20ac", "\u4e2d\u6587", "\u0395\u03bb\u03bb\u03ac\u03b4\u03b1"])]


def spans(scratch, source):
    """Of questions for a byte-level BPE, whose pieces may be parts of characters: the answers are the stretches of the
    context that tokenizers' offsets give, with their logits, and the best one is theirs."""
    tokenizer, asked = AutoTokenizer.from_pretrained(source), scratch / f"asked-{source.name}"
    paragraphs = [{"context": context, "qas": [
        {"id": f"{i}.{k}", "question": "What is it? \u4f55",
         "answers": [{"text": text, "answer_start": context.index(text)}]}
        for k, text in enumerate(answers)]} for i, (context, answers) in enumerate(PASSAGES)]
    (scratch / "spans.json").write_text(json.dumps({"version": "1.1", "data": [{"title": "t",
                                                                                 "paragraphs": paragraphs}]}))
    make("ForMaskedLM", {}, source, scratch / "model")
    run("dstrain", "squad", "--init", scratch / "model", "--train", scratch / "spans.json", "--dev",
        scratch / "spans.json", "--steps", 2, "--seq", 256, "--precision", "fp32", "--out", asked)
    run("dstrain", "export", asked, "--out", scratch / f"{asked.name}-export")
    model = transformers.AutoModelForQuestionAnswering.from_pretrained(scratch / f"{asked.name}-export").eval()
    ours, best = (json.loads((asked / f"{name}predictions.json").read_text()) for name in ("nbest_", ""))
    most, count = 0.0, 0
    for paragraph in paragraphs:
        context, qa = paragraph["context"], paragraph["qas"][0]
        features = tokenizer(qa["question"], context, return_tensors="pt", return_offsets_mapping=True)
        places, parts = features.pop("offset_mapping")[0].tolist(), features.sequence_ids(0)
        with torch.no_grad():
            logits = model(**features)
        begins, ends = logits.start_logits[0], logits.end_logits[0]
        theirs = {}
        for i in begins.argsort(descending=True)[:20].tolist():
            for k in ends.argsort(descending=True)[:20].tolist():
                if parts[i] == parts[k] == 1 and i <= k < i + 30:
                    pair = begins[i].item(), ends[k].item()
                    theirs.setdefault(context[places[i][0]:places[k][1]].strip(), []).append(pair)
        top = max((text for text in theirs if text), key=lambda text: max(map(sum, theirs[text])))
        for qa in paragraph["qas"]:
            assert best[qa["id"]] == top, (best[qa["id"]], top)
            for answer in ours[qa["id"]]:
                pair = answer["start_logit"], answer["end_logit"]
                most = max(most, min(max(abs(a - b) for a, b in zip(pair, one)) for one in theirs[answer["text"]]))
                count += 1
    print(f"squad, {source.name}: {count} answers, logits within {most:.1g}", flush=True)
    assert most < 1e-5 and count >= 9 * 10


def refused(scratch, source):
    """What a model's tokenizer lacks is named, with the exit code of unsupported files."""
    make("ForMaskedLM", {}, source, scratch / "model")
    whole = json.loads((scratch / "model/tokenizer.json").read_text())
    settings = json.loads((scratch / "model/tokenizer_config.json").read_text())
    unigram = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]]}
    masked = {**settings, "mask_token": None}
    renamed = json.loads(json.dumps(whole).replace("[MASK]", "[GAP]"))
    for code, said, changed, config in ((6, "Unigram", {**whole, "model": unigram}, settings),
                                        (6, "before a text", {**whole, "post_processor": None}, settings),
                                        (6, "no mask token", renamed, masked)):
        (scratch / "model/tokenizer.json").write_text(json.dumps(changed))
        (scratch / "model/tokenizer_config.json").write_text(json.dumps(config))
        done = subprocess.run([BUILD / "dstrain", "fill-mask", scratch / "model", "A [MASK]."], capture_output=True,
                              text=True)
        assert done.returncode == code and said in done.stderr, (said, done)
    vectors(source, scratch / "model", {})


def kept(scratch, source):
    """AutoTokenizer loads the same tokenizer from an export, and from what is trained from that and exported again."""
    theirs = AutoTokenizer.from_pretrained(source)
    with open(scratch / "train.csv", "w", newline="") as file:
        csv.writer(file).writerows([["text", "label"], *[["the town is old", "a"], ["the river was new", "b"]] * 8])
    make("ForMaskedLM", {}, source, scratch / "model")
    before = scratch / "model"
    for k in "12":
        out = scratch / f"kept-{source.name}-{k}"
        run("dstrain", "classify", "--init", before, "--train", scratch / "train.csv", "--dev", scratch / "train.csv",
            "--steps", 2, "--seq", 96, "--out", out)
        before = scratch / f"{out.name}-export"
        run("dstrain", "export", out, "--out", before)
        ours = AutoTokenizer.from_pretrained(before)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(before).eval()
        for text in [*(text.replace("[MASK]", theirs.mask_token) for text in TEXTS), PASSAGES[0][0], PASSAGES[1][0]]:
            assert ours(text, "b " + text) == theirs(text, "b " + text)
        assert ours.special_tokens_map == theirs.special_tokens_map and type(ours) is type(theirs)
        same_classes(before, ours, model, f"export {k} with {source.name}")


with tempfile.TemporaryDirectory(prefix="modern.") as folder:
    print(f"seed {SEED}")
    random.seed(SEED)
    torch.manual_seed(SEED)
    scratch = pathlib.Path(folder)
    run("dsdata", "build", "--wiki", ROOT / "samples/samplewiki.xml.bz2", "--vocab-size", 1000, "--seq", 64,
        "--pairs", "none", "--out",
        scratch / "data")
    (scratch / "small.json").write_text(json.dumps({
        "model_type": "modernbert", "hidden_size": 32, "intermediate_size": 24, "num_hidden_layers": 2,
        "num_attention_heads": 2, "vocab_size": 1000, "max_position_embeddings": 512}))
    run("dstrain", "--shards", scratch / "data", "--model", scratch / "small.json", "--steps", 2, "--batch", 8, "--out",
        scratch / "run")
    run("dstrain", "export", scratch / "run", "--out", scratch / "source")
    for one in [*FIXED, *(drawn() for _ in range(RANDOM))]:
        fill_masks(scratch / "source", scratch / "model", one)
    for one in [{}, {"classifier_pooling": "mean"}, {**FIXED[3], "classifier_pooling": "mean"}, drawn()]:
        classes(scratch / "source", scratch / "model", one)
        tags(scratch / "source", scratch / "model", one)
        scores(scratch / "source", scratch / "model", one)
        vectors(scratch / "source", scratch / "model", one)
    for name, row in BPES.items():
        learn(scratch / name, *row)
        for same in (fill_masks, classes, tags, scores, vectors):
            same(scratch / name, scratch / "model", {})
        spans(scratch, scratch / name)
        kept(scratch, scratch / name)
        make("ForMaskedLM", {}, scratch / name, scratch / f"glue-of-{name}")
        glue(scratch, scratch / f"glue-of-{name}")
    refused(scratch, scratch / "modern")
    exports(scratch, scratch / "source")
    glue(scratch, scratch / "pooled")
    questions(scratch, scratch / "pooled")
