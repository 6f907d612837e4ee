#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# build.sh  builds Vault's server, unless it was built before, and prints where
# it is. It takes some ten minutes and is for the tests of the transit provider
# alone.
#
# Vault is released with a copy of its SDK that the module proxy does not have.
# Of those that it has, the one that Vault v1.21.4 asks for differs in two
# functions that no test uses: the start of deduplication, and the restoring of
# a transit key from a backup. The three lines that call them are changed in a
# copy of Vault's source.
set -euo pipefail
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}
cd "$(dirname "$0")"

cache=${XDG_CACHE_HOME:-$HOME/.cache}/hosted-bridge
sum=$(cat *.go go.mod go.sum build.sh <(go version) | sha256sum | cut -c1-16)
program=$cache/vault-$sum/vault
if [[ -x $program ]]; then echo "$program"; exit 0; fi

original=$(go mod download -json github.com/hashicorp/vault | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
folder=$cache/vault-$sum/build
rm -rf "$folder" && mkdir -p "$folder"
trap 'rm -rf "$folder"' EXIT
cp -r "$original" "$folder/vault"
chmod -R u+w "$folder/vault"

# change FILE FROM TO  replaces one text in one of Vault's files.
change() {
    local file=$folder/vault/$1
    grep -qF -- "$2" "$file" || { echo "build.sh: $1 of Vault is not as expected" >&2; exit 1; }
    awk -v from="$2" -v to="$3" '{
        i = index($0, from)
        if (i > 0) $0 = substr($0, 1, i - 1) to substr($0, i + length(from))
        print
    }' "$file" >"$file.changed"
    mv "$file.changed" "$file"
}
change vault/identity_store.go \
    'ActivationFunc: iStore.activateDeduplication,' \
    'ActivationFunc: func(ctx context.Context, req *logical.Request, _ string) error { return iStore.activateDeduplication(ctx, req) },'
change vault/logical_system_activation_flags.go 'ActivationFunc(ctx, nil)' 'ActivationFunc(ctx, nil, "")'
change builtin/logical/transit/path_restore.go \
    'restoredKeyName, err := b.lm.RestorePolicy(' 'restoredKeyName := keyName; err := b.lm.RestorePolicy('

cp go.mod go.sum "$folder"
go mod edit -replace="github.com/hashicorp/vault=$folder/vault" "$folder/go.mod"
go build -modfile="$folder/go.mod" -trimpath -ldflags='-s -w' -o "$program.partial" .
mv "$program.partial" "$program"
echo "$program"
