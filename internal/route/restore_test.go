// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// content returns all that a table has, in an order of its own.
func content(t *Table) ([]Backend, []Key, []Subject) {
	backends, keys, subjects := slices.Collect(t.Backends), slices.Collect(t.AllKeys), slices.Collect(t.AllSubjects)
	slices.SortFunc(backends, func(a, b Backend) int { return strings.Compare(string(a.User), string(b.User)) })
	slices.SortFunc(keys, func(a, b Key) int { return strings.Compare(a.ID+string(a.User), b.ID+string(b.User)) })
	slices.SortFunc(subjects, func(a, b Subject) int {
		return cmp.Or(bytes.Compare(a.Key[:], b.Key[:]), strings.Compare(string(a.User), string(b.User)))
	})
	return backends, keys, subjects
}

func TestARestoredTableIsTheOneItWasMadeOf(t *testing.T) {
	for name, bridges := range map[string][]*v1alpha1.HostedBridge{
		"no bridges": nil,
		"two users, one of them with two keys and two logins, one key id and one login of both": {
			bridge("a", "alice", 0, func(b *v1alpha1.HostedBridge) {
				expires := metav1.NewTime(epoch)
				b.Spec.APIKeys = []v1alpha1.APIKey{
					{ID: "shared000000", Hash: apikey.HashOf("one").String()},
					{ID: "aliceonly000", Hash: apikey.HashOf("two").String(), ExpiresAt: &expires},
				}
			}, subjects("shared", "alice")),
			bridge("b", "bob", 0, func(b *v1alpha1.HostedBridge) {
				b.Spec.APIKeys = []v1alpha1.APIKey{{ID: "shared000000", Hash: apikey.HashOf("three").String()}}
			}, subjects("shared")),
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := Build(bridges, nil)
			backends, keys, subjects := content(want)
			got := must.Value(Restore(Content{Backends: backends, Keys: keys, Subjects: subjects}))(t)
			if got.Len() != len(bridges) || !reflect.DeepEqual(got.Keys("none"), want.Keys("none")) {
				t.Errorf("%d routes, want %d", got.Len(), len(bridges))
			}
			gotBackends, gotKeys, gotSubjects := content(got)
			if diff := gocmp.Diff(backends, gotBackends); diff != "" {
				t.Errorf("backends (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(keys, gotKeys); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(subjects, gotSubjects); diff != "" || len(subjects) != 3*min(len(bridges), 1) {
				t.Errorf("%d subjects (-want +got):\n%s", len(subjects), diff)
			}
		})
	}
}

func TestWhatNoTableHasIsNotRestored(t *testing.T) {
	alice := Backend{User: "alice", BridgeUID: "uid"}
	subject := oauth.KeyOf(provider, "alice")
	for name, test := range map[string]struct {
		backends []Backend
		keys     []Key
		subjects []Subject
	}{
		"a user without a name":        {backends: []Backend{{}}},
		"a user that no path names":    {backends: []Backend{{User: "../bob"}}},
		"a user twice":                 {backends: []Backend{alice, alice}},
		"a key of nobody":              {keys: []Key{{ID: "key", KeyEntry: KeyEntry{User: "alice"}}}},
		"a key of another than listed": {backends: []Backend{alice}, keys: []Key{{ID: "key", KeyEntry: KeyEntry{User: "bob"}}}},
		"a subject of nobody":          {subjects: []Subject{{subject, "alice"}}},
		"a subject of another":         {backends: []Backend{alice}, subjects: []Subject{{subject, "bob"}}},
		"a subject twice":              {backends: []Backend{alice}, subjects: []Subject{{subject, "alice"}, {subject, "alice"}}},
		"a key without an id":          {backends: []Backend{alice}, keys: []Key{{KeyEntry: KeyEntry{User: "alice"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			if table, err := Restore(Content{Backends: test.backends, Keys: test.keys, Subjects: test.subjects}); err == nil {
				t.Errorf("restored to %d routes", table.Len())
			}
		})
	}
}
