// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the test vectors anew")

const vectorsFile = "testdata/vectors.json"

// vector fixes the format: an envelope that was stored once must open for ever.
type vector struct {
	Name      string `json:"name"`
	Master    string `json:"masterKey"` // Hex, as all bytes here.
	Version   uint32 `json:"keyVersion"`
	Salt      string `json:"salt"`
	Cluster   string `json:"cluster"`
	UserUID   string `json:"userUID"`
	Secret    string `json:"secret"`
	Random    string `json:"random"` // Data key, data nonce, wrap nonce.
	Plaintext string `json:"plaintext"`
	Envelope  string `json:"envelope"`
}

// inputs are the vectors without their envelopes.
func inputs() []vector {
	var random []byte
	for i := range 56 {
		random = append(random, byte(i))
	}
	base := vector{
		Master: hex.EncodeToString(fill(0xa5, KeySize)), Version: 1, Salt: hex.EncodeToString(fill(0x5a, SaltSize)),
		Cluster: "hosted-bridge", UserUID: "6f1c2f0e-6a57-4d5f-9f0a-0d9f3b8a1c11", Secret: "GITHUB_TOKEN",
		Random: hex.EncodeToString(random), Plaintext: hex.EncodeToString([]byte("an example")),
	}
	plain, empty, file, version := base, base, base, base
	plain.Name = "a token"
	empty.Name, empty.Plaintext = "an empty secret", ""
	file.Name, file.Secret = "a configuration file", "credentials.json"
	version.Name, version.Version = "a later key version", 258
	return []vector{plain, empty, file, version}
}

func (v vector) bytes(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatalf("%s: %v", v.Name, err)
	}
	return b
}

func (v vector) ring(t *testing.T) *UserRing {
	t.Helper()
	r, err := NewKeyring(map[uint32][KeySize]byte{v.Version: [KeySize]byte(v.bytes(t, v.Master))}, 0)
	if err != nil {
		t.Fatal(err)
	}
	u, err := r.User(v.Cluster, v.UserUID, v.bytes(t, v.Salt))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestVectors(t *testing.T) {
	if *update {
		vectors := inputs()
		for i, v := range vectors {
			sealed, err := Seal(bytes.NewReader(v.bytes(t, v.Random)), v.ring(t), v.Secret, v.bytes(t, v.Plaintext))
			if err != nil {
				t.Fatal(err)
			}
			vectors[i].Envelope = hex.EncodeToString(sealed)
		}
		content, err := json.MarshalIndent(vectors, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(vectorsFile, append(content, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(content, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) != len(inputs()) {
		t.Fatalf("%d vectors, want %d", len(vectors), len(inputs()))
	}
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			u := v.ring(t)
			sealed, err := Seal(bytes.NewReader(v.bytes(t, v.Random)), u, v.Secret, v.bytes(t, v.Plaintext))
			if err != nil || hex.EncodeToString(sealed) != v.Envelope {
				t.Errorf("seals to %x (%v), want %s", sealed, err, v.Envelope)
			}
			opened, err := Open(u, v.Secret, v.bytes(t, v.Envelope))
			if err != nil || hex.EncodeToString(opened) != v.Plaintext {
				t.Errorf("opens to %x (%v), want %s", opened, err, v.Plaintext)
			}
		})
	}
}
