#!/bin/sh
# Builds the C libraries and installs them with headers and pkg-config files: install.sh PREFIX
# DESTDIR, where set, is put before PREFIX. FOLDSYM_BUILT, where set, is a folder with libfoldsym_capi.so,
# libfoldsym_capi.a and libfoldsym_embedded.a, which are installed instead of being built.
set -eu
if [ "$(uname)" = Darwin ]; then
    echo "install.sh: installs ELF libraries, which this system does not load" >&2
    exit 2
fi
prefix=${1:?usage: install.sh PREFIX}
here=$(cd "$(dirname "$0")" && pwd)
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/embedded/Cargo.toml")
soname=libfoldsym_capi.so.${version%%.*}

built=${FOLDSYM_BUILT:-}
if [ -z "$built" ]; then
    built=${CARGO_TARGET_DIR:-$here/../../../target}/release
    (cd "$here" && cargo rustc --release --locked -p foldsym-capi --lib --crate-type staticlib,cdylib \
        --target-dir "${built%/release}" -- -C link-arg=-Wl,-soname,"$soname")
    (cd "$here/embedded" && cargo build --release --locked --target-dir "${built%/release}")
fi

to=${DESTDIR:-}$prefix
mkdir -p "$to/include" "$to/lib/pkgconfig"
install -m 644 "$here"/include/foldsym*.h "$here/include/foldsym.hpp" "$to/include/"
install -m 644 "$built/libfoldsym_capi.a" "$built/libfoldsym_embedded.a" "$to/lib/"
install -m 755 "$built/libfoldsym_capi.so" "$to/lib/libfoldsym_capi.so.$version"
ln -sf "libfoldsym_capi.so.$version" "$to/lib/$soname"
ln -sf "$soname" "$to/lib/libfoldsym_capi.so"
for package in foldsym foldsym-embedded; do
    sed "s|@prefix@|$prefix|" "$here/$package.pc.in" > "$to/lib/pkgconfig/$package.pc"
done
