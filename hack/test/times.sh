#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# times.sh COMMAND...  runs the command with STAGE_TIMES set and prints at the
# end, also of a failure, where the time went and what failed.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

mkdir -p bin
STAGE_TIMES=$(mktemp bin/times.XXXXXX)
export STAGE_TIMES
trap 'rm -f "$STAGE_TIMES"*' EXIT
touch "$STAGE_TIMES.log"

start=$(date +%s)
status=0
"$@" || status=$?
total=$(($(date +%s) - start))

echo
echo "Where the time went (stages may have run at the same time; CPU time is that of the stage's own processes):"
awk -F'\t' '{ printf "  %5d s  %5d s CPU  %s%s\n", $1, $2, $3, ($4 == 0 ? "" : "  FAILED") }' "$STAGE_TIMES"
printf '  %5d s               in all\n' "$total"

# "ok  <package>  1.234s" and "--- PASS: TestName (1.23s)", slowest first.
slowest() { sort -rn | awk '$1 >= 1' | head -n "$1" | awk '{ printf "  %7.1f s  %s\n", $1, $2 }'; }
packages=$(sed -nE 's#^(ok|FAIL)[[:space:]]+[^[:space:]]*hostedbridge/hostedbridge/?([^[:space:]]*)[[:space:]]+([0-9.]+)s.*#\3 \2#p' "$STAGE_TIMES.log" | slowest 20)
tests=$(sed -nE 's#^--- (PASS|FAIL): ([^ ]+) \(([0-9.]+)s\)#\3 \2#p' "$STAGE_TIMES.log" | slowest 20)
[[ -z $packages ]] || printf 'Slowest packages:\n%s\n' "$packages"
[[ -z $tests ]] || printf 'Slowest tests:\n%s\n' "$tests"

# A test says why it failed before this line with -v, and behind it otherwise.
failed=
[[ $status -eq 0 ]] || failed=$(grep -E -B 12 -A 12 '^--- FAIL' "$STAGE_TIMES.log" | head -n 80 | cut -c 1-300)
[[ -z $failed ]] || printf 'What failed, from the output above:\n%s\n' "$failed"

# Tests that failed once and passed by themselves (rerun.sh), and what happened to the
# node of the end-to-end tests (e2e.sh).
[[ ! -e $STAGE_TIMES.notes ]] || cat "$STAGE_TIMES.notes"
[[ $status -eq 0 ]] && echo "All passed." || echo "Failed."
exit "$status"
