#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# install-deps.sh SET...  checks that this machine can do what the sets are for, and
# installs what it lacks: on Debian 12 or a relative of it, as root. It says first
# what it installs, keeps what is already installed, and prints nothing if nothing is
# missing. The targets of the Makefile call it before they compile anything.
#
#   unit    make test-unit: Go alone
#   env     make test-env
#   images  make up on a cluster that you have, which needs images alone
#   up      make up with the local cluster
#   e2e     make test-e2e on a cluster that you have
#   test    make test and make test-release with the local cluster
set -euo pipefail

say() { echo "install-deps: $*" >&2; }

# What is wrong with the machine, and the packages that it lacks.
wrong=() missing=()

# need COMMAND|FILE PACKAGE  notes the package where the command or file is missing.
need() {
    if [[ $1 == /* ]]; then [[ -e $1 ]] || missing+=("$2"); return; fi
    # The tools of an administrator are not on everybody's PATH.
    PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" command -v "$1" >/dev/null || missing+=("$2")
}

check_go() {
    local version needed
    if ! command -v go >/dev/null; then
        wrong+=("Go is missing: install Go 1.21 or newer from https://go.dev/dl/ and put it on PATH; it fetches the toolchain that go.mod names by itself")
        return
    fi
    # Elsewhere and as it is: asking here would fetch the toolchain already.
    version=$(cd / && GOTOOLCHAIN=local go env GOVERSION)
    needed=$(awk '$1 == "go" { print $2 }' "$(dirname "$0")/../go.mod")
    if [[ $version =~ ^go1\.([0-9]+) && ${BASH_REMATCH[1]} -lt 21 ]]; then
        wrong+=("Go is $version: Go 1.21 or newer is needed, which fetches the toolchain that go.mod names by itself; get it from https://go.dev/dl/")
    # On the command line of make: of what the environment has, the Makefile makes auto.
    elif [[ $(cd / && go env GOTOOLCHAIN) == local && $(printf '%s\n' "$needed" "${version#go}" | sort -V | head -n 1) != "$needed" ]]; then
        wrong+=("Go is $version and GOTOOLCHAIN is local: Go $needed or newer is needed; leave GOTOOLCHAIN out, or run 'export GOTOOLCHAIN=auto', by which go fetches the toolchain that go.mod names")
    fi
}

# The local cluster runs in namespaces of its own on this machine.
check_machine() {
    local cores memory
    if [[ $(uname) != Linux ]]; then
        wrong+=("this is $(uname): the local cluster needs Linux; use CLUSTER=kind, or CLUSTER=current with a cluster that you have")
        return
    fi
    [[ $(id -u) -eq 0 ]] ||
        wrong+=("you are not root: the local cluster needs root; run the command as root, or use CLUSTER=kind, or CLUSTER=current with a cluster that you have")
    cores=$(nproc)
    [[ $cores -ge 2 ]] || wrong+=("there is $cores processor core: 2 or more are needed")
    # A machine of 8 GB shows somewhat less.
    memory=$(awk '$1 == "MemTotal:" { print int($2 / 1024) }' /proc/meminfo)
    [[ $memory -ge 7000 ]] || wrong+=("there are $memory MiB of memory: 7000 MiB or more are needed, which a machine of 8 GB has")
}

need_cluster() {
    check_machine
    need curl curl
    need runc runc
    need iptables iptables
    need nft nftables
    need conntrack conntrack
    need ip iproute2
    need nsenter util-linux
    need slirp4netns slirp4netns
    need modprobe kmod
    # Distributions that do not package the CNI plugins put them in /opt/cni/bin.
    [[ -e /opt/cni/bin/bridge ]] || need /usr/lib/cni/bridge containernetworking-plugins
}

# npm fetches what images and the tests' clients are made of.
need_images() {
    [[ -e /etc/ssl/certs/ca-certificates.crt || $(uname) != Linux ]] || missing+=(ca-certificates)
    need node nodejs
    need npm npm
}

# The tests run servers of their own, Redis or Valkey, and PostgreSQL; and npm, against a
# registry of their own.
need_env() {
    need node nodejs
    need npm npm
    command -v valkey-server >/dev/null || need redis-server redis-server
    compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || need initdb postgresql
}

# A person logs in with a browser, at a provider whose certificate is made here.
need_e2e() {
    command -v chromium >/dev/null || need chromium-headless-shell chromium-headless-shell
    need openssl openssl
}

# The race detector needs a C compiler.
need_race() {
    [[ $(uname) == Linux ]] || return 0
    need gcc gcc
    need /usr/include/stdio.h libc6-dev
}

check_go
need make make
need git git
for set in "$@"; do
    case $set in
    unit) ;;
    env) need_env ;;
    images) need_images ;;
    up) need_cluster && need_images ;;
    e2e) need_images && need_e2e ;;
    test) need_cluster && need_images && need_env && need_e2e && need_race ;;
    *) say "unknown set $set: use unit, env, images, up, e2e or test" && exit 2 ;;
    esac
done

if [[ ${#missing[@]} -gt 0 ]]; then
    if ! command -v apt-get >/dev/null; then
        wrong+=("this is not Debian: install by your own means: ${missing[*]}")
    elif [[ $(id -u) -ne 0 ]]; then
        wrong+=("packages are missing: run this as root, or install them by your own means: ${missing[*]}")
    fi
fi
if [[ ${#wrong[@]} -gt 0 ]]; then
    for problem in "${wrong[@]}"; do say "$problem"; done
    exit 1
fi
[[ ${#missing[@]} -gt 0 ]] || exit 0

say "this machine lacks ${missing[*]}: installing them with apt-get"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q >&2
# The packages' own services are not started: tests run servers of their own.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 0755 "$policy"
fi
apt-get install -q -y --no-install-recommends "${missing[@]}" >&2
say "done"
