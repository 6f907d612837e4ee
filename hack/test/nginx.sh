#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Prints where nginx is: on PATH, or unpacked from its Debian package, which does
# not become a service.
set -euo pipefail
cd "$(dirname "$0")/../.."

nginx=$(PATH="$PATH:/usr/sbin" command -v nginx || true)
if [[ -z $nginx ]]; then
    folder=$PWD/bin/peers/nginx
    nginx=$folder/usr/sbin/nginx
    if [[ ! -x $nginx ]]; then
        command -v apt-get >/dev/null || { echo "$(basename "$0"): install nginx: it is not on PATH, and this is no Debian" >&2; exit 1; }
        [[ -n $(apt-cache search --names-only '^nginx$') ]] || apt-get update -q >&2
        mkdir -p "$folder"
        (cd "$folder" && apt-get download -q nginx && dpkg -x nginx_*.deb .) >&2
    fi
fi
echo "$nginx"
