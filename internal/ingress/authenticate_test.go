// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

const toolCall = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo"}}`

// otherKey returns key with another secret's text in a valid form: the key of
// somebody who is not in the table at all.
func otherKey(t *testing.T) string {
	t.Helper()
	return newWorld(t, defaults()).addUser("elsewhere")
}

func TestRefusedKeysGetOneAnswer(t *testing.T) {
	w, alice, bob := twoUsers(t)
	unknown := otherKey(t)
	expired := w.addUser("carol")
	w.changeBridge("carol", func(b *v1alpha1.HostedBridge) {
		b.Spec.APIKeys[0].ExpiresAt = &metav1.Time{Time: time.Now().Add(-time.Second)}
	})
	id := func(key string) string { return strings.Split(key, "_")[1] }
	secret := func(key string) string { return strings.Split(key, "_")[2] }
	cases := []struct {
		name   string
		path   string
		header http.Header
	}{
		{"no key", "alice", nil},
		{"no key for a user that does not exist", "nobody", nil},
		{"an unknown key", "alice", http.Header{"Authorization": {"Bearer " + unknown}}},
		{"an unknown key for a user that does not exist", "nobody", http.Header{"Authorization": {"Bearer " + unknown}}},
		{"a known id with another secret", "alice", http.Header{"Authorization": {"Bearer hb_" + id(alice) + "_" + secret(bob)}}},
		{"the path's user's id with another secret", "bob", http.Header{"Authorization": {"Bearer hb_" + id(bob) + "_" + secret(unknown)}}},
		{"an expired key", "carol", http.Header{"Authorization": {"Bearer " + expired}}},
		{"an expired key of another user", "alice", http.Header{"Authorization": {"Bearer " + expired}}},
		{"a key with a typo", "alice", http.Header{"Authorization": {"Bearer " + alice[:len(alice)-1]}}},
		{"a key of another kind", "alice", http.Header{"Authorization": {"Bearer pub" + strings.TrimPrefix(alice, "hb")}}},
		{"a key in upper case", "alice", http.Header{"Authorization": {"Bearer " + strings.ToUpper(alice)}}},
		{"another scheme", "alice", http.Header{"Authorization": {"Basic " + alice}}},
		{"a scheme alone", "alice", http.Header{"Authorization": {"Bearer"}}},
		{"a key without a scheme", "alice", http.Header{"Authorization": {alice}}},
		{"two keys in one header", "alice", http.Header{"Authorization": {"Bearer " + alice + ", Bearer " + bob}}},
		{"the header twice", "alice", http.Header{"Authorization": {"Bearer " + alice, "Bearer " + alice}}},
		{"two different keys", "alice", http.Header{"Authorization": {"Bearer " + alice}, "X-Api-Key": {bob}}},
		{"a bad key beside a good one", "alice", http.Header{"Authorization": {"Basic x"}, "X-Api-Key": {alice}}},
		{"a cookie", "alice", http.Header{"Cookie": {"key=" + alice + "; Authorization=Bearer " + alice}}},
		{"a long key", "alice", http.Header{"Authorization": {"Bearer " + strings.Repeat("k", 20000)}}},
	}
	for _, method := range []string{"POST", "GET", "DELETE"} {
		var want reply
		for i, tt := range cases {
			t.Run(method+" with "+tt.name, func(t *testing.T) {
				r := w.request(method, "/u/"+tt.path+"/mcp", "", toolCall)
				maps.Copy(r.Header, tt.header)
				got := withoutChance(w.do(r))
				if i == 0 {
					want = got
				}
				if got.status != http.StatusUnauthorized || got.header.Get("Www-Authenticate") != `Bearer realm="hosted-bridge"` {
					t.Errorf("status = %d, WWW-Authenticate = %q", got.status, got.header.Get("Www-Authenticate"))
				}
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(reply{})); diff != "" {
					t.Errorf("the answer tells this case from the first (-first +this):\n%s", diff)
				}
			})
		}
	}
	for _, key := range []string{alice, bob, unknown, expired} {
		if strings.Contains(w.logs.String(), secret(key)) {
			t.Error("the log contains a key")
		}
	}
}

func TestAcceptedKeys(t *testing.T) {
	w, alice, _ := twoUsers(t)
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) {
		b.Spec.APIKeys[0].ExpiresAt = &metav1.Time{Time: time.Now().Add(time.Hour)}
	})
	for name, header := range map[string]http.Header{
		"as a bearer token":         {"Authorization": {"Bearer " + alice}},
		"with a scheme in any case": {"Authorization": {"bEARER " + alice}},
		"as X-API-Key":              {"X-Api-Key": {alice}},
		"both, the same":            {"Authorization": {"Bearer " + alice}, "X-Api-Key": {alice}},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.request("GET", "/u/alice/mcp", "", "")
			maps.Copy(r.Header, header)
			if got := w.do(r); got.status != http.StatusOK {
				t.Errorf("status = %d, want 200: %s", got.status, got.body)
			}
		})
	}
}

func TestForeignAndUnknownUsersAreOneAnswer(t *testing.T) {
	w, alice, _ := twoUsers(t)
	w.addUser("dora")
	w.changeBridge("dora", func(b *v1alpha1.HostedBridge) { b.Spec.DesiredState = v1alpha1.StateSuspended })
	for _, method := range []string{"POST", "GET", "DELETE"} {
		want := withoutChance(w.do(w.request(method, "/u/nobody/mcp", alice, toolCall)))
		if want.status != http.StatusNotFound {
			t.Fatalf("%s for an unknown user = %d, want 404", method, want.status)
		}
		for _, user := range []string{"bob", "dora", "a", "admin"} {
			got := withoutChance(w.do(w.request(method, "/u/"+user+"/mcp", alice, toolCall)))
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(reply{})); diff != "" {
				t.Errorf("%s for %s differs from an unknown user (-unknown +got):\n%s", method, user, diff)
			}
		}
	}
}

func TestAKeyOfADeletedBridgeOpensNothing(t *testing.T) {
	w, alice, _ := twoUsers(t)
	if got := w.do(w.request("GET", "/u/alice/mcp", alice, "")); got.status != http.StatusOK {
		t.Fatalf("status = %d, want 200", got.status)
	}
	w.change(func() { w.bridges = w.bridges[1:] })
	if got := w.do(w.request("GET", "/u/alice/mcp", alice, "")); got.status != http.StatusUnauthorized {
		t.Errorf("status after deletion = %d, want 401", got.status)
	}
	again := w.addUser("alice")
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.UID = "uid-alice-again" })
	if got := w.do(w.request("GET", "/u/alice/mcp", alice, "")); got.status != http.StatusUnauthorized {
		t.Errorf("status of the old key at the new bridge = %d, want 401", got.status)
	}
	if got := w.do(w.request("GET", "/u/alice/health", again, "")); got.status != http.StatusOK {
		t.Errorf("status of the new key = %d, want 200", got.status)
	}
}

func TestNothingIsServedBeforeTheFirstTable(t *testing.T) {
	w, alice, _ := twoUsers(t)
	w.routes.mu.Lock()
	w.routes.table = nil
	w.routes.mu.Unlock()
	if got := w.do(w.request("GET", "/u/alice/mcp", alice, "")); got.status != http.StatusServiceUnavailable {
		t.Errorf("status = %d, want 503: an empty table is not a table in which nobody is", got.status)
	}
}
