#!/usr/bin/env python3
# labels: long
"""The package dsshards in transformers' Trainer: twenty steps of BertForMaskedLM from a Dataset, and of
BertForPreTraining from an IterableDataset, with a worker process; the loss falls. Workers read disjoint places.
Skipped without torch, transformers and accelerate."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

project = Path(__file__).resolve().parents[2]
dsdata = Path(sys.argv[1]).resolve() / "dsdata"
sys.path.insert(0, str(project / "python"))
sys.dont_write_bytecode = True
try:
    import accelerate  # noqa: F401
    import torch
    import transformers
except ImportError as error:
    print(f"{error}: skipped")
    sys.exit(77)
if not dsdata.exists():
    print(f"{dsdata} is not built: skipped")
    sys.exit(77)
import dsshards  # noqa: E402

scratch = Path(tempfile.mkdtemp(prefix="trainer."))
os.chdir(scratch)
torch.manual_seed(1)
torch.set_num_threads(2)
transformers.utils.logging.set_verbosity_error()
subprocess.run([dsdata, "build", "-q", project / "samples" / "samplewiki.xml.bz2", "--out", "data",
                "--vocab-size", "220", "--seq", "64", "--valid", "0.1"], check=True)
config = transformers.BertConfig(vocab_size=220, hidden_size=64, num_hidden_layers=2, num_attention_heads=2,
                                 intermediate_size=128, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)

for model_class, data in ((transformers.BertForMaskedLM, dsshards.Dataset("data", 64)),
                          (transformers.BertForPreTraining, dsshards.IterableDataset("data", 64, masks="fresh"))):
    arguments = transformers.TrainingArguments(
        "out", max_steps=20, per_device_train_batch_size=16, learning_rate=5e-3, logging_steps=1, report_to=[],
        save_strategy="no", use_cpu=True, dataloader_num_workers=1, disable_tqdm=True, lr_scheduler_type="constant")
    trainer = transformers.Trainer(model_class(config), arguments, train_dataset=data,
                                   data_collator=dsshards.PaddedCollator(pad_id=data.shards.pad, multiple=8))
    trainer.train()
    losses = [line["loss"] for line in trainer.state.log_history if "loss" in line]
    assert len(losses) == 20, len(losses)
    assert sum(losses[-3:]) < 0.9 * sum(losses[:3]), losses
    print(model_class.__name__, type(data).__name__, [round(loss, 3) for loss in (losses[0], losses[-1])])

# Each worker has its own places; together every sample comes once.
data = dsshards.IterableDataset("data", 64, epoch=1)
alone = sorted(sample["input_ids"].tolist() for sample in data)
loader = torch.utils.data.DataLoader(data, batch_size=None, num_workers=2)
assert sorted(sample["input_ids"].tolist() for sample in loader) == alone
subprocess.run([dsdata, "build", "-q", project / "samples" / "samplewiki.xml.bz2", "--out", "other", "--vocab",
                "data/vocab.txt", "--seq", "64", "--valid", "0.1", "--limit", "30"], check=True)
data = dsshards.MixtureDataset({"data": 0.7, "other": 0.3}, 64, epoch=1)
alone = sorted(sample["input_ids"].tolist() for sample in data)
loader = torch.utils.data.DataLoader(data, batch_size=None, num_workers=3)
assert sorted(sample["input_ids"].tolist() for sample in loader) == alone and len(alone) == len(data)

os.chdir("/")
shutil.rmtree(scratch)
print("all checks passed")
