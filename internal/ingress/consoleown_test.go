// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
)

// ownWorld is a world whose console shows what users really have, by the functions that the
// API uses too. bob has one of each thing, and alice has none of them.
type ownWorld struct {
	*consoleWorld

	requests *fakeRequests

	asking sync.Mutex
	// asked is what the bridges were asked, by user.
	asked map[string]int
}

func newOwnWorld(t *testing.T) *ownWorld {
	t.Helper()
	// They need the world, which is there later than the console.
	var self struct{ *management.Self }
	asks := &requests.Requests{}
	held := &keys.Keys{}
	w := &ownWorld{requests: &fakeRequests{}, asked: map[string]int{}}
	w.consoleWorld = newConsoleWorld(t, func(o *console.Options) {
		o.Servers, o.Keys, o.Secrets, o.Requests = &self, held, &self, asks
	})
	self.Self = management.NewSelf(w.selfOptions(nil))
	*held = *w.userKeys()
	*asks = requests.Requests{Store: w.requests, Bridges: &knownBridges{w.world}}
	w.serveBridge(hosts[0], "uid-alice", w.bridgeWith("alice", "search", "query"))
	w.serveBridge(hosts[1], "uid-bob", w.bridgeWith("bob", "private", "private_tool"))
	w.setPod("alice", "alice-1", hosts[0])
	w.setPod("bob", "bob-1", hosts[1])
	w.changeBridge("bob", func(b *v1alpha1.HostedBridge) {
		b.Spec.Servers = []v1alpha1.Server{{Name: "private", Secrets: []v1alpha1.SecretName{"PRIVATE_TOKEN", "LOGIN"}, Auth: &v1alpha1.Auth{OAuth: &v1alpha1.OAuth{
			Grant: v1alpha1.OAuthAuthorizationCode, AuthorizationURL: "https://login.example.com/a", TokenSecret: "LOGIN",
		}}}}
		b.Status.Effective = &v1alpha1.EffectiveSettings{Servers: []v1alpha1.EffectiveServer{
			{Name: "private-offer", Profile: "team", Offer: "recipe private", Use: v1alpha1.ServerOnRequest, Reason: v1alpha1.ReasonNotApproved},
		}}
	})
	w.keys.keys["uid-bob"] = []keys.Info{{ID: "privatekey01", Name: "private"}}
	w.secrets.values[bobRef] = map[string]string{"PRIVATE_TOKEN": "private", "LOGIN": "private"}
	w.requests.all = []v1alpha1.BridgeRequest{{Spec: v1alpha1.BridgeRequestSpec{User: "bob", BridgeUID: "uid-bob", Server: "private-offer", Offer: "recipe private", Reason: "private"}}}
	return w
}

// bobRef is bob's bridge in every world.
var bobRef = client.Ref{Namespace: "tenants", Name: "bob", UID: "uid-bob"}

// bridgeWith answers as a bridge with one tool does, whether clients see the tools of all
// servers or one that finds them.
func (w *ownWorld) bridgeWith(user, server, tool string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		w.asking.Lock()
		w.asked[user]++
		w.asking.Unlock()
		var q struct {
			Params struct {
				Name      string
				Arguments struct{ Action, Server, Tool string }
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		rw.Header().Set("Content-Type", "application/json")
		result := `{"content":[{"type":"text","text":"found"}]}`
		switch a := q.Params.Arguments; {
		case r.URL.Path == "/tools":
			fmt.Fprintf(rw, `{"tools":[{"name":%q,"server":%q,"tool":%q}]}`, tool, server, tool)
			return
		case r.Header.Get("Mcp-Method") == "tools/list":
			result = fmt.Sprintf(`{"tools":[{"name":%q,"inputSchema":{"type":"object"}}]}`, tool)
		case q.Params.Name == "mcp" && (a.Server != server || a.Tool != tool):
			result = `{"isError":true,"content":[],"structuredContent":{"error":"unknown_tool","message":"no"}}`
		case a.Action == "schema":
			result = fmt.Sprintf(`{"content":[],"structuredContent":{"action":"schema","server":%q,"tool":%q,"inputSchema":{"type":"object"}}}`, server, tool)
		}
		fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":1,"result":%s}`, result)
	}
}

// things are what is bob's and nobody else's, as a test compares it.
func (w *ownWorld) things() any {
	w.asking.Lock()
	defer w.asking.Unlock()
	b, err := w.bridgeOf(w.t.Context(), route.Backend{BridgeUID: "uid-bob"})
	if err != nil {
		w.t.Fatal(err)
	}
	return []any{w.asked["bob"], b.Spec, slices.Clone(w.keys.keys["uid-bob"]), maps.Clone(w.secrets.values[bobRef]), slices.Clone(w.requests.all)}
}

// pathsOf returns the paths of a route, with the names of things that nobody has and those
// of bob's: bob has two servers, one that works and one on request.
func pathsOf(route string) (nobodys string, bobs []string) {
	fill := func(server, secret, key, tool string) string {
		return strings.NewReplacer(":server", server, ":secret", secret, ":keyId", key, ":tool", tool).Replace(route)
	}
	return fill("nothing", "NOTHING", "nothingkey01", "nothing_tool"), slices.Compact([]string{
		fill("private", "PRIVATE_TOKEN", "privatekey01", "private_tool"), fill("private-offer", "PRIVATE_TOKEN", "privatekey01", "private_tool"),
	})
}

// request opens a page, or sends its form with all that any form takes.
func (v *visitor) request(method, path string) reply {
	v.w.t.Helper()
	if method == http.MethodGet {
		return v.open(path)
	}
	return v.post(path, url.Values{"csrf": v.open("/connect").hidden()["csrf"], "use": {"Off"}, "reason": {"mine"}})
}

func TestAnotherUsersThingsAreNothing(t *testing.T) {
	w := newOwnWorld(t)
	alice, bob := w.logged(w.alice), w.logged(w.bob)
	before := w.things()
	named := w.pages[:0:0]
	for _, r := range w.pages {
		if strings.Contains(r.Path, ":") && r.Path != "/static/:file" && !strings.HasPrefix(r.Path, "/icons/") { // Files are anybody's.
			named = append(named, r)
		}
	}
	for _, r := range named {
		nobodys, bobs := pathsOf(r.Path)
		want := alice.request(r.Method, nobodys)
		if want.status != http.StatusNotFound || strings.Contains(nobodys, ":") {
			t.Errorf("%s %s, which is nobody's: %d %s", r.Method, nobodys, want.status, want.body)
		}
		for _, path := range bobs {
			if got := alice.request(r.Method, path); got.status != want.status || got.body != want.body {
				t.Errorf("%s %s of bob's: %d, not as nothing: %s", r.Method, path, got.status, got.body)
			}
		}
	}
	if diff := cmp.Diff(before, w.things()); diff != "" {
		t.Errorf("what is bob's has changed (-before +after):\n%s", diff)
	}
	for _, page := range consolePages {
		if body := strings.ToLower(alice.open(page).body); strings.Contains(body, "private") || strings.Contains(body, "bob") {
			t.Errorf("%s of alice's shows what is bob's", page)
		}
	}
	// For bob they are there.
	for _, r := range named {
		_, bobs := pathsOf(r.Path)
		if !slices.ContainsFunc(bobs, func(path string) bool {
			got := bob.request(r.Method, path).status
			return got < http.StatusBadRequest || got == http.StatusConflict // His own server cannot be turned off.
		}) {
			t.Errorf("%s %s: bob does not have it either", r.Method, bobs)
		}
	}
}
