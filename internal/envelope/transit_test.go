// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"bytes"
	"context"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// transit does what a transit engine does: a key for each context by HKDF,
// and AES-256-GCM. It draws its nonces from random, for the vectors.
type transit struct {
	masters map[uint32]hidden
	current uint32
	minimum uint32
	// err, if set, is what it answers.
	err error
	// change, if set, spoils what it answers.
	change func(*Wrapped, *[]byte)
	calls  *int
}

// transitOf has a key for each version, of which the highest is current.
func transitOf(versions ...uint32) *transit {
	p := &transit{masters: map[uint32]hidden{}, current: slices.Max(versions), minimum: 1, calls: new(int)}
	for v, key := range maps.All(masterKeys(versions...)) {
		p.masters[v] = hide(key)
	}
	return p
}

func (p *transit) KeyID() KeyID    { return KeyID{AlgorithmTransit, p.current} }
func (p *transit) Minimum() uint32 { return p.minimum }

func (p *transit) Wrap(_ context.Context, random io.Reader, w Wrapping, dataKey []byte) (Wrapped, error) {
	*p.calls++
	k := Wrapped{Version: p.current}
	if _, err := io.ReadFull(random, k.Nonce[:]); err != nil {
		return Wrapped{}, err
	}
	aead, err := p.cipher(w, p.current)
	if err != nil {
		return Wrapped{}, err
	}
	copy(k.Key[:], aead.Seal(nil, k.Nonce[:], dataKey, w.AAD(p.current)))
	if p.change != nil {
		p.change(&k, nil)
	}
	return k, p.err
}

func (p *transit) Unwrap(_ context.Context, w Wrapping, k Wrapped) ([]byte, error) {
	*p.calls++
	if p.err != nil {
		return nil, p.err
	}
	aead, err := p.cipher(w, k.Version)
	if err != nil {
		return nil, err
	}
	dataKey, err := aead.Open(nil, k.Nonce[:], k.Key[:], w.AAD(k.Version))
	if err != nil {
		return nil, fmt.Errorf("transit: %w", ErrRefused)
	}
	if p.change != nil {
		p.change(nil, &dataKey)
	}
	return dataKey, nil
}

func (p *transit) cipher(w Wrapping, version uint32) (cipher.AEAD, error) {
	master, found := p.masters[version]
	if !found {
		return nil, fmt.Errorf("transit: %w", ErrUnknownKeyVersion)
	}
	bound := w.Context()
	key, err := hkdf.Key(sha256.New, master()[:], nil, string(bound[:]), KeySize)
	if err != nil {
		return nil, err
	}
	return newGCM(key)
}

// on is alice with these providers.
func on(t testing.TB, current Provider, others ...Provider) *User {
	t.Helper()
	return must.Value(keys(t, current, others...).User(testCluster, testUID, fill(1, SaltSize)))(t)
}

func TestKeysSealWithTheCurrentAndOpenWithAll(t *testing.T) {
	local, remote := ring(t, 0, 1, 2), transitOf(7)
	byLocal, byRemote := on(t, local, remote), on(t, remote, local)
	for _, test := range []struct {
		user *User
		key  KeyID
	}{{byLocal, KeyID{AlgorithmLocal, 2}}, {byRemote, KeyID{AlgorithmTransit, 7}}} {
		sealed := seal(t, test.user, testSecret, canary)
		if h, err := Inspect(sealed); err != nil || h.Key != test.key || test.user.keys.Current() != test.key {
			t.Errorf("sealed by %s, %v; current %s; want %s", h.Key, err, test.user.keys.Current(), test.key)
		}
		for _, u := range []*User{byLocal, byRemote} {
			if got, err := Open(t.Context(), u, testSecret, sealed); err != nil || !bytes.Equal(got, canary) {
				t.Errorf("sealed by %s: %v", test.key, err)
			}
		}
	}
	if _, err := Open(t.Context(), on(t, remote), testSecret, seal(t, byLocal, testSecret, canary)); !errors.Is(err, ErrUnknownAlgorithm) {
		t.Errorf("without the provider: %v, want %v", err, ErrUnknownAlgorithm)
	}
}

