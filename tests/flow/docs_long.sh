#!/usr/bin/env bash
# labels: long
# What docs.py leaves out: the outputs that README.md and docs/GUIDE.md show of trainings, from trainings as long as
# theirs, on the dump that they name; plans of large models.
exec python3 "$(dirname "$0")/docs.py" "$1" --long
