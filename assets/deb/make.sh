#!/bin/sh
# Builds a Debian package with the manual, completions for three shells and the list of licences, and prints the file's path:
#
#   assets/deb/make.sh [OUTPUT]
#
# OUTPUT is a folder or a file; the default is target/debian. The script requires cargo-deb. With PROFILE=dev in its environment
# the script packages the program that the tests use, without building it again.
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

# The program writes its manual and completions to the paths that [package.metadata.deb] in Cargo.toml names.
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

gzip -9 --no-name < CHANGELOG.md > "$parts/changelog.gz"
# The changelog of the package; what changed in the program is in changelog.gz.
version=$("$hoptop" --version | cut -d ' ' -f 2)
date=$(date --rfc-email --utc --date="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}")
maintainer=$(sed -n 's/^maintainer = "\(.*\)"$/\1/p' Cargo.toml)
printf 'hoptop (%s-1) unstable; urgency=medium\n\n  * New version: /usr/share/doc/hoptop/changelog.gz says what changed.\n\n -- %s  %s\n' \
    "$version" "$maintainer" "$date" > "$parts/changelog"

cargo deb --locked --quiet --no-build --fast --profile "$profile" --output "${1:-target/debian}"
