// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/test/must"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 500, time.UTC)

func mint(t *testing.T, r Request) *Minted {
	t.Helper()
	return must.Value(Mint(bytes.NewReader(bytes.Repeat([]byte{7, 99, 200}, 100)), r))(t)
}

func TestAMintedKeyIsInItsPatchOnlyByItsHash(t *testing.T) {
	m := mint(t, Request{User: "alice", Bridge: types.NamespacedName{Namespace: "tenants", Name: "alice"}, Name: "laptop", ExpiresAt: apikey.Expiry(now, 36*time.Hour)})
	patch := must.Value(json.Marshal(m.Patch))(t)
	want := `{"kind":"HostedBridge","apiVersion":"hostedbridge.dev/v1alpha1","metadata":{"name":"alice","namespace":"tenants"},` +
		`"spec":{"apiKeys":[{"id":"` + m.ID + `","hash":"` + apikey.HashFor("alice", m.Key).String() + `","expiresAt":"2026-03-03T00:00:00Z","name":"laptop"}]}}`
	if diff := cmp.Diff(want, string(patch)); diff != "" {
		t.Error(diff)
	}
	if m.FieldManager != "hosted-bridge-key-"+m.ID || !m.ExpiresAt.Equal(now.Add(36*time.Hour).Truncate(time.Second)) {
		t.Errorf("manager %q, expires %v", m.FieldManager, m.ExpiresAt)
	}
}

func TestTheJSONPatchesOfAKey(t *testing.T) {
	m := mint(t, Request{User: "alice", Bridge: types.NamespacedName{Namespace: "tenants", Name: "alice"}})
	toList, asList := must.Values(m.JSONPatches())(t)
	entry := `{"id":"` + m.ID + `","hash":"` + m.Hash + `"}`
	for got, want := range map[string]string{
		string(toList): `[{"op":"add","path":"/spec/apiKeys/-","value":` + entry + `}]`,
		string(asList): `[{"op":"test","path":"/spec/apiKeys","value":null},{"op":"add","path":"/spec/apiKeys","value":[` + entry + `]}]`,
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestARemovalNamesTheKeyAndTheBridge(t *testing.T) {
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{UID: "uid-1"}}
	b.Spec.APIKeys = []v1alpha1.APIKey{{ID: "k0"}, {ID: "k1"}}
	got := must.Value(removal(b, 1))(t)
	want := `[{"op":"test","path":"/metadata/uid","value":"uid-1"},{"op":"test","path":"/spec/apiKeys/1/id","value":"k1"},` +
		`{"op":"remove","path":"/spec/apiKeys/1","value":null}]`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestAKeyWithoutALifetimeDoesNotExpire(t *testing.T) {
	m := mint(t, Request{User: "alice", Bridge: types.NamespacedName{Name: "alice"}})
	if patch, _ := json.Marshal(m.Patch); !m.ExpiresAt.IsZero() || strings.Contains(string(patch), "expiresAt") || strings.Contains(string(patch), `"name":""`) {
		t.Errorf("expires %v, %s", m.ExpiresAt, patch)
	}
}

func TestNamesOfKeys(t *testing.T) {
	for name, ok := range map[string]bool{
		"": true, "laptop": true, "CI of team 4": true, "a": true, strings.Repeat("a", 63): true,
		strings.Repeat("a", 64): false, " a": false, "a ": false, "-a": false, "a\nb": false, "é": false, `a"`: false, "a/b": false,
	} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("CheckName(%q) = %v", name, err)
		}
	}
	if _, err := Mint(strings.NewReader(""), Request{User: "alice", Name: "a/b"}); !errors.Is(err, errName) {
		t.Errorf("a key of a bad name: %v", err)
	}
}

func TestAKeyIsMintedForAUser(t *testing.T) {
	for _, user := range []v1alpha1.UserID{"", "Alice", "alice:bob"} {
		if m, err := Mint(rand.Reader, Request{User: user, Bridge: types.NamespacedName{Name: "alice"}}); err == nil {
			t.Errorf("a key is minted for %q, with the hash %s", user, m.Hash)
		}
	}
}

// entry is what one manager holds.
func entry(manager, subresource, fields string) metav1.ManagedFieldsEntry {
	at := metav1.NewTime(now)
	return metav1.ManagedFieldsEntry{
		Manager: manager, Subresource: subresource, Operation: metav1.ManagedFieldsOperationApply, Time: &at,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

func TestWhatMayBeToldOfKeys(t *testing.T) {
	holding := func(ids ...string) string {
		var keys []string
		for _, id := range ids {
			keys = append(keys, `"k:{\"id\":\"`+id+`\"}":{".":{},"f:hash":{},"f:id":{}}`)
		}
		return `{"f:spec":{"f:apiKeys":{` + strings.Join(keys, ",") + `}}}`
	}
	expires, used := metav1.NewTime(now.Add(time.Hour)), metav1.NewTime(now.Add(-time.Hour))
	b := &v1alpha1.HostedBridge{}
	b.ManagedFields = []metav1.ManagedFieldsEntry{
		entry(manager("own00000"), "", holding("own00000")),
		entry("kubectl", "", holding("manifest", "both0000")),
		entry(manager("both0000"), "", holding("both0000")),
		entry("hosted-bridge-ingress", "status", holding("own00000")),
		entry("odd", "", `{"f:spec":[]}`),
	}
	b.Spec.APIKeys = []v1alpha1.APIKey{
		{ID: "own00000", Name: "laptop", ExpiresAt: &expires}, {ID: "manifest"}, {ID: "both0000"}, {ID: "nobodys0"},
	}
	b.Status.Keys = []v1alpha1.APIKeyStatus{{ID: "gone0000", LastUsedTime: expires}, {ID: "own00000", LastUsedTime: used}}
	at := func(t time.Time) *time.Time { return &t }
	want := []Info{
		{ID: "own00000", Name: "laptop", CreatedAt: at(now), ExpiresAt: at(expires.Time), LastUsed: at(used.Time)},
		{ID: "manifest", ManagedBy: []string{"kubectl"}},
		{ID: "both0000", CreatedAt: at(now), ManagedBy: []string{manager("both0000"), "kubectl"}},
		{ID: "nobodys0", ManagedBy: []string{"unknown"}},
	}
	if diff := cmp.Diff(want, InfosOf(b)); diff != "" {
		t.Error(diff)
	}
}
