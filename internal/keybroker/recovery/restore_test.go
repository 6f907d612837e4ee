// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore/storetest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

var aliceHad = map[string]string{"GITHUB_TOKEN": canary, "credentials.json": "{}", "EMPTY": ""}

// backedUp is a backup of alice and bob, whose cluster is gone, as YAML.
func backedUp(t *testing.T, change func(objects []any) []any) *Backup {
	t.Helper()
	former := newCluster(t, localKeys(t, 1))
	var objects []any
	for name, secrets := range map[string]map[string]string{"alice": aliceHad, "bob": {"A": "b"}} {
		b := former.add(t, "team", name, "uid-former-"+name, secrets)
		objects = append(objects, hostedBridge(b, name),
			storetest.CopyOf(t, former.Memory, "team", v1alpha1.EnvelopesSecretName(name)), storetest.CopyOf(t, former.Memory, "team", v1alpha1.SaltSecretName(name)))
	}
	objects = append(objects, hostedBridge(former.add(t, "team", "carol", "uid-former-carol", nil), ""))
	return read(t, list(t, change(objects)))
}

// list prints the objects as kubectl does.
func list(t *testing.T, objects []any) string {
	t.Helper()
	content, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects, "metadata": map[string]any{"resourceVersion": ""}})
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func read(t *testing.T, content string) *Backup {
	t.Helper()
	return must.Value(ReadBackup(strings.NewReader(content)))(t)
}

func unchangedBackup(objects []any) []any { return objects }

// without leaves out the objects of that name.
func without(name string) func(objects []any) []any {
	return func(objects []any) []any {
		var rest []any
		for _, o := range objects {
			if o.(interface{ GetName() string }).GetName() != name {
				rest = append(rest, o)
			}
		}
		return rest
	}
}

// today is a cluster with the same HostedBridges, made again, and no secrets.
func today(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t, localKeys(t, 1, 2))
	c.add(t, "team", "alice", "uid-alice-today", nil)
	c.add(t, "team", "bob", "uid-bob-today", nil)
	return c
}

func (c *cluster) restore(t *testing.T, b *Backup, dryRun bool) map[string]RestoredBridge {
	t.Helper()
	report := must.Value((&Restoration{Bridge: c.bridge, Store: c.Store, DryRun: dryRun}).Run(t.Context(), b))(t)
	said, err := json.Marshal(report)
	if err != nil || strings.Contains(string(said)+fmt.Sprintf("%+v", report), canary) {
		t.Errorf("the report shows a value, or error %v", err)
	}
	outcomes := map[string]RestoredBridge{}
	for _, one := range report.Bridges {
		outcomes[one.Name] = one
	}
	if ok := outcomes["alice"].Reason == "" && outcomes["bob"].Reason == ""; report.OK() != ok {
		t.Errorf("OK = %v for %+v", report.OK(), report)
	}
	return outcomes
}

func (c *cluster) expectValues(t *testing.T, name string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, c.values(t, c.find("team", name).Bridge)); diff != "" {
		t.Errorf("%s's secrets (-want +got):\n%s", name, diff)
	}
}

func TestABackupIsRestoredOnce(t *testing.T) {
	c, b := today(t), backedUp(t, unchangedBackup)
	dry := c.restore(t, b, true)
	if dry["alice"].Outcome != Restored || dry["alice"].Secrets != len(aliceHad) || len(c.Stored) > 0 {
		t.Errorf("a dry run gives %+v and writes %d Secrets", dry, len(c.Stored))
	}
	if got := c.restore(t, b, false); got["alice"].Outcome != Restored || got["bob"].Outcome != Restored || len(got) != 2 {
		t.Errorf("%+v", got)
	}
	c.expectValues(t, "alice", aliceHad)
	writes := c.Writes
	if got := c.restore(t, b, false); got["alice"].Outcome != Unchanged || got["bob"].Outcome != Unchanged || c.Writes != writes {
		t.Errorf("again: %+v, and %d writes", got, c.Writes-writes)
	}
	listing, err := c.List(t.Context(), c.bridges[0].Bridge)
	if err != nil || listing.Entries[0].Key.String() != "local:2" || listing.Entries[0].Created.IsZero() {
		t.Errorf("%+v, error %v", listing.Entries, err)
	}
}

