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
    bridge key create "$1" --namespace="$tenants" --label="$keys_name"
    remove_oldest_key "$1"
}

# remove_oldest_key NAME  revokes the first key that was added here, if there are
# too many.
remove_oldest_key() {
    local ids
    ids=$(bridge key list "$1" --namespace="$tenants" | awk -v name="$keys_name" '$2 == name { print $1 }')
    [[ $(wc -l <<<"$ids") -gt $keys_kept ]] || return 0
    bridge key revoke "$1" "$(head -n 1 <<<"$ids")" --namespace="$tenants" >&2
}
