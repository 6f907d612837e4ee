#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# passed.sh LOG TEST...  fails unless the output of `go test -v` has each of the
# tests as passed. A name in -run that no test has any more would fail nothing.
set -euo pipefail

log=$1
shift
status=0
for test in "$@"; do
    grep -q -- "--- PASS: $test " "$log" || { echo "passed: there is no test $test that passed" >&2; status=1; }
done
exit "$status"
