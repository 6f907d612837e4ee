// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package masterkey

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// server is a transit engine, ours or a real one, and a token that may do
// everything there.
type server struct {
	address, token, caFile string
	// path is the engine's, "transit" if it is empty.
	path string
}

// do asks for something as an administrator.
func (s server) do(t testing.TB, method, path string, body map[string]any) {
	t.Helper()
	encoded := must.Value(json.Marshal(body))(t)
	// Cleaning up is after the end of the test's own context.
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, s.address+"/v1/"+path, bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Vault-Token", s.token)
	client := must.Value(newTransitClient(s.options(t, "any")))(t)
	defer client.http.CloseIdleConnections()
	res := must.Value(client.http.Do(req))(t)
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s", method, path, res.Status)
	}
}

func (s server) mount(t testing.TB, path string) {
	t.Helper()
	s.do(t, http.MethodPost, "sys/mounts/"+path, map[string]any{"type": "transit"})
}

func (s server) engine() string {
	if s.path == "" {
		return "transit"
	}
	return s.path
}

// create makes a key as the documentation says to.
func (s server) create(t testing.TB, key string) {
	t.Helper()
	s.do(t, http.MethodPost, s.engine()+"/keys/"+key, map[string]any{"type": "aes256-gcm96", "derived": true})
}

func (s server) configure(t testing.TB, key, what string, value any) {
	t.Helper()
	s.do(t, http.MethodPost, s.engine()+"/keys/"+key+"/config", map[string]any{what: value})
}

// options are those of a keybroker with the token in a file.
func (s server) options(t testing.TB, key string) TransitOptions {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	must.Succeed(t, os.WriteFile(file, []byte(s.token+"\n"), 0o600))
	return TransitOptions{Address: s.address, CAFile: s.caFile, Mount: s.engine(), Key: key, TokenFile: file}
}

// source is one that seals by transit, with a directory that has these
// versions as well.
func (s server) source(t testing.TB, key string, versions ...byte) *Source {
	t.Helper()
	files := map[string]string{"authority": encoded(9)}
	for _, v := range versions {
		files[fmt.Sprint(v)] = encoded(v)
	}
	opened := open(t, Options{Dir: write(t, files), Provider: ProviderTransit, Transit: s.options(t, key)})
	t.Cleanup(opened.transit.http.CloseIdleConnections)
	return opened
}

