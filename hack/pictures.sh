#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# pictures.sh take   takes the pictures of the documentation, on a cluster of its own, and
#                    notes of what they were taken in docs/images/pictures.sum. With
#                    HB_LOOK_IMAGES=FOLDER each page is also taken 390, 1280 and 1920 pixels wide
# pictures.sh check  fails if the pages have changed since. It compares no pixels, which
#                    differ between machines.
set -euo pipefail
cd "$(dirname "$0")/.."

images=docs/images

# What the pictures show, and how they are taken.
inputs() {
    git ls-files --cached --others --exclude-standard -- \
        internal/console/{pages,states.go,words.go,admin/pages,admin/chart.go,admin/words.go} internal/pages \
        internal/clientconfig/{clients,hosted}.go test/e2e/pictures_test.go |
        LC_ALL=C sort | xargs sha256sum | sha256sum | cut -d' ' -f1
}

case ${1:-} in
take)
    HB_DOCS_IMAGES=$PWD/$images make --no-print-directory test-e2e E2E_NAME=pictures TESTFLAGS='-tags=e2e,pictures -run=^TestPictures$'
    inputs >"$images/pictures.sum"
    ;;
check)
    [[ $(inputs) == "$(cat "$images/pictures.sum")" ]] || {
        echo "pictures: the pages have changed since the pictures in $images were taken: run make pictures and look at them" >&2
        exit 1
    }
    ;;
*)
    echo "usage: pictures.sh take|check" >&2
    exit 1
    ;;
esac
