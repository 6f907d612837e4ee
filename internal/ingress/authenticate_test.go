// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/route/snapshot"
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

func TestForeignAndUnknownUsersAndUnknownKeysAreOneAnswer(t *testing.T) {
	w, alice, _ := twoUsers(t)
	unknown := otherKey(t)
	w.addUser("dora")
	w.changeBridge("dora", func(b *v1alpha1.HostedBridge) { b.Spec.DesiredState = v1alpha1.StateSuspended })
	for _, method := range []string{"POST", "GET", "DELETE"} {
		want := withoutChance(w.do(w.request(method, "/u/nobody/mcp", unknown, toolCall)))
		if want.status != http.StatusUnauthorized {
			t.Fatalf("%s with an unknown key = %d, want 401", method, want.status)
		}
		for _, user := range []string{"nobody", "bob", "dora", "a", "admin"} {
			got := withoutChance(w.do(w.request(method, "/u/"+user+"/mcp", alice, toolCall)))
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(reply{})); diff != "" {
				t.Errorf("%s for %s differs from an unknown key (-unknown +got):\n%s", method, user, diff)
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

// holder is what a bridge lists of alice's key.
type holder struct {
	user string
	// created is when the bridge was made, in hours.
	created int
	// bound is the hash of today, which covers the user id, of alice's own bridge;
	// a copy is that hash, whatever the user is.
	bound bool
	// expires is when the key stops working at this bridge, in hours from now, 0
	// for never.
	expires int
}

// worldOfHolders makes bridges with alice's key in the order of the holders. Each
// bridge answers with its user.
func worldOfHolders(t *testing.T, holders ...holder) (w *world, key string) {
	t.Helper()
	w = newWorld(t, defaults())
	key, id, err := apikey.Mint(rand.Reader, apikey.KindUser)
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range holders {
		w.addUser(h.user)
		w.serveBridge(hosts[i], "uid-"+h.user, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(rw, h.user)
		})
		w.setPod(h.user, h.user+"-1", hosts[i])
		w.changeBridge(h.user, func(b *v1alpha1.HostedBridge) {
			b.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 1, h.created, 0, 0, 0, time.UTC))
			b.Spec.APIKeys[0] = v1alpha1.APIKey{ID: id, Hash: apikey.HashOf(key).String()}
			if h.bound {
				b.Spec.APIKeys[0].Hash = apikey.HashFor("alice", key).String()
			}
			if h.expires != 0 {
				b.Spec.APIKeys[0].ExpiresAt = &metav1.Time{Time: time.Now().Add(time.Duration(h.expires) * time.Hour)}
			}
		})
	}
	return w, key
}

// problemOf returns the code of a problem on an MCP route.
func problemOf(t *testing.T, r reply) string {
	t.Helper()
	var answer struct {
		Error struct {
			Data struct {
				Code string `json:"code"`
			} `json:"data"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(r.body), &answer); err != nil {
		t.Fatalf("%d is no problem: %v: %s", r.status, err, r.body)
	}
	return answer.Error.Data.Code
}

// restart serves by the table that was kept on the disk.
func (w *world) restart() {
	w.t.Helper()
	by, now := snapshot.Identity{Installation: "hosted-bridge-system", Key: snapshot.Key{1}}, time.Now()
	file, err := by.EncodeRoutes(snapshot.Table{Routes: w.routes.Current(), Confirmed: now})
	if err != nil {
		w.t.Fatal(err)
	}
	read, err := by.DecodeRoutes(file, now, time.Hour)
	if err != nil {
		w.t.Fatal(err)
	}
	w.routes.set(read.Routes)
}

// TestACopiedHashOpensNobodyElsesBridge has mallory copy what alice's bridge
// lists of her key. Each case is tried with the bridges' events in both orders,
// and with the table that a restart reads from its file.
func TestACopiedHashOpensNobodyElsesBridge(t *testing.T) {
	const taken, refused, ambiguous = "alice", "401 unauthorized", "403 key_ambiguous"
	alice, mallory := holder{user: "alice", created: 1}, holder{user: "mallory", created: 2}
	bound, copied := holder{user: "alice", created: 1, bound: true}, holder{user: "mallory", created: 2, bound: true}
	older := func(h holder) holder { h.created = 0; return h }
	expires := func(h holder, in int) holder { h.expires = in; return h }
	for _, tt := range []struct {
		name    string
		holders []holder
		// What alice's key gets at her path, at the other's, and where there is no
		// user in the path; empty where that is another matter.
		own, other, common string
	}{
		{"a hash of before, not copied", []holder{alice}, taken, refused, taken},
		{"a hash of before, copied later", []holder{alice, mallory}, taken, "", ambiguous},
		{"a hash of before, copied into an older bridge", []holder{alice, older(mallory)}, taken, "", ambiguous},
		{"a hash of before, copied with an expiry that has passed", []holder{alice, expires(mallory, -1)}, taken, refused, ambiguous},
		{"a hash of before, copied with an expiry to come", []holder{alice, expires(mallory, 1)}, taken, "", ambiguous},
		{"a hash of before of a key that has expired", []holder{expires(alice, -1)}, refused, refused, refused},
		{"a hash of before of a key that has expired, copied without that", []holder{expires(alice, -1), mallory}, refused, "", ambiguous},
		{"a hash of before, copied by two", []holder{alice, mallory, {user: "trudy", created: 3}}, taken, "", ambiguous},
		{"a bound hash, not copied", []holder{bound}, taken, refused, taken},
		{"a bound hash, copied later", []holder{bound, copied}, taken, refused, taken},
		{"a bound hash, copied into an older bridge", []holder{bound, older(copied)}, taken, refused, taken},
		{"a bound hash, copied with an expiry that has passed", []holder{bound, expires(copied, -1)}, taken, refused, taken},
		{"a bound hash of a key that has expired, copied without that", []holder{expires(bound, -1), copied}, refused, refused, refused},
		{"a bound hash, its owner gone", []holder{copied}, refused, refused, refused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ask := func(t *testing.T, w *world, key string) {
				t.Helper()
				for path, want := range map[string]string{"/u/alice/mcp": tt.own, "/u/mallory/mcp": tt.other, "/mcp": tt.common} {
					got := w.do(w.request(http.MethodPost, path, key, toolCall))
					outcome := got.body
					if got.status != http.StatusOK {
						outcome = strconv.Itoa(got.status) + " " + problemOf(t, got)
					}
					if want != "" && outcome != want {
						t.Errorf("%s = %s, want %s", path, outcome, want)
					}
				}
			}
			turned := slices.Clone(tt.holders)
			slices.Reverse(turned)
			for name, holders := range map[string][]holder{"in their order": tt.holders, "turned": turned} {
				t.Run(name, func(t *testing.T) {
					w, key := worldOfHolders(t, holders...)
					ask(t, w, key)
					w.restart()
					ask(t, w, key)
				})
			}
		})
	}
}
