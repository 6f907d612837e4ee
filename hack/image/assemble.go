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
func fingerprint(s spec, arch string, content []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %d %q %q\n", s.name, arch, s.user, s.description, s.entrypoint)
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// layer compresses the one layer of a program's image.
func layer(content []byte) (v1.Layer, error) {
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	// An archive is mostly read once, on the same machine: speed over size.
	l, err := tarball.LayerFromOpener(open, tarball.WithCompressionLevel(gzip.BestSpeed), tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return l, nil
}

// command is what an image runs, and the PATH on which it and others are found.
func (s spec) command() (entrypoint []string, path string) {
	if s.pkg == "" {
		return s.entrypoint, "/usr/local/bin:/usr/bin"
	}
	return []string{"/" + s.name}, "/"
}

// assemble makes the image of its layers. It depends on its arguments alone.
func assemble(s spec, arch, sum string, layers ...v1.Layer) (v1.Image, error) {
	image := empty.Image
	for _, l := range layers {
		var err error
		image, err = mutate.Append(image, mutate.Addendum{
			Layer:   l,
			History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "hack/image"},
		})
		if err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	entrypoint, path := s.command()
	config.Created = v1.Time{Time: epoch}
	config.OS, config.Architecture = "linux", arch
	config.Config = v1.Config{
		User:       fmt.Sprintf("%d:%[1]d", s.user),
		Entrypoint: entrypoint,
		WorkingDir: "/",
		Env:        []string{"PATH=" + path},
		Labels: map[string]string{
			"org.opencontainers.image.title":       repository + "/" + s.name,
			"org.opencontainers.image.description": s.description,
			"org.opencontainers.image.source":      source,
			"org.opencontainers.image.licenses":    "Apache-2.0",
			fingerprintLabel:                       sum,
		},
	}
	return mutate.ConfigFile(image, config)
}