func TestAProviderThatDoesNotKnowItsVersionYetSealsNothing(t *testing.T) {
	local, remote := ring(t, 0, 1), transitOf(3)
	sealed, byLocal := seal(t, on(t, remote), testSecret, canary), seal(t, on(t, local), testSecret, canary)
	remote.current, remote.err = 0, errors.New("not reached")
	u := on(t, remote, local)
	if got := u.keys.Current(); got != (KeyID{AlgorithmTransit, 0}) {
		t.Errorf("current %s", got)
	}
	unavailable := map[string]error{}
	_, unavailable["seal"] = Seal(t.Context(), rand.Reader, u, testSecret, canary)
	_, unavailable["open"] = Open(t.Context(), u, testSecret, sealed)
	_, _, unavailable["rewrap"] = Rewrap(t.Context(), rand.Reader, u, testSecret, sealed)
	_, _, unavailable["move"] = Rewrap(t.Context(), rand.Reader, u, testSecret, byLocal)
	// Not even one that wraps all the same, under a version that is none.
	remote.err, remote.masters[0] = nil, remote.masters[3]
	_, unavailable["seal under none"] = Seal(t.Context(), rand.Reader, u, testSecret, canary)
	for what, err := range unavailable {
		if !errors.Is(err, ErrUnavailable) || isRefusal(err) {
			t.Errorf("%s: %v, want %v", what, err, ErrUnavailable)
		}
	}
	if got, err := Open(t.Context(), u, testSecret, byLocal); err != nil || !bytes.Equal(got, canary) {
		t.Errorf("what the ring sealed: %v", err)
	}
}

func TestNewKeysRefuses(t *testing.T) {
	odd := transitOf(1)
	odd.current = 1 << 31
	for _, test := range []struct {
		name    string
		current Provider
		others  []Provider
		message string
	}{
		{"no provider", nil, nil, "missing"},
		{"none beside one", ring(t, 0, 1), []Provider{nil}, "missing"},
		{"two of an algorithm", ring(t, 0, 1), []Provider{ring(t, 0, 2)}, "two providers of local keys"},
		{"a ring without a key", &Keyring{}, nil, "local:0"},
		{"a version that no envelope holds", odd, nil, "transit:2147483648"},
		{"an unknown algorithm", another{}, nil, "algorithm-3:1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			k, err := NewKeys(test.current, test.others...)
			if k != nil || err == nil || !strings.Contains(err.Error(), test.message) {
				t.Errorf("NewKeys: %v, want %q", err, test.message)
			}
		})
	}
}

// another has an algorithm that there is not.
type another struct{ *transit }

func (another) KeyID() KeyID { return KeyID{3, 1} }

func TestKeyIDsAreNamed(t *testing.T) {
	for id, want := range map[KeyID]string{{}: "none", {AlgorithmLocal, 2}: "local:2", {AlgorithmTransit, 12}: "transit:12", {9, 1}: "algorithm-9:1"} {
		if id.String() != want {
			t.Errorf("%q, want %q", id, want)
		}
	}
}

// What a provider cannot say is no word about the envelope.
func TestAProviderThatIsAway(t *testing.T) {
	p := transitOf(1, 2)
	sealed := seal(t, on(t, transitOf(1)), testSecret, canary)
	for _, cause := range []error{errors.New("connection refused"), context.DeadlineExceeded, fmt.Errorf("%w: away", ErrUnavailable)} {
		p.err = cause
		_, sealing := Seal(t.Context(), rand.Reader, on(t, p), testSecret, canary)
		opened, opening := Open(t.Context(), on(t, p), testSecret, sealed)
		out, changed, rewrapping := Rewrap(t.Context(), rand.Reader, on(t, p), testSecret, sealed)
		for what, err := range map[string]error{"Seal": sealing, "Open": opening, "Rewrap": rewrapping} {
			if !errors.Is(err, ErrUnavailable) || !errors.Is(err, cause) || isRefusal(err) {
				t.Errorf("%s: %v, want %v and its cause", what, err, ErrUnavailable)
			}
		}
		if opened != nil || out != nil || changed {
			t.Error("something comes beside the error")
		}
	}
	for _, cause := range refusals {
		p.err = fmt.Errorf("provider: %w", cause)
		if _, err := Open(t.Context(), on(t, p), testSecret, sealed); !errors.Is(err, cause) || errors.Is(err, ErrUnavailable) {
			t.Errorf("%v becomes %v", cause, err)
		}
	}
}

