# shellcheck shell=bash
# shellcheck disable=SC2154 # $system and $tenants are of lib.sh.
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# diagnose prints what is not ready and why. Sourced after lib.sh. It goes on
# whatever fails: the cluster may be what is broken.

diagnose() {
    local namespace pod
    for namespace in "$system" "$tenants"; do
        while read -r pod; do
            [[ -n $pod ]] && diagnose_pod "$namespace" "$pod"
        done < <(unready_pods "$namespace")
    done
    echo "--- Deployments" >&2
    kube get deployments --all-namespaces --selector=app.kubernetes.io/part-of=hosted-bridge >&2 || true
    kube get deployments --namespace="$tenants" >&2 || true
    if kube get crd hostedbridges.hostedbridge.dev >/dev/null 2>&1; then
        echo "--- HostedBridges and their conditions" >&2
        kube get hostedbridges --namespace="$tenants" --output=jsonpath='{range .items[*]}{.metadata.name}{"\n"}{range .status.conditions[*]}{"  "}{.type}={.status} {.reason}: {.message}{"\n"}{end}{end}' >&2 || true
    fi
}

# unready_pods NAMESPACE  lists the pods without a Ready=True condition.
unready_pods() {
    kube get pods --namespace="$1" --output=jsonpath='{range .items[*]}{.metadata.name}{" "}{.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}' 2>/dev/null |
        awk '$2 != "True" { print $1 }'
}

diagnose_pod() {
    local namespace=$1 pod=$2
    echo "--- pod $pod in $namespace is not ready" >&2
    kube get pod "$pod" --namespace="$namespace" --output=jsonpath='{range .status.containerStatuses[*]}{"restarts="}{.restartCount}{" "}{.state}{"\n"}{end}{range .status.conditions[?(@.status=="False")]}{.type}{": "}{.message}{"\n"}{end}' >&2 || true
    kube get events --namespace="$namespace" --field-selector="involvedObject.name=$pod,type=Warning" --sort-by=.lastTimestamp \
        --output=custom-columns=REASON:.reason,MESSAGE:.message --no-headers 2>/dev/null | tail -n 3 >&2 || true
    echo "last log lines:" >&2
    kube logs "$pod" --namespace="$namespace" --all-containers --tail=10 >&2 || true
    # What a container that restarts has to say is in its former life.
    kube logs "$pod" --namespace="$namespace" --all-containers --previous --tail=10 2>/dev/null >&2 || true
}
