#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# env.sh FLAGS...  runs the tests that need an API server: those of the files with
# the build tag testenv, and none of the unit tests of the same packages, which
# unit.sh has run. The flags are for go test.
#
#   PACKAGES            runs those alone that a change of these packages can break
#                       (packages.sh)
#   KUBEBUILDER_ASSETS  the folder of kube-apiserver and etcd
set -euo pipefail
cd "$(dirname "$0")/../.."
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}
# As images are compiled, so that what they have in common is compiled once.
export CGO_ENABLED=0 GOFLAGS=-trimpath
# A program that changes an object in its cache panics.
export KUBE_CACHE_MUTATION_DETECTOR=true

mapfile -t files < <(grep -rlE '^//go:build .*\btestenv\b' --include='*_test.go' --exclude-dir=node_modules . | xargs grep -LE '^//go:build .*!testenv\b')
names=$(sed -nE 's/^func ((Test|Fuzz|Example)[A-Za-z0-9_]*)\(.*/\1/p' "${files[@]}" | grep -vx TestMain | sort -u | paste -sd'|')
folders=$(printf '%s\n' "${files[@]}" | xargs -n1 dirname | sed 's#^\.#github.com/hostedbridge/hostedbridge#')
tested=$(hack/test/packages.sh -tags=testenv)
mapfile -t packages < <(comm -12 <(sort -u <<<"$folders") <(sort <<<"$tested"))
if [[ ${#packages[@]} -eq 0 && -n ${PACKAGES:-} ]]; then echo "env: no API server test depends on $PACKAGES"; exit; fi
[[ ${#packages[@]} -gt 0 && -n $names ]] || { echo "env: no tests were found" >&2; exit 1; }

# More packages at once than there are processors: they wait most of the time.
at_once=$((2 * $(nproc)))
# Control planes that one package after the other has for itself, which saves their
# starts. A package that finds none of them free starts its own.
export TESTENV_SHARED=${TMPDIR:-/tmp}/hosted-bridge-planes-$(cksum <<<"$PWD" | cut -d' ' -f1)
go build -o bin/planes ./test/testenv/planes
# They end when their standard input does: also where this script is killed.
coproc planes { exec bin/planes "$TESTENV_SHARED" "$at_once"; }
pid=$planes_PID
read -r _ <&"${planes[0]}"

status=0
# A -run among the flags comes later, and goes before.
hack/test/stage.sh "API server tests" hack/test/rerun.sh env go test -tags=testenv -p="$at_once" -parallel=4 -timeout=40m -run="^($names)\$" "$@" -- "${packages[@]}" || status=$?
eval "exec ${planes[1]}>&-"
wait "$pid" || status=1
exit "$status"
