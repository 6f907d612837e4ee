#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Removes hosted-bridge from a cluster: the sample tenants, the installation
# with its master key, and the CRDs, with which every HostedBridge goes. Where
# there are HostedBridges beside the samples it asks for FORCE=1 first.
#
#   KUBECTL  kubectl to use (default: kubectl); KUBECONFIG is kubectl's own
#   HELM     helm to use (default: bin/helm, which is built)
#   FORCE    1 to remove other people's HostedBridges too
set -euo pipefail
cd "$(dirname "$0")/../.."
source hack/up/lib.sh

FORCE=${FORCE:-}

# others  lists the HostedBridges that are no samples.
others() {
    kube get crd hostedbridges.hostedbridge.dev --ignore-not-found --output=name | grep -q . || return 0
    kube get hostedbridges --all-namespaces --output=jsonpath='{range .items[*]}{.metadata.namespace}/{.metadata.name}{"\n"}{end}' |
        grep -vxE "$tenants/(alice|bob)" || true
}

remove() { kube delete --ignore-not-found --timeout=180s "$@" >&2; }

check_cluster
build_helm
left=$(others)
if [[ -n $left && $FORCE != 1 ]]; then
    echo "$left" >&2
    die "these HostedBridges would be deleted, and with the master key all that is sealed for them: set FORCE=1 to do so"
fi
say "removing the tenants' bridges"
if kube get crd hostedbridges.hostedbridge.dev >/dev/null 2>&1; then
    remove hostedbridges --all --all-namespaces
fi
say "removing the sample tenants, the installation and the CRDs"
remove --kustomize=config/samples
"$HELM" uninstall "$release" --namespace="$system" --ignore-not-found --wait --timeout=180s >&2
# What the chart leaves: the CRDs, the keys and the namespace. And all of an
# installation that was applied from config/.
remove --kustomize=config/default
say "removed"
