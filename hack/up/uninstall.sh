#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Removes hosted-bridge from a cluster: the sample tenants, the installation
# with its master key, and the CRDs, with which every HostedBridge goes. Where
# there are HostedBridges beside the samples, or the samples' namespace is
# somebody else's, it asks for FORCE=1 first. A question to the cluster that
# fails is not taken for "there are none": nothing is removed then.
#
#   KUBECTL  kubectl to use (default: kubectl); KUBECONFIG is kubectl's own
#   HELM     helm to use (default: bin/helm, which is built)
#   FORCE    1 to remove other people's HostedBridges too, and their namespace
set -euo pipefail
cd "$(dirname "$0")/../.."
source hack/up/lib.sh

FORCE=${FORCE:-}

# look_around  asks what there is: whether there are HostedBridges at all, those
# that are no samples, and whether the samples' namespace is somebody else's.
look_around() {
    defined=$(kube get crd hostedbridges.hostedbridge.dev --ignore-not-found --output=name) ||
        die "cannot tell whether there are HostedBridges; nothing is removed"
    others=
    if [[ -n $defined ]]; then
        local all
        all=$(kube get hostedbridges --all-namespaces --output=jsonpath='{range .items[*]}{.metadata.namespace}/{.metadata.name}{"\n"}{end}') ||
            die "cannot list the HostedBridges, which would be deleted; nothing is removed"
        others=$(awk -v samples="^$tenants/(alice|bob)\$" 'NF && $0 !~ samples' <<<"$all")
    fi
    local found ours
    found=$(kube get namespace "$tenants" --ignore-not-found --output=name) ||
        die "cannot look at the namespace $tenants; nothing is removed"
    ours=$(kube get namespace --selector=app.kubernetes.io/part-of=hosted-bridge --field-selector="metadata.name=$tenants" --output=name) ||
        die "cannot look at the namespace $tenants; nothing is removed"
    foreign=
    [[ -z $found || -n $ours ]] || foreign=yes
}

remove() { kube delete --ignore-not-found --timeout=180s "$@" >&2; }

check_cluster
build_helm
look_around
if [[ -n $others && $FORCE != 1 ]]; then
    echo "$others" >&2
    die "these HostedBridges would be deleted, and with the master key all that is sealed for them: set FORCE=1 to do so"
fi
[[ -z $foreign || $FORCE == 1 ]] ||
    die "the namespace $tenants, which would be deleted with all that is in it, is not labelled app.kubernetes.io/part-of=hosted-bridge: set FORCE=1 to delete it, or label it"
say "removing the tenants' bridges"
[[ -z $defined ]] || remove hostedbridges --all --all-namespaces
say "removing the sample tenants, the installation and the CRDs"
remove --kustomize=config/samples
"$HELM" uninstall "$release" --namespace="$system" --ignore-not-found --wait --timeout=180s >&2
# What the chart leaves: the CRDs, the keys and the namespace. And all of an
# installation that was applied from config/.
remove --kustomize=config/default
say "removed"
