#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# sdk.sh COMMAND...  runs a go command with the MCP SDK that the product is built
# with: that of go.mod, in which one function is changed
# (docs/adr/0016-sdk-decoder.md). The change is made in a copy in bin/, which a
# go.mod there names. Without this script go takes the SDK as it is.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

module=github.com/modelcontextprotocol/go-sdk
version=v1.8.0
file=internal/json/json.go
sum=b3fa039b6d3b817d3487456f3be8354f45ba2c40 # git hash-object

fail() { echo "hack/sdk.sh: $*" >&2; exit 1; }

# In a go command that was begun by this script.
[[ ${GOFLAGS:-} != *-modfile=* ]] || exec "$@"

grep -q "^	$module $version\$" "$root/go.mod" ||
    fail "go.mod does not name $module $version, which the change is for: look whether it is still needed, then name the version and the sum of $file here"

# Another form of this script makes another copy.
copy=bin/sdk-$version-$(git hash-object "$0" | cut -c1-8)
if [[ ! -e $root/$copy ]]; then
    # For this machine, whatever the command is to compile for.
    original=$(cd "$root" && unset GOOS GOARCH && go mod download "$module" && go list -m -f '{{.Dir}}' "$module")
    [[ $(git hash-object "$original/$file") == "$sum" ]] || fail "$original/$file is not the file that the change is for"
    mkdir -p "$root/bin"
    fresh=$(mktemp -d "$root/bin/sdk.XXXXXX")
    cp -R "$original/." "$fresh"
    chmod -R u+w "$fresh"
    find "$fresh" -name '*_test.go' -exec rm {} +
    # Unmarshal has its bytes already. It needs no decoder, which would read them
    # into a buffer of 32 KiB.
    awk '$0 == "\t\"bytes\"" { next }
        $0 == "\treturn NewDecoder(bytes.NewReader(data)).Decode(v)" {
            print "\t_, err := json.Parse(data, v, json.DontMatchCaseInsensitiveStructFields)"
            print "\treturn err"
            next
        }
        { print }' "$original/$file" >"$fresh/$file"
    # Another process that was faster has made the same.
    if [[ -e $root/$copy ]]; then rm -rf "$fresh"; else mv "$fresh" "$root/$copy"; fi
fi

# put FILE writes its input to the file, at once and only where it differs.
put() {
    cat >"$1.$$"
    if cmp -s "$1.$$" "$1"; then rm "$1.$$"; else mv "$1.$$" "$1"; fi
}
{ cat "$root/go.mod"; printf '\nreplace %s => ./%s\n' "$module" "$copy"; } | put "$root/bin/sdk.mod"
put "$root/bin/sdk.sum" <"$root/go.sum"

# Beside the flags that go has anyway, from its environment or from its own file.
flags=$(cd / && go env GOFLAGS)
export GOFLAGS="${flags:+$flags }-modfile=$root/bin/sdk.mod"
exec "$@"
