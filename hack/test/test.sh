#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# test.sh  is `make test`, which calls it by times.sh. It builds what all tests
# need. Then it runs three lanes at the same time, since each waits for half of the
# time: the unit tests, the API server tests, and the end-to-end tests. The first two
# give way, so that the cluster has the processors when it wants them. What a lane
# prints is in bin/test/LANE.log, and comes here when the lane has ended.
set -uo pipefail
cd "$(dirname "$0")/../.."
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}

: "${MAKE:=make}" "${CLUSTER:=local}"
lanes=(test-unit test-env test-e2e)
status=0

mkdir -p bin/test
$MAKE $([[ $CLUSTER != local ]] || echo assets) bin/cluster bin/image bin/helm test/e2e/node_modules/.package-lock.json || exit

# Process groups of their own, which are ended as a whole when this is interrupted.
set -m
pids=()
for lane in "${lanes[@]}"; do
    nice -n "$([[ $lane == test-e2e ]] && echo 0 || echo 15)" $MAKE "$lane" >"bin/test/$lane.log" 2>&1 &
    pids+=($!)
done
set +m
trap 'kill -TERM -- "${pids[@]/#/-}" 2>/dev/null; wait "${pids[@]}"; exit 130' INT TERM

for i in "${!lanes[@]}"; do
    echo "==> ${lanes[i]} runs beside the others, and writes to bin/test/${lanes[i]}.log"
    wait "${pids[i]}" || status=1
    cat "bin/test/${lanes[i]}.log"
done
trap - INT TERM
exit "$status"
