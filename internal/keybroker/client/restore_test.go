// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"crypto"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/clock/clocktest"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// holding returns a source with a certificate of that subject, made at now.
func holding(t *testing.T, a *pki.Authority, s pki.Subject, now time.Time) *Source {
	t.Helper()
	source := newSource(a, clocktest.New(0), slog.New(slog.DiscardHandler), nil)
	source.current.Store(issued(t, a, s, now))
	return source
}

func TestACertificateGoesOnInAnotherProcess(t *testing.T) {
	a := newAuthority(t, 1)
	from := holding(t, a, pki.IngressSubject(), clocktest.Start)
	chain, key := must.Values(from.Export())(t)
	to := newSource(a, clocktest.New(0), slog.New(slog.DiscardHandler), nil)
	must.Succeed(t, to.Restore(chain, key, pki.IngressURI()))
	<-to.FirstReady()
	had, _ := from.certificate()
	has, err := to.certificate()
	if err != nil || !had.Leaf.Equal(has.Leaf) || !to.Ready() {
		t.Errorf("has %v, %v", has, err)
	}
	if signer, ok := had.PrivateKey.(interface{ Equal(crypto.PrivateKey) bool }); !ok || !signer.Equal(has.PrivateKey) {
		t.Error("the key is another")
	}
	// And once more, from the one that was restored.
	again, _, err := to.Export()
	if err != nil || string(again) != string(chain) {
		t.Errorf("exported anew: %v", err)
	}
}

func TestOnlyAGoodCertificateIsRestored(t *testing.T) {
	a, other := newAuthority(t, 1), newAuthority(t, 2)
	export := func(by *pki.Authority, s pki.Subject) (chain, key []byte) {
		t.Helper()
		return must.Values(holding(t, by, s, clocktest.Start).Export())(t)
	}
	chain, key := export(a, pki.IngressSubject())
	foreign, foreignKey := export(other, pki.IngressSubject())
	bridge, bridgeKey := export(a, pki.BridgeSubject("uid"))
	for name, test := range map[string]struct {
		chain, key []byte
		later      time.Duration
		want       string
	}{
		"one that has expired":     {chain, key, 7 * time.Hour, "it expired at 2026-11-21T18:00:00Z"},
		"one of another authority": {foreign, foreignKey, 0, "unknown authority"},
		"one of a bridge":          {bridge, bridgeKey, 0, "restore certificate"},
		"one with another key":     {chain, bridgeKey, 0, "does not belong to the key"},
		"nothing":                  {nil, nil, 0, "it is invalid"},
		"the key as certificate":   {key, key, 0, "it is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktest.New(0)
			clock.Advance(test.later)
			s := newSource(a, clock, slog.New(slog.DiscardHandler), nil)
			err := s.Restore(test.chain, test.key, pki.IngressURI())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if s.Ready() || s.current.Load() != nil {
				t.Error("it is used")
			}
			if err != nil && strings.Contains(err.Error(), "PRIVATE KEY") {
				t.Error("the error quotes the key")
			}
		})
	}
}

func TestNothingIsExportedWithoutAGoodCertificate(t *testing.T) {
	a := newAuthority(t, 1)
	if _, _, err := newSource(a, clocktest.New(0), slog.New(slog.DiscardHandler), nil).Export(); err == nil {
		t.Error("exported before there is one")
	}
	if chain, key, err := holding(t, a, pki.IngressSubject(), clocktest.Start.Add(-7*time.Hour)).Export(); err == nil || chain != nil || key != nil {
		t.Error("exported after it has expired")
	}
}
