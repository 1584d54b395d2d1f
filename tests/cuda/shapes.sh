#!/usr/bin/env bash
# Tests the check of products at large shapes (gpu/shapes.c): shapes.sh CUDA_BACKEND. All products are right on the CPU
# and on the emulated backend; if an epilogue of the emulated cuBLASLt is made wrong, exactly the products that use it
# are named. The table of --tune has no algorithm that was offered and then refused.
set -u
program=$1
table=$(mktemp)
trap 'rm -f "$table"' EXIT
failed=0

complain() {
    echo "$1"
    failed=1
}

# shapes CODE EXPECTED [OPTION…]: EXPECTED are the names of wrong products, separated by semicolons
shapes() {
    local expected=$1 names=$2 found code=0
    shift 2
    found=$("$program" --part shapes --share 64 "$@") || code=$?
    [ "$code" = "$expected" ] || complain "$*: exit code $code, not $expected"
    found=$(sed -nE 's/^ *WRONG +[a-z]+[0-9]+ ([^0-9]*) [0-9]+ x.*/\1/p' <<<"$found" | sort -u | paste -sd ';')
    [ "$found" = "$names" ] || complain "${TOOLKIT_WRONG:-} $*: wrong are '$found', not '$names'"
}

for precision in fp32 bf16 fp16; do
    shapes 0 "" --precision $precision --device cpu
    shapes 0 "" --precision $precision
done
TOOLKIT_WRONG=1 shapes 1 \
    "linear without bias;linear_backward_input;linear_backward_input added;linear_backward_input with\
 erf-GELU;linear_backward_weight alone" --precision bf16
TOOLKIT_WRONG=4 shapes 1 "erf-GELU after linear;linear;linear before erf-GELU" --precision fp16
TOOLKIT_WRONG=164 shapes 1 "linear before tanh-GELU;tanh-GELU after linear" --precision bf16
TOOLKIT_WRONG=192 shapes 1 "linear_backward_input with tanh-GELU" --precision fp16
TOOLKIT_WRONG=512 shapes 1 "bias of linear_backward_weight;linear_backward_weight" --precision bf16

# Kernels replace a refused algorithm; here they are faster than the slow epilogue.
TOOLKIT_SLOW=512 TOOLKIT_REFUSE=2 shapes 0 "" --precision bf16 --tune "$table"
[ "$(grep -c '^[0-9]' "$table")" = 31 ] || complain "the table has other than 31 rows"
grep -qE ' 0{15}2 ' "$table" && complain "an offer that fails was chosen"
[ "$(grep -cE '^2 5 .*( 0{16}){8}$' "$table")" = 7 ] || complain "slow sums of biases' gradients were chosen"
[ $failed = 0 ] && echo "all right"
exit $failed
