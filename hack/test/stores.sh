#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# stores.sh STORE  has the installation on a cluster keep logins in another store,
# and people log in with it: sqlite is a file on a volume, which one ingress has,
# and postgres a server that all share. Redis is what the installation had before.
# e2e.sh calls it for each. The installation keeps the store; what the cluster has
# for both is in $HB_LOGIN/stores.yaml.
#
#   CLUSTER, NAME  of the cluster, as in `make up`: it runs
#   HB_LOGIN       the folder of login.sh, with whose values it was installed
#   HB_URL, HB_KUBECONFIG, KUBECTL  as in e2e.sh
set -euo pipefail
cd "$(dirname "$0")/../.."

store=$1
: "${CLUSTER:=local}" "${NAME:=e2e}" "${HB_LOGIN:?}" "${HB_URL:?}" "${HB_KUBECONFIG:?}" "${KUBECTL:?}"
export CLUSTER HB_LOGIN HB_URL HB_KUBECONFIG KUBECTL
system=hosted-bridge-system
tests=hosted-bridge-e2e
# Of TestLogin, what asks most of a store.
parts=(a_code_or_refresh_token_twice the_conformance_suite)
umask 077

case $CLUSTER in
    local)
        load=(bin/cluster load --name="$NAME")
        class=$tests
        # This machine is the node, and nobody makes volumes on it.
        folder=$PWD/.cluster/$NAME/logins
        install -d -m 0700 -o 65532 -g 65532 "$folder"
        ;;
    kind)
        load=(kind load image-archive --name="$NAME")
        class=standard
        folder=
        ;;
    *)
        echo "stores: an image is put into a local or a kind cluster alone" >&2
        exit 1
        ;;
esac

kube() { "$KUBECTL" --kubeconfig="$HB_KUBECONFIG" "$@"; }
die() {
    echo "stores: $*" >&2
    exit 1
}

# objects PASSWORD  prints what both stores need.
objects() {
    [[ -z $folder ]] || cat <<EOF
apiVersion: v1
kind: PersistentVolume
metadata: {name: hosted-bridge-e2e-logins}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: $class
  claimRef: {namespace: $system, name: hosted-bridge-e2e-logins}
  hostPath: {path: "$folder", type: Directory}
---
EOF
    cat <<EOF
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {namespace: $system, name: hosted-bridge-e2e-logins}
spec: {accessModes: [ReadWriteOnce], storageClassName: $class, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Secret
metadata: {namespace: $system, name: hosted-bridge-e2e-postgres}
stringData: {url: "postgres://logins:$1@postgres.$tests.svc:5432/postgres"}
---
apiVersion: v1
kind: Secret
metadata: {namespace: $tests, name: postgres}
stringData: {password: "$1"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: $tests, name: postgres}
spec:
  selector: {matchLabels: {app: postgres}}
  template:
    metadata: {labels: {app: postgres}}
    spec:
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: 1
      containers:
      - name: postgres
        image: hosted-bridge/postgres:dev
        command: [sh, -euc]
        args:
        - |
          if [ ! -e /data/logins ]; then
            initdb --pgdata=/data/logins --username=logins --pwfile=/secret/password --auth=scram-sha-256 --no-locale --encoding=UTF8
            echo 'host all all all scram-sha-256' >>/data/logins/pg_hba.conf
          fi
          exec postgres -D /data/logins -c listen_addresses='*' -c unix_socket_directories= -c jit=off
        readinessProbe: {tcpSocket: {port: 5432}, periodSeconds: 1}
        volumeMounts: [{name: data, mountPath: /data}, {name: secret, mountPath: /secret, readOnly: true}]
      volumes:
      - {name: data, emptyDir: {}}
      - {name: secret, secret: {secretName: postgres}}
---
apiVersion: v1
kind: Service
metadata: {namespace: $tests, name: postgres}
spec: {selector: {app: postgres}, ports: [{port: 5432}]}
EOF
}

# values REPLICAS CLAIM SECRET  prints the values of the store. Values are merged,
# and the chart wants none of a store that is not there.
values() {
    cat <<EOF
ingress: {replicas: $1}
oauth:
  server:
    store:
      type: $store
      sqlite: {existingClaim: "$2"}
      postgres: {existingSecret: "$3"}
      redis: {existingSecret: ""}
EOF
}

[[ -s $HB_LOGIN/postgres-password ]] || openssl rand -hex 32 >"$HB_LOGIN/postgres-password"
objects "$(cat "$HB_LOGIN/postgres-password")" >"$HB_LOGIN/stores.yaml"
case $store in
    sqlite) values 1 hosted-bridge-e2e-logins "" ;;
    postgres) values 2 "" hosted-bridge-e2e-postgres ;;
    *) die "there is no store $store" ;;
esac >"$HB_LOGIN/$store.yaml"

bin/image build --only=postgres
"${load[@]}" bin/images/postgres.tar
kube apply --server-side --force-conflicts --field-manager=hosted-bridge-e2e --filename="$HB_LOGIN/stores.yaml"
[[ $store != postgres ]] || kube rollout status deployment/postgres --namespace="$tests" --timeout=120s
make --no-print-directory bin/helm
bin/helm upgrade hosted-bridge charts/hosted-bridge --kubeconfig="$HB_KUBECONFIG" --namespace="$system" \
    --take-ownership --force-conflicts --history-max=3 --hide-notes --reuse-values --values="$HB_LOGIN/$store.yaml"
kube rollout status deployment/hosted-bridge-ingress --namespace="$system" --timeout=120s
kube get configmap hosted-bridge-oauth --namespace="$system" --output=yaml | grep -q "store: $store:" ||
    die "the ingresses do not keep logins in $store"

go test -tags=e2e -count=1 -v -parallel=8 -timeout=5m ./test/e2e \
    -run="^TestLoginsOutliveTheIngress\$|^TestLogin\$/^what_it_does\$/^($(IFS='|' && echo "${parts[*]}"))\$" |
    tee "$HB_LOGIN/$store.log"
# A name that no test has any more would fail nothing.
for test in TestLoginsOutliveTheIngress "${parts[@]/#/TestLogin/what_it_does/}"; do
    grep -q -- "--- PASS: $test " "$HB_LOGIN/$store.log" || die "there is no test $test"
done
