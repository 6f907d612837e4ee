#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# down.sh CLUSTER NAME  is `make down`: it ends the local cluster NAME, or
# removes the installation from a cluster that it leaves running.
set -euo pipefail
cd "$(dirname "$0")/../.."
source hack/up/lib.sh

export CLUSTER=${1:-local}
name=${2:-default}

case $CLUSTER in
local)
    go -C hack/cluster build -o ../../bin/cluster ./cluster
    exec bin/cluster down --name="$name"
    ;;
kind)
    command -v kind >/dev/null || die "CLUSTER=kind needs kind, which is not on PATH"
    kind get clusters 2>/dev/null | grep -qx "$name" || die "there is no kind cluster $name"
    export KUBECONFIG=$PWD/bin/kind-$name.kubeconfig
    kind export kubeconfig --name="$name" --kubeconfig="$KUBECONFIG"
    ;;
current) ;;
*) die "CLUSTER=$CLUSTER is none of local, kind and current" ;;
esac
hack/up/uninstall.sh
[[ $CLUSTER != kind ]] || say "the cluster is still there: kind delete cluster --name=$name"
