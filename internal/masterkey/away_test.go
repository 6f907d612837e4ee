// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package masterkey

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/test/logtest"
)

// answer has the engine answer so, and as itself with nil.
func (e *engine) answer(with func(http.ResponseWriter, *http.Request)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.intercept = nil
	if with != nil {
		e.intercept = func(w http.ResponseWriter, r *http.Request) bool { with(w, r); return true }
	}
}

func sealedVault(w http.ResponseWriter, _ *http.Request) { refuse(w, 503, "Vault is sealed") }

// behind opens a source of this provider in front of the engine, with the ring's
// versions.
func behind(t *testing.T, s server, provider string, log *logtest.Log, versions map[string]string) *Source {
	t.Helper()
	versions["authority"] = encoded(9)
	source := open(t, Options{Dir: write(t, versions), Provider: provider, Transit: s.options(t, "key"), Interval: time.Millisecond, Log: textLogger(log)})
	t.Cleanup(source.transit.http.CloseIdleConnections)
	return source
}

// unavailableBoth tries to seal and to open, of which nothing may be said.
func unavailableBoth(t *testing.T, k *envelope.Keys, sealed []byte) {
	t.Helper()
	_, sealing := envelope.Seal(t.Context(), rand.Reader, alice(t, k), "TOKEN", []byte(canary))
	_, opening := envelope.Open(t.Context(), alice(t, k), "TOKEN", sealed)
	for what, err := range map[string]error{"seal": sealing, "open": opening} {
		if !errors.Is(err, envelope.ErrUnavailable) || errors.Is(err, envelope.ErrRetiredKeyVersion) {
			t.Errorf("%s: %v, want %v", what, err, envelope.ErrUnavailable)
		}
	}
}

// A keybroker that restarts while the server is away must go on giving
// certificates.
func TestASourceStartsWithoutTheServerAndReachesItLater(t *testing.T) {
	e, s := serve(t)
	s.create(t, "key")
	sealed := seal(t, s.source(t, "key").Keys())
	e.answer(sealedVault)
	log := &logtest.Log{}
	source := behind(t, s, ProviderTransit, log, map[string]string{"1": encoded(1)})
	if source.Authority() == nil || source.Err() == nil || !strings.Contains(source.Err().Error(), "sealed") {
		t.Errorf("no authority, or error %v", source.Err())
	}
	before, changed := source.Keys(), source.Changed()
	if current := before.Current(); current != (envelope.KeyID{Algorithm: envelope.AlgorithmTransit}) {
		t.Errorf("current %s", current)
	}
	unavailableBoth(t, before, sealed)
	mustOpen(t, before, seal(t, ringKeys(t, 1)))
	if said, err := json.Marshal(source.Status()); err != nil || string(said) != `{"provider":"transit","versions":[],"current":0,"minimum":0}` {
		t.Errorf("status %s, error %v", said, err)
	}
	if err := source.Reload(t.Context()); !isAway(err) || source.Keys() != before {
		t.Errorf("still away: %v, or other keys", err)
	}
	if n := strings.Count(log.String(), "cannot be used yet"); n != 1 {
		t.Errorf("logged %d times, want once", n)
	}

	e.answer(nil)
	run(t, source)
	<-changed
	mustOpen(t, source.Keys(), sealed)
	if key := sealedBy(t, seal(t, source.Keys())); key != "transit:1" || source.Err() != nil {
		t.Errorf("sealed by %s, error %v", key, source.Err())
	}
	quiet(t, log.String())
}

// ringKeys are those of a ring alone.
func ringKeys(t *testing.T, versions ...byte) *envelope.Keys {
	t.Helper()
	files := map[string]string{"authority": encoded(9)}
	for _, v := range versions {
		files[fmt.Sprint(v)] = encoded(v)
	}
	return open(t, Options{Dir: write(t, files)}).Keys()
}