// behaviour is what envelopes rely on. It holds for the engine of these tests
// and for a real one.
var behaviour = []struct {
	name string
	test func(t *testing.T, s server, key string)
}{
	{"what is sealed opens", func(t *testing.T, s server, key string) {
		k := s.source(t, key).Keys()
		sealed := seal(t, k)
		if got := sealedBy(t, sealed); got != "transit:1" {
			t.Errorf("sealed by %s, want transit:1", got)
		}
		mustOpen(t, k, sealed)
		mustOpen(t, s.source(t, key).Keys(), sealed)
	}},
	{"a secret opens for its user and name alone", func(t *testing.T, s server, key string) {
		k := s.source(t, key).Keys()
		sealed := seal(t, k)
		otherSalt := must.Value(k.User("test", "alice", bytes.Repeat([]byte{8}, envelope.SaltSize)))(t)
		otherCluster := must.Value(k.User("test2", "alice", bytes.Repeat([]byte{7}, envelope.SaltSize)))(t)
		for name, try := range map[string]struct {
			user   *envelope.User
			secret string
		}{
			"another user":    {user(t, k, "bob"), "TOKEN"},
			"another salt":    {otherSalt, "TOKEN"},
			"another cluster": {otherCluster, "TOKEN"},
			"another name":    {alice(t, k), "TOKEN2"},
		} {
			if got, err := envelope.Open(t.Context(), try.user, try.secret, sealed); !errors.Is(err, envelope.ErrRefused) || got != nil {
				t.Errorf("%s: %v, want %v", name, err, envelope.ErrRefused)
			}
		}
	}},
	{"the server binds what it encrypts to context and associated data", func(t *testing.T, s server, key string) {
		source := s.source(t, key)
		e := encryption{bytes.Repeat([]byte{3}, 32), []byte("context"), []byte("data"), 1}
		ciphertext := must.Value(source.transit.encrypt(t.Context(), e))(t)
		got, err := source.transit.decrypt(t.Context(), decryption{ciphertext, e.Context, e.AssociatedData})
		if err != nil || !bytes.Equal(got, e.Plaintext) {
			t.Errorf("decrypts to %d bytes, %v", len(got), err)
		}
		for _, d := range []decryption{
			{ciphertext, []byte("Context"), e.AssociatedData},
			{ciphertext, e.Context, []byte("Data")},
			{ciphertext, e.Context, nil},
		} {
			if _, err := source.transit.decrypt(t.Context(), d); !errors.Is(err, envelope.ErrRefused) {
				t.Errorf("with context %q and data %q: %v, want %v", d.Context, d.AssociatedData, err, envelope.ErrRefused)
			}
		}
	}},
	{"no changed bit of the wrap is accepted", func(t *testing.T, s server, key string) {
		k := s.source(t, key).Keys()
		sealed := seal(t, k)
		for _, at := range []int{13, 24, 25, 56, 57, 72, 73, 85, len(sealed) - 1} {
			mutant := bytes.Clone(sealed)
			mutant[at] ^= 1
			if _, err := envelope.Open(t.Context(), alice(t, k), "TOKEN", mutant); !errors.Is(err, envelope.ErrRefused) {
				t.Errorf("byte %d: %v, want %v", at, err, envelope.ErrRefused)
			}
		}
	}},
	{"a rotation wraps anew and leaves the secret as it is", func(t *testing.T, s server, key string) {
		source := s.source(t, key)
		behind := s.source(t, key)
		old, changed := seal(t, source.Keys()), source.Changed()
		must.Succeed(t, source.Rotate(t.Context()))
		<-changed
		if st := source.Status(); st.Current != 2 || len(st.Versions) != 2 || st.Provider != ProviderTransit {
			t.Errorf("status %+v", st)
		}
		mustOpen(t, source.Keys(), old)
		rewrapped, did, err := envelope.Rewrap(t.Context(), rand.Reader, alice(t, source.Keys()), "TOKEN", old)
		if err != nil || !did || sealedBy(t, rewrapped) != "transit:2" {
			t.Fatalf("Rewrap: %v, %v", did, err)
		}
		before := must.Value(envelope.Body(old))(t)
		after, err := envelope.Body(rewrapped)
		if err != nil || !bytes.Equal(before, after) {
			t.Errorf("the body is another: %v", err)
		}
		mustOpen(t, source.Keys(), rewrapped)
		// Who has not looked since the rotation opens it too, and seals as before.
		mustOpen(t, behind.Keys(), rewrapped)
		if got := sealedBy(t, seal(t, behind.Keys())); got != "transit:1" {
			t.Errorf("sealed by %s, want transit:1", got)
		}
		again, did, err := envelope.Rewrap(t.Context(), rand.Reader, alice(t, behind.Keys()), "TOKEN", rewrapped)
		if err != nil || did || !bytes.Equal(again, rewrapped) {
			t.Errorf("who is behind takes it back: %v, %v", did, err)
		}
	}},
	{"the version in the header is bound", func(t *testing.T, s server, key string) {
		source := s.source(t, key)
		must.Succeed(t, source.Rotate(t.Context()))
		sealed := seal(t, source.Keys())
		sealed[8] = 1
		if _, err := envelope.Open(t.Context(), alice(t, source.Keys()), "TOKEN", sealed); !errors.Is(err, envelope.ErrRefused) {
			t.Errorf("error %v, want %v", err, envelope.ErrRefused)
		}
		sealed[8] = 3
		if _, err := envelope.Open(t.Context(), alice(t, source.Keys()), "TOKEN", sealed); !errors.Is(err, envelope.ErrUnknownKeyVersion) {
			t.Errorf("error %v, want %v", err, envelope.ErrUnknownKeyVersion)
		}
	}},
	{"a version below min_decryption_version is retired", func(t *testing.T, s server, key string) {
		source, behind := s.source(t, key), s.source(t, key)
		old := seal(t, source.Keys())
		must.Succeed(t, source.Rotate(t.Context()))
		s.configure(t, key, "min_decryption_version", 2)
		must.Succeed(t, source.Reload(t.Context()))
		if st := source.Status(); st.Minimum != 2 {
			t.Errorf("status %+v", st)
		}
		for name, k := range map[string]*envelope.Keys{"who knows": source.Keys(), "who does not know yet": behind.Keys()} {
			if _, err := envelope.Open(t.Context(), alice(t, k), "TOKEN", old); !errors.Is(err, envelope.ErrRetiredKeyVersion) {
				t.Errorf("%s: %v, want %v", name, err, envelope.ErrRetiredKeyVersion)
			}
		}
	}},
	{"who is behind min_encryption_version says try again", func(t *testing.T, s server, key string) {
		source, behind := s.source(t, key), s.source(t, key)
		must.Succeed(t, source.Rotate(t.Context()))
		s.configure(t, key, "min_encryption_version", 2)
		_, err := envelope.Seal(t.Context(), rand.Reader, alice(t, behind.Keys()), "TOKEN", nil)
		if !errors.Is(err, envelope.ErrUnavailable) {
			t.Errorf("error %v, want %v", err, envelope.ErrUnavailable)
		}
		must.Succeed(t, behind.Reload(t.Context()))
		mustOpen(t, source.Keys(), seal(t, behind.Keys()))
	}},
	{"a deleted key is an unknown one", func(t *testing.T, s server, key string) {
		source := s.source(t, key)
		sealed := seal(t, source.Keys())
		s.configure(t, key, "deletion_allowed", true)
		s.do(t, http.MethodDelete, s.engine()+"/keys/"+key, nil)
		if _, err := envelope.Open(t.Context(), alice(t, source.Keys()), "TOKEN", sealed); !errors.Is(err, envelope.ErrUnknownKeyVersion) {
			t.Errorf("error %v, want %v", err, envelope.ErrUnknownKeyVersion)
		}
		if err := source.Reload(t.Context()); !errors.Is(err, envelope.ErrUnavailable) {
			t.Errorf("reload: %v, want %v", err, envelope.ErrUnavailable)
		}
	}},
	{"a token that the server does not know is no refusal of the secret", func(t *testing.T, s server, key string) {
		source := s.source(t, key)
		sealed := seal(t, source.Keys())
		must.Succeed(t, os.WriteFile(source.options.Transit.TokenFile, []byte("hvs.unknown"), 0o600))
		_, err := envelope.Open(t.Context(), alice(t, source.Keys()), "TOKEN", sealed)
		if !errors.Is(err, envelope.ErrUnavailable) || !errors.Is(err, errDenied) {
			t.Errorf("error %v, want %v", err, errDenied)
		}
	}},
	{"envelopes move between the ring and transit", func(t *testing.T, s server, key string) {
		ring := write(t, map[string]string{"1": encoded(1), "authority": encoded(9)})
		local := open(t, Options{Dir: ring})
		sealed := seal(t, local.Keys())
		both := s.source(t, key, 1)
		mustOpen(t, both.Keys(), sealed)
		moved, changed, err := envelope.Rewrap(t.Context(), rand.Reader, alice(t, both.Keys()), "TOKEN", sealed)
		if err != nil || !changed || sealedBy(t, moved) != "transit:1" {
			t.Fatalf("Rewrap: %v, %v", changed, err)
		}
		mustOpen(t, s.source(t, key).Keys(), moved)
		back := open(t, Options{Dir: ring, Transit: s.options(t, key)})
		t.Cleanup(back.transit.http.CloseIdleConnections)
		returned, changed, err := envelope.Rewrap(t.Context(), rand.Reader, alice(t, back.Keys()), "TOKEN", moved)
		if err != nil || !changed || sealedBy(t, returned) != "local:1" {
			t.Fatalf("Rewrap: %v, %v", changed, err)
		}
		mustOpen(t, local.Keys(), returned)
	}},
	{"a key that is not as it must be is refused at the start", func(t *testing.T, s server, key string) {
		dir := write(t, map[string]string{"authority": encoded(9)})
		for name, body := range map[string]map[string]any{
			"shared":     {"type": "aes256-gcm96"},
			"another":    {"type": "chacha20-poly1305", "derived": true},
			"convergent": {"type": "aes256-gcm96", "derived": true, "convergent_encryption": true},
		} {
			s.do(t, http.MethodPost, s.engine()+"/keys/"+key+name, body)
			if opened, err := Open(t.Context(), Options{Dir: dir, Provider: ProviderTransit, Transit: s.options(t, key+name)}); err == nil || opened != nil {
				t.Errorf("%s opens", name)
			}
		}
		if opened, err := Open(t.Context(), Options{Dir: dir, Provider: ProviderTransit, Transit: s.options(t, "absent")}); !errors.Is(err, envelope.ErrUnavailable) || opened != nil {
			t.Errorf("a key that is not there: %v", err)
		}
	}},
}

// behave tests all of it, each with a key of its own.
func behave(t *testing.T, s server, prefix string) {
	t.Helper()
	for i, b := range behaviour {
		t.Run(b.name, func(t *testing.T) {
			key := fmt.Sprintf("%s%d", prefix, i)
			s.create(t, key)
			b.test(t, s, key)
		})
	}
}

func TestTransit(t *testing.T) {
	_, s := serve(t)
	behave(t, s, "key-")
}

func TestTransitOfEarlierReleases(t *testing.T) {
	e, s := serve(t)
	e.earlier = true
	behave(t, s, "key-")
}
