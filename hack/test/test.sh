#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# test.sh  is `make test`, which calls it by times.sh. It builds what all tests need,
# and runs two lanes at the same time: the end-to-end tests, which wait for most of the
# time, and the unit and API server tests. The latter give way, so that the cluster has
# the processors when it wants them. What the end-to-end tests print is in
# bin/test/e2e-lane.log, and comes after the rest.
set -uo pipefail
cd "$(dirname "$0")/../.."
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}

: "${MAKE:=make}" "${CLUSTER:=local}"
log=bin/test/e2e-lane.log
status=0

mkdir -p bin/test
$MAKE $([[ $CLUSTER != local ]] || echo assets) bin/cluster bin/image bin/helm test/e2e/node_modules/.package-lock.json || exit

# A process group of its own, which is ended as a whole when this is interrupted.
echo "==> end-to-end tests begin beside the others; they write to $log"
set -m
$MAKE test-e2e >"$log" 2>&1 &
e2e=$!
set +m
trap 'kill -TERM -- "-$e2e" 2>/dev/null; wait "$e2e"; exit 130' INT TERM

nice -n 10 $MAKE test-unit || status=1
nice -n 10 $MAKE test-env || status=1
echo "==> waiting for the end-to-end tests"
wait "$e2e" || status=1
trap - INT TERM
cat "$log"
exit "$status"
