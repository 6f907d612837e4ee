#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Measures the ingress beside nginx, Caddy and plain Go proxies, in one run and
# one table. What is not there is got first: Caddy is built from its module, nginx
# unpacked from its Debian package, neither of which becomes a service.
#
#   BENCH_ROUNDS   how often the ways take turns (5)
#   BENCH_SECONDS  how long each is loaded then, for each number of clients (3)
#   BENCH_CLIENTS  one number of clients in place of 1, 32 and 256
#   BENCH_ONLY     ways to measure, joined by +, such as direct+hosted-bridge+nginx
#   TESTFLAGS      for go test
set -euo pipefail
cd "$(dirname "$0")/../.."
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}

peers=$PWD/bin/peers
mkdir -p "$peers"
for program in caddy goproxy; do
    [[ -x $peers/$program ]] || hack/test/stage.sh "build $program" go -C test/load/peers build -o "$peers/$program" "./$program"
done

nginx=$(hack/test/nginx.sh)
"$nginx" -v
"$peers/caddy" version

BENCH_NGINX=$nginx BENCH_CADDY=$peers/caddy BENCH_GOPROXY=$peers/goproxy \
    go test -tags=bench -count=1 -timeout=40m -v ${TESTFLAGS:-} ./test/load/proxy
