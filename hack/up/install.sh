#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Installs hosted-bridge with its sample tenants on a cluster that runs, and
# prints a URL, a key and what to paste into MCP clients. Running it again
# brings the installation up to date; what is up to date is left alone.
#
#   KUBECTL     kubectl to use (default: that on PATH); KUBECONFIG is kubectl's own
#   CLUSTER     local, kind or current (default). local and kind get a NodePort
#   IMAGES_DIR  the archives of `image build` (default: bin/images)
#   LOAD_IMAGE  command that puts an archive into the cluster, such as
#               "bin/cluster load" or "kind load image-archive"
#   REGISTRY    instead of LOAD_IMAGE: host/path to which the images are pushed
#               and from which the cluster pulls them
#   TIERS_FILE  a values file with the installation's tiers. Values are merged: a
#               tier of the chart, or a limit of such a tier, that the file does
#               not name stays; it goes away as null
#   VALUES_FILE more values of the chart, which go before all others
#   OBJECTS_FILE  objects that the values name, such as Secrets, in YAML
#   MORE_IMAGES   names of images that those objects have, of IMAGES_DIR
#   REACH       command that says, from the cluster's network, with which values
#               its pods reach npm's registry (hack/up/reach); without it they
#               get none
#   BUNDLES_CA  the certificate of the local cluster's registry, which then has the
#               bundles of programs
#   HELM        helm to use (default: bin/helm, which is built)
#   BASE_URL    where users reach the ingress (default: http://127.0.0.1:8080)
#   TIMEOUT     how long to wait for each thing to become ready (default: 180s)
set -euo pipefail
cd "$(dirname "$0")/../.."
source hack/up/lib.sh
source hack/up/diagnose.sh
source hack/up/keys.sh
source hack/up/snippets.sh

IMAGES_DIR=${IMAGES_DIR:-bin/images}
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
BASE_URL=${BASE_URL%/}
TIMEOUT=${TIMEOUT:-180s}
LOAD_IMAGE=${LOAD_IMAGE:-}
REGISTRY=${REGISTRY:-}
images=(operator keybroker ingress bridge everything-server guarded-server npm-servers)
# In which servers over stdio run that npx fetches. up.sh builds it.
[[ ! -e $IMAGES_DIR/runtime-node.tar ]] || images+=(runtime-node)
read -ra more <<<"${MORE_IMAGES:-}"
images+=(${more[@]+"${more[@]}"})
readonly images

# reference NAME  prints the image to run: by digest in a registry, by the tag
# that only this build has in a cluster that is loaded.
reference() { awk -F'\t' -v name="$1" '$1 == name { print $2 }' "$overlay/images.tsv"; }

# provide_images  puts the images where the cluster finds them and lists them
# in the overlay's images.tsv.
provide_images() {
    local name
    if [[ -n $REGISTRY ]]; then
        local architecture
        architecture=$(kube get nodes --output=jsonpath='{.items[0].status.nodeInfo.architecture}')
        say "pushing the images to $REGISTRY"
        build_tool image
        bin/image push --registry="$REGISTRY" --arch="${architecture:-amd64}" \
            --only="$(IFS=,; echo "${images[*]}")" --out="$IMAGES_DIR" >"$overlay/images.tsv"
        return
    fi
    [[ -n $LOAD_IMAGE ]] || die "set REGISTRY to a registry that the cluster pulls from, or LOAD_IMAGE to a command that puts an image archive into the cluster"
    cp "$IMAGES_DIR/images.tsv" "$overlay/images.tsv"
    for name in "${images[@]}"; do
        [[ -n $(reference "$name") ]] || die "$IMAGES_DIR has no image $name: run make image"
        say "loading $(reference "$name")"
        # More than one word: the command and its arguments.
        # shellcheck disable=SC2086
        $LOAD_IMAGE "$IMAGES_DIR/$name.tar" >&2
    done
}

# image_lines NAME...  prints the images' entries of a kustomization.
image_lines() {
    local name reference
    for name in "$@"; do
        reference=$(reference "$name")
        case $reference in
        *@*) echo "- {name: hosted-bridge/$name, newName: ${reference%@*}, digest: \"${reference#*@}\"}" ;;
        *) echo "- {name: hosted-bridge/$name, newName: ${reference%:*}, newTag: \"${reference##*:}\"}" ;;
        esac
    done
}

