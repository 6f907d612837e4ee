// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestSecretBodyLeavesTheCallersMemoryAndClearsItsOwn(t *testing.T) {
	value := []byte("canary-5d0c1f77")
	body := newSecretBody(value)
	own := body.value
	clear(value)
	got, err := io.ReadAll(body)
	if err != nil || string(got) != "canary-5d0c1f77" {
		t.Fatalf("read %d bytes, %v", len(got), err)
	}
	must.Succeed(t, body.Close())
	if !bytes.Equal(own, make([]byte, len(own))) {
		t.Error("it is still there after the transport is done with it")
	}
	if _, err := body.Read(make([]byte, 1)); !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("Read after Close: %v", err)
	}
	if err := body.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}
