// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore/storetest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// tenants is a cluster with what can be wrong with secrets.
func tenants(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t, localKeys(t, 1))
	c.add(t, "one", "alice", "uid-alice", map[string]string{"A": canary, "B": canary, "C": canary})
	c.keys = localKeys(t, 1, 2)
	c.add(t, "one", "bob", "uid-bob", map[string]string{"A": canary})
	c.add(t, "two", "carol", "uid-carol", map[string]string{"A": canary, "credentials.json": canary})
	c.add(t, "two", "nobody", "uid-nobody", nil)
	return c
}

func (c *cluster) damage(namespace, bridge, secret string) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	data := c.Stored[storetest.Key(namespace, v1alpha1.EnvelopesSecretName(bridge))].Data
	data[secret][len(data[secret])-1] ^= 1
}

var ignoreCensus = cmpopts.IgnoreUnexported(VerificationReport{})

func TestVerify(t *testing.T) {
	none := func(*cluster) {}
	all := map[string]int{"local:1": 3, "local:2": 3}
	for _, test := range []struct {
		name            string
		change          func(c *cluster)
		namespace, only string
		want            VerificationReport
		ok              bool
	}{
		{"everything opens", none, "", "", VerificationReport{Bridges: 4, Secrets: 6, Keys: all}, true},
		{"of one namespace", none, "two", "", VerificationReport{Bridges: 2, Secrets: 2, Keys: map[string]int{"local:2": 2}}, true},
		{"of one HostedBridge", none, "one", "alice", VerificationReport{Bridges: 1, Secrets: 3, Keys: map[string]int{"local:1": 3}}, true},
		{
			"a damaged envelope", func(c *cluster) { c.damage("one", "alice", "B") }, "", "",
			VerificationReport{Bridges: 4, Secrets: 6, Keys: all, Unreadable: []SecretRef{{Ref{"one", "alice"}, "B"}}}, false,
		},
		{
			"something that is no envelope", func(c *cluster) {
				c.Stored[storetest.Key("one", "bob-envelopes")].Data["A"] = []byte(canary)
			}, "one", "bob",
			VerificationReport{Bridges: 1, Secrets: 1, Keys: map[string]int{"none": 1}, Unreadable: []SecretRef{{Ref{"one", "bob"}, "A"}}}, false,
		},
		{
			"a version that the ring has not", func(c *cluster) { c.keys = localKeys(t, 1) }, "two", "",
			VerificationReport{Bridges: 2, Secrets: 2, Keys: map[string]int{"local:2": 2}, Unreadable: []SecretRef{
				{Ref{"two", "carol"}, "A"}, {Ref{"two", "carol"}, "credentials.json"},
			}}, false,
		},
		{
			"a salt that is gone", func(c *cluster) { c.Remove("one", "bob-salt") }, "", "",
			VerificationReport{
				Bridges: 4, Secrets: 6, Keys: all,
				Unreadable: []SecretRef{{Ref{"one", "bob"}, "A"}}, SaltMissing: []Ref{{"one", "bob"}},
			}, false,
		},
		{
			"another user's salt", func(c *cluster) {
				c.Stored[storetest.Key("one", "bob-salt")].Data = c.Stored[storetest.Key("one", "alice-salt")].Data
			}, "", "",
			VerificationReport{Bridges: 4, Secrets: 6, Keys: all, Unreadable: []SecretRef{{Ref{"one", "bob"}, "A"}}}, false,
		},
		{
			"a salt of an earlier HostedBridge", func(c *cluster) {
				c.Stored[storetest.Key("one", "bob-salt")].OwnerReferences[0].UID = "uid-earlier"
			}, "", "",
			VerificationReport{
				Bridges: 4, Secrets: 6, Keys: all, Unreadable: []SecretRef{{Ref{"one", "bob"}, "A"}}, Orphans: []Ref{{"one", "bob-salt"}},
			}, false,
		},
		{
			"a Secret that is somebody else's", func(c *cluster) { c.Stored[storetest.Key("one", "bob-envelopes")].OwnerReferences = nil }, "one", "",
			VerificationReport{Bridges: 2, Secrets: 3, Keys: map[string]int{"local:1": 3}, NotOwned: []Ref{{"one", "bob"}}}, false,
		},
		{
			"a HostedBridge that is gone", func(c *cluster) { c.bridges = c.bridges[1:] }, "", "",
			VerificationReport{
				Bridges: 3, Secrets: 3, Keys: map[string]int{"local:2": 3},
				Orphans: []Ref{{"one", "alice-envelopes"}, {"one", "alice-salt"}},
			}, true,
		},
		{
			"one that was made again under its name", func(c *cluster) { c.bridges[1].UID = "uid-bob-again" }, "one", "bob",
			VerificationReport{Bridges: 1, Keys: map[string]int{}, Orphans: []Ref{{"one", "bob-envelopes"}, {"one", "bob-salt"}}}, true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := tenants(t)
			test.change(c)
			v := Verification{Installation: c, Store: c.Store, Namespace: test.namespace, Name: test.only}
			got := must.Value(v.Run(t.Context()))(t)
			if diff := cmp.Diff(&test.want, got, ignoreCensus, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.OK() != test.ok {
				t.Errorf("OK = %v", got.OK())
			}
			said, err := json.Marshal(got)
			if err != nil || strings.Contains(string(said)+fmt.Sprintf("%+v %s", got, got), canary) {
				t.Errorf("the report shows a value, or error %v", err)
			}
		})
	}
}

func TestWhatCannotBeSeenIsAnError(t *testing.T) {
	c := tenants(t)
	v := Verification{Installation: c, Store: c.Store, Namespace: "one", Name: "nobody"}
	if _, err := v.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "there is no HostedBridge one/nobody") {
		t.Errorf("error %v", err)
	}
	c.Err = errors.New("connection refused")
	for _, v := range []Verification{{}, {Namespace: "one", Name: "alice"}} {
		v.Installation, v.Store = c, c.Store
		if _, err := v.Run(t.Context()); !errors.Is(err, c.Err) {
			t.Errorf("error %v", err)
		}
	}
}

func TestCountPassesOverWhatOpensForNobody(t *testing.T) {
	c := tenants(t)
	c.bridges[1].UID = "uid-bob-again"
	c.Stored[storetest.Key("two", "carol-envelopes")].OwnerReferences = nil
	census, err := secretstore.CountKeys(t.Context(), c, c.Store)
	if err != nil || census.String() != "local:1 3" {
		t.Errorf("%s, error %v", census, err)
	}
	c.Err = errors.New("connection refused")
	if _, err := secretstore.CountKeys(t.Context(), c, c.Store); !errors.Is(err, c.Err) {
		t.Errorf("error %v", err)
	}
}
