#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# stage.sh NAME COMMAND...  runs the command and says how long it took, and the CPU
# time of the processes that it waited for. Where STAGE_TIMES names a file, a line
# "seconds<TAB>CPU seconds<TAB>name<TAB>exit status" is added to it, from which
# times.sh makes its table. Output is kept beside it, so that the table can also
# name the slowest packages and tests.
set -uo pipefail

name=$1
shift
start=$(date +%s)
echo "==> $name"
status=0
if [[ -n ${STAGE_TIMES:-} ]]; then
    "$@" 2>&1 | tee -a "$STAGE_TIMES.log"
    status=${PIPESTATUS[0]}
else
    "$@" || status=$?
fi
seconds=$(($(date +%s) - start))
# The second line of times is of the children: "1m2.345s 0m6.789s", user and system.
# In a pipeline it would be of the children of another shell.
spent=$(mktemp)
times >"$spent"
cpu=$(awk -F'[ms ]+' 'NR == 2 { printf "%.0f", 60 * ($1 + $3) + $2 + $4 }' "$spent")
rm "$spent"
[[ -z ${STAGE_TIMES:-} ]] || printf '%s\t%s\t%s\t%s\n' "$seconds" "$cpu" "$name" "$status" >>"$STAGE_TIMES"
echo "==> $name: $seconds s, $cpu s of CPU time$([[ $status -eq 0 ]] || echo ", failed with status $status")"
exit "$status"
