#!/usr/bin/env bash
# cmake's message about missing libraries, and the files of cmake --install.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

case_begin "missing libraries are named at once"
expect_exit 1 env PKG_CONFIG_LIBDIR=/nonexistent cmake -G Ninja -S "$project" -B "$scratch/build" \
    -DCMAKE_DISABLE_FIND_PACKAGE_BZip2=ON -DCMAKE_DISABLE_FIND_PACKAGE_EXPAT=ON \
    -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON -DCMAKE_DISABLE_FIND_PACKAGE_LibLZMA=ON
expect_words \
    "apt-get install libxxhash-dev libjansson-dev libbz2-dev zlib1g-dev libzstd-dev liblzma-dev libexpat1-dev" \
    "dnf install xxhash-devel jansson-devel bzip2-devel zlib-devel libzstd-devel xz-devel expat-devel utf8proc-devel"
expect_exit 1 env PKG_CONFIG_LIBDIR=/nonexistent cmake -G Ninja -S "$project" -B "$scratch/build" -DDS_DATA=OFF
expect_words "apt-get install libxxhash-dev libjansson-dev"
if grep -q libutf8proc "$scratch/stderr"; then complain "dstrain alone needs no utf8proc"; fi

case_begin "the installed files"
expect_exit 0 cmake --install "$build" --prefix "$scratch/prefix"
if grep -q '^DS_FAULTS:BOOL=ON' "$build/CMakeCache.txt"; then
    expect_words "these programs have faults for tests"
else
    expect_no_faults "$scratch/prefix"/bin/*
fi
cd "$scratch/prefix"
for file in bin/dsdata bin/dstrain bin/get_dump.sh share/man/man1/dsdata.1 share/man/man1/dstrain.1 \
    share/bash-completion/completions/dsdata share/bash-completion/completions/dstrain \
    share/zsh/site-functions/_dsdata share/zsh/site-functions/_dstrain \
    share/fish/vendor_completions.d/dsdata.fish share/fish/vendor_completions.d/dstrain.fish \
    share/dsdata/configs/laptop.json share/dsdata/configs/models share/dsdata/slurm/build.sbatch \
    share/dsdata/slurm/train.sbatch share/doc/dsdata/LICENSE share/doc/dsdata/README.md; do
    [ -s "$file" ] || complain "$file is missing"
done
for program in dsdata dstrain; do
    for section in EXAMPLES FILES ENVIRONMENT "EXIT STATUS" "SEE ALSO"; do
        grep -q "^\.SH $section" share/man/man1/$program.1 || complain "$program.1 has no $section"
    done
    expect_exit 0 bin/$program -V
    cp "$scratch/stdout" "$scratch/version"
    expect_exit 0 bin/$program --version
    cmp -s "$scratch/version" "$scratch/stdout" || complain "-V is not --version"
done

case_begin "dsdata doctor"
expect_exit 0 bin/dsdata doctor --json
expect_equal "level" "$(json "$scratch/stdout" 'o["level"] in ("base", "avx2", "avx512") and o["threads"] > 0')" True
expect_equal "memory" "$(json "$scratch/stdout" 'o["memory_bytes"] > 1 << 20 and o["disk_free_bytes"] > 0')" True
expect_exit 0 bin/dsdata doctor
expect_words "next       dsdata build"
for word in processor memory disk; do
    grep -q "^$word " "$scratch/stdout" || complain "standard output has no line '$word'"
done
flow_end
