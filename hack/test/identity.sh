#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Logs people in at real identity providers: dex, which is built from its Go module, and
# npm's oidc-provider. Writes the results into docs/operations/providers.md, unless
# TESTFLAGS, which are further flags of go test, select some of the tests.
set -euo pipefail
cd "$(dirname "$0")/../.."
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}

CGO_ENABLED=0 go -C hack/dex build -buildvcs=false -trimpath -o ../../bin/dex .
DEX=$PWD/bin/dex NODE=$(ls -d "$PWD"/test/e2e/node_modules/node-linux-*/bin/node)
PAGE=
[[ -n ${TESTFLAGS:-} ]] || PAGE=$PWD/docs/operations/providers.md
export DEX NODE PAGE
# shellcheck disable=SC2086 # Several flags in one variable.
go test -tags=identity -count=1 -timeout=10m -run=TestRealIdentityProviders ${TESTFLAGS:-} ./internal/authserver
