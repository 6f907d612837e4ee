#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# This is `make up`: it provides the cluster and the images and lets install.sh
# do the rest.
#
#   CLUSTER=local    builds and starts the cluster NAME of hack/cluster, reached
#                    on PORT of 127.0.0.1; ENFORCE=false has it ignore
#                    NetworkPolicies
#   CLUSTER=kind     uses the kind cluster NAME, and creates it where there is
#                    none, reached on PORT of 127.0.0.1
#   CLUSTER=current  uses the cluster of kubectl's current context; REGISTRY
#                    says where the images are pushed to, BASE_URL where users
#                    reach the ingress
set -euo pipefail
cd "$(dirname "$0")/../.."
export CLUSTER=${CLUSTER:-local} BASE_URL=${BASE_URL:-}
name=${NAME:-default} port=${PORT:-8080}
source hack/up/lib.sh
image() { bin/image "$@" >&2; }
# Standard output is for the URL and the keys.
stage() { hack/test/stage.sh "$@" >&2; }

build_tool image

case $CLUSTER in
local)
    image build --only=pause
    build_tool cluster
    stage "Kubernetes programs" bin/cluster build
    stage "cluster" bin/cluster up --name="$name" --port="$port" --enforce="${ENFORCE:-true}" --pause=bin/images/pause.tar
    KUBECTL=$(bin/cluster build --print-assets)/kubectl
    KUBECONFIG=$(bin/cluster kubeconfig --name="$name")
    export LOAD_IMAGE="bin/cluster load --name=$name" BASE_URL=${BASE_URL:-http://127.0.0.1:$port}
    go build -buildvcs=false -o bin/reach ./hack/up/reach
    export BUNDLES_CA=${KUBECONFIG%/*}/pki/ca.crt
    export REACH="bin/cluster exec --name=$name bin/reach --resolver=10.213.0.1:53"
    ;;
kind)
    for command in kind kubectl; do
        command -v "$command" >/dev/null || die "CLUSTER=kind needs $command, which is not on PATH"
    done
    # Its own file: the user's current context stays what it is.
    mkdir -p bin
    KUBECONFIG=$PWD/bin/kind-$name.kubeconfig
    if ! kind get clusters 2>/dev/null | grep -qx "$name"; then
        sed "s/PORT/$port/" hack/up/kind.yaml | kind create cluster --name="$name" --kubeconfig="$KUBECONFIG" --config=-
    fi
    kind export kubeconfig --name="$name" --kubeconfig="$KUBECONFIG"
    export LOAD_IMAGE="kind load image-archive --name=$name" BASE_URL=${BASE_URL:-http://127.0.0.1:$port}
    ;;
current)
    check_cluster
    [[ -n ${REGISTRY:-}${LOAD_IMAGE:-} ]] || die "CLUSTER=current needs REGISTRY=host/path, from which the cluster pulls the images (or LOAD_IMAGE, a command that puts an image archive into the cluster)"
    ;;
*) die "CLUSTER=$CLUSTER must be local, kind or current" ;;
esac
export KUBECTL
[[ -z ${KUBECONFIG:-} ]] || export KUBECONFIG
[[ -n $BASE_URL ]] || unset BASE_URL

stage "images" bash -c 'bin/image build && bin/image build --only=runtime-node'
[[ $HELM != bin/helm ]] || stage "helm" make --no-print-directory bin/helm
hack/up/install.sh
# An alias is unknown to scripts and to programs that run kubectl, so it goes onto PATH.
ln -sfn "$(command -v "$KUBECTL")" bin/path/kubectl
cat <<EOF

kubectl, and its plugin kubectl bridge, for this shell and what it starts:

export PATH=$PWD/bin/path:\$PATH${KUBECONFIG:+ KUBECONFIG=$KUBECONFIG}
kubectl bridge list --all-namespaces
kubectl bridge why alice --namespace=$tenants
EOF
