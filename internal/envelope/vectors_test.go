// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// hexBytes are bytes that JSON holds as hex.
type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// vectors fix the format: an envelope that was stored once must open for ever.
// testdata/vectors.py wrote them, which shares no code with this package.
type vectors struct {
	Seal    []sealVector    `json:"seal"`
	Rewrap  []rewrapVector  `json:"rewrap"`
	Refused []refusedVector `json:"refused"`
	Transit []transitVector `json:"transit"`
}

type sealVector struct {
	Name       string   `json:"name"`
	Master     hexBytes `json:"masterKey"`
	KeyVersion uint32   `json:"keyVersion"`
	Salt       hexBytes `json:"salt"`
	Cluster    string   `json:"cluster"`
	UserUID    string   `json:"userUID"`
	Secret     string   `json:"secret"`
	Random     hexBytes `json:"random"` // Data key, data nonce, wrap nonce.

	UserKey   hexBytes `json:"userKey"`
	WrapAAD   hexBytes `json:"wrapAAD"`
	DataAAD   hexBytes `json:"dataAAD"`
	Plaintext hexBytes `json:"plaintext"`
	Envelope  hexBytes `json:"envelope"`

	// Where they are large, byte i of the plaintext is i modulo 251 and these
	// stand for it and the envelope.
	PlaintextSize   int      `json:"plaintextSize"`
	PlaintextSHA256 hexBytes `json:"plaintextSHA256"`
	EnvelopeSHA256  hexBytes `json:"envelopeSHA256"`
}

// rewrapVector is a seal vector's envelope under another key version.
type rewrapVector struct {
	Name       string   `json:"name"`
	Of         string   `json:"of"`
	Master     hexBytes `json:"masterKey"`
	KeyVersion uint32   `json:"keyVersion"`
	Random     hexBytes `json:"random"` // Wrap nonce.
	Envelope   hexBytes `json:"envelope"`
}

// refusedVector does not open for the user and name of the first seal vector.
type refusedVector struct {
	Name     string   `json:"name"`
	Envelope hexBytes `json:"envelope"`
	Error    string   `json:"error"`
}

// transitVector is sealed by a transit engine whose key of that version is the
// master key. The engine draws the wrap nonce.
type transitVector struct {
	Name       string   `json:"name"`
	Master     hexBytes `json:"masterKey"`
	KeyVersion uint32   `json:"keyVersion"`
	Salt       hexBytes `json:"salt"`
	Cluster    string   `json:"cluster"`
	UserUID    string   `json:"userUID"`
	Secret     string   `json:"secret"`
	Random     hexBytes `json:"random"` // Data key, data nonce, wrap nonce.

	Context    hexBytes `json:"context"`
	WrapAAD    hexBytes `json:"wrapAAD"`
	DataAAD    hexBytes `json:"dataAAD"`
	Ciphertext string   `json:"ciphertext"` // As the engine answers.
	Plaintext  hexBytes `json:"plaintext"`
	Envelope   hexBytes `json:"envelope"`
}

func readVectors(t testing.TB) vectors {
	t.Helper()
	content := must.Value(os.ReadFile("testdata/vectors.json"))(t)
	var v vectors
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	must.Succeed(t, decoder.Decode(&v))
	return v
}

// ring returns the user's ring of the vector, with more master keys if given.
func (v sealVector) ring(t testing.TB, more ...rewrapVector) *User {
	t.Helper()
	masters := map[uint32][KeySize]byte{v.KeyVersion: [KeySize]byte(v.Master)}
	for _, m := range more {
		masters[m.KeyVersion] = [KeySize]byte(m.Master)
	}
	r := must.Value(NewKeyring(masters, 0))(t)
	return must.Value(keys(t, r).User(v.Cluster, v.UserUID, v.Salt))(t)
}

func (v sealVector) plaintext(t testing.TB) []byte {
	t.Helper()
	if v.PlaintextSize == 0 {
		return v.Plaintext
	}
	b := make([]byte, v.PlaintextSize)
	for i := range b {
		b[i] = byte(i % 251)
	}
	if sum := sha256.Sum256(b); !bytes.Equal(sum[:], v.PlaintextSHA256) {
		t.Fatal("the plaintext is not the vector's")
	}
	return b
}

