#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# The registry of github.com/google/go-containerregistry v0.22.1 (pkg/registry, which "crane
# registry serve" runs and tests use) lists a manifest that refers to an image under the media
# type of its configuration, also where the manifest has an artifactType. The OCI image
# specification 1.1 has the descriptor of a referrer carry artifactType, and the
# configuration's type only where that is missing. oras-go v2.7.0 packs an artifact with the
# configuration application/vnd.oci.empty.v1+json, and filters what a registry lists by
# artifactType. So an artifact that oras pushed there is not found by its type, unless by the
# very client that pushed it, which reads the tag that it wrote besides.
set -euo pipefail

folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<'EOF'
module example.com/referrers

go 1.26.8
EOF
cat >main.go <<'EOF'
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/registry/remote"
)

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

func main() {
	ctx := context.Background()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)))
	defer server.Close()
	open := func() *remote.Repository {
		repository := must(remote.NewRepository(strings.TrimPrefix(server.URL, "http://") + "/example"))
		repository.PlainHTTP = true
		return repository
	}
	repository := open()
	const kind = "application/vnd.example.note.v1+json"
	image := must(oras.PackManifest(ctx, repository, oras.PackManifestVersion1_1, "application/vnd.example.thing.v1", oras.PackManifestOptions{}))
	must(oras.PackManifest(ctx, repository, oras.PackManifestVersion1_1, kind, oras.PackManifestOptions{Subject: &image}))
	answer := must(http.Get(server.URL + "/v2/example/referrers/" + image.Digest.String()))
	defer answer.Body.Close()
	fmt.Println(string(must(io.ReadAll(answer.Body))))
	found := 0
	if err := open().Referrers(ctx, image, kind, func(all []ocispec.Descriptor) error {
		found += len(all)
		return nil
	}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("found by its artifactType:", found)
}
EOF
export GOFLAGS=-mod=mod
go get github.com/google/go-containerregistry@v0.22.1 oras.land/oras-go/v2@v2.7.0 >/dev/null 2>&1
said=$(go run .)
echo "$said"
grep -q '"artifactType":"application/vnd.oci.empty.v1+json"' <<<"$said"
grep -qx 'found by its artifactType: 0' <<<"$said"
