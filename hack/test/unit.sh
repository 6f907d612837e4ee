#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# unit.sh FLAGS...  runs the unit tests: with the race detector in the packages in
# which anything runs at the same time, and without it in the others, where it finds
# nothing and takes several times as long. The flags are for go test.
set -euo pipefail
cd "$(dirname "$0")/../.."
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}

stage=hack/test/stage.sh
# Without the race detector tests are compiled as images are, so that what they have
# in common is compiled once.
plainly=(env CGO_ENABLED=0 GOFLAGS=-trimpath)
# More packages at once than there are processors: the largest wait most of the time.
at_once=$(($(nproc) * 2))
# A program that exits does not wait a second for reports of races; what is found is
# reported at once.
export GORACE="${GORACE:-atexit_sleep_ms=0}"
# What starts goroutines, or a server that does, in the code or in its tests. Each
# package with goroutines looks for those that stay, with goleak.
concurrent='goleak|errgroup|httptest\.|\.Parallel\(\)|\.RunParallel\(|\.Go\(func|^[[:space:]]*go (func\(|[a-zA-Z_.]+\()'

# What needs the processors for itself: e2e.sh runs it before a release.
alone='^TestNoServerEndsTheBridge$'

# Packages with tests for the build without tags, each with its files.
listed=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}} {{end}}{{range .TestGoFiles}}{{$d}}/{{.}} {{end}}{{range .XTestGoFiles}}{{$d}}/{{.}} {{end}}{{end}}' ./...)
racing=() plain=()
while read -r package files; do
    # shellcheck disable=SC2086 # Files are several words.
    if grep -qE "$concurrent" $files; then racing+=("$package"); else plain+=("$package"); fi
done <<<"$listed"
[[ ${#racing[@]} -gt 0 && ${#plain[@]} -gt 0 ]] || { echo "unit: no packages were found" >&2; exit 1; }

status=0
race=(-race)
if ! command -v "$(go env CC)" >/dev/null; then
    echo "unit: the race detector needs a C compiler, which is missing here: apt-get install gcc libc6-dev" >&2
    race=()
fi
$stage "unit tests${race:+ with the race detector}" hack/sdk.sh go test -p="$at_once" -parallel=8 -skip="$alone" ${race[@]+"${race[@]}"} "$@" "${racing[@]}" || status=1
$stage "unit tests of packages without goroutines" "${plainly[@]}" hack/sdk.sh go test "$@" "${plain[@]}" || status=1
$stage "unit tests of the local cluster" "${plainly[@]}" go -C hack/cluster test "$@" ./cluster ./policy || status=1
$stage "unit tests of the image builder" "${plainly[@]}" go -C hack/image test "$@" ./... || status=1
$stage "unit tests of the chart" "${plainly[@]}" go -C hack/helm test "$@" ./... || status=1
$stage "unit tests of alerts and dashboard" "${plainly[@]}" go -C hack/monitoring test "$@" ./... || status=1
exit "$status"
