#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Prints debian.lock: the newest version of each package of the images, from the
# package lists of Debian 12, which apt verifies. It needs Debian's apt and keys.
#
#   hack/image/debian.lock.sh >hack/image/debian.lock
set -euo pipefail

packages=(
    base-files coreutils dash libc6 libgcc-s1 libstdc++6
    libbz2-1.0 libcrypt1 libdb5.3 libexpat1 libffi8 liblzma5 libncursesw6 libnsl2 libpython3.11-minimal
    libpython3.11-stdlib libreadline8 libsqlite3-0 libssl3 libtinfo6 libtirpc3 libuuid1 media-types
    libcom-err2 libgssapi-krb5-2 libk5crypto3 libkeyutils1 libkrb5-3 libkrb5support0
    python3.11 python3.11-minimal tzdata zlib1g
    libcap2 libgcrypt20 libgpg-error0 liblz4-1 libsystemd0 libzstd1 libaudit1 libcap-ng0 libgmp10 libgnutls30 libhogweed6 libicu72 libidn2-0 libldap-2.5-0 libnettle8 libp11-kit0
    libpam0g libpq5 libsasl2-2 libtasn1-6 libunistring2 libxml2 postgresql-15
)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder" # apt fetches as a user of its own.
cat >"$folder/debian.sources" <<EOF
Types: deb
URIs: http://deb.debian.org/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://deb.debian.org/debian-security
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
EOF

echo "# Made by debian.lock.sh. Architecture, package, SHA-256 and address of each file."
for architecture in amd64 arm64; do
    mkdir -p "$folder/$architecture/lists/partial" "$folder/$architecture/cache/archives/partial"
    : >"$folder/$architecture/status"
    apt=(apt-get -q
        -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture"
        -o "Dir::Etc::SourceList=/dev/null" -o "Dir::Etc::SourceParts=$folder/parts"
        -o "Dir::State::Lists=$folder/$architecture/lists" -o "Dir::State::Status=$folder/$architecture/status"
        -o "Dir::Cache=$folder/$architecture/cache")
    mkdir -p "$folder/parts"
    cp "$folder/debian.sources" "$folder/parts/"
    "${apt[@]}" update >&2
    for package in "${packages[@]}"; do
        "${apt[@]}" --print-uris download "$package" |
            awk -v architecture="$architecture" -v package="$package" \
                '{ gsub(/\x27/, "", $1); sub(/^SHA256:/, "", $4); print architecture, package, $4, $1 }'
    done
done
