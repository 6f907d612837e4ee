# shellcheck shell=bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# What install.sh and uninstall.sh share. Sourced from the repository's root.
#
# shellcheck disable=SC2034 # The names are used by those who source this.

# An older Go fetches the toolchain that go.mod names, unless you say otherwise.
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}
# As images are compiled, so that what all programs have in common is compiled once.
export CGO_ENABLED=0 GOFLAGS=-trimpath

KUBECTL=${KUBECTL:-kubectl}
CLUSTER=${CLUSTER:-current}

HELM=${HELM:-bin/helm}

# The chart's release and its namespace, which is that of config/default.
readonly release=hosted-bridge
readonly system=hosted-bridge-system
readonly tenants=tenants
readonly workloads=(hosted-bridge-keybroker hosted-bridge-operator hosted-bridge-ingress)

# Without it a failure inside $(...) goes unnoticed. bash 3 does not have it.
shopt -s inherit_errexit 2>/dev/null || true

say() { echo "==> $*" >&2; }
die() {
    echo "hack/up: $*" >&2
    exit 1
}

# build_tool NAME  builds bin/NAME of the module hack/NAME. Go decides what has
# to be built again. The stamp of the checkout's version is left out: it fails
# where the checkout belongs to another user.
build_tool() {
    local package=.
    [[ $1 != cluster ]] || package=./cluster
    go -C "hack/$1" build -buildvcs=false -o "../../bin/$1" "$package"
}

# build_plugin  builds bin/path/kubectl-bridge, which makes keys here, and which people
# may put on their PATH.
build_plugin() { make --no-print-directory kubectl-bridge; }

# bridge COMMAND...  is kubectl bridge.
bridge() { bin/path/kubectl-bridge "$@"; }

# build_helm  builds bin/helm, unless HELM is another one.
build_helm() { [[ $HELM != bin/helm ]] || make --no-print-directory bin/helm >&2; }

kube() { "$KUBECTL" "$@"; }

# apply FLAGS...  server-side: the CRDs are too big for the annotation that a
# client-side apply keeps, and what other processes write stays theirs.
apply() { kube apply --server-side --force-conflicts --field-manager=hosted-bridge-up "$@" >/dev/null; }

# check_cluster says in one sentence when there is no cluster to talk to.
check_cluster() {
    command -v "$KUBECTL" >/dev/null || die "$KUBECTL is not on PATH: install kubectl, or set KUBECTL to its path"
    local answer
    answer=$(kube get --raw=/readyz --request-timeout=20s 2>&1) ||
        die "the cluster of the current context ($(kube config current-context 2>/dev/null || echo none)) does not answer: $answer"
}
