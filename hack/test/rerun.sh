#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# rerun.sh NAME COMMAND... -- PACKAGE...  runs `go test` and its flags, which the
# command ends in, with the packages. Each test that fails is run once more by itself
# at the end. If all of them pass then, the command has passed, and the tests are named
# as UNSTABLE, also by times.sh at the end of its output. An unstable test is a defect:
# it goes into unstable.txt until it is mended.
#
#   bin/test/NAME.log               what the command printed
#   bin/test/NAME.TEST.again.log    what the test printed by itself
#
# A package that fails without a failed test is not run again: it does not compile,
# it ended in a panic or at its time limit, goroutines stayed after all tests, which a
# run of no test would not show, or there was a race, which may stay hidden next time.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

# One accident, such as a node that is lost for some minutes, fails all tests that run
# then. More failures than these are none, and neither are tests that fail again.
most=20
most_again=3

name=$1
shift
command=()
while [[ $1 != -- ]]; do command+=("$1") && shift; done
shift
mkdir -p bin/test
rm -f bin/test/"$name".*
log=bin/test/$name.log
"${command[@]}" "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
[[ $status -ne 0 ]] || exit 0

# Each failed test as "package test", and "package" alone for a package that failed
# without one. The name of a test stands before that of its package.
failed=$(awk '
    /^--- FAIL: / { tests[++count] = $3 }
    /^panic: |^\*\*\* Test killed|WARNING: DATA RACE/ { count = 0; broken = 1 }
    /^(FAIL|ok  )\t/ {
        package = $2; sub(/ .*/, "", package)
        if ($1 == "FAIL" && (count == 0 || broken)) print package
        else if ($1 == "FAIL") for (i = 1; i <= count; i++) print package, tests[i]
        count = broken = 0
    }' "$log" | sort -u)
[[ -n $failed ]] || exit "$status"
[[ $(wc -l <<<"$failed") -le $most ]] || { echo "rerun: more than $most tests failed: none is run again"; exit "$status"; }
while read -r package test; do
    [[ -n $test ]] || { echo "rerun: $package failed without a failed test: no test is run again"; exit "$status"; }
done <<<"$failed"

status=0
again_failed=0
unstable=()
while read -r package test; do
    again=bin/test/$name.$test.again.log
    echo "==> $test of $package failed: it runs once more by itself, into $again"
    if "${command[@]}" -count=1 -v -run="^$test\$" "$package" </dev/null >"$again" 2>&1 && grep -q -- "^--- PASS: $test " "$again"; then
        grep -E '^ *--- PASS: ' "$again"
        unstable+=("UNSTABLE $package $test: failed in $log, passed in $again")
    else
        tail -n 40 "$again"
        status=1
        again_failed=$((again_failed + 1))
        [[ $again_failed -lt $most_again ]] || { echo "rerun: $most_again tests failed again: no other one is run again"; break; }
    fi
done <<<"$failed"
[[ ${#unstable[@]} -eq 0 ]] || printf '%s\n' "${unstable[@]}" | tee -a ${STAGE_TIMES:+"$STAGE_TIMES.notes"}
exit "$status"
