#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# gotestsum 1.13.0 with --rerun-fails passes a package in which goleak 1.3.0 finds a
# goroutine that stayed. goleak reports it from TestMain, after all tests have passed, so
# that the package fails without a failed test. gotestsum then runs the package again with
# no test selected ("no tests to run"). Nothing leaks in that run, which passes, and the
# exit status is 0. `go test` of the same package exits with 1. With
# --rerun-fails-run-root-test it is the same.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOFLAGS=-mod=mod GOTOOLCHAIN=${GOTOOLCHAIN:-auto}
cat >go.mod <<'END'
module example.com/leaks

go 1.24

require go.uber.org/goleak v1.3.0
END
cat >leaks_test.go <<'END'
package leaks

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLeaves(t *testing.T) { go func() { select {} }() }
END
mkdir bin
GOBIN=$folder/bin go install gotest.tools/gotestsum@v1.13.0

plain=0
go test -count=1 ./... >plain.log 2>&1 || plain=$?
for flag in --rerun-fails=1 "--rerun-fails=1 --rerun-fails-run-root-test"; do
    status=0
    # shellcheck disable=SC2086 # The flags are several words.
    bin/gotestsum $flag --packages=./... --format=standard-quiet -- -count=1 >again.log 2>&1 || status=$?
    echo "gotestsum 1.13.0 $flag exits with $status, go test with $plain:"
    grep -E 'found unexpected goroutines|no tests to run|^DONE' again.log
    [[ $plain -eq 1 && $status -eq 0 ]] && grep -q 'found unexpected goroutines' again.log && grep -q 'no tests to run' again.log ||
        { echo "the behaviour has changed" >&2; exit 1; }
done
