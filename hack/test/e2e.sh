#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Installs on a cluster as `make up` does and runs test/e2e against it. A local
# cluster is ended then; on another one the installation stays, until `make
# down`. `make test-e2e` sets the variables:
#
#   SUITE          core (default): what make test runs. release: what it leaves out,
#                  which are the tests below, hostile servers, the documentation's commands, the
#                  rights and their use, SQLite, and an upgrade. With TESTFLAGS
#                  the tests are those of its -run alone
#   CLUSTER        local (default), kind or current, as in `make up`
#   NAME, PORT     of the local cluster
#   KEEP=1         leave the local cluster up afterwards
#   HB_URL         where the ingress answers, if not on PORT of 127.0.0.1
#   HB_KUBECONFIG  the cluster's kubeconfig, if not the local cluster's or yours
#   KUBECTL        the kubectl to use
#   TESTFLAGS      for go test
#   TIERS_FILE     values with the installation's tiers; if it is empty, they are
#                  those of the chart. Without it: test/e2e/tiers.yaml
set -euo pipefail
cd "$(dirname "$0")/../.."
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}
# As images are compiled, so that what they have in common is compiled once.
export CGO_ENABLED=0 GOFLAGS=-trimpath

: "${SUITE:=core}" "${CLUSTER:=local}" "${NAME:=e2e}" "${PORT:=18080}" "${KEEP:=}" "${TESTFLAGS:=}"
[[ $SUITE == core || $SUITE == release ]] || { echo "e2e: SUITE is $SUITE: core and release are accepted" >&2; exit 1; }
# The tests of test/e2e that the core leaves out: they take long, and are not about
# attacks, tenants, secrets that leak, crashes or the protocol.
before_release=(
    TestALaptopsBridgeHasTheHostedOneAmongItsServers
    TestALaptopsBridgeOutlivesThePodOfTheHostedOne
    TestAnIdleBridgeSleepsAndItsSessionOutlivesThat
    TestHowLongAPodTakesToStartWithSecrets
    TestHowLongAWakeTakes
    TestLogin/what_it_does/an_account_that_is_connected
    TestLogin/what_it_does/clients_of_each_kind
    TestLogin/what_it_does/everybody_gets_a_bridge
    TestLogin/what_it_does/pages_that_everybody_can_use
    TestLogin/what_it_does/people_of_GitHub
    TestLogin/what_it_does/whose_bridge_the_rule_names
    TestLoginsOutliveTheIngress
    TestTheInspectorListsCallsAndReads
    TestTheInstallationWorksWhereListsAreNotStreamed
)
stage=hack/test/stage.sh
logs=bin/e2e-logs
# People log in at an identity provider that the tests run.
HB_LOGIN=$PWD/bin/e2e-login
up=(env VALUES_FILE="$HB_LOGIN/values.yaml" OBJECTS_FILE="$HB_LOGIN/objects.yaml" MORE_IMAGES=postgres
    make --no-print-directory up CLUSTER="$CLUSTER" NAME="$NAME" PORT="$PORT")

