// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundleimage

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
)

// The form of cosign's signatures: the layer of an image whose tag follows from the digest that is
// signed (sigstore/cosign, specs/SIGNATURE_SPEC.md).
const (
	signedType          = "application/vnd.dev.cosign.simplesigning.v1+json"
	signatureAnnotation = "dev.cosignproject.cosign/signature"
)

// Sign attaches the signature of a payload, in ASN.1, to the image with a digest. cosign verifies it, and
// so do the admission controllers that read cosign's signatures.
func (r *Repository) Sign(ctx context.Context, image string, payload, signature []byte) error {
	layer := content.NewDescriptorFromBytes(signedType, payload)
	layer.Annotations = map[string]string{signatureAnnotation: base64.StdEncoding.EncodeToString(signature)}
	if err := r.blob(ctx, layer, bytes.NewReader(payload)); err != nil {
		return r.explain("upload the signature to", err)
	}
	config, err := json.Marshal(ocispec.Image{RootFS: ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{layer.Digest}}})
	if err != nil {
		return err
	}
	if _, err := r.manifest(ctx, strings.Replace(image, ":", "-", 1)+".sig", config, layer); err != nil {
		return r.explain("upload the signature to", err)
	}
	return nil
}
