#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Fails when something that is derived is not what its source says: generated
# code, CRDs and manifests, formatting, go.mod and go.sum, manifests that do not
# render, the chart, and what the bridge links. Works on a copy, so that nothing here is changed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}
root=$PWD
failed=0
fail() { echo "verify: $*" >&2; failed=1; }
step() { echo "==> $*"; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

step "generated code, CRDs and manifests are up to date"
copy=$scratch/tree
mkdir "$copy"
# A file that is deleted but still in the index has nothing to copy.
git ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d '' file; do [[ -e $file ]] && printf '%s\0' "$file"; done |
    tar --null -T - -cf - | tar -xf - -C "$copy"
if make -s -C "$copy" generate; then
    for folder in api config charts docs/reference test/testdata; do
        diff -ruN "$root/$folder" "$copy/$folder" || fail "$folder is not what its sources generate: run make generate and commit"
    done
else
    fail "make generate failed"
fi

step "Go files are formatted"
unformatted=$(git ls-files -z --cached --others --exclude-standard -- '*.go' |
    while IFS= read -r -d '' file; do [[ -e $file ]] && printf '%s\0' "$file"; done | xargs -0 gofmt -l)
[[ -z $unformatted ]] || fail "not formatted, run gofmt -w: $unformatted"

# Tidying asks for the modules of the dependencies' tests too, which a build
# never downloads: without a network that is no finding.
offline='dial tcp|no such host|connection refused|i/o timeout|network is unreachable|module lookup disabled|proxyconnect'
while IFS= read -r mod; do
    module=$(dirname "$mod")
    step "$mod is tidy"
    if ! go -C "$module" mod tidy -diff >"$scratch/diff" 2>"$scratch/errors"; then
        if [[ -s $scratch/diff ]]; then
            cat "$scratch/diff"
            fail "$mod is not tidy: run go -C $module mod tidy"
        elif grep -qE "$offline" "$scratch/errors"; then
            echo "    not checked: the module proxy is out of reach"
        else
            cat "$scratch/errors" >&2
            fail "$mod cannot be tidied"
        fi
    fi
done < <(git ls-files --cached --others --exclude-standard -- go.mod '*/go.mod')

step "manifests render"
while IFS= read -r kustomization; do
    folder=$(dirname "$kustomization")
    "${KUBECTL:-kubectl}" kustomize "$folder" >"$scratch/rendered" || fail "$folder does not render"
    [[ -s $scratch/rendered ]] || fail "$folder renders nothing"
done < <(git ls-files --cached --others --exclude-standard -- 'config/*kustomization.yaml')

step "the chart is as helm wants it"
bin/helm lint --strict --quiet charts/hosted-bridge || fail "helm lint refuses charts/hosted-bridge"
CGO_ENABLED=0 GOFLAGS=-trimpath go -C hack/helm test ./... || fail "the tests of the chart fail"

step "packages and types are of the sizes that AGENTS.md names, and no test sleeps"
go run ./hack/structure || fail "a package or type is too large, folders import each other in a circle, or a test sleeps"

step "lock files of npm name no registry"
while IFS= read -r lock; do
    ! grep -n '"resolved"' "$lock" || fail "$lock has download addresses: run npm install in its folder, whose .npmrc leaves them out"
done < <(git ls-files --cached --others --exclude-standard -- package-lock.json '*/package-lock.json')

step "the pictures show the pages of today"
hack/pictures.sh check || fail "the pictures of the documentation are out of date"

step "the tests that docs/promises.md names are there"
while IFS= read -r name; do
    case $name in
    Test*) git grep -q "^func $name(" -- '*_test.go' || fail "docs/promises.md names $name, which is no test" ;;
    */*) [[ -e $name ]] || fail "docs/promises.md names $name, which is not there" ;;
    esac
done < <(grep '^| [0-9]' docs/promises.md | cut -d'|' -f4 | grep -o '`[^`]*`' | tr -d '`')

[[ $failed -eq 0 ]] && echo "verify: nothing differs"
exit "$failed"
