// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundleimage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
)

// recordType is the type of a bundle's record, which refers to the image.
const recordType = "application/vnd.hostedbridge.bundle.record.v1+json"

// ErrNotFound means that the repository has no such bundle.
var ErrNotFound = errors.New("the repository has no such bundle")

// Push uploads a bundle as an image that has a tag, with its record, and returns the image's
// digest. compressed is read twice, from its beginning. What the repository has already is not sent.
func (r *Repository) Push(ctx context.Context, tag string, record *bundle.Record, compressed io.ReadSeeker) (string, error) {
	layer, err := describe(compressed, record.CompressedSize)
	if err != nil {
		return "", err
	}
	config, err := json.Marshal(ocispec.Image{
		Platform: ocispec.Platform{Architecture: record.Architecture, OS: "linux"},
		RootFS:   ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.Digest(record.Digest)}},
	})
	if err != nil {
		return "", err
	}
	if err := r.blob(ctx, layer, compressed); err != nil {
		return "", r.explain("upload the bundle to", err)
	}
	image, err := r.manifest(ctx, tag, config, layer)
	if err != nil {
		return "", r.explain("upload the image to", err)
	}
	return image.Digest.String(), r.attach(ctx, image, record)
}

// describe returns what a layer of an image says of a compressed bundle, and begins it again.
func describe(compressed io.ReadSeeker, size int64) (ocispec.Descriptor, error) {
	if _, err := compressed.Seek(0, io.SeekStart); err != nil {
		return ocispec.Descriptor{}, err
	}
	sum, err := digest.FromReader(compressed)
	if err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("read the bundle: %w", err)
	}
	_, err = compressed.Seek(0, io.SeekStart)
	return ocispec.Descriptor{MediaType: ocispec.MediaTypeImageLayerZstd, Digest: sum, Size: size}, err
}

// blob uploads what the repository does not have.
func (r *Repository) blob(ctx context.Context, d ocispec.Descriptor, from io.Reader) error {
	has, err := r.remote.Blobs().Exists(ctx, d)
	if err != nil || has {
		return err
	}
	// The registry's answer is waited for: what is closed is not ours.
	return r.remote.Blobs().Push(ctx, d, io.NopCloser(from))
}

// manifest uploads a manifest of a configuration and layers, and gives it a tag.
func (r *Repository) manifest(ctx context.Context, tag string, config []byte, layers ...ocispec.Descriptor) (ocispec.Descriptor, error) {
	described := content.NewDescriptorFromBytes(ocispec.MediaTypeImageConfig, config)
	if err := r.blob(ctx, described, bytes.NewReader(config)); err != nil {
		return ocispec.Descriptor{}, err
	}
	text, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, Config: described, Layers: layers,
	})
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	image := content.NewDescriptorFromBytes(ocispec.MediaTypeImageManifest, text)
	return image, r.remote.PushReference(ctx, image, bytes.NewReader(text), tag)
}

// attach has a record refer to its image.
func (r *Repository) attach(ctx context.Context, image ocispec.Descriptor, record *bundle.Record) error {
	text, err := record.Encode()
	if err != nil {
		return fmt.Errorf("encode the record: %w", err)
	}
	layer := content.NewDescriptorFromBytes(recordType, text)
	if err := r.blob(ctx, layer, bytes.NewReader(text)); err != nil {
		return r.explain("upload the record to", err)
	}
	// Registries that know no artifactType list a referrer by the type of its configuration.
	config := content.NewDescriptorFromBytes(recordType, []byte("{}"))
	if err := r.blob(ctx, config, strings.NewReader("{}")); err != nil {
		return r.explain("upload the record to", err)
	}
	_, err = oras.PackManifest(ctx, r.remote, oras.PackManifestVersion1_1, recordType, oras.PackManifestOptions{
		Subject: &image, ConfigDescriptor: &config, Layers: []ocispec.Descriptor{layer},
		// Without it the manifest has the time of its upload.
		ManifestAnnotations: map[string]string{ocispec.AnnotationCreated: record.Made.UTC().Format(time.RFC3339)},
	})
	if err != nil {
		return r.explain("upload the record to", err)
	}
	return nil
}

// Found is a bundle of a repository.
type Found struct {
	// Image is the image's digest.
	Image  string
	Record bundle.Record
	layer  ocispec.Descriptor
}

// Find returns the bundle that has a tag. The error is ErrNotFound without one.
func (r *Repository) Find(ctx context.Context, tag string) (*Found, error) {
	image, from, err := r.remote.FetchReference(ctx, tag)
	if errors.Is(err, errdef.ErrNotFound) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, r.explain("look for the bundle in", err)
	}
	manifest, err := r.read(from)
	if err != nil {
		return nil, fmt.Errorf("read the manifest of %s:%s: %w", r.name, tag, err)
	}
	if len(manifest.Layers) != 1 {
		return nil, fmt.Errorf("%s:%s is no bundle: it has %d layers", r.name, tag, len(manifest.Layers))
	}
	record, err := r.record(ctx, image)
	if err != nil {
		return nil, fmt.Errorf("read the record of %s:%s: %w", r.name, tag, err)
	}
	if manifest.Layers[0].Size != record.CompressedSize {
		return nil, fmt.Errorf("the record of %s:%s is that of another bundle", r.name, tag)
	}
	return &Found{image.Digest.String(), record, manifest.Layers[0]}, nil
}

func (r *Repository) read(from io.ReadCloser) (ocispec.Manifest, error) {
	defer from.Close()
	var manifest ocispec.Manifest
	text, err := readAll(from, maxManifest)
	if err != nil {
		return manifest, err
	}
	return manifest, json.Unmarshal(text, &manifest)
}

// record returns the record that refers to an image.
func (r *Repository) record(ctx context.Context, image ocispec.Descriptor) (bundle.Record, error) {
	var referrer *ocispec.Descriptor
	err := r.remote.Referrers(ctx, image, recordType, func(all []ocispec.Descriptor) error {
		for i := range all {
			referrer = &all[i]
		}
		return nil
	})
	if err != nil {
		return bundle.Record{}, r.explain("list the referrers in", err)
	}
	if referrer == nil {
		return bundle.Record{}, errors.New("none refers to the image: push the bundle by bridge bundle push")
	}
	from, err := r.remote.Manifests().Fetch(ctx, *referrer)
	if err != nil {
		return bundle.Record{}, err
	}
	manifest, err := r.read(from)
	if err != nil || len(manifest.Layers) != 1 {
		return bundle.Record{}, errors.Join(errors.New("what refers to the image is no record"), err)
	}
	blob, err := r.remote.Blobs().Fetch(ctx, manifest.Layers[0])
	if err != nil {
		return bundle.Record{}, err
	}
	defer blob.Close()
	text, err := readAll(blob, bundle.MaxRecord)
	if err != nil {
		return bundle.Record{}, err
	}
	return bundle.DecodeRecord(text)
}

// Fetch returns the compressed bytes of a bundle, whose digest the caller verifies. The caller
// closes them.
func (r *Repository) Fetch(ctx context.Context, f *Found) (io.ReadCloser, error) {
	from, err := r.remote.Blobs().Fetch(ctx, f.layer)
	if err != nil {
		return nil, r.explain("fetch the bundle from", err)
	}
	return from, nil
}
