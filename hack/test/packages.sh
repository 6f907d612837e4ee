#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# packages.sh FLAGS...  prints the packages with tests, one a line. The flags, such as
# -tags, are for go list. With PACKAGES, which is one or more patterns such as
# ./internal/quota/..., it prints those that a change of these can break: the packages
# themselves, and all whose program or tests import them, also by way of others.
set -euo pipefail
cd "$(dirname "$0")/../.."

if [[ -z ${PACKAGES:-} ]]; then
    go list "$@" -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... | sed '/^$/d'
    exit
fi
# shellcheck disable=SC2086 # PACKAGES is several words.
changed=$(go list "$@" $PACKAGES)
# A test binary is the package PATH.test, whose dependencies are named "PATH [PATH.test]"
# where they were compiled for it.
go list "$@" -test -f '{{if eq .Name "main"}}{{.ImportPath}}{{range .Deps}} {{.}}{{end}}{{end}}' ./... |
    awk -v changed="$changed" '
        BEGIN { for (n = split(changed, list); n > 0; n--) wanted[list[n]] }
        sub(/\.test$/, "", $1) { for (i = 2; i <= NF; i++) if ($i in wanted) { print $1; next } }'
