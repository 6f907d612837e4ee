#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Makes all files of a release in a folder, and uploads nothing.
#
#   release.sh VERSION [DIR]
#
#   REGISTRY  host/path at which the images will be (default: hosted-bridge)
#   IMAGES    images to make, by name with commas between (default: all of a release)
#   KUBECTL   kubectl to render install.yaml with (default: kubectl)
set -euo pipefail
cd "$(dirname "$0")/../.."
die() { echo "release: $*" >&2; exit 1; }
say() { echo "==> $*" >&2; }

version=${1:-}
out=${2:-bin/release}
REGISTRY=${REGISTRY:-hosted-bridge}
REGISTRY=${REGISTRY%/}
# The image tool looks closely; this is so that nothing is removed in vain.
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || die "VERSION is '$version', and must be such as 1.2.3 or 1.2.3-rc.1, without a v"
[[ ! -e $out || -e $out/SHA256SUMS || -z $(ls -A "$out") ]] || die "$out is there and no release: remove it, or name another folder"
mkdir -p bin
scratch=$(mktemp -d bin/.release.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
# What is in its place in the end is whole.
final=$out out=$scratch/out
mkdir -p "$out/manifests"

# chart  packs the chart with the release's version and the images' tags. The
# digests are in a file of values beside it: a registry's mirror has the same
# digests under names of its own.
chart() {
    say "packing the chart"
    cp -r charts/hosted-bridge "$scratch/hosted-bridge"
    sed -i.before -e "s|^version: .*|version: $version|" -e "s|^appVersion: .*|appVersion: $version|" "$scratch/hosted-bridge/Chart.yaml"
    # The first repository and the first tag are those of the section image.
    awk -v repository="$REGISTRY" -v tag="$version" '
        /^[a-z]/ { section = $1 }
        section == "image:" && /^  repository:/ { $0 = "  repository: " repository }
        section == "image:" && /^  tag:/ { $0 = "  tag: \"" tag "\"" }
        { print }' charts/hosted-bridge/values.yaml >"$scratch/hosted-bridge/values.yaml"
    rm "$scratch/hosted-bridge/Chart.yaml.before"
    bin/helm lint --quiet "$scratch/hosted-bridge" >&2
    bin/helm package "$scratch/hosted-bridge" --destination="$out" >/dev/null
    bin/image repack "$out/hosted-bridge-$version.tgz"
}

# manifests  renders what people apply who do not use helm.
manifests() {
    say "rendering the manifests"
    "${KUBECTL:-kubectl}" kustomize config/crd >"$out/manifests/crds.yaml"
    mkdir "$scratch/install"
    cat >"$scratch/install/kustomization.yaml" <<EOF
namespace: hosted-bridge-system
resources: [../../../config/default]
configMapGenerator:
- name: hosted-bridge-installation
  behavior: merge
  literals:
  - BRIDGE_IMAGE=$REGISTRY/bridge:$version
  - RUNTIME_IMAGE_NODE=$REGISTRY/runtime-node:$version
  - PACKER_IMAGE=$REGISTRY/ingress:$version
  - SHIM_IMAGES=$REGISTRY/runtime-node:$version
images:
$(for name in operator keybroker ingress; do echo "- {name: hosted-bridge/$name, newName: $REGISTRY/$name, newTag: \"$version\"}"; done)
EOF
    {
        echo "# hosted-bridge $version. The Secrets that docs/operations/release.md names must be"
        echo "# made beside it: a file that everybody has can contain no key."
        "${KUBECTL:-kubectl}" kustomize "$scratch/install"
    } >"$out/manifests/install.yaml"
}

say "building images and programs of $version"
bin/image release --version="$version" --registry="$REGISTRY" --out="$out" ${IMAGES:+--only="$IMAGES"}
chart
manifests
bin/image sums --out="$out"
rm -rf "$final"
mkdir -p "$(dirname "$final")"
mv "$out" "$final"
say "$(wc -l <"$final/SHA256SUMS") files in $final"
