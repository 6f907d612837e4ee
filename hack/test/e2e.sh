#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Installs on a cluster as `make up` does and runs test/e2e against it. A local
# cluster is ended then; on another one the installation stays, until `make
# down`. `make test-e2e` sets the variables:
#
#   CLUSTER        local (default), kind or current, as in `make up`
#   NAME, PORT     of the local cluster
#   KEEP=1         leave the local cluster up afterwards
#   HB_URL         where the ingress answers, if not on PORT of 127.0.0.1
#   HB_KUBECONFIG  the cluster's kubeconfig, if not the local cluster's or yours
#   KUBECTL        the kubectl to use
#   TESTFLAGS      for go test
set -euo pipefail
cd "$(dirname "$0")/../.."

: "${CLUSTER:=local}" "${NAME:=e2e}" "${PORT:=18080}" "${KEEP:=}" "${TESTFLAGS:=}"
stage=hack/test/stage.sh
logs=bin/e2e-logs
# People log in at an identity provider that the tests run.
HB_LOGIN=$PWD/bin/e2e-login
up=(env VALUES_FILE="$HB_LOGIN/values.yaml" OBJECTS_FILE="$HB_LOGIN/objects.yaml" MORE_IMAGES=redis
    make --no-print-directory up CLUSTER="$CLUSTER" NAME="$NAME" PORT="$PORT")

# What somebody needs who was not there.
collect() {
    rm -rf "$logs" && mkdir -p "$logs"
    local kubectl=("$KUBECTL" --kubeconfig="$HB_KUBECONFIG" --request-timeout=10s)
    "${kubectl[@]}" get hostedbridges,deployments,pods -A -o wide >"$logs/objects.txt" 2>&1 || true
    "${kubectl[@]}" get events -A --sort-by=.lastTimestamp >"$logs/events.txt" 2>&1 || true
    "${kubectl[@]}" get hostedbridges -A -o yaml >"$logs/hostedbridges.yaml" 2>&1 || true
    for deployment in operator ingress keybroker; do
        "${kubectl[@]}" logs -n hosted-bridge-system "deployment/hosted-bridge-$deployment" \
            --all-pods --prefix --tail=2000 >"$logs/$deployment.txt" 2>&1 || true
    done
    echo "e2e: what the cluster says is in $logs; its objects:"
    cat "$logs/objects.txt"
}

finish() {
    status=$?
    [[ $status -eq 0 || ! -e $HB_KUBECONFIG ]] || collect
    # Of a run that was cut off: the cluster into which it restored a backup.
    if [[ $CLUSTER == local && -e .cluster/$NAME-restored ]]; then
        make --no-print-directory down CLUSTER=local NAME="$NAME-restored" || status=1
    fi
    if [[ -z $KEEP && $CLUSTER == local ]]; then
        $stage "end the cluster" make --no-print-directory down CLUSTER=local NAME="$NAME" || status=1
    else
        echo "e2e: the installation is left up: make down CLUSTER=$CLUSTER NAME=$NAME"
    fi
    exit "$status"
}
trap finish EXIT

case $CLUSTER in
    local) : "${HB_KUBECONFIG:=$PWD/.cluster/$NAME/kubeconfig}" ;;
    kind) : "${HB_KUBECONFIG:=$PWD/bin/kind-$NAME.kubeconfig}" ;;
    *) : "${HB_KUBECONFIG:=${KUBECONFIG:-$HOME/.kube/config}}" ;;
esac
: "${HB_URL:=http://127.0.0.1:$PORT}"
# Quotas would end most of the tests.
export TIERS_FILE=$PWD/test/e2e/tiers.yaml
export CLUSTER HB_URL HB_KUBECONFIG HB_LOGIN KUBECTL

hack/test/login.sh "$HB_LOGIN"
# Apart from the installation, so that the table shows what takes the time.
$stage "images" bash -c 'bin/image build --only=redis && bin/image build'
# What it prints on standard output has keys in it; progress is on the other.
$stage "installation" bash -c 'exec "$@" >/dev/null' up "${up[@]}"

# Never from the cache: a cluster is no input that go test knows of.
# Those that run side by side mostly wait, so that there may be more of them
# than processors.
# shellcheck disable=SC2086 # TESTFLAGS is several words.
$stage "end-to-end tests" go test -tags=e2e -count=1 -v -parallel=8 -timeout=25m $TESTFLAGS ./test/e2e

# One page after the other, since they speak of the same sample users.
if [[ -z $TESTFLAGS ]]; then
    $stage "documentation" go test -tags=e2e -count=1 -v -timeout=10m -run=TestTheDocumentationRuns ./test/docs
fi

# What was used in all of them is what the processes need; in some it is not.
if [[ $CLUSTER == local && -z $TESTFLAGS ]]; then
    HB_AUDIT_LOG=$PWD/.cluster/$NAME/logs/audit.log \
        $stage "rights and their use" go test -tags=e2e -count=1 -v -run=TestEachProcessHasTheRightsThatItUses ./test/privileges
fi

# After the rights: who keeps logins in a file or in PostgreSQL has the same.
if [[ $CLUSTER != current && -z $TESTFLAGS ]]; then
    for store in sqlite postgres; do
        NAME=$NAME $stage "logins kept in $store" hack/test/stores.sh "$store"
    done
fi

# The last, since it replaces and ends the installation and leaves another one.
if [[ $CLUSTER != current && -z $TESTFLAGS ]]; then
    # Nobody logs in there, and what an uninstall leaves is looked at.
    "$KUBECTL" --kubeconfig="$HB_KUBECONFIG" delete --ignore-not-found \
        --filename="$HB_LOGIN/objects.yaml" --filename="$HB_LOGIN/stores.yaml"
    NAME=$NAME hack/test/upgrade.sh
fi
