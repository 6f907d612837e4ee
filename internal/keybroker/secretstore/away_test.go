// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
)

// unreached is a transit engine of which no version is known yet.
type unreached struct{}

func (unreached) KeyID() envelope.KeyID { return envelope.KeyID{Algorithm: envelope.AlgorithmTransit} }
func (unreached) Minimum() uint32       { return 1 }

func (unreached) Wrap(context.Context, io.Reader, envelope.Wrapping, []byte) (envelope.Wrapped, error) {
	return envelope.Wrapped{}, errors.New("not reached")
}

func (unreached) Unwrap(context.Context, envelope.Wrapping, envelope.Wrapped) ([]byte, error) {
	return nil, errors.New("not reached")
}

// Of what an engine sealed that was not reached yet nothing is said, and
// nothing is changed.
func TestAnEngineThatWasNotReachedYetIsUnavailable(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	f.must(t, alice, set("RING", canary), set("TOKEN", canary))
	token := f.envelopes(alice).Data["TOKEN"]
	f.must(t, bob, set("RING", canary))
	token[4] = byte(envelope.AlgorithmTransit)
	ring := f.master
	for name, providers := range map[string][]envelope.Provider{
		"the engine seals": {unreached{}, ring}, "the ring seals": {ring, unreached{}},
	} {
		t.Run(name, func(t *testing.T) {
			k, err := envelope.NewKeys(providers[0], providers[1:]...)
			if err != nil {
				t.Fatal(err)
			}
			f.Keys = func() *envelope.Keys { return k }
			f.log.Reset()
			before, listing := f.envelopes(alice).DeepCopy(), f.list(t, alice)
			_, err = f.Open(t.Context(), alice)
			expect(t, "open", err, ErrUnavailable)
			_, _, err = f.Rewrap(t.Context(), alice)
			expect(t, "rewrap", err, ErrUnavailable)
			if diff := cmp.Diff(before, f.envelopes(alice)); diff != "" {
				t.Errorf("the envelopes (-before +after):\n%s", diff)
			}
			if len(listing.Entries) != 2 || f.log.Len() > 0 {
				t.Errorf("%d listed, log %s", len(listing.Entries), f.log.String())
			}
			if got, unreadable := f.values(t, bob); got["RING"] != canary || unreadable != nil {
				t.Errorf("what the ring sealed: unreadable %v", unreadable)
			}
		})
	}
}
