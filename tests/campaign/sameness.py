#!/usr/bin/env python3
# share: 0.04
"""The dataset does not depend on threads, memory, CPU level, decoder, locale, time zone, umask, working directory or
environment."""

import itertools
import os
import subprocess

import common

campaign = common.Campaign("sameness", "threads × memory × processor level × surroundings")
vocab = campaign.vocabulary()
out, good = campaign.scratch / "other", campaign.scratch / "good"
source = common.DUMP
SURROUNDINGS = [
    {"LC_ALL": "C", "TZ": "UTC", "umask": 0o022},
    {"LC_ALL": "de_DE.UTF-8", "TZ": "Pacific/Auckland", "umask": 0o077},
    {"LANG": "tr_TR.UTF-8", "LC_NUMERIC": "fr_FR.UTF-8", "TZ": "America/St_Johns", "umask": 0o002,
     "DSDATA_BZIP2": "libbz2"},
]

for arguments in (["--vocab", str(vocab)], ["--vocab-size", "1500"]):
    command = ["build", source, *arguments, "--seq", "64,128", "--valid", "0.05", "--shard-bytes", "1M"]
    campaign.clear(good)
    code, said = campaign.run(*command, "--threads", 1, "--out", good)
    campaign.must(code == 0, said)
    cases = itertools.product((1, 2, 3, 8), ("512M", "3G"), ("base", "avx2", "avx512"), SURROUNDINGS)
    for threads, memory, level, surroundings in campaign.some(cases):
        campaign.clear(out)
        what = f"{threads} threads, {memory}, {level}, {surroundings}"
        variables = {key: value for key, value in surroundings.items() if key != "umask"}
        done = subprocess.run([campaign.dsdata, *map(str, command), "--threads", str(threads), "--memory", memory, "-q",
                               "--out", str(out)], capture_output=True, stdin=subprocess.DEVNULL, cwd=campaign.scratch,
                              umask=surroundings["umask"], env={**os.environ, **variables, "DSDATA_CPU": level},
                              check=False)
        if campaign.check(done.returncode == 0, what, done.stderr.decode()):
            campaign.same(out, good, what)
campaign.end(f"{campaign.checks // 2} builds")
