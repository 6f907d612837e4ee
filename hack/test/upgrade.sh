#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Takes the installation on a cluster through an upgrade, a rollback, an
# uninstall and another install, with test/lifecycle. `make test-upgrade` sets
# the variables, and e2e.sh has it as the last stage of SUITE=release:
#
#   FROM           the revision to upgrade from; HEAD^ if it has a chart. Without
#                  one, as in a shallow clone, the same version is
#                  installed first with other pods
#   CLUSTER, NAME  of the cluster, as in `make up`: it runs
#   HB_URL, HB_KUBECONFIG, KUBECTL, TESTFLAGS  as in e2e.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}
# As images are compiled, so that what they have in common is compiled once.
export CGO_ENABLED=0 GOFLAGS=-trimpath

: "${CLUSTER:=local}" "${NAME:=e2e}" "${FROM:=}" "${TESTFLAGS:=}" "${HB_URL:?}" "${HB_KUBECONFIG:?}"
stage=hack/test/stage.sh
work=$PWD/bin/upgrade
export CLUSTER HB_URL HB_KUBECONFIG

case $CLUSTER in
    local) load=(bin/cluster load --name="$NAME") ;;
    kind) load=(kind load image-archive --name="$NAME") ;;
    *)
        echo "upgrade: images of two versions are put into a local or a kind cluster alone" >&2
        exit 1
        ;;
esac

# reference IMAGES NAME  prints the image of that name of a build.
reference() { awk -F'\t' -v name="$2" '$1 == name { print $2 }' "$1/images.tsv"; }

# values IMAGES  prints the values of an installation of those images.
values() {
    local name
    for name in operator keybroker ingress; do
        echo "$name: {image: \"$(reference "$1" "$name")\"}"
    done
    cat <<VALUES
baseURL: "$HB_URL"
bridge:
  image: "$(reference "$1" bridge)"
  upstream: {allowCIDRs: [10.244.0.0/16, 10.96.0.0/16]}
isolation: {networkPolicy: {dns: {cidrs: [10.213.0.1/32]}}}
VALUES
}

# provide IMAGES NAME...  puts images into the cluster.
provide() {
    local images=$1 name
    shift
    for name in "$@"; do "${load[@]}" "$images/$name.tar" >&2; done
}

# former  builds the images of FROM from a work tree of its own.
former() {
    git worktree prune
    [[ ! -e $work/tree ]] || git worktree remove --force "$work/tree"
    git worktree add --quiet --detach "$work/tree" "$FROM"
    go -C "$work/tree/hack/image" build -buildvcs=false -o "$work/image" .
    (cd "$work/tree" && "$work/image" build --only=operator,keybroker,ingress,bridge) >&2
}

finish() {
    status=$?
    [[ ! -e $work/tree ]] || git worktree remove --force "$work/tree" || true
    exit "$status"
}
trap finish EXIT

[[ -n $FROM ]] || ! git cat-file -e HEAD^:charts/hosted-bridge/values.yaml 2>/dev/null || FROM=HEAD^
mkdir -p "$work"
make --no-print-directory bin/helm
printf 'ingress: {service: {type: NodePort, nodePort: 30080}}\n' >"$work/local.yaml"
values bin/images >"$work/next.yaml"
provide bin/images operator keybroker ingress bridge guarded-server
tiers=test/e2e/tiers.yaml
old_tiers=$PWD/$tiers
if [[ -n $FROM ]]; then
    export -f former
    export work FROM
    $stage "images of $(git rev-parse --short "$FROM")" bash -euo pipefail -c former
    provide "$work/tree/bin/images" operator keybroker ingress bridge
    old=$work/tree/bin/images
    export HB_OLD_CHART=$work/tree/charts/hosted-bridge
    # A former chart refuses values that it does not know.
    old_tiers=$work/tree/$tiers
else
    echo "upgrade: there is no other chart to come from: this one is installed with other pods first" >&2
    old=bin/images
    export HB_OLD_CHART=$PWD/charts/hosted-bridge
fi
values "$old" >"$work/old.yaml"
# An upgrade that leaves an image as it was replaces none of its pods. Without
# priorities all are others, those of the tenants too.
for name in operator keybroker ingress bridge; do
    if [[ $(reference "$old" "$name") == "$(reference bin/images "$name")" ]]; then
        echo "priorityClasses: {create: false}" >>"$work/old.yaml"
        break
    fi
done
export HELM=$PWD/bin/helm HB_CHART=$PWD/charts/hosted-bridge
export HB_VALUES=$work/next.yaml,$work/local.yaml,$PWD/$tiers HB_OLD_VALUES=$work/old.yaml,$work/local.yaml,$old_tiers
HB_GUARDED_IMAGE=$(reference bin/images guarded-server)
export HB_GUARDED_IMAGE

# shellcheck disable=SC2086 # TESTFLAGS is several words.
$stage "upgrade, rollback, uninstall" go test -tags=e2e -count=1 -v -timeout=15m $TESTFLAGS ./test/lifecycle
