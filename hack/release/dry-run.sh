#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Makes a release twice and fails where the second is another one, or where what
# is in it is not what it should be. What is kept is in bin/release.
#
#   dry-run.sh VERSION
set -euo pipefail
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}
cd "$(dirname "$0")/../.."
version=${1:-}
out=bin/release
hack/release/release.sh "$version" "$out"
again=bin/release-again
trap 'rm -rf "$again"' EXIT
# The programs are linked again; what Go compiled it takes from its cache, as the
# same input gives the same output there by construction.
rm -rf bin/.release
hack/release/release.sh "$version" "$again"
if ! diff -u "$out/SHA256SUMS" "$again/SHA256SUMS"; then
    echo "release: the second is not the first" >&2
    exit 1
fi
(cd "$out" && sha256sum --quiet --check SHA256SUMS)
RELEASE="$PWD/$out" RELEASE_VERSION="$version" go -C hack/image test -count=1 -tags=release -run='^TestRelease' -v .
echo "release: $out is whole, and the same twice"
