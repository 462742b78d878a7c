#!/bin/sh
# Makes a Debian package, with the manual, completions for three shells and the list of licences in it, and names the file:
#
#   assets/deb/make.sh [OUTPUT]
#
# OUTPUT is the folder or file, target/debian unless it is named. Needs cargo-deb. With PROFILE=dev in its environment it packs the
# program that the tests use, as it lies there.
set -eu
cd "$(dirname "$0")/../.."

profile=${PROFILE:-dist}
built=${CARGO_TARGET_DIR:-target}
case $profile in
    dev) hoptop=$built/debug/hoptop ;;
    *)
        hoptop=$built/$profile/hoptop
        cargo build --locked --quiet --profile "$profile" --bin hoptop
        ;;
esac

# What the program says of itself, at the places that [package.metadata.deb] in Cargo.toml names.
parts=target/package-parts
rm -rf "$parts"
mkdir -p "$parts"
"$hoptop" man --dir "$parts/man"
for shell in bash zsh fish; do
    "$hoptop" completions "$shell" > "$parts/hoptop.$shell"
done
{
    echo "hoptop is built with these libraries, under these licences:"
    echo
    cargo tree --locked --edges normal --prefix none --format '{p}: {l}' |
        sed 's/ (proc-macro)//; s/ (\*)$//' | grep -v '^hoptop ' | sort -u
} > "$parts/licences.txt"

cargo deb --locked --quiet --no-build --fast --profile "$profile" --output "${1:-target/debian}"
