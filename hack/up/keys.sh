# shellcheck shell=bash
# shellcheck disable=SC2154 # $system and $tenants are of lib.sh.
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# mint_key gives a sample tenant a fresh API key. Sourced after lib.sh.

# How many keys of earlier runs stay valid, so that a HostedBridge never comes to
# its limit of 32, and their name.
readonly keys_kept=15 keys_name=make-up

# mint_key NAME  adds a key to the HostedBridge and prints it.
mint_key() {
    local name=$1 minted
    # The flags are those of hack/image, so that all is compiled already.
    minted=$(CGO_ENABLED=0 go run -trimpath -buildvcs=false -ldflags='-s -w' ./cmd/ingress \
        keys create --user="$name" --name="$name" --namespace="$tenants" --label="$keys_name")
    remove_oldest_key "$name"
    (
        kubectl() { kube "$@"; }
        eval "$(tail -n +2 <<<"$minted")"
    ) >/dev/null
    head -n 1 <<<"$minted"
}

# remove_oldest_key NAME  removes the first key that was added here, if there are
# too many.
remove_oldest_key() {
    local keys oldest
    keys=$(kube get hostedbridge "$1" --namespace="$tenants" \
        --output=jsonpath='{range .spec.apiKeys[*]}{.id} {.name}{"\n"}{end}' | grep -n " $keys_name\$" || true)
    [[ $(wc -l <<<"$keys") -gt $keys_kept ]] || return 0
    oldest=$(head -n 1 <<<"$keys" | sed -E 's/^([0-9]+):([^ ]+) .*/\1 \2/')
    kube patch hostedbridge "$1" --namespace="$tenants" --type=json --patch="$(printf \
        '[{"op":"test","path":"/spec/apiKeys/%d/id","value":"%s"},{"op":"remove","path":"/spec/apiKeys/%d"}]' \
        $((${oldest% *} - 1)) "${oldest#* }" $((${oldest% *} - 1)))" >/dev/null
}
