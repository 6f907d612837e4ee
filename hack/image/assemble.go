// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const (
	source = "https://github.com/hostedbridge/hostedbridge"

	// fingerprintLabel holds the fingerprint, by which a later run sees that
	// there is nothing to do.
	fingerprintLabel = "dev.hostedbridge.image.fingerprint"
)

// fingerprint identifies what an image is made of.
func fingerprint(s spec, arch string, layer []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %d %q\n", s.name, arch, s.user, s.description)
	h.Write(layer)
	return hex.EncodeToString(h.Sum(nil))
}

// assemble makes the image of one layer. It depends on its arguments alone.
func assemble(s spec, arch string, layer []byte) (v1.Image, error) {
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer)), nil }
	// An archive is mostly read once, on the same machine: speed over size.
	l, err := tarball.LayerFromOpener(open, tarball.WithCompressionLevel(gzip.BestSpeed), tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	image, err := mutate.Append(empty.Image, mutate.Addendum{
		Layer:   l,
		History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "hack/image"},
	})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Created = v1.Time{Time: epoch}
	config.OS, config.Architecture = "linux", arch
	config.Config = v1.Config{
		User:       fmt.Sprintf("%d:%[1]d", s.user),
		Entrypoint: []string{"/" + s.name},
		WorkingDir: "/",
		Env:        []string{"PATH=/"},
		Labels: map[string]string{
			"org.opencontainers.image.title":       repository + "/" + s.name,
			"org.opencontainers.image.description": s.description,
			"org.opencontainers.image.source":      source,
			"org.opencontainers.image.licenses":    "Apache-2.0",
			fingerprintLabel:                       fingerprint(s, arch, layer),
		},
	}
	return mutate.ConfigFile(image, config)
}
