#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# npm 11.6.2 writes the name of the folder in which it runs into node_modules: the field
# "name" of node_modules/.package-lock.json is that of the folder if there is no package.json
# with a name. So the same package, installed in two folders whose names differ, gives two
# node_modules with different bytes, and a digest of node_modules names the folder too. The
# file is the only one that differs, and programs do not read it.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir tool one two
npm install --prefix=tool --ignore-scripts --no-audit --no-fund --loglevel=error npm@11.6.2 >/dev/null
for place in one two; do
    (cd "$place" && node ../tool/node_modules/npm/bin/npm-cli.js install --ignore-scripts --no-audit --no-fund --loglevel=error is-number@7.0.0 >/dev/null)
done
differs=$(diff --recursive --brief one/node_modules two/node_modules || true)
echo "$differs"
[[ $differs == "Files one/node_modules/.package-lock.json and two/node_modules/.package-lock.json differ" ]]
for place in one two; do
    name=$(node -p 'require(process.argv[1]).name' "$folder/$place/node_modules/.package-lock.json")
    echo "installed in $place, it is named $name"
    [[ $name == "$place" ]]
done
