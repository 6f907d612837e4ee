#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Runs the tests of the transit provider against a real Vault server, built by
# hack/vault/build.sh and started for the test: it ends when its standard input
# does. TESTFLAGS are further flags of go test.
set -euo pipefail
cd "$(dirname "$0")/../.."
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}

program=$(hack/vault/build.sh)
coproc VAULT { exec "$program"; }
read -r started <&"${VAULT[0]}"
VAULT_ADDR=$(node -p 'JSON.parse(process.argv[1]).address' "$started")
VAULT_TOKEN=$(node -p 'JSON.parse(process.argv[1]).token' "$started")
export VAULT_ADDR VAULT_TOKEN
# shellcheck disable=SC2086 # Several flags in one variable.
go test -tags=vault -count=1 -timeout=5m ${TESTFLAGS:-} ./internal/masterkey
