#!/bin/sh
# Builds foldsym for C and C++ and installs it: install.sh PREFIX [libraries] [command]
#
# libraries  (what is installed if nothing is named) the libraries with headers and pkg-config files
# command    the command `foldsym`
#
# Each comes with the CMake package. What is installed may be moved as a whole. DESTDIR, where set, is put before PREFIX.
# FOLDSYM_BUILT, where set, is a folder with foldsym, libfoldsym_capi.a, libfoldsym_embedded.a and so on, which are installed instead
# of being built. CC links the shared library (default: cc).
set -eu
if [ "$(uname)" = Darwin ]; then
    echo "install.sh: installs ELF libraries, which this system does not load" >&2
    exit 2
fi
prefix=${1:?usage: install.sh PREFIX [libraries] [command]}
shift
[ $# -gt 0 ] || set -- libraries
libraries=
command=
for part; do
    case $part in
        libraries) libraries=yes ;;
        command) command=yes ;;
        *) echo "install.sh: installs \`libraries\` and \`command\`, not \`$part\`" >&2; exit 2 ;;
    esac
done
here=$(cd "$(dirname "$0")" && pwd)
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/embedded/Cargo.toml")
soname=libfoldsym_capi.so.${version%%.*}
to=${DESTDIR:-}$prefix

built=${FOLDSYM_BUILT:-}
target=${CARGO_TARGET_DIR:-$here/../../../target}
case $target in
    /*) ;;
    *) target=$PWD/$target ;; # cargo is started in other folders
esac
# Builds in a folder, unless all is there already.
build() {
    [ -n "$built" ] || (cd "$1" && shift && cargo "$@" --release --locked --target-dir "$target")
}
# Copies a file and fills in the version.
fill() {
    sed "s|@version@|$version|g" "$1" > "$2"
    chmod 644 "$2"
}

if [ -n "$libraries" ]; then
    build "$here" rustc -p foldsym-capi --lib --crate-type staticlib
    # Each folder with a manifest is a library for signal handlers.
    for manifest in "$here"/*/Cargo.toml; do
        build "$(dirname "$manifest")" build
    done
fi
[ -z "$command" ] || build "$here/../cli" build
built=${built:-$target/release}

if [ -n "$libraries" ]; then
    mkdir -p "$to/include" "$to/lib/pkgconfig"
    install -m 644 "$here"/include/* "$to/include/"
    install -m 644 "$built/libfoldsym_capi.a" "$to/lib/"
    for manifest in "$here"/*/Cargo.toml; do
        install -m 644 "$built/libfoldsym_$(basename "$(dirname "$manifest")").a" "$to/lib/"
    done
    # Linked here and not by cargo, which gives each symbol the linker's own version and takes no other script.
    exports=$(sed -n 's/^ *\(foldsym_[a-z_]*\);$/-Wl,-u,\1/p' "$here/libfoldsym_capi.map")
    # shellcheck disable=SC2086 # one word for each function
    ${CC:-cc} -shared -s -o "$to/lib/libfoldsym_capi.so.$version" -Wl,-soname,"$soname" \
        -Wl,--version-script="$here/libfoldsym_capi.map" -Wl,--gc-sections -Wl,-z,defs -Wl,-z,relro,-z,now \
        $exports "$built/libfoldsym_capi.a" -lgcc_s -lpthread -ldl -lm
    ln -sf "libfoldsym_capi.so.$version" "$to/lib/$soname"
    ln -sf "$soname" "$to/lib/libfoldsym_capi.so"
    for package in "$here"/*.pc.in; do
        fill "$package" "$to/lib/pkgconfig/$(basename "$package" .in)"
    done
fi
if [ -n "$command" ]; then
    mkdir -p "$to/bin"
    install -m 755 "$built/foldsym" "$to/bin/"
fi
mkdir -p "$to/lib/cmake/foldsym"
for file in "$here"/cmake/*.cmake; do
    fill "$file" "$to/lib/cmake/foldsym/$(basename "$file")"
done
