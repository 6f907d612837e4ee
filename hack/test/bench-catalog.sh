#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Measures the catalog with many recipes, and beside it nginx and Go's file
# server with the same answers as files, in one run. A real API server, an
# operator and an ingress run for it. nginx is unpacked from its Debian package
# where it is not on PATH.
#
#   BENCH_RECIPES  how many recipes there are (10000)
#   BENCH_ROUNDS   how often the ways take turns (3)
#   BENCH_SECONDS  how long each is read from then, for each kind of read (2)
#   TESTFLAGS      for go test
set -euo pipefail
cd "$(dirname "$0")/../.."
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}

nginx=$(hack/test/nginx.sh)
"$nginx" -v
KUBEBUILDER_ASSETS="$(bin/cluster build --print-assets)" BENCH_NGINX=$nginx \
    go test -tags=bench -count=1 -timeout=10m -v ${TESTFLAGS:-} ./test/load/catalog
