// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// callOf returns a call of alice's HostedBridge of that UID, at the same time as all others.
func callOf(bridge string) audit.Entry {
	e := called(0, "alice", "server of "+bridge, "t", audit.Success, 1)
	e.ID, e.BridgeUID = "of "+bridge, bridge
	return e
}

// historyOf returns the ids of the entries of alice's HostedBridge, and the servers that were called.
func historyOf(t *testing.T, s *Store, uid string) (entries, servers []string) {
	t.Helper()
	entries, _ = ids(t, s, audit.Query{UserID: "alice", BridgeUID: uid, Limit: 10})
	q := audit.FiguresQuery{UserID: "alice", BridgeUID: uid, From: start, To: start.Add(time.Hour), Step: time.Hour, Top: 10}
	f := figures(t, s, q)
	for _, u := range f.Uses {
		servers = append(servers, u.Server)
	}
	if calls := f.Total.Count(); calls != int64(len(entries)) || len(f.Tools) != len(entries) {
		t.Errorf("of %d entries the figures are %+v", len(entries), f)
	}
	slices.Sort(entries)
	slices.Sort(servers)
	return entries, servers
}

func TestABridgeHasNothingOfAnotherWithItsUserID(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *Store) {
		s := open()
		addEntries(t, s, callOf("former"), callOf("new"), callOf(""))
		for uid, want := range map[string][]string{"new": {"of new"}, "former": {"of former"}, "other": nil, "": {"of ", "of former", "of new"}} {
			if entries, servers := historyOf(t, s, uid); !slices.Equal(entries, want) || len(servers) != len(want) {
				t.Errorf("of the bridge %q: %v %v, want %v", uid, entries, servers, want)
			}
		}
	})
}
