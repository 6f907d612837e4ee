#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Moves the installation on a cluster from PostgreSQL, in which login.sh has it keep
# logins, to SQLite, which is a file on a volume of one ingress, and logs people in
# there. e2e.sh calls it. The installation keeps the store; what the cluster has
# for it is in $HB_LOGIN/sqlite-objects.yaml.
#
#   CLUSTER, NAME  of the cluster, as in `make up`: it runs
#   HB_LOGIN       the folder of login.sh, with whose values it was installed
#   HB_URL, HB_KUBECONFIG, KUBECTL  as in e2e.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}

: "${CLUSTER:=local}" "${NAME:=e2e}" "${HB_LOGIN:?}" "${HB_URL:?}" "${HB_KUBECONFIG:?}" "${KUBECTL:?}"
export CLUSTER HB_LOGIN HB_URL HB_KUBECONFIG KUBECTL
system=hosted-bridge-system
claim=hosted-bridge-e2e-logins
# Of TestLogin, what asks most of a store.
parts=(a_code_or_refresh_token_twice the_conformance_suite)
umask 077

case $CLUSTER in
    local)
        class=hosted-bridge-e2e
        # This machine is the node, and nobody makes volumes on it.
        folder=$PWD/.cluster/$NAME/logins
        install -d -m 0700 -o 65532 -g 65532 "$folder"
        ;;
    *)
        class=standard
        folder=
        ;;
esac

kube() { "$KUBECTL" --kubeconfig="$HB_KUBECONFIG" "$@"; }
die() {
    echo "stores: $*" >&2
    exit 1
}

{
    [[ -z $folder ]] || cat <<EOF
apiVersion: v1
kind: PersistentVolume
metadata: {name: $claim}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: $class
  claimRef: {namespace: $system, name: $claim}
  hostPath: {path: "$folder", type: Directory}
---
EOF
    cat <<EOF
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {namespace: $system, name: $claim}
spec: {accessModes: [ReadWriteOnce], storageClassName: $class, resources: {requests: {storage: 1Gi}}}
EOF
} >"$HB_LOGIN/sqlite-objects.yaml"

# Values are merged, and the chart refuses those of a store that is not used.
cat >"$HB_LOGIN/sqlite.yaml" <<EOF
ingress: {replicas: 1}
oauth:
  server:
    store:
      type: sqlite
      sqlite: {existingClaim: $claim}
      postgres: {existingSecret: ""}
EOF

kube apply --server-side --force-conflicts --field-manager=hosted-bridge-e2e --filename="$HB_LOGIN/sqlite-objects.yaml"
make --no-print-directory bin/helm
bin/helm upgrade hosted-bridge charts/hosted-bridge --kubeconfig="$HB_KUBECONFIG" --namespace="$system" \
    --take-ownership --force-conflicts --history-max=3 --hide-notes --reuse-values --values="$HB_LOGIN/sqlite.yaml"
kube rollout status deployment/hosted-bridge-ingress --namespace="$system" --timeout=120s
kube get configmap hosted-bridge-oauth --namespace="$system" --output=yaml | grep -q "store: sqlite:" ||
    die "the ingresses do not keep logins in SQLite"

go test -tags=e2e -count=1 -v -parallel=8 -timeout=5m ./test/e2e \
    -run="^TestLoginsOutliveTheIngress\$|^TestLogin\$/^what_it_does\$/^($(IFS='|' && echo "${parts[*]}"))\$" |
    tee "$HB_LOGIN/sqlite.log"
hack/test/passed.sh "$HB_LOGIN/sqlite.log" TestLoginsOutliveTheIngress "${parts[@]/#/TestLogin/what_it_does/}"
