// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

const imageSignPath = "/v1/images/sign"

func TestABundlersImageIsSignedByTheKeyThatIsPublished(t *testing.T) {
	var log bytes.Buffer
	s, _ := testServer(t, newWorld(), &log)
	digest := "sha256:" + strings.Repeat("0a", 32)
	w := ask(t, s.handler(), "POST", imageSignPath, "token-of-bundler-1", "application/json", []byte(`{"repository":"registry.example.com:5000/mcp/bundles","digest":"`+digest+`"}`))
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	var signed struct{ Payload, Signature []byte }
	must.Succeed(t, json.Unmarshal(w.Body.Bytes(), &signed))
	const want = `{"critical":{"identity":{"docker-reference":"registry.example.com:5000/mcp/bundles"},"image":{"docker-manifest-digest":"DIGEST"},"type":"cosign container image signature"},"optional":null}`
	if got := strings.Replace(string(signed.Payload), digest, "DIGEST", 1); got != want {
		t.Errorf("signed is %s", got)
	}
	block, _ := pem.Decode([]byte(must.Value(Published(s.authority))(t)[imageKey]))
	key := must.Value(x509.ParsePKIXPublicKey(block.Bytes))(t).(*ecdsa.PublicKey)
	sum := sha256.Sum256(signed.Payload)
	if !ecdsa.VerifyASN1(key, sum[:], signed.Signature) {
		t.Error("the signature is not that of the published key")
	}
}

func TestNothingButAnImageOfABundlerIsSigned(t *testing.T) {
	var log bytes.Buffer
	s, _ := testServer(t, newWorld(), &log)
	good := `{"repository":"r.example.com/a","digest":"sha256:` + strings.Repeat("0a", 32) + `"}`
	for name, test := range map[string]struct {
		caller, body string
		status       int
	}{
		"another repository's form": {"token-of-bundler-1", strings.Replace(good, "r.example.com/a", `r.example.com/a\"`, 1), http.StatusBadRequest},
		"a tag":                     {"token-of-bundler-1", strings.Replace(good, "/a", "/a:1", 1), http.StatusBadRequest},
		"no digest":                 {"token-of-bundler-1", `{"repository":"r.example.com/a"}`, http.StatusBadRequest},
		"no JSON":                   {"token-of-bundler-1", "x", http.StatusBadRequest},
		"a bridge":                  {"token-of-alice-pod", good, http.StatusForbidden},
		"an unknown caller":         {"token-of-nobody", good, http.StatusUnauthorized},
	} {
		if w := ask(t, s.handler(), "POST", imageSignPath, test.caller, "application/json", []byte(test.body)); w.Code != test.status {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}
