#!/usr/bin/env bash
# Builds the libraries of the programs and tests from Debian's sources, as static libraries, for a compiler that cannot
# link those of the system: musl-gcc, or clang with the memory sanitizer. scripts/matrix.sh links them in its legs.
# Installs nothing: apt keeps its lists and the sources in PREFIX.
#
#     scripts/libraries.sh PREFIX CC [FLAG ...]       into PREFIX/include and PREFIX/lib, compiled by CC FLAG ...
#
# Needs, on a Debian: apt-get install dpkg-dev cmake ninja-build. The versions are those of Debian 12. A second start
# with a finished PREFIX does nothing. Takes one or two minutes of a core. Exit 77: a program, the sanitizer or the
# sources are missing.
set -euo pipefail
if [ $# -lt 2 ]; then sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; fi
# shellcheck source=scripts/apt_apart.bash
source "$(dirname "$0")/apt_apart.bash"
prefix=$(mkdir -p "$1" && cd "$1" && pwd)
compiler=$2
flags="${*:3}"
sources=(bzip2 zlib libzstd xz-utils expat utf8proc jansson xxhash cmocka)

for program in "$compiler" apt-get dpkg-source cmake ninja; do
    command -v "$program" >/dev/null || { echo "$program is not installed: skipped"; exit 77; }
done
# shellcheck disable=SC2086  # the flags are meant to be split into words
if ! echo "int main(void) { return 0; }" | "$compiler" $flags -x c -o "$prefix/a.out" - >"$prefix/log" 2>&1; then
    echo "$compiler $flags links no program, perhaps for want of a package ($prefix/log): skipped"
    exit 77
fi

# dpkg-source checks the sums of the files, apt those of the lists.
fetch_sources() {
    local apt=$prefix/apt
    mkdir -p "$prefix/src"
    apt_apart "$apt" deb-src
    APT_CONFIG=$apt/apt.conf apt-get -qq update &&
        (cd "$prefix/src" && APT_CONFIG=$apt/apt.conf apt-get -qq source --only-source "${sources[@]}" >"$apt/log" 2>&1)
}

# compile NAME FOLDER "FLAG ..." FILE ...: libNAME.a of the .c files in FOLDER, relative to the sources.
compile() {
    local name=$1 folder objects=$prefix/build/$1 own=$3 file
    folder=$(compgen -G "$prefix/src/$2")
    shift 3
    mkdir -p "$objects"
    for file in "$@"; do
        # shellcheck disable=SC2086  # the flags are meant to be split into words
        "$compiler" $flags $own -O2 -g -fPIC -I "$objects" -c "$folder/$file.c" -o "$objects/$file.o"
        ar rs "$prefix/lib/lib$name.a" "$objects/$file.o"
    done
}

# with_cmake NAME FOLDER [OPTION ...]: the library whose CMakeLists.txt is in FOLDER, relative to the sources.
with_cmake() {
    local name=$1 folder
    folder=$(compgen -G "$prefix/src/$2")
    shift 2
    cmake -G Ninja -S "$folder" -B "$prefix/build/$name" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_C_COMPILER="$compiler" -DCMAKE_C_FLAGS="$flags" -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
        -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF \
        -DBUILD_TESTING=OFF "$@"
    cmake --build "$prefix/build/$name" --target install
}

build_all() {
    local headers
    mkdir -p "$prefix/include" "$prefix/lib" "$prefix/build/expat"
    : >"$prefix/build/expat/expat_config.h"
    if [[ $compiler = *musl* ]]; then # its folders have no headers of the kernel
        for headers in /usr/include/{linux,asm-generic,"$(uname -m)"-linux-gnu/asm}; do
            ln -sfn "$headers" "$prefix/include"
        done
    fi
    compile bz2 "bzip2-*" -D_FILE_OFFSET_BITS=64 blocksort bzlib compress crctable decompress huffman randtable
    compile z "zlib-*" -DHAVE_UNISTD_H adler32 compress crc32 deflate gzclose gzlib gzread gzwrite infback inffast \
        inflate inftrees trees uncompr zutil
    compile expat "expat-*/expat/lib" "-DXML_DTD=1 -DXML_NS=1 -DXML_CONTEXT_BYTES=1024 -DHAVE_GETRANDOM" \
        xmlparse xmlrole xmltok
    cp "$prefix"/src/{bzip2-*/bzlib.h,zlib-*/{zlib,zconf}.h,expat-*/expat/lib/expat{,_external}.h} "$prefix/include"
    with_cmake libzstd "libzstd-*/build/cmake" -DZSTD_BUILD_PROGRAMS=OFF -DZSTD_BUILD_SHARED=OFF -DZSTD_BUILD_TESTS=OFF
    # CLMUL: that CRC reads whole registers over the ends of a buffer, which the memory sanitizer reports.
    with_cmake lzma "xz-utils-*" -DCREATE_XZ_SYMLINKS=OFF -DCREATE_LZMA_SYMLINKS=OFF -DHAVE_USABLE_CLMUL=OFF
    with_cmake utf8proc "utf8proc-*"
    with_cmake jansson "jansson-*" -DJANSSON_EXAMPLES=OFF -DJANSSON_BUILD_DOCS=OFF -DJANSSON_WITHOUT_TESTS=ON
    with_cmake xxhash "xxhash-*/cmake_unofficial" -DXXHASH_BUILD_XXHSUM=OFF
    with_cmake cmocka "cmocka-*" -DWITH_STATIC_LIB=ON -DWITH_EXAMPLES=OFF
    rm -f "$prefix"/lib/*.so*
    sed -i "s|^prefix=.*|prefix=$prefix|" "$prefix"/lib/pkgconfig/*.pc # Debian's xxhash has /usr
    mv "$prefix/lib/libcmocka-static.a" "$prefix/lib/libcmocka.a"
}

[ ! -e "$prefix/complete" ] || exit 0
fetch_sources || { echo "Debian's sources cannot be fetched ($prefix/apt/log): skipped"; exit 77; }
trap '[ -e "$prefix/complete" ] || tail -20 "$prefix/log"' EXIT
build_all >"$prefix/log" 2>&1
touch "$prefix/complete"
