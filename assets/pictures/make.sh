#!/bin/sh
# Records the pictures of the README and the guides anew, from the program in a pseudo-terminal:
#
#   assets/pictures/make.sh
#
# tests/pictures has the scenes. The same seed and the same clock give the same files, and the test compares them.
set -eu
cd "$(dirname "$0")/../.."
HOPTOP_WRITE_PICTURES=1 cargo test --locked --quiet --test pictures
echo "written to assets/pictures"
