#!/usr/bin/env bash
# Properties of the linked programs and modules: no library is searched in the current directory, and release programs
# are hardened and contain no path of the build machine. Needs readelf (binutils).
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

if ! command -v readelf >/dev/null || [ "$(od -An -c -j1 -N3 "$dsdata" | tr -d ' ')" != ELF ]; then
    echo "no readelf, or no ELF programs: skipped"
    exit 77
fi

# Every element of RUNPATH and RPATH is absolute or begins with $ORIGIN.
search_paths() { # FILE
    local line element
    while read -r line; do
        while IFS= read -r -d : element; do
            case $element in
            /* | '$ORIGIN' | '$ORIGIN/'*) ;;
            *) complain "$1 looks for libraries in '$element' ($line)" ;;
            esac
        done <<<"$line:"
    done < <(readelf -dW "$1" | sed -nE 's/.*(RPATH|RUNPATH).*\[(.*)\]$/\2/p')
}

hardened() { # PROGRAM or MODULE
    local facts
    facts=$(readelf -ldsW --dyn-syms "$1")
    [[ $facts =~ FLAGS_1[^$'\n']*NOW ]] || complain "$1 is not bound immediately"
    [[ $1 == *.so || $facts =~ FLAGS_1[^$'\n']*PIE ]] || complain "$1 is not PIE"
    [[ $facts == *GNU_RELRO* ]] || complain "$1 has no read-only relocations"
    [[ $facts == *__stack_chk_fail* ]] || complain "$1 has no stack protector"
    [[ $facts =~ __[a-z]+_chk ]] || complain "$1 is not fortified"
    ! grep -qaF "$project/" "$1" || complain "$1 holds the path of its sources"
}

case_begin "search paths"
while IFS= read -r file; do
    search_paths "$file"
done < <(find "$build" -maxdepth 2 -type f \( -perm -u+x -o -name '*.so' \) -not -name '*.sh')

if grep -q '^CMAKE_BUILD_TYPE:[A-Z]*=Rel' "$build/CMakeCache.txt" &&
    grep -q '^DS_SANITIZE:[A-Z]*=$' "$build/CMakeCache.txt"
then
    case_begin "hardening"
    hardened "$dsdata"
    hardened "$dstrain"
    for module in dstrain_gloo.so dstrain_mpi.so dsdata_hdf5.so dsdata_archive.so; do
        if [ -e "$build/$module" ]; then hardened "$build/$module"; fi
    done
fi
flow_end
