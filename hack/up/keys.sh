# shellcheck shell=bash
# shellcheck disable=SC2154 # $system and $tenants are of lib.sh.
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# mint_key gives a sample tenant a fresh API key. Sourced after lib.sh.

# Each key is applied under a field manager of its own, so that it takes none
# of the others away. There are this many of them in turn: the keys of the last
# runs stay valid, and a HostedBridge never comes to its limit of 32.
readonly key_slots=16

# mint_key NAME  adds a key to the HostedBridge and prints it.
mint_key() {
    local name=$1 minted slot
    slot=$(key_slot "$name")
    # The flags are those of hack/image, so that all is compiled already.
    minted=$(CGO_ENABLED=0 go run -trimpath -buildvcs=false -ldflags='-s -w' ./cmd/ingress \
        keys create --user="$name" --name="$name" --namespace="$tenants" --output=json)
    key_patch <<<"$minted" | kube apply --server-side --force-conflicts --field-manager="$slot" --filename=- >/dev/null
    sed -n 's/^  "key": "\(.*\)",$/\1/p' <<<"$minted"
}

# key_patch  prints the object for server-side apply, the last field of the
# command's indented JSON.
key_patch() { sed -n '/^  "patch": {$/,/^  }$/p' | sed '1s/.*/{/; $s/.*/}/'; }

# key_slot NAME  prints the field manager for the next key: one that is free,
# else the one whose key is the oldest.
key_slot() {
    local prefix=hosted-bridge-up-key- used n
    used=$(kube get hostedbridge "$1" --namespace="$tenants" \
        --output=jsonpath='{range .metadata.managedFields[*]}{.time} {.manager}{"\n"}{end}' | grep " $prefix" | sort || true)
    for ((n = 1; n <= key_slots; n++)); do
        if ! grep -q " $prefix$n\$" <<<"$used"; then
            echo "$prefix$n"
            return
        fi
    done
    awk 'NR == 1 { print $2 }' <<<"$used"
}