# write_overlay  makes values of this installation, and a kustomization of the
# samples.
write_overlay() {
    local name
    mkdir -p "$overlay/samples"
    {
        echo "baseURL: \"$BASE_URL\""
        for name in operator keybroker ingress; do
            echo "$name: {image: \"$(reference "$name")\"}"
        done
        echo "bridge:"
        echo "  image: \"$(reference bridge)\""
        echo "  runtimes: {node: \"$(reference runtime-node)\", shimImages: [$(reference runtime-node)]}"
    } >"$overlay/values.yaml"
    # A cluster on this machine: its port on 127.0.0.1 leads to this NodePort,
    # and tenants' servers may be at the cluster's own pods and Services, whose
    # ranges hack/cluster and kind have in common.
    [[ $CLUSTER == current ]] || cat >"$overlay/local.yaml" <<EOF
ingress: {service: {type: NodePort, nodePort: 30080}}
bridge: {upstream: {allowCIDRs: [10.244.0.0/16, 10.96.0.0/16]}}
EOF
    [[ -z ${BUNDLES_CA:-} ]] || cat >>"$overlay/local.yaml" <<EOF
bundles:
  registry:
    repository: 10.213.0.1:5000/bundles
    allowCIDRs: [10.213.0.1/32]
    authorities: |
$(sed 's/^/      /' "$BUNDLES_CA")
EOF
    [[ -z ${REACH:-} ]] || try_registry 10.244.0.0/16,10.96.0.0/16
    # Its resolver is a program of the node, not a pod.
    [[ $CLUSTER != local ]] || echo "isolation: {networkPolicy: {dns: {cidrs: [10.213.0.1/32]}}}" >>"$overlay/local.yaml"
    cat >"$overlay/samples/kustomization.yaml" <<EOF
resources: [../../../config/samples]
configurations: [images.yaml]
images:
$(image_lines everything-server guarded-server npm-servers)
EOF
    cat >"$overlay/samples/images.yaml" <<EOF
images:
- {kind: HostedBridge, path: "spec/servers[]/transport/stdio/image"}
EOF
}

# try_registry RANGES  says whether pods reach the registry that this machine's npm
# asks, and makes values of how: the registry's address where it is not public, and
# the machine's proxies and certificate authorities. RANGES are allowed anyway.
try_registry() {
    local registry authorities
    registry=$(npm config get registry)
    authorities=$(npm config get cafile)
    [[ $authorities != null ]] || authorities=
    authorities=$authorities:${NODE_EXTRA_CA_CERTS:-}:${SSL_CERT_FILE:-}
    # More than one word: the command and its arguments.
    # shellcheck disable=SC2086
    if $REACH --registry="$registry" --authorities="$authorities" --allow="$1" >"$overlay/registry.yaml" 2>"$overlay/registry.error"; then
        say "pods reach what this machine reaches: npx fetches servers from $registry"
        return
    fi
    rm -f "$overlay/registry.yaml"
    say "pods do not reach $registry, so that servers over npx do not start: $(head -n 1 "$overlay/registry.error")"
}

# install_system  installs the chart, or upgrades the installation: also what was
# applied from config/ before, and what somebody has changed by hand. The chart
# makes the master key and the other ones, once.
install_system() {
    say "installing the chart"
    kube get namespace "$system" >/dev/null 2>&1 || apply --filename=config/default/namespace.yaml
    [[ -z ${OBJECTS_FILE:-} ]] || apply --filename="$OBJECTS_FILE"
    local values=(--values="$overlay/values.yaml")
    [[ ! -e $overlay/local.yaml ]] || values+=(--values="$overlay/local.yaml")
    [[ ! -e $overlay/registry.yaml ]] || values+=(--values="$overlay/registry.yaml")
    [[ -z ${TIERS_FILE:-} ]] || values+=(--values="$TIERS_FILE")
    [[ -z ${VALUES_FILE:-} ]] || values+=(--values="$VALUES_FILE")
    "$HELM" upgrade "$release" charts/hosted-bridge --install --namespace="$system" \
        --take-ownership --force-conflicts --history-max=3 "${values[@]}" >&2
    local kind
    for kind in hostedbridges bridgegroups bridgepersons bridgeprofiles sharedservers catalogrecipes catalogpublishers; do
        kube wait --for=condition=Established --timeout=60s "crd/$kind.hostedbridge.dev" >/dev/null
    done
    local workload
    for workload in "${workloads[@]}"; do
        kube rollout status "deployment/$workload" --namespace="$system" --timeout="$TIMEOUT" >&2
    done
    drop_old_settings
}

# drop_old_settings  removes the generated ConfigMaps of an installation that was
# applied from config/, which nothing uses once the rollout is through.
drop_old_settings() {
    kube get configmaps --namespace="$system" --output=name | grep '/hosted-bridge-installation-' |
        xargs -r "$KUBECTL" delete --namespace="$system" >&2 || true
}

