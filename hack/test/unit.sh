#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# unit.sh FLAGS...  runs the unit tests: with the race detector in the packages that
# start goroutines, and without it in the others, where it finds next to nothing and
# takes several times as long. The flags are for go test.
#
#   PACKAGES  runs those alone that a change of these packages can break (packages.sh)
set -euo pipefail
cd "$(dirname "$0")/../.."
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}

stage=hack/test/stage.sh
# Without the race detector tests are compiled as images are, so that what they have
# in common is compiled once.
plainly=(env CGO_ENABLED=0 GOFLAGS=-trimpath)
# A program that exits does not wait a second for reports of races; what is found is
# reported at once.
export GORACE="${GORACE:-atexit_sleep_ms=0}"
# A package that starts goroutines, as a line of its code has it. What they share is
# in the packages that these import, which are instrumented too. Programs only join
# packages.
starts='errgroup|\.Go\(func|^[[:space:]]*go (func\(|[a-zA-Z_.]+\()'

# What needs the processors for itself: e2e.sh runs it before a release.
alone='^TestNoServerEndsTheBridge$'

racing=() plain=()
tested=$(hack/test/packages.sh)
if [[ -z $tested && -n ${PACKAGES:-} ]]; then echo "unit: no unit test depends on $PACKAGES"; exit; fi
[[ -n $tested ]] || { echo "unit: no packages were found" >&2; exit 1; }
while read -r package; do
    folder=${package#github.com/hostedbridge/hostedbridge/}
    if [[ $folder == internal/* ]] && grep -qsE "$starts" $(ls "$folder"/*.go | grep -v _test.go); then
        racing+=("$package")
    else
        plain+=("$package")
    fi
done <<<"$tested"

status=0
race=(-race)
if ! command -v "$(go env CC)" >/dev/null; then
    echo "unit: the race detector needs a C compiler, which is missing here: apt-get install gcc libc6-dev" >&2
    race=()
fi
[[ ${#racing[@]} -eq 0 ]] ||
    $stage "unit tests${race:+ with the race detector}" hack/test/rerun.sh race go test -parallel=8 -timeout=40m -skip="$alone" ${race[@]+"${race[@]}"} "$@" -- "${racing[@]}" || status=1
[[ ${#plain[@]} -eq 0 ]] ||
    $stage "unit tests of packages without goroutines" hack/test/rerun.sh plain "${plainly[@]}" go test -parallel=8 -timeout=40m -skip="$alone" "$@" -- "${plain[@]}" || status=1
if [[ -z ${PACKAGES:-} ]]; then
    $stage "unit tests of the local cluster" "${plainly[@]}" go -C hack/cluster test "$@" ./cluster ./policy ./volumes || status=1
    $stage "unit tests of the image builder" "${plainly[@]}" go -C hack/image test "$@" ./... || status=1
    $stage "unit tests of the chart" "${plainly[@]}" go -C hack/helm test "$@" ./... || status=1
    $stage "unit tests of alerts and dashboard" "${plainly[@]}" go -C hack/monitoring test "$@" ./... || status=1
fi
exit "$status"
