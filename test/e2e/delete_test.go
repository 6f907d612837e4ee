// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestADeletedBridgeIsGoneAndARecreatedOneIsNew(t *testing.T) {
	erin := newTenant(t, "erin", "everything")
	client := newHTTPClient(false)
	must.Succeed(t, callTool(t.Context(), client, erin.url(), erin.key.secret))

	mustKubectl(t, "delete", "hb", erin.name, "--wait=false")
	deleted := time.Now()
	t.Logf("the last request that a route led to the bridge was %s after its deletion", lastAllowed(t, erin).Sub(deleted).Round(time.Millisecond))
	wait.NoError(t, wait.Limit, "the bridge and its objects are gone", func(ctx context.Context) error {
		return errors.Join(gone(ctx, erin.name), remains(ctx, erin.uid))
	})

	// The same name and user again, with another key.
	fresh := mint(t)
	again := bridge(erin.name, []credential{fresh}, "everything")
	uid := create(t, again)
	awaitReady(t, erin.name)
	if uid == erin.uid {
		t.Errorf("the re-created bridge has the old UID %s", uid)
	}
	wait.NoError(t, wait.Limit, "the new key opens the re-created bridge", func(ctx context.Context) error {
		return callTool(ctx, client, erin.url(), fresh.secret)
	})
	if err := allowed(t.Context(), client, erin.url(), erin.key.secret); !errors.Is(err, errRefused) {
		t.Errorf("the old key on the re-created bridge: %v, want a refusal", err)
	}

	// A key is only its entry in the object: listed again, it works again.
	patchKeys(t, erin.name, fresh, erin.key)
	wait.NoError(t, wait.Limit, "the old key works again where the object lists it", func(ctx context.Context) error {
		return allowed(ctx, client, erin.url(), erin.key.secret)
	})
	patchKeys(t, erin.name, fresh)
	wait.NoError(t, wait.Limit, "the old key stops working where the object lists it no more", func(ctx context.Context) error {
		if err := allowed(ctx, client, erin.url(), erin.key.secret); !errors.Is(err, errRefused) {
			return fmt.Errorf("want a refusal: %w", errors.Join(err, errors.New("allowed")))
		}
		return nil
	})
}

// TestABridgeRecreatedAtOnceBecomesReady does what kubectl replace --force
// does: the new object finds the old one's objects, which are not its own, and
// has to outwait their collection.
func TestABridgeRecreatedAtOnceBecomesReady(t *testing.T) {
	t.Parallel()
	niaj := newTenant(t, "niaj", "everything")
	mustKubectl(t, "delete", "hb", niaj.name)
	create(t, bridge(niaj.name, []credential{niaj.key}, "everything"))
	awaitReady(t, niaj.name)
	wait.NoError(t, wait.Limit, "the re-created bridge answers", func(ctx context.Context) error {
		return callTool(ctx, newHTTPClient(false), niaj.url(), niaj.key.secret)
	})
	wait.NoError(t, wait.Limit, "nothing is left of the first bridge", func(ctx context.Context) error {
		return remains(ctx, niaj.uid)
	})
}

// lastAllowed asks on new connections, which reach every ingress replica in turn, until
// all of them refuse, and returns when it was last let in.
func lastAllowed(t *testing.T, n tenant) (last time.Time) {
	t.Helper()
	client, refused := newHTTPClient(false), 0
	wait.NoError(t, wait.Limit, "every ingress refuses "+n.name, func(ctx context.Context) error {
		for asked := time.Now(); refused < 20; asked = time.Now() {
			if err := allowed(ctx, client, n.url(), n.key.secret); !errors.Is(err, errRefused) {
				last, refused = asked, 0
				return errors.Join(errors.New("it is no refusal"), err)
			}
			refused++
		}
		return nil
	})
	return last
}

// patchKeys makes the keys given the ones that the object lists.
func patchKeys(t *testing.T, name string, keys ...credential) {
	t.Helper()
	wait.NoError(t, wait.Limit, "the keys of "+name+" are written", func(ctx context.Context) error {
		b, err := getBridge(ctx, name)
		if err != nil {
			return err
		}
		b.Spec.APIKeys = nil
		for _, k := range keys {
			b.Spec.APIKeys = append(b.Spec.APIKeys, k.listed(name))
		}
		return installed.client.Update(ctx, b)
	})
}
