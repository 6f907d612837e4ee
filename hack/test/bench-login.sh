#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Measures whole logins at the ingress's own authorization server, with each of its
# stores, and beside it at npm's oidc-provider, in one run. A real API server, a
# keybroker and the ingress run for it, and a PostgreSQL.
#
#   BENCH_SECONDS  how long people log in at the first rate (60); at each other it
#                  is a quarter of that, and 5 at least
#   TESTFLAGS      for go test; -run=TestLogins/PostgreSQL is one store alone
set -euo pipefail
cd "$(dirname "$0")/../.."
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}

KUBEBUILDER_ASSETS="$(bin/cluster build --print-assets)" \
    go test -tags=bench -count=1 -timeout=30m -v ${TESTFLAGS:-} ./test/load/login