func TestWhatIsNotRestoredIsLeftAsItIs(t *testing.T) {
	none := func(*testing.T, *cluster) {}
	for _, test := range []struct {
		name    string
		backup  func(objects []any) []any
		cluster func(t *testing.T, c *cluster)
		outcome Outcome
		reason  string
	}{
		{"no HostedBridge in the cluster", unchangedBackup, func(_ *testing.T, c *cluster) { c.bridges = c.bridges[1:] }, Skipped, "there is no such HostedBridge"},
		{"one that is being deleted", unchangedBackup, func(_ *testing.T, c *cluster) { c.bridges[0].Deleting = true }, Skipped, "is being deleted"},
		{"another user's", unchangedBackup, func(_ *testing.T, c *cluster) { c.bridges[0].UserID = "mallory" }, Refused, `another user's: "mallory", and was "alice"`},
		{"no HostedBridge in the backup", without("alice"), none, Skipped, "not the HostedBridge itself"},
		{"no salt in the backup", without("alice-salt"), none, Skipped, "no salt"},
		{"an envelope that is damaged", damaged("alice-envelopes", "EMPTY"), none, Skipped, "EMPTY cannot be opened"},
		{"a salt that is too short", damaged("alice-salt", "salt"), none, Skipped, "is not one"},
		{"envelopes of an earlier HostedBridge", foreign("alice-envelopes"), none, Skipped, "Secret alice-envelopes of the backup belongs to another"},
		{"a salt of an earlier HostedBridge", foreign("alice-salt"), none, Skipped, "Secret alice-salt of the backup belongs to another"},
		{"a ring without the version", unchangedBackup, func(t *testing.T, c *cluster) { c.keys = localKeys(t, 2) }, Skipped, "cannot be opened with this ring"},
		{"another value in the cluster", unchangedBackup, func(t *testing.T, c *cluster) {
			c.set(t, c.bridges[0].Bridge, map[string]string{"EMPTY": "not any more"})
		}, Refused, "other secrets in the cluster, EMPTY for example"},
		{"another secret in the cluster", unchangedBackup, func(t *testing.T, c *cluster) {
			c.set(t, c.bridges[0].Bridge, map[string]string{"LATER": ""})
		}, Refused, "other secrets in the cluster, LATER for example"},
		{"secrets in the cluster without their salt", unchangedBackup, func(t *testing.T, c *cluster) {
			c.set(t, c.bridges[0].Bridge, aliceHad)
			c.Remove("team", "alice-salt")
		}, Refused, "cannot be opened: EMPTY, GITHUB_TOKEN, credentials.json"},
		{"a Secret that is somebody else's", unchangedBackup, func(t *testing.T, c *cluster) {
			c.set(t, c.bridges[0].Bridge, aliceHad)
			c.Stored[storetest.Key("team", "alice-envelopes")].OwnerReferences = nil
		}, Refused, "belongs to something else"},
		{"a Secret of an earlier HostedBridge", unchangedBackup, func(t *testing.T, c *cluster) {
			c.set(t, c.bridges[0].Bridge, aliceHad)
			c.Stored[storetest.Key("team", "alice-envelopes")].OwnerReferences[0].UID = "uid-earlier"
		}, Refused, "of an earlier HostedBridge of this name is still there"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, b := today(t), backedUp(t, test.backup)
			test.cluster(t, c)
			before := maps.Clone(c.Stored)
			got := c.restore(t, b, false)
			if got["alice"].Outcome != test.outcome || !strings.Contains(got["alice"].Reason, test.reason) {
				t.Errorf("%+v, want %s because %q", got["alice"], test.outcome, test.reason)
			}
			for _, name := range []string{"alice-envelopes", "alice-salt"} {
				if diff := cmp.Diff(before[storetest.Key("team", name)], c.Stored[storetest.Key("team", name)]); diff != "" {
					t.Errorf("Secret %s (-before +after):\n%s", name, diff)
				}
			}
			// The others are restored all the same.
			if outcome := got["bob"].Outcome; outcome != Restored && test.name != "a ring without the version" {
				t.Errorf("bob's is %s", outcome)
			}
		})
	}
}

func TestARestorationIsFinishedByAnother(t *testing.T) {
	c, b := today(t), backedUp(t, unchangedBackup)
	// What the cluster has already of it may stay.
	c.set(t, c.bridges[0].Bridge, map[string]string{"EMPTY": ""})
	if got := c.restore(t, b, false); got["alice"].Outcome != Restored {
		t.Errorf("%+v", got)
	}
	c.expectValues(t, "alice", aliceHad)
}

func TestAnAPIServerThatIsAwayEndsARestoration(t *testing.T) {
	c, b := today(t), backedUp(t, unchangedBackup)
	c.Err = errors.New("connection refused")
	r := Restoration{Bridge: c.bridge, Store: c.Store}
	if report, err := r.Run(t.Context(), b); !errors.Is(err, c.Err) || len(report.Bridges) > 0 {
		t.Errorf("%+v, error %v", report, err)
	}
}

// raceStore writes something else just before the restoration writes.
type raceStore struct {
	*cluster

	t *testing.T
}

func (s raceStore) Open(ctx context.Context, b secretstore.Bridge) (secretstore.Opened, error) {
	opened, err := s.cluster.Open(ctx, b)
	s.set(s.t, b, map[string]string{"LATER": "x"})
	return opened, err
}

func TestWhatIsSetMeanwhileIsNotOverwritten(t *testing.T) {
	c, b := today(t), backedUp(t, unchangedBackup)
	r := Restoration{Bridge: c.bridge, Store: raceStore{c, t}}
	report, err := r.Run(t.Context(), b)
	if err != nil || report.Count(Refused) != 2 {
		t.Errorf("%+v, error %v", report, err)
	}
	c.expectValues(t, "alice", map[string]string{"LATER": "x"})
}
