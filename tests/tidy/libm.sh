#!/usr/bin/env bash
# What a step or a result computes calls no function of the C library whose last bit differs between libraries
# (docs/ARITHMETIC.md). Reads the symbols of libtrainer.a; fp64 is for tests only, and the others are for screens. And
# every file is compiled with -ffp-contract=off, after which no option allows contractions or other sums.
set -euo pipefail
python3 - "$1/compile_commands.json" <<'PYTHON'
import json
import re
import sys

loose = r"-ffp-contract=(?!off)|-Ofast|-f(fast-math|associative-math|unsafe-math-optimizations|reciprocal-math)"
for entry in json.load(open(sys.argv[1])):
    if entry["file"].endswith(".c"):
        off = entry["command"].rfind("-ffp-contract=off")
        if off < 0 or re.search(loose, entry["command"][off:]):
            sys.exit(f"{entry['file']}: compiled without -ffp-contract=off, or with another option after it")
PYTHON
library=$1/libtrainer.a
if ! command -v nm >/dev/null || [ ! -e "$library" ]; then echo "no nm or no $library: skipped" && exit 77; fi
allowed='^(fp64_base|axis|curves|health|choice)\.c'
functions='(exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|sin|cos|sincos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|asinh'
functions+='|acosh|atanh|erf|erfc|cbrt|hypot|tgamma|lgamma|_ZGV.*)[fl]?'
nm -A --undefined-only "$library" 2>/dev/null | sed 's/^[^:]*://' >"${TMPDIR:-/tmp}/libm.$$"
trap 'rm -f "${TMPDIR:-/tmp}/libm.$$"' EXIT
grep -q 'same_math\|same_exp' "${TMPDIR:-/tmp}/libm.$$" || { echo "$library has no symbols"; exit 1; }
! grep -vE "$allowed" "${TMPDIR:-/tmp}/libm.$$" | grep -E " U $functions(@.*)?$" ||
    { echo "base/same_math.h has such functions with the same bits everywhere"; exit 1; }
