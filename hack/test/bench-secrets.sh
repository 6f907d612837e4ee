#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Prints what secrets cost as one table, for docs/benchmarks.md: the envelope's
# benchmarks and the keybroker's on one core, and the start of pods on a local
# cluster.
set -euo pipefail
cd "$(dirname "$0")/../.."

: "${BENCHTIME:=1s}"
results=$(mktemp)
trap 'rm -f "$results"' EXIT

go test -run='^$' -bench='^Benchmark(Seal|Open|Rewrap)$/^1024B$' -cpu=1 -benchtime="$BENCHTIME" ./internal/envelope | tee -a "$results" >&2
go test -run='^$' -bench='^BenchmarkOpen$' -cpu=1 -benchtime="$BENCHTIME" ./internal/keybroker | tee -a "$results" >&2
make --no-print-directory test-e2e E2E_NAME=bench E2E_PORT=18180 \
    TESTFLAGS='-run=^TestHowLongAPodTakesToStartWithSecrets$ -v' | tee -a "$results" >&2

awk '
    BEGIN { print "| what | |\n| --- | --- |" }
    /^BenchmarkSeal\//   { printf "| seal 1 KiB | %.1f µs |\n", $3 / 1000 }
    /^BenchmarkOpen\//   { printf "| open 1 KiB | %.1f µs |\n", $3 / 1000 }
    /^BenchmarkRewrap\// { printf "| wrap 1 KiB anew | %.1f µs |\n", $3 / 1000 }
    /^BenchmarkOpen / { for (i = 2; i <= NF; i++) if ($i == "opens/s") printf "| bridges that get 20 secrets of 1 KiB, on one core of a keybroker | %d a second |\n", $(i - 1) }
    /starts_test.go:[0-9]+: no secrets/ { print row("without secrets") }
    /starts_test.go:[0-9]+: [0-9]+ of 1 KiB/ { print row("with 20 secrets of 1 KiB") }
    function row(label) {
        return "| pod start " label ": deleted to next ready | " $(NF - 1) " |\n| pod start " label ": process start to serving | " $NF " |"
    }
' "$results"
