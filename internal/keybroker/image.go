// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"github.com/hostedbridge/hostedbridge/internal/bundling/bundlename"
	"github.com/hostedbridge/hostedbridge/internal/pki"
)

// maxImage is the size in bytes of the largest request to sign an image.
const maxImage = 1 << 10

var imageForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// imageSigner signs images of bundles. It makes what is signed by itself, so that the key signs nothing
// else.
type imageSigner struct{ authority *pki.Authority }

// sign signs the digest of an image.
func (s imageSigner) sign(_ context.Context, c *call) (answer, error) {
	var image struct{ Repository, Digest string }
	if err := json.Unmarshal(c.body, &image); err != nil || !bundlename.IsRepository(image.Repository) || !imageForm.MatchString(image.Digest) {
		return answer{}, errImage
	}
	payload := imagePayload(image.Repository, image.Digest)
	signature, err := s.authority.SignImage(payload)
	if err != nil {
		return answer{}, fmt.Errorf("sign image: %w", err)
	}
	body, err := json.Marshal(map[string][]byte{"payload": payload, "signature": signature})
	if err != nil {
		return answer{}, errors.New("encode the signature")
	}
	return answer{status: http.StatusOK, mediaType: "application/json", body: body}, nil
}

// imagePayload returns what cosign signs of an image (containers/image, docs/signature: Red Hat's
// "simple signing"). No character of either text needs an escape in JSON.
func imagePayload(repository, digest string) []byte {
	return fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":%q},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, repository, digest)
}