// A refusal says something of an envelope, and there is none yet.
func TestSealNeverRefusesAnEnvelope(t *testing.T) {
	p := transitOf(1)
	for _, cause := range refusals {
		p.err = fmt.Errorf("provider: %w", cause)
		if _, err := Seal(t.Context(), rand.Reader, on(t, p), testSecret, canary); !errors.Is(err, ErrUnavailable) || isRefusal(err) {
			t.Errorf("%v becomes %v, want %v", cause, err, ErrUnavailable)
		}
	}
}

func TestAProviderThatAnswersNonsense(t *testing.T) {
	sealed := seal(t, on(t, transitOf(1, 2)), testSecret, canary)
	for name, change := range map[string]func(*Wrapped, *[]byte){
		"an earlier version": func(w *Wrapped, _ *[]byte) {
			if w != nil {
				w.Version = 1
			}
		},
		"a later version": func(w *Wrapped, _ *[]byte) {
			if w != nil {
				w.Version = 3
			}
		},
		"no data key": func(_ *Wrapped, k *[]byte) {
			if k != nil {
				*k = nil
			}
		},
		"a data key for AES-128": func(_ *Wrapped, k *[]byte) {
			if k != nil {
				*k = (*k)[:16]
			}
		},
		"a data key that is too long": func(_ *Wrapped, k *[]byte) {
			if k != nil {
				*k = append(*k, 0)
			}
		},
	} {
		p := transitOf(1, 2)
		p.change = change
		_, sealing := Seal(t.Context(), rand.Reader, on(t, p), testSecret, canary)
		_, opening := Open(t.Context(), on(t, p), testSecret, sealed)
		if sealing == nil && opening == nil {
			t.Errorf("%s is taken", name)
		}
		for _, err := range []error{sealing, opening} {
			if err != nil && !errors.Is(err, ErrUnavailable) {
				t.Errorf("%s: %v, want %v", name, err, ErrUnavailable)
			}
		}
	}
}

func TestARetiredVersionIsNotAskedFor(t *testing.T) {
	p := transitOf(1, 2)
	sealed := seal(t, on(t, transitOf(1)), testSecret, canary)
	p.minimum = 2
	if _, err := Open(t.Context(), on(t, p), testSecret, sealed); !errors.Is(err, ErrRetiredKeyVersion) || *p.calls != 0 {
		t.Errorf("error %v after %d calls, want %v after none", err, *p.calls, ErrRetiredKeyVersion)
	}
}

