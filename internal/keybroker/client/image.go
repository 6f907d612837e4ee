// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// SignImage has the keybroker sign the digest of an image in a repository. It returns what was
// signed, and the signature in ASN.1. The error is a *Refusal when the keybroker answered.
func (c *Client) SignImage(ctx context.Context, repository, digest string) (payload, signature []byte, err error) {
	body, err := json.Marshal(map[string]string{"repository": repository, "digest": digest})
	if err != nil {
		return nil, nil, err
	}
	request, err := c.request(ctx, http.MethodPost, "images/sign", bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	_, body, err = do(c.http, request, maxAnswer)
	if err != nil {
		return nil, nil, fmt.Errorf("sign image: %w", err)
	}
	var signed struct{ Payload, Signature []byte }
	if err := json.Unmarshal(body, &signed); err != nil || len(signed.Payload) == 0 || len(signed.Signature) == 0 {
		return nil, nil, errors.New("the keybroker's answer is no signature")
	}
	return signed.Payload, signed.Signature, nil
}
