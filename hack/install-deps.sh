#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Installs what the local cluster and the end-to-end tests need beside Go, on
# Debian 12 or a relative of it, as root. What is there already is left alone.
set -euo pipefail

say() { echo "install-deps: $*" >&2; }

# Each command or file that is needed, and the package that brings it.
missing=()
need() {
    if [[ $1 == /* ]]; then [[ -e $1 ]] || missing+=("$2"); return; fi
    # The tools of an administrator are not on everybody's PATH.
    PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" command -v "$1" >/dev/null || missing+=("$2")
}
need make make
need git git
need curl curl
need containerd containerd
need runc runc
need iptables iptables
need nft nftables
need conntrack conntrack
need ip iproute2
need nsenter util-linux
need modprobe kmod
# Distributions that do not package the CNI plugins put them in /opt/cni/bin.
[[ -e /opt/cni/bin/bridge ]] || need /usr/lib/cni/bridge containernetworking-plugins
[[ -e /etc/ssl/certs/ca-certificates.crt ]] || missing+=(ca-certificates)
# The tests of quotas run a server of their own, Redis or Valkey.
command -v valkey-server >/dev/null || need redis-server redis-server
# The tests of the audit index run a PostgreSQL server of their own.
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || need initdb postgresql
# A person logs in with a browser: at a provider whose certificate is made here.
command -v chromium >/dev/null || need chromium-headless-shell chromium-headless-shell
need openssl openssl
# npm only unpacks the tests' clients; they bring the node they run on.
need node nodejs
need npm npm

if ! command -v go >/dev/null; then
    say "Go is missing: install Go 1.26 or newer from https://go.dev/dl/ and put it on PATH"
    exit 1
fi
if [[ ${#missing[@]} -eq 0 ]]; then
    say "nothing is missing"
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    say "this is no Debian: install by your own means: ${missing[*]}"
    exit 1
fi
if [[ $(id -u) -ne 0 ]]; then
    say "run this as root; it would install: ${missing[*]}"
    exit 1
fi

say "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
# The packages' own services are not started: each local cluster runs its own
# containerd.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 0755 "$policy"
fi
apt-get install -q -y --no-install-recommends "${missing[@]}"
say "done"