// Moving to another provider seals anew, since the data are bound to the
// algorithm.
func TestRewrapAcrossAlgorithmsSealsAnew(t *testing.T) {
	local, remote := ring(t, 0, 5), transitOf(1)
	for _, test := range []struct {
		name     string
		from, to *User
		key      KeyID
	}{
		{"to transit, of a lower version", on(t, local), on(t, remote, local), KeyID{AlgorithmTransit, 1}},
		{"back to the ring", on(t, remote), on(t, local, remote), KeyID{AlgorithmLocal, 5}},
	} {
		t.Run(test.name, func(t *testing.T) {
			sealed := seal(t, test.from, testSecret, canary)
			before := bytes.Clone(sealed)
			got, changed, err := Rewrap(t.Context(), rand.Reader, test.to, testSecret, sealed)
			if err != nil || !changed {
				t.Fatalf("Rewrap: %v, %v", changed, err)
			}
			if h, err := Inspect(got); err != nil || h.Key != test.key {
				t.Errorf("sealed by %s, %v; want %s", h.Key, err, test.key)
			}
			if opened, err := Open(t.Context(), test.to, testSecret, got); err != nil || !bytes.Equal(opened, canary) {
				t.Errorf("does not open: %v", err)
			}
			if !bytes.Equal(sealed, before) || bytes.Equal(got[dataNonceAt:], sealed[dataNonceAt:]) {
				t.Error("the input was written to, or the data are the same")
			}
			if again, changed, err := Rewrap(t.Context(), rand.Reader, test.to, testSecret, got); err != nil || changed || !bytes.Equal(again, got) {
				t.Errorf("a second time: %v, %v", changed, err)
			}
			// Here the data are decrypted, so that damage to them is found.
			damaged := bytes.Clone(sealed)
			damaged[dataAt] ^= 1
			if got, changed, err := Rewrap(t.Context(), rand.Reader, test.to, testSecret, damaged); !errors.Is(err, ErrRefused) || got != nil || changed {
				t.Errorf("damaged data: %v, want %v", err, ErrRefused)
			}
			if _, _, err := Rewrap(t.Context(), io.LimitReader(rand.Reader, KeySize), test.to, testSecret, sealed); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
				t.Errorf("without enough randomness: %v", err)
			}
		})
	}
}

func TestRewrapWithinTransitChangesTheWrapAlone(t *testing.T) {
	sealed := seal(t, on(t, transitOf(1)), testSecret, canary)
	both := on(t, transitOf(1, 2), ring(t, 0, 9))
	got, changed, err := Rewrap(t.Context(), rand.Reader, both, testSecret, sealed)
	if err != nil || !changed || version(t, got) != 2 || !bytes.Equal(got[dataNonceAt:], sealed[dataNonceAt:]) {
		t.Fatalf("Rewrap: %v, %v", changed, err)
	}
	if opened, err := Open(t.Context(), on(t, transitOf(2)), testSecret, got); err != nil || !bytes.Equal(opened, canary) {
		t.Errorf("without the old version it does not open: %v", err)
	}
}

// One context is one user's key.
func TestContextsDiffer(t *testing.T) {
	seen := map[[sha256.Size]byte]string{}
	for _, in := range []struct {
		cluster, uid string
		salt         byte
	}{{"c", "alice", 1}, {"c", "bob", 1}, {"c", "alice", 2}, {"d", "alice", 1}, {"ca", "lice", 1}, {"c", "alice\x00", 1}} {
		u := user(t, transitOf(1), in.cluster, in.uid, in.salt)
		bound := u.wrapping(AlgorithmTransit, testSecret).Context()
		if other, found := seen[bound]; found {
			t.Errorf("%s/%s has the context of %s", in.cluster, in.uid, other)
		}
		if bound != u.wrapping(AlgorithmTransit, "OTHER").Context() {
			t.Error("another secret of the same user has another context")
		}
		seen[bound] = in.cluster + "/" + in.uid
	}
}

func TestBody(t *testing.T) {
	u := alice(t, 1)
	sealed := seal(t, u, testSecret, canary)
	body, err := Body(sealed)
	if err != nil || !bytes.Equal(body, sealed[73:]) {
		t.Fatalf("Body = %d bytes, %v", len(body), err)
	}
	rewrapped, _ := must.Values(Rewrap(t.Context(), rand.Reader, alice(t, 1, 2), testSecret, sealed))(t)
	if same, err := Body(rewrapped); err != nil || !bytes.Equal(body, same) {
		t.Errorf("a rotation changes it: %v", err)
	}
	if other, err := Body(seal(t, u, testSecret, canary)); err != nil || bytes.Equal(body, other) {
		t.Errorf("sealing anew does not change it: %v", err)
	}
}