func TestTheRingIsFollowedWhileTheServerIsAway(t *testing.T) {
	for name, known := range map[string]bool{"since the start": false, "since later": true} {
		t.Run(name, func(t *testing.T) {
			e, s := serve(t)
			s.create(t, "key")
			sealed := seal(t, s.source(t, "key").Keys())
			if !known {
				e.answer(sealedVault)
			}
			source := behind(t, s, ProviderLocal, &logtest.Log{}, map[string]string{"1": encoded(1)})
			e.answer(sealedVault)
			changed := source.Changed()
			rewrite(t, source.options.Dir, map[string]string{"1": encoded(1), "2": encoded(2), "authority": encoded(9)})
			if err := source.Reload(t.Context()); !isAway(err) {
				t.Errorf("error %v", err)
			}
			select {
			case <-changed:
			default:
				t.Error("the new version is not announced")
			}
			if key := sealedBy(t, seal(t, source.Keys())); key != "local:2" || source.Status().Current != 2 {
				t.Errorf("sealed by %s, status %+v", key, source.Status())
			}
			if _, err := envelope.Open(t.Context(), alice(t, source.Keys()), "TOKEN", sealed); !errors.Is(err, envelope.ErrUnavailable) {
				t.Errorf("what transit sealed: %v", err)
			}
			e.answer(nil)
			if err := source.Reload(t.Context()); err != nil || source.Err() != nil {
				t.Errorf("back again: %v", err)
			}
			mustOpen(t, source.Keys(), sealed)
		})
	}
}

// What a server says of the key or of who asks is looked at by somebody. What
// says nothing of them is waited for.
func TestWhatIsWaitedForAtTheStart(t *testing.T) {
	status := func(code int, texts ...string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { refuse(w, code, texts...) }
	}
	for _, test := range []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request)
		starts bool
	}{
		{"sealed", sealedVault, true},
		{"an error of its own", status(500, "internal error"), true},
		{"a proxy without a server", status(502), true},
		{"too many requests", status(429, "rate limit"), true},
		{"a connection that breaks", func(w http.ResponseWriter, _ *http.Request) { hijack(t, w, "") }, true},
		{"denied", status(403, "permission denied"), false},
		{"no such key", status(404), false},
		{"a request that it does not take", status(400, "no"), false},
		{"a redirect", status(307), false},
		{"something else than a Vault", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>Welcome</html>") }, false},
		{"a key of another type", func(w http.ResponseWriter, _ *http.Request) {
			reply(w, map[string]any{"data": map[string]any{"type": "rsa-4096", "derived": true, "latest_version": 1}})
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, provider := range []string{ProviderLocal, ProviderTransit} {
				e, s := serve(t)
				s.create(t, "key")
				e.answer(test.answer)
				source, err := Open(t.Context(), Options{Dir: write(t, map[string]string{"1": encoded(1), "authority": encoded(9)}), Provider: provider, Transit: s.options(t, "key")})
				if (err == nil) != test.starts || test.starts && source.Err() == nil {
					t.Errorf("%s: error %v, starts should be %v", provider, err, test.starts)
				}
			}
		})
	}
}

// A server that turns out to be none to rely on when it is back is not used.
func TestALateServerIsHeldToTheSame(t *testing.T) {
	e, s := serve(t)
	s.create(t, "key")
	e.answer(sealedVault)
	source := behind(t, s, ProviderTransit, &logtest.Log{}, map[string]string{})
	e.mu.Lock()
	e.deaf = true
	e.mu.Unlock()
	e.answer(nil)
	before := source.Keys()
	if err := source.Reload(t.Context()); !errors.Is(err, errBinding) || source.Keys() != before {
		t.Errorf("error %v, want %v and no other keys", err, errBinding)
	}
}

func TestWhoIsToldToEndDoesNotStart(t *testing.T) {
	_, s := serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, Options{Dir: write(t, map[string]string{"authority": encoded(9)}), Provider: ProviderTransit, Transit: s.options(t, "key")}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestACertificateThatHasEndedIsWaitedFor(t *testing.T) {
	for reason, want := range map[x509.InvalidReason]bool{x509.Expired: true, x509.NotAuthorizedToSign: false} {
		err := connectionError(&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: reason}})
		if isAway(err) != want {
			t.Errorf("%v: waited for is %v", err, !want)
		}
	}
}