# refuse_foreign_namespace  keeps the samples out of a namespace of somebody
# else's, which uninstall.sh would delete.
refuse_foreign_namespace() {
    local found ours
    found=$(kube get namespace "$tenants" --ignore-not-found --output=name)
    ours=$(kube get namespace --selector=app.kubernetes.io/part-of=hosted-bridge --field-selector="metadata.name=$tenants" --output=name)
    [[ -z $found || -n $ours ]] || die "the cluster has a namespace $tenants that is not hosted-bridge's, so the samples have no place: label it app.kubernetes.io/part-of=hosted-bridge if it is; uninstalling will delete it"
}

install_samples() {
    say "applying the sample tenants alice and bob"
    apply --kustomize="$overlay/samples"
    alice_key=$(mint_key alice)
    bob_key=$(mint_key bob)
    local server
    for server in everything-legacy everything-modern; do
        kube rollout status "deployment/$server" --namespace="$tenants" --timeout="$TIMEOUT" >&2
    done
    say "waiting for the tenants' bridges"
    kube wait --for=condition=Ready hostedbridge/alice hostedbridge/bob --namespace="$tenants" --timeout="$TIMEOUT" >/dev/null
}

# try_url  makes the printed call itself where the URL leads to this cluster
# without further ado. The key does not show in the list of processes.
try_url() {
    [[ $CLUSTER != current ]] && command -v curl >/dev/null || return 0
    say "calling $BASE_URL/u/alice/mcp"
    local answer
    # A key that has just been added reaches every ingress within a second.
    answer=$(curl --silent --show-error --fail-with-body --retry 10 --retry-delay 1 --retry-all-errors --max-time 40 \
        --header 'Content-Type: application/json' --header 'Accept: application/json, text/event-stream' \
        --header 'MCP-Protocol-Version: 2026-07-28' --header 'Mcp-Method: tools/list' --header @- \
        --data "$list_tools" "$BASE_URL/u/alice/mcp" <<<"Authorization: Bearer $alice_key" 2>&1) ||
        die "the installation is ready, but $BASE_URL/u/alice/mcp is not reached from here: $answer"
    grep -q '"inputSchema":' <<<"$answer" || die "alice's bridge lists no tools: ${answer:0:500}"
}

finish() {
    kube get hostedbridges --all-namespaces
    echo
    if [[ $CLUSTER == current ]]; then
        cat <<EOF
The ingress is the Service hosted-bridge-ingress in $system. Publish it by an
Ingress, a Gateway or a load balancer and run this again with BASE_URL set to
its address; until then, reach it by

$KUBECTL port-forward --namespace=$system service/hosted-bridge-ingress 8080:80

EOF
    fi
    cat <<EOF
Console      $BASE_URL/    (open it in a browser and log in with a key; bob's tier has room
             for more servers, which the profile first offers)
             $BASE_URL/console    (for administrators, with the key of the next line)
admin key    $KUBECTL get secret hosted-bridge-admin --namespace=$system --output='jsonpath={.data.key}' | base64 -d
URL          $BASE_URL/u/alice/mcp
alice's key  $alice_key
bob's key    $bob_key    (for $BASE_URL/u/bob/mcp)

The keys are shown this once. Those of the last $keys_kept runs work on.

EOF
    missing_token
    snippets "$BASE_URL" alice "$alice_key"
}

# missing_token  says which server of the samples is out of service on purpose, as
# long as it is.
missing_token() {
    local state
    state=$(kube get hostedbridge/alice --namespace="$tenants" --output='jsonpath={.status.serverStates[?(@.name=="guarded")].state}')
    [[ $state != Healthy ]] || return 0
    cat <<EOF
Of alice's three servers one is out of service on purpose: guarded wants a token
that she has not set yet (SERVERS 2/3). It is in service a few seconds after

    curl -X PUT $BASE_URL/u/alice/secrets/GUARDED_TOKEN -H "Authorization: Bearer $alice_key" --data-binary open-sesame

EOF
}

# on_exit  cleans up, and after a failure says what is not ready.
on_exit() {
    local status=$?
    trap - EXIT
    rm -rf "$overlay"
    if [[ $status -ne 0 && -n $installing ]]; then
        diagnose
        echo "hack/up: the installation failed; the lines above show the last state. It is safe to run the command again." >&2
    fi
    exit "$status"
}

case $CLUSTER in local | kind | current) ;; *) die "CLUSTER=$CLUSTER must be local, kind or current" ;; esac
check_cluster
refuse_foreign_namespace
# Below the repository, since kustomize only takes relative paths.
mkdir -p bin
overlay=$(mktemp -d bin/up.XXXXXX)
installing=
trap on_exit EXIT
provide_images
write_overlay
build_helm
build_plugin
installing=yes
install_system
install_samples
try_url
finish
