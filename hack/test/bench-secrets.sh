#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Prints what secrets cost as one table, for docs/benchmarks.md: the envelope's
# benchmarks and the keybroker's on one core, and the start of pods on a local
# cluster.
set -euo pipefail
cd "$(dirname "$0")/../.."
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}

: "${BENCHTIME:=1s}"
results=$(mktemp)
trap 'rm -f "$results"' EXIT

go test -run='^$' -bench='^Benchmark(Seal|Open|Rewrap)$/^1024B$' -cpu=1 -benchtime="$BENCHTIME" ./internal/envelope | tee -a "$results" >&2
go test -run='^$' -bench='^BenchmarkOpen$' -cpu=1 -benchtime="$BENCHTIME" ./internal/keybroker | tee -a "$results" >&2
make --no-print-directory test-e2e E2E_NAME=bench E2E_PORT=18180 \
    TESTFLAGS='-run=TestHowLongAPodTakesToStartWithSecrets' | tee -a "$results" >&2

# table RESULTS  prints the table of what the commands above said, and fails when
# one of them said less than it should.
table() {
    awk '
        function row(what, value) { printf "| %s | %s |\n", what, value; rows++ }
        function start(label) { row("pod start " label ": deleted to next ready", $(NF - 1)); row("pod start " label ": process start to serving", $NF) }
        BEGIN { print "| what | |\n| --- | --- |" }
        /^BenchmarkSeal\//   { row("seal 1 KiB", sprintf("%.1f µs", $3 / 1000)) }
        /^BenchmarkOpen\//   { row("open 1 KiB", sprintf("%.1f µs", $3 / 1000)) }
        /^BenchmarkRewrap\// { row("rewrap 1 KiB", sprintf("%.1f µs", $3 / 1000)) }
        /^BenchmarkOpen /    { for (i = 2; i <= NF; i++) if ($i == "opens/s") row("bridges that fetch 20 secrets of 1 KiB, one core of a keybroker", $(i - 1) " a second") }
        /starts_test.go:[0-9]+: no secrets/         { start("without secrets") }
        /starts_test.go:[0-9]+: [0-9]+ of 1 KiB/    { start("with 20 secrets of 1 KiB") }
        END { if (rows != 8) { print "bench-secrets: " rows " rows, want 8" >"/dev/stderr"; exit 1 } }
    ' "$1"
}
table "$results"
