#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# This is `make down`: it ends the local cluster NAME, or removes the
# installation from the kind cluster NAME (CLUSTER=kind) or the cluster of
# kubectl's current context (CLUSTER=current), which go on running.
set -euo pipefail
cd "$(dirname "$0")/../.."
export CLUSTER=${CLUSTER:-local}
name=${NAME:-default}
source hack/up/lib.sh

case $CLUSTER in
local)
    build_tool cluster
    exec bin/cluster down --name="$name"
    ;;
kind)
    command -v kind >/dev/null || die "CLUSTER=kind needs kind, which is not on PATH"
    kind get clusters 2>/dev/null | grep -qx "$name" || die "the kind cluster $name does not exist"
    export KUBECONFIG=$PWD/bin/kind-$name.kubeconfig
    kind export kubeconfig --name="$name" --kubeconfig="$KUBECONFIG"
    ;;
current) ;;
*) die "CLUSTER=$CLUSTER must be local, kind or current" ;;
esac
hack/up/uninstall.sh
[[ $CLUSTER != kind ]] || say "the cluster is still there: kind delete cluster --name=$name"
