// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const signable = `{"schemaVersion":2,"id":"notes","name":"Notes","description":"Keeps notes.","repository":"https://example.com/notes",
	"colour":1.50,"transports":[{"type":"sse","url":"https://notes.example.com/sse"}],"signature":{"value":"old"}}`

func TestAMadeKeySignsWhatItsPublicKeyVerifies(t *testing.T) {
	signer := must.Value(recipe.ReadPrivateKey(must.Value(recipe.MakeKey(rand.Reader))(t)))(t)
	other := must.Value(recipe.ReadPrivateKey(must.Value(recipe.MakeKey(rand.Reader))(t)))(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	file, warnings, err := signer.SignAs("acme", []byte(signable), at)
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "colour") {
		t.Fatalf("%v %v", warnings, err)
	}
	doc := must.Value(jsondoc.Parse(file))(t)
	if err := recipe.Verify(doc, must.Value(recipe.ParseKey(signer.PublicKey()))(t)); err != nil {
		t.Error(err)
	}
	if err := recipe.Verify(doc, must.Value(recipe.ParseKey(other.PublicKey()))(t)); !errors.Is(err, recipe.ErrSignature) {
		t.Errorf("by another key: %v", err)
	}
	for _, text := range []string{`"colour": 1.50`, `"publisherId": "acme"`, `"signedAt": "2026-03-01T12:00:00.000Z"`} {
		if !bytes.Contains(file, []byte(text)) {
			t.Errorf("%s is not in %s", text, file)
		}
	}
}

func TestRecipesThatAreNotSigned(t *testing.T) {
	signer := must.Value(recipe.ReadPrivateKey(must.Value(recipe.MakeKey(rand.Reader))(t)))(t)
	for name, test := range map[string]struct{ publisher, file, says string }{
		"for nobody":           {"", signable, "must be the id"},
		"for the installation": {recipe.InstallationPublisher, signable, "must be the id"},
		"version 1": {"acme", `{"id":"old","name":"Old","description":"d","homepage":"https://x.example","transport":"sse","url":"https://x.example"}`,
			"only for recipes of version 2"},
		"with faults": {"acme", `{"schemaVersion":2,"id":"notes"}`, "transports: at least one is required"},
		"no JSON":     {"acme", `{`, "the recipe"},
	} {
		if file, _, err := signer.SignAs(test.publisher, []byte(test.file), time.Time{}); err == nil || file != nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v %s", name, err, file)
		}
	}
}

func TestKeysThatAreNotRead(t *testing.T) {
	if _, err := recipe.MakeKey(iotest.ErrReader(errors.New("no entropy"))); err == nil {
		t.Error("a key is made of nothing")
	}
	elliptical := must.Value(x509.MarshalPKCS8PrivateKey(must.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)))(t)
	for name, test := range map[string]struct{ text, says string }{
		"a text":          {"c4n4ry", "no private key in PEM"},
		"a public key":    {string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("c4n4ry")})), "no private key in PEM"},
		"another key":     {string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: elliptical})), "must be an Ed25519 key"},
		"what is not DER": {string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("c4n4ry")})), "must be an Ed25519 key"},
	} {
		_, err := recipe.ReadPrivateKey([]byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, secret := range []string{"c4n4ry", base64.StdEncoding.EncodeToString([]byte("c4n4ry")), base64.StdEncoding.EncodeToString(elliptical)[:16]} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error repeats the file", name)
			}
		}
	}
}