func TestSealVectors(t *testing.T) {
	for _, v := range readVectors(t).Seal {
		t.Run(v.Name, func(t *testing.T) {
			u := v.ring(t)
			key, err := deriveUserKey(hide([KeySize]byte(v.Master)), hide([SaltSize]byte(v.Salt)), v.UserUID)
			if err != nil || !bytes.Equal(key, v.UserKey) {
				t.Errorf("user key %x, %v; want %x", key, err, v.UserKey)
			}
			if got := u.wrapping(AlgorithmLocal, v.Secret).AAD(v.KeyVersion); !bytes.Equal(got, v.WrapAAD) {
				t.Errorf("wrap AAD %x, want %x", got, v.WrapAAD)
			}
			if got := u.wrapping(AlgorithmLocal, v.Secret).dataAAD(); !bytes.Equal(got, v.DataAAD) {
				t.Errorf("data AAD %x, want %x", got, v.DataAAD)
			}
			sealed := must.Value(Seal(t.Context(), bytes.NewReader(v.Random), u, v.Secret, v.plaintext(t)))(t)
			sum := sha256.Sum256(sealed)
			if !bytes.Equal(sealed, v.Envelope) && !bytes.Equal(sum[:], v.EnvelopeSHA256) {
				t.Errorf("seals to %x, want %x", sealed, v.Envelope)
			}
			opened, err := Open(t.Context(), u, v.Secret, sealed)
			if err != nil || !bytes.Equal(opened, v.plaintext(t)) {
				t.Errorf("opens to %d bytes, %v; want %d, the vector's", len(opened), err, len(v.plaintext(t)))
			}
		})
	}
}

func TestRewrapVectors(t *testing.T) {
	all := readVectors(t)
	for _, v := range all.Rewrap {
		t.Run(v.Name, func(t *testing.T) {
			i := indexOf(t, all.Seal, v.Of)
			u := all.Seal[i].ring(t, v)
			got, changed, err := Rewrap(t.Context(), bytes.NewReader(v.Random), u, all.Seal[i].Secret, all.Seal[i].Envelope)
			if err != nil || !changed || !bytes.Equal(got, v.Envelope) {
				t.Errorf("rewraps to %x, %v, %v; want %x", got, changed, err, v.Envelope)
			}
			opened, err := Open(t.Context(), u, all.Seal[i].Secret, v.Envelope)
			if err != nil || !bytes.Equal(opened, all.Seal[i].Plaintext) {
				t.Errorf("opens to %x, %v; want %x", opened, err, all.Seal[i].Plaintext)
			}
		})
	}
}

func indexOf(t testing.TB, all []sealVector, name string) int {
	t.Helper()
	for i, v := range all {
		if v.Name == name {
			return i
		}
	}
	t.Fatalf("there is no vector %q", name)
	return -1
}

func TestRefusedVectors(t *testing.T) {
	want := map[string]error{
		"malformed":           ErrMalformed,
		"unknown format":      ErrUnknownFormat,
		"unknown algorithm":   ErrUnknownAlgorithm,
		"unknown key version": ErrUnknownKeyVersion,
		"refused":             ErrRefused,
	}
	all := readVectors(t)
	u := all.Seal[0].ring(t)
	for _, v := range all.Refused {
		t.Run(v.Name, func(t *testing.T) {
			if want[v.Error] == nil {
				t.Fatalf("the vector names an error %q that there is not", v.Error)
			}
			if opened, err := Open(t.Context(), u, all.Seal[0].Secret, v.Envelope); !errors.Is(err, want[v.Error]) || opened != nil {
				t.Errorf("opens to %d bytes, %v; want %v", len(opened), err, want[v.Error])
			}
		})
	}
}

func TestTransitVectors(t *testing.T) {
	all := readVectors(t).Transit
	if len(all) == 0 {
		t.Fatal("there are none")
	}
	for _, v := range all {
		t.Run(v.Name, func(t *testing.T) {
			p := &transit{masters: map[uint32]hidden{v.KeyVersion: hide([KeySize]byte(v.Master))}, current: v.KeyVersion, minimum: 1, calls: new(int)}
			u := must.Value(keys(t, p).User(v.Cluster, v.UserUID, v.Salt))(t)
			w := u.wrapping(AlgorithmTransit, v.Secret)
			if got := w.Context(); !bytes.Equal(got[:], v.Context) {
				t.Errorf("context %x, want %x", got, v.Context)
			}
			if got := w.AAD(v.KeyVersion); !bytes.Equal(got, v.WrapAAD) {
				t.Errorf("wrap AAD %x, want %x", got, v.WrapAAD)
			}
			if got := w.dataAAD(); !bytes.Equal(got, v.DataAAD) {
				t.Errorf("data AAD %x, want %x", got, v.DataAAD)
			}
			sealed, err := Seal(t.Context(), bytes.NewReader(v.Random), u, v.Secret, v.Plaintext)
			if err != nil || !bytes.Equal(sealed, v.Envelope) {
				t.Errorf("seals to %x, %v; want %x", sealed, err, v.Envelope)
			}
			want := fmt.Sprintf("vault:v%d:%s", v.KeyVersion, base64.StdEncoding.EncodeToString(v.Envelope[wrapNonceAt:dataNonceAt]))
			if v.Ciphertext != want {
				t.Errorf("the engine answers %s, and the envelope has %s", v.Ciphertext, want)
			}
			if opened, err := Open(t.Context(), u, v.Secret, v.Envelope); err != nil || !bytes.Equal(opened, v.Plaintext) {
				t.Errorf("opens to %x, %v; want %x", opened, err, v.Plaintext)
			}
		})
	}
}
