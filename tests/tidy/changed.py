#!/usr/bin/env python3
"""scripts/changed_tests.py chooses the tests that a changed file can break: a table of files, with tests that must be
chosen and tests that must not. All tests of ctest are chosen by a change of base."""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import changed_tests  # noqa: E402

# files, tests that must be chosen, tests that must not be
ROWS = [
    ("base/str.c", "base_str tokenizer_vocab trainer_model flow_zero campaign_kills comm_self fuzz_xml", ""),
    ("tokenizer/vocab.c", "tokenizer_vocab pipeline_probe trainer_glue flow_glue fuzz_tokenizer", "base_str"),
    ("shards/order.c", "shards_order trainer_loader flow_verify campaign_train_kills", "base_str tokenizer_vocab"),
    ("pipeline/pairs/pairs.c", "pipeline_pairs flow_split campaign_kills_long fuzz_article",
     "trainer_model shards_order base_str flow_replay campaign_train_kills comm_self fuzz_config"),
    ("trainer/cpu/linear.h", "trainer_ops flow_train_resume flow_next campaign_train_kills comm_gloo fuzz_config",
     "pipeline_pairs shards_order flow_split campaign_kills fuzz_xml"),
    ("tests/base/test_str.c", "base_str", "base_json flow_build"),
    ("tests/pipeline/text/bodies.cases", "pipeline_bodies", "base_str flow_build"),
    ("tests/flow/build.sh", "flow_build", "flow_split base_str"),
    ("tests/flow/train.bash", "flow_zero flow_train_resume", "flow_split base_str"),
    ("tests/flow/flow.bash", "flow_zero flow_split flow_dsshards", "base_str campaign_kills"),
    ("tests/campaign/kills.py", "campaign_kills campaign_kills_long", "campaign_signals flow_build"),
    ("tests/campaign/common.py", "campaign_kills campaign_train_kills", "flow_build"),
    ("tests/fuzz/corpus/xml/a", "fuzz_xml", "fuzz_config base_str"),
    ("tests/comm/faults.c", "comm_faults", "base_str"),
    ("python/dsshards/order.py", "flow_dsshards", "flow_build base_str"),
    ("scripts/get_dump.sh", "flow_get_dump", "flow_build"),
    ("docs/USING.md", "tidy_using layers", "base_str flow_build"),
    ("README.md", "tidy_text flow_docs", "base_str flow_demo"),
    ("samples/own_task.sh", "flow_docs", "base_str flow_demo"),
    ("CMakeLists.txt", "base_str flow_build campaign_kills", ""),
    ("tests/golden/root-hashes.txt", "flow_golden_roots", ""),
]

faults = []


def chosen(path):
    return re.compile(changed_tests.expression(changed_tests.tests_of([path])))


for path, wanted, unwanted in ROWS:
    choice = chosen(path)
    faults += [f"{path}: {test} is not chosen" for test in wanted.split() if not choice.search(test)]
    faults += [f"{path}: {test} is chosen" for test in unwanted.split() if choice.search(test)]

listed = subprocess.run(["ctest", "--test-dir", sys.argv[1], "--show-only=json-v1"], capture_output=True, text=True)
names = [test["name"] for test in json.loads(listed.stdout)["tests"]]
base = chosen("base/str.c")
faults += [f"base/str.c: {name} is not chosen" for name in names if not base.search(name)]
print("\n".join(faults))
sys.exit(bool(faults))
