#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Measures an installation with thousands of HostedBridges, on a real control
# plane whose nodes and pods kwok plays, and beside it toolhive's operator with
# MCPServers. Both are built from the Go module proxy, once. Prints
# tables, and writes what they are made of to bin/scale.json.
#
#   SCALE_SIZES       how many tenants there are, one after the other (1000,5000,10000)
#   SCALE_RATE        how many are created a second (50)
#   SCALE_BURST       how many are then created as fast as the API server takes them (200)
#   SCALE_QUIET       for how long writes are counted while nothing happens (10m)
#   SCALE_PEER_QUIET  the same with toolhive (3m, and not more than SCALE_QUIET)
#   SCALE_PEER_SIZES  how many MCPServers there are (100,500): on two cores with other work
#                     toolhive's operator brought up one in two seconds
#   SCALE_PEER        no leaves toolhive out
#   TESTFLAGS         for go test
set -euo pipefail
cd "$(dirname "$0")/../.."
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}

# built MODULE PACKAGE OUTPUT  builds a program of a module in hack.
built() {
    echo "building $3, which takes minutes the first time" >&2
    CGO_ENABLED=0 go -C "hack/$1" build -buildvcs=false -trimpath -ldflags='-s -w' -o "../../bin/$3" "$2"
}

built kwok sigs.k8s.io/kwok/cmd/kwok kwok
SCALE_KWOK=$PWD/bin/kwok
SCALE_KWOK_STAGES=$(go -C hack/kwok list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage
export SCALE_KWOK SCALE_KWOK_STAGES
if [[ ${SCALE_PEER:-yes} == no ]]; then
    SCALE_PEER=
else
    built toolhive github.com/stacklok/toolhive/cmd/thv-operator thv-operator
    SCALE_PEER=$PWD/bin/thv-operator
    SCALE_PEER_MODULE=$(go -C hack/toolhive list -m -f '{{.Dir}}' github.com/stacklok/toolhive)
    export SCALE_PEER_MODULE
fi
export SCALE_PEER SCALE_JSON=$PWD/bin/scale.json
KUBEBUILDER_ASSETS="$(bin/cluster build --print-assets)" \
    go test -tags=bench -count=1 -timeout=4h -v ${TESTFLAGS:-} ./test/load/scale
