#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# stage.sh NAME COMMAND...  runs the command and says how long it took. Where
# STAGE_TIMES names a file, a line "seconds<TAB>name<TAB>exit status" is added
# to it, from which times.sh makes its table. Output is kept beside it, so that
# the table can also name the slowest packages and tests.
set -uo pipefail

name=$1
shift
start=$(date +%s)
echo "==> $name"
status=0
if [[ -n ${STAGE_TIMES:-} ]]; then
    "$@" 2>&1 | tee -a "$STAGE_TIMES.log"
    status=${PIPESTATUS[0]}
    printf '%s\t%s\t%s\n' "$(($(date +%s) - start))" "$name" "$status" >>"$STAGE_TIMES"
else
    "$@" || status=$?
fi
echo "==> $name: $(($(date +%s) - start)) s$([[ $status -eq 0 ]] || echo ", failed with status $status")"
exit "$status"