# What somebody needs who was not there.
collect() {
    rm -rf "$logs" && mkdir -p "$logs"
    local kubectl=("$KUBECTL" --kubeconfig="$HB_KUBECONFIG" --request-timeout=10s)
    "${kubectl[@]}" get hostedbridges,deployments,pods -A -o wide >"$logs/objects.txt" 2>&1 || true
    "${kubectl[@]}" get events -A --sort-by=.lastTimestamp >"$logs/events.txt" 2>&1 || true
    # What no test knows: a node that was lost or ran out of something ended pods of all.
    { grep -E ' (NodeNotReady|NodeHas[A-Za-z]+Pressure|EvictionThresholdMet|SystemOOM|Rebooted|Evicted) ' "$logs/events.txt" || true; } |
        tail -n 5 | sed 's/^/NODE /' | tee -a ${STAGE_TIMES:+"$STAGE_TIMES.notes"}
    "${kubectl[@]}" get hostedbridges -A -o yaml >"$logs/hostedbridges.yaml" 2>&1 || true
    for deployment in operator ingress keybroker store; do
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
export TIERS_FILE=${TIERS_FILE-$PWD/test/e2e/tiers.yaml}
export CLUSTER HB_URL HB_KUBECONFIG HB_LOGIN KUBECTL

hack/test/login.sh "$HB_LOGIN"
# Apart from the installation, so that the table shows what takes the time.
$stage "images" bash -c 'bin/image build --only=postgres && bin/image build'
# What it prints on standard output has keys in it; progress is on the other.
$stage "installation" bash -c 'exec "$@" >/dev/null' up "${up[@]}"

# tests NAME FLAGS...  runs tests of test/e2e, and a failed one once more (rerun.sh).
# Never from the cache: a cluster is no input that go test knows of. Those that run
# side by side mostly wait, so that there may be more of them than processors.
tests() {
    local name=$1
    shift
    $stage "$name" hack/test/rerun.sh "${name// /-}" go test -tags=e2e -count=1 -v -parallel=5 -timeout=40m "$@" -- ./test/e2e
}

# audit_log SUITE  keeps the audit log of the cluster's API server, beside the images
# that ran, for the comparison of rights and their use.
audit_log() {
    local file
    rm -rf "$rights/$1" && mkdir -p "$rights/$1"
    for file in .cluster/"$NAME"/logs/audit*.log; do cp "$file" "$rights/$1/audit-$1-${file##*/audit}"; done
    cp bin/images/images.tsv "$rights/$1"
}

# Each as ^Test$/^part$, and one or the other of them.
pattern=$(printf '%s\n' "${before_release[@]}" | sed 's#/#$/^#g; s#.*#^&$#' | paste -sd'|')
rights=$PWD/bin/e2e-rights
if [[ -n $TESTFLAGS ]]; then
    # shellcheck disable=SC2086 # TESTFLAGS is several words.
    tests "end-to-end tests" $TESTFLAGS
    exit
fi
if [[ $SUITE == core ]]; then
    tests "end-to-end tests" -skip="$pattern"
    [[ $CLUSTER != local ]] || audit_log core
    exit
fi

tests "end-to-end tests before a release" -run="$pattern" | tee "$HB_LOGIN/release.log"
hack/test/passed.sh "$HB_LOGIN/release.log" "${before_release[@]}"

# One page after the other, since they speak of the same sample users.
$stage "documentation" go test -tags=e2e -count=1 -v -timeout=10m -run=TestTheDocumentationRuns ./test/docs

# Its servers keep the processors busy, so that nothing may run beside it.
$stage "servers that try to end a bridge" go test -count=1 -v -timeout=10m -run='^TestNoServerEndsTheBridge$' ./cmd/bridge

# What was used in all of them is what the processes need; in some it is not. Those
# of the core have run on a cluster of their own, with the same images.
if [[ $CLUSTER == local ]]; then
    if ! cmp -s bin/images/images.tsv "$rights/core/images.tsv"; then
        echo "e2e: make test has not run with these images, so its end-to-end tests run now: the rights are compared with all that is used"
        tests "end-to-end tests of the core" -skip="$pattern"
        rm -rf "$rights/core"
    fi
    audit_log release
    rm -rf "$rights/all" && mkdir "$rights/all"
    cp "$rights"/*/audit-*.log "$rights/all"
    HB_AUDIT_LOG=$rights/all/audit.log \
        $stage "rights and their use" go test -tags=e2e -count=1 -v -run=TestEachProcessHasTheRightsThatItUses ./test/privileges
fi

# After the rights: who keeps logins in a file has the same.
if [[ $CLUSTER != current ]]; then
    NAME=$NAME $stage "logins kept in SQLite" hack/test/stores.sh
fi

# The last, since it replaces and ends the installation and leaves another one.
if [[ $CLUSTER != current ]]; then
    # Nobody logs in there, and what an uninstall leaves is looked at. The claim goes with
    # the pod that has it, which the upgrade replaces.
    "$KUBECTL" --kubeconfig="$HB_KUBECONFIG" delete --ignore-not-found --wait=false \
        --filename="$HB_LOGIN/objects.yaml" --filename="$HB_LOGIN/sqlite-objects.yaml"
    NAME=$NAME hack/test/upgrade.sh
fi
