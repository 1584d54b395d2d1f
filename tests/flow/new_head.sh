#!/usr/bin/env bash
# The example of a head in CONTRIBUTING.md: with its row in the table, the file compiles without warnings, and the table
# asks for what the file defines.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

root=$(cd "$(dirname "$0")/../.." && pwd)
over=$scratch/over
mkdir -p "$over/trainer/data"
row=$(sed -n '/^- \*\*A head\*\*/,/^- \*\*/s/^ *\(ROW(.*\)$/\1/p' "$root/CONTRIBUTING.md")

case_begin "the row and the file"
expect_equal "row" "${row%% *}" "ROW(HEAD_REPLACED,"
sed "s|^    ROW(HEAD_TOKEN,|    $row \\\\\\n&|" "$root/trainer/data/heads.h" >"$over/trainer/data/heads.h"
for file in samples/replaced_head.c trainer/model/heads.c; do
    expect_exit 0 cc -std=c17 -Wall -Wextra -Werror -D_GNU_SOURCE -I"$over" -I"$root" -c "$root/$file" \
        -o "$scratch/$(basename "$file" .c).o"
done
expect_equal "asked for" "$(nm "$scratch/heads.o" | grep -c 'U head_replaced$')" 1
expect_equal "defined" "$(nm "$scratch/replaced_head.o" | grep -c '[RD] head_replaced$')" 1
flow_end
