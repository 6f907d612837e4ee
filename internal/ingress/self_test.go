// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// selfWorld is a world of alice, who has one server of her own and is offered two, and of
// bob. alice's bridge runs, and lists a tool.
func selfWorld(t *testing.T) (w *world, alice, bob string) {
	t.Helper()
	w = newWorld(t, defaults())
	alice, bob = w.addUser("alice"), w.addUser("bob")
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) {
		b.Spec.Servers = []v1alpha1.Server{{Name: "own", Description: "Reads mail.", Secrets: []v1alpha1.SecretName{"TOKEN"}, Auth: &v1alpha1.Auth{OAuth: &v1alpha1.OAuth{
			Grant: v1alpha1.OAuthAuthorizationCode, AuthorizationURL: "https://login.example.com/a", TokenSecret: "TOKEN",
		}}}}
		b.Status.Effective = &v1alpha1.EffectiveSettings{Servers: []v1alpha1.EffectiveServer{
			{Name: "may", Profile: "team", Recipe: "wiki", Use: v1alpha1.ServerOptional, Reason: v1alpha1.ReasonServerOff},
			{Name: "python", Profile: "team", Recipe: "python", Use: v1alpha1.ServerOptional, Reason: v1alpha1.ReasonServerOff},
			{Name: "fixed", Profile: "team", Use: v1alpha1.ServerOptional, Reason: v1alpha1.ReasonServerOff},
			{Name: "must", Profile: "team", Use: v1alpha1.ServerRequired, Source: `{"name":"must","transport":{"url":"https://m"}}`},
		}}
	})
	w.reports["uid-alice"] = health.Report{Status: health.Degraded, Tools: 2, Servers: map[string]health.Server{
		"own": {Status: health.Unhealthy, Reason: health.ReasonLoginRequired, Error: "log in"}, "must": {Status: health.Healthy, Tools: 2},
	}}
	w.serveBridge(hosts[0], "uid-alice", func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/tools" {
			t.Errorf("the bridge is asked for %s", r.URL.Path)
		}
		_, _ = io.WriteString(rw, `{"tools":[{"name":"must_a","server":"must","tool":"a","description":"Does a."},{"server":"must","tool":"b","denied":true}]}`)
	})
	w.setPod("alice", "pod-alice", hosts[0])
	return w, alice, bob
}

// ask makes a request of alice's API, and decodes the answer.
func ask[T any](w *world, method, path, key, body string) (status int, v T, text string) {
	w.t.Helper()
	r := w.request(method, "/u/alice"+path, key, body)
	r.Header.Set("Content-Type", "application/json")
	got := w.do(r)
	checkDescribed(w.t, r, got)
	if got.status < 300 && got.body != "" {
		if err := json.Unmarshal([]byte(got.body), &v); err != nil {
			w.t.Fatalf("%s %s: %s: %v", method, path, got.body, err)
		}
	}
	return got.status, v, got.body
}

// description is the description of all routes.
var description = sync.OnceValues(func() (*openapi3.T, error) {
	return openapi3.NewLoader().LoadFromFile("../catalog/catalogapi/openapi.yaml")
})

// pathParts have the parts of the users' paths that differ.
var pathParts = regexp.MustCompile(`^/u/[^/]+/(servers|connections|keys|requests)/([^/]+)`)

// checkDescribed compares an answer with its description.
func checkDescribed(t testing.TB, r *http.Request, got reply) {
	t.Helper()
	doc, err := description()
	if err != nil {
		t.Fatal(err)
	}
	path := pathParts.ReplaceAllStringFunc(r.URL.Path, func(s string) string {
		kind := pathParts.FindStringSubmatch(s)[1]
		return "/u/{userId}/" + kind + "/{" + map[string]string{"servers": "server", "connections": "server", "keys": "keyId", "requests": "server"}[kind] + "}"
	})
	path = strings.Replace(path, "/u/alice/", "/u/{userId}/", 1)
	item := doc.Paths.Find(path)
	if item == nil {
		t.Fatalf("%s is not described", path)
	}
	operation := item.GetOperation(r.Method)
	if operation == nil {
		if got.status != http.StatusMethodNotAllowed {
			t.Errorf("%s %s is not described", r.Method, path)
		}
		return
	}
	described := operation.Responses.Status(got.status)
	if described == nil {
		t.Errorf("%s %s: %d is not described", r.Method, path, got.status)
		return
	}
	if got.body == "" {
		return
	}
	kind, _, _ := strings.Cut(got.header.Get("Content-Type"), ";")
	var body any
	if err := json.Unmarshal([]byte(got.body), &body); err != nil || described.Value.Content[kind] == nil {
		t.Errorf("%s %s: %s %s: %v", r.Method, path, kind, got.body, err)
		return
	}
	if err := described.Value.Content[kind].Schema.Value.VisitJSON(body); err != nil {
		t.Errorf("%s %s: %v in %s", r.Method, path, err, got.body)
	}
}

func TestUsersSeeTheirServersAndChooseThem(t *testing.T) {
	w, alice, _ := selfWorld(t)
	_, servers, text := ask[selfservice.Servers](w, "GET", "/servers", alice, "")
	var states []string
	for _, s := range servers.Servers {
		states = append(states, fmt.Sprint(s.Name, " ", s.State, " ", s.Actions))
	}
	want := []string{"own unhealthy []", "must healthy []", "may off [turn_on]", "fixed off [turn_on]"}
	if diff := cmp.Diff(want, states); diff != "" || servers.Bridge.Status != health.Degraded {
		t.Errorf("%s (-want +got):\n%s", text, diff)
	}
	for _, step := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/servers/may", "", 200, `"reason":"off"`},
		{"GET", "/servers/may", "", 200, `"description":"Finds pages of the handbook."`},
		{"GET", "/servers/may", "", 200, `"toolNames":"The names of its tools will begin with may_; the tools of your other servers keep their names."`},
		{"GET", "/servers/may", "", 200, `"secrets":["WIKI_TOKEN"],"credentials":{"url":"https://wiki.example.com/tokens","host":"wiki.example.com",` +
			`"instructions":"Make a token that may read pages.","scopes":["pages:read"],"state":"unchecked","check":"Turn the server on`},
		{"GET", "/servers/own", "", 200, `"description":"Reads mail."`},
		{"GET", "/servers/none", "", 404, "server_not_found"},
		{"GET", "/servers/python", "", 404, "server_not_found"},
		{"PUT", "/servers/python/choice", `{"use":"On"}`, 409, "This installation cannot run the server python. Ask an administrator"},
		{"GET", "/servers/may", "", 200, `"author":"Example","recipe":"wiki"`},
		{"GET", "/servers/may", "", 200, `"knownTools":["find_page"]`},
		{"PUT", "/servers/may/choice", `{"use":"On","deny":["delete"]}`, 200, `"reason":"pending"`},
		{"GET", "/servers/may", "", 200, `"choice":{"use":"On","deny":["delete"]}`},
		{"PUT", "/servers/may/choice", `{"use":"Maybe"}`, 422, "use must be On or Off"},
		{"PUT", "/servers/may/choice", `{"uses":"On"}`, 422, "choice_invalid"},
		{"PUT", "/servers/may/choice", ``, 422, "choice_invalid"},
		{"PUT", "/servers/may/choice", `[]`, 422, "choice_invalid"},
		{"PUT", "/servers/may/choice", `{"use":"On","deny":["` + strings.Repeat("a", 70_000) + `"]}`, 413, "body_too_large"},
		{"PUT", "/servers/must/choice", `{"use":"Off"}`, 409, "The profile team requires"},
		{"PUT", "/servers/own/choice", `{"use":"Off"}`, 409, "choice_not_permitted"},
		{"PUT", "/servers/none/choice", `{"use":"On"}`, 404, "server_not_found"},
		{"PUT", "/servers/fixed/choice", `{"use":"On"}`, 409, "held by gitops"},
		{"DELETE", "/servers/may/choice", "", 200, `"reason":"off"`},
		{"DELETE", "/servers/may/choice", "", 200, `"reason":"off"`},
		{"DELETE", "/servers/none/choice", "", 404, "server_not_found"},
		{"POST", "/servers", "{}", 405, "method_not_allowed"},
	} {
		if status, _, body := ask[any](w, step.method, step.path, alice, step.body); status != step.status || !strings.Contains(body, step.says) {
			t.Errorf("%s %s %.60s: %d %s, want %d %s", step.method, step.path, step.body, status, body, step.status, step.says)
		}
	}
	var acts []string
	for _, e := range w.audit.all() {
		acts = append(acts, e.Method+" "+e.Action+" "+string(e.Principal.Kind)+" "+e.UserID)
	}
	want = []string{"user/servers.choose may On user_key alice", "user/servers.clear may user_key alice", "user/servers.clear may user_key alice"}
	if diff := cmp.Diff(want, acts); diff != "" {
		t.Errorf("acts (-want +got):\n%s", diff)
	}
}

func TestUsersSeeWhereASecretComesFromBeforeAndAfterItIsSet(t *testing.T) {
	w, alice, _ := selfWorld(t)
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) {
		b.Spec.Servers = append(b.Spec.Servers, v1alpha1.Server{Name: "wiki", Recipe: &v1alpha1.RecipeReference{Name: "wiki"}})
		b.Status.Recipes = []v1alpha1.RecipeStatus{{Server: "wiki", Recipe: "wiki", Digest: "sha256:1", Secrets: []string{"WIKI_TOKEN"}}}
	})
	const where = `"credentials":{"url":"https://wiki.example.com/tokens","host":"wiki.example.com","instructions":"Make a token that may read pages.","scopes":["pages:read"],"state":`
	for _, step := range []struct {
		is   health.Server
		says []string
	}{
		{health.Server{Status: health.Unhealthy, Reason: health.ReasonSecretMissing, Error: "secret WIKI_TOKEN is not set"},
			[]string{where + `"not_set"`, `"fix":{"code":"set_secret","text":"Set WIKI_TOKEN.","secrets":["WIKI_TOKEN"],"url":"https://wiki.example.com/tokens"}`}},
		{health.Server{Status: health.Unhealthy, Reason: health.ReasonCredentialsRefused}, []string{where + `"refused"`, `"text":"Replace WIKI_TOKEN."`}},
		{health.Server{Status: health.Healthy, Tools: 1}, []string{where + `"work"`}},
	} {
		w.reports["uid-alice"] = health.Report{Status: health.Degraded, Servers: map[string]health.Server{"wiki": step.is}}
		status, _, body := ask[any](w, "GET", "/servers/wiki", alice, "")
		for _, want := range step.says {
			if status != http.StatusOK || !strings.Contains(body, want) {
				t.Errorf("%+v: %d %s, want %s", step.is, status, body, want)
			}
		}
	}
}

// TestAnOfferOfAnOlderVersionSaysWhatThatVersionSays has a publisher whose newest version cannot
// run here, and whose secrets are from another place.
func TestAnOfferOfAnOlderVersionSaysWhatThatVersionSays(t *testing.T) {
	w, alice, _ := selfWorld(t)
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) {
		b.Status.Effective.Servers = nil
		for name, version := range map[string]string{"older": "1.0.0", "newest": "2.0.0", "follows": "", "gone": "0.1.0"} {
			b.Status.Effective.Servers = append(b.Status.Effective.Servers, v1alpha1.EffectiveServer{
				Name: name, Profile: "team", Recipe: "moved", RecipeVersion: version, Use: v1alpha1.ServerOptional, Reason: v1alpha1.ReasonServerOff,
			})
		}
	})
	w.installed.Refresh(t.Context())
	_, older, text := ask[selfservice.Server](w, "GET", "/servers/older", alice, "")
	want := &selfservice.Credentials{URL: "https://old.example.com/tokens", Host: "old.example.com", Instructions: "Instructions 1.0.0.",
		Scopes: []string{"scope 1.0.0"}, State: selfservice.CredentialsUnchecked, Check: "Turn the server on: then it is shown as working, or as refusing it."}
	if diff := cmp.Diff(want, older.Credentials); diff != "" || strings.Contains(text, "2.0.0") {
		t.Errorf("an older version: %s (-want +got):\n%s", text, diff)
	}
	for _, says := range []string{`"Description 1.0.0"`, `"Author 1.0.0"`, `"tool_1.0.0"`, `"secrets":["TOKEN"]`, `"program":{"package":"wiki","version":"1.0.0"`, `"actions":["turn_on"]`} {
		if !strings.Contains(text, says) {
			t.Errorf("an older version: %s, want %s", text, says)
		}
	}
	if status, gone, text := ask[selfservice.Server](w, "GET", "/servers/gone", alice, ""); status != http.StatusOK || gone.Credentials != nil ||
		gone.Author+gone.Description != "" || len(gone.KnownTools)+len(gone.Secrets) > 0 || strings.Contains(text, "example.com") {
		t.Errorf("a version that the catalog has no more: %d %s", status, text)
	}
	for server, want := range map[string]int{"older": http.StatusOK, "newest": http.StatusConflict, "follows": http.StatusConflict} {
		if status, _, text := ask[any](w, "PUT", "/servers/"+server+"/choice", alice, `{"use":"On"}`); status != want {
			t.Errorf("turn on %s: %d %s", server, status, text)
		}
		if status, _, text := ask[any](w, "GET", "/servers/"+server, alice, ""); want != http.StatusOK && status != http.StatusNotFound {
			t.Errorf("%s, which cannot run here: %d %s", server, status, text)
		}
	}
}

func TestAPageWhoseHostIsTooLongToReadIsNoLink(t *testing.T) {
	w, alice, _ := selfWorld(t)
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Status.Effective.Servers[0].Recipe = "long" })
	status, s, text := ask[selfservice.Server](w, "GET", "/servers/may", alice, "")
	if c := s.Credentials; status != http.StatusOK || c == nil || c.URL+c.Host != "" || c.Instructions == "" || strings.Contains(text, "evil") {
		t.Errorf("%d %s", status, text)
	}
}

func TestUsersSeeWhichToolsTheyHaveAndWhyOthersAreMissing(t *testing.T) {
	w, alice, _ := selfWorld(t)
	var tools selfservice.Tools
	var text string
	wait.Until(t, "the bridge answers in time", func() bool {
		_, tools, text = ask[selfservice.Tools](w, "GET", "/tools", alice, "")
		return tools.Known
	})
	if len(tools.Tools) != 1 || tools.Tools[0].Name != "must_a" || len(tools.Missing) != 4 {
		t.Errorf("while it runs: %s", text)
	}
	w.stopBridge(hosts[0])
	w.ways.CloseIdle()
	if status, tools, text := ask[selfservice.Tools](w, "GET", "/tools", alice, ""); status != http.StatusOK || tools.Known {
		t.Errorf("while it does not answer: %d %s", status, text)
	}
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Spec.DesiredState = v1alpha1.StateSuspended })
	if status, tools, text := ask[selfservice.Tools](w, "GET", "/tools", alice, ""); status != http.StatusOK || tools.Known || tools.Bridge.Status != selfservice.Suspended {
		t.Errorf("while it is suspended: %d %s", status, text)
	}
}

func TestUsersMakeAndRevokeTheirKeys(t *testing.T) {
	w, alice, _ := selfWorld(t)
	status, made, text := ask[keys.Created](w, "POST", "/keys", alice, `{"name":"laptop","expires":"12h"}`)
	if status != http.StatusCreated || !strings.HasPrefix(made.Key, "hb_") || made.ExpiresAt == nil {
		t.Fatalf("%d %s", status, text)
	}
	if _, keys, text := ask[keys.List](w, "GET", "/keys", alice, ""); len(keys.Keys) != 1 || keys.Keys[0].ID != made.ID || strings.Contains(text, made.Key) {
		t.Errorf("the keys are %s", text)
	}
	if status, _, text := ask[any](w, "POST", "/keys", alice, `{"name":"-"}`); status != http.StatusUnprocessableEntity || !strings.Contains(text, "63 letters") {
		t.Errorf("a bad name: %d %s", status, text)
	}
	if status, _, text := ask[any](w, "DELETE", "/keys/"+made.ID, alice, ""); status != http.StatusNoContent || text != "" {
		t.Errorf("revoke: %d %s", status, text)
	}
	if status, _, text := ask[any](w, "DELETE", "/keys/"+made.ID, alice, ""); status != http.StatusNotFound || !strings.Contains(text, "key_not_found") {
		t.Errorf("revoke again: %d %s", status, text)
	}
	w.keys.fail(&keys.UnsureError{KeyID: "k1", Err: errAway})
	if status, _, text := ask[any](w, "POST", "/keys", alice, ""); status != http.StatusServiceUnavailable || !strings.Contains(text, "Running bridges go on") {
		t.Errorf("a key while the API server is away: %d %s", status, text)
	}
	if status, keys, text := ask[keys.List](w, "GET", "/keys", alice, ""); status != http.StatusOK || !keys.Partial || len(keys.Keys) != 1 {
		t.Errorf("the keys while the API server is away: %d %s", status, text)
	}
	var acts []string
	for _, e := range w.audit.all() {
		acts = append(acts, e.Method+" "+e.Action+" "+string(e.Status))
	}
	want := []string{"user/keys.create " + made.ID + " success", "user/keys.revoke " + made.ID + " success", "user/keys.create k1 upstream_error"}
	if diff := cmp.Diff(want, acts); diff != "" {
		t.Errorf("acts (-want +got):\n%s", diff)
	}
	if strings.Contains(w.logs.String(), made.Key) {
		t.Error("the log has the key")
	}
}

// TestAKeyMakesNoneThatOutlivesIt makes keys with a key that ends, and with those that it made.
func TestAKeyMakesNoneThatOutlivesIt(t *testing.T) {
	w, alice, _ := selfWorld(t)
	ends := time.Now().Add(time.Hour).Truncate(time.Second)
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Spec.APIKeys[0].ExpiresAt = &metav1.Time{Time: ends} })
	for body, want := range map[string]int{
		`{"name":"a","expires":"90d"}`: http.StatusUnprocessableEntity, `{"name":"b","expires":"61m"}`: http.StatusUnprocessableEntity,
		`{"name":"c","expires":"30m"}`: http.StatusCreated, `{"name":"d"}`: http.StatusCreated, "": http.StatusCreated,
	} {
		status, made, text := ask[keys.Created](w, "POST", "/keys", alice, body)
		if status != want || want == http.StatusCreated && (made.ExpiresAt == nil || made.ExpiresAt.After(ends.Add(time.Second))) {
			t.Errorf("%s: %d %s", body, status, text)
		}
		if want != http.StatusCreated && !strings.Contains(text, ends.UTC().Format(time.RFC3339)) {
			t.Errorf("%s: the answer does not say when the key ends: %s", body, text)
		}
	}
}

// TestActsCountInTheTier has a user make keys until the burst is used up. What takes access away
// does not count.
func TestActsCountInTheTier(t *testing.T) {
	w, alice, _ := selfWorld(t)
	const burst = 3
	w.setTiers(quota.Tiers{testTier: {PerMinute: burst, PerHour: burst, PerDay: burst, Burst: burst, ConcurrentCalls: 1, Streams: 1}})
	var last string
	for i := range burst + 1 {
		status, made, text := ask[keys.Created](w, "POST", "/keys", alice, "")
		want := http.StatusCreated
		if i == burst {
			want = http.StatusTooManyRequests
		} else {
			last = made.ID
		}
		if status != want {
			t.Fatalf("act %d: %d %s", i, status, text)
		}
	}
	for method, path := range map[string]string{"PUT": "/servers/may/choice", "POST": "/keys"} {
		if status, _, text := ask[any](w, method, path, alice, `{"use":"On"}`); status != http.StatusTooManyRequests || !strings.Contains(text, `"rate_limited"`) {
			t.Errorf("%s %s: %d %s", method, path, status, text)
		}
	}
	if status, _, text := ask[any](w, "DELETE", "/keys/"+last, alice, ""); status != http.StatusNoContent {
		t.Errorf("to revoke a key: %d %s", status, text)
	}
	if got := w.do(w.request("GET", "/u/alice/servers", alice, "")); got.status != http.StatusOK {
		t.Errorf("to read: %d %s", got.status, got.body)
	}
	if got := w.do(w.request("POST", "/u/alice/mcp", alice, toolCall)); got.status != http.StatusTooManyRequests {
		t.Errorf("a call: %d %s", got.status, got.body)
	}
}

// TestOneUserAsksTheAuditIndexOnceAtATime has an index that does not answer alice.
func TestOneUserAsksTheAuditIndexOnceAtATime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, alice, bob := selfWorld(t)
		var asked atomic.Int32
		w.index.count = func(ctx context.Context) error {
			if asked.Add(1) == 1 {
				<-ctx.Done()
			}
			return ctx.Err()
		}
		answers := make(chan reply, 10)
		for range cap(answers) {
			go func() { answers <- w.do(w.request("GET", "/u/alice/usage", alice, "")) }()
		}
		synctest.Wait()
		got := w.do(w.request("GET", "/u/bob/usage", bob, ""))
		if got.status != http.StatusOK || strings.Contains(got.body, "callsUnknown") || asked.Load() != 2 {
			t.Errorf("another user meanwhile: %d %s; %d questions reached the index", got.status, got.body, asked.Load())
		}
		for range cap(answers) {
			// All end at one moment of the bubble, at which the next one may still have its turn.
			if got := <-answers; got.status != http.StatusOK {
				t.Errorf("%d %s", got.status, got.body)
			}
		}
	})
}

func TestUsersAskForServers(t *testing.T) {
	kept := &fakeRequests{}
	asked := &requests.Requests{}
	w := newWorldWith(t, defaults(), func(d *Deps) { d.Features = append(d.Features, management.Requests(asked)) })
	*asked = requests.Requests{Store: kept, Bridges: &knownBridges{w}, Recipes: catalogEntry} // The world is there later than its features.
	alice := w.addUser("alice")
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) {
		b.Status.Effective = &v1alpha1.EffectiveSettings{}
		for n := range requests.MaxOpen + 1 {
			b.Status.Effective.Servers = append(b.Status.Effective.Servers, v1alpha1.EffectiveServer{
				Name: fmt.Sprintf("offer-%d", n), Profile: "team", Offer: "recipe jira", Use: v1alpha1.ServerOnRequest, Reason: v1alpha1.ReasonNotApproved,
			})
		}
		b.Status.Effective.Servers = append(b.Status.Effective.Servers, v1alpha1.EffectiveServer{
			Name: "snake", Profile: "team", Recipe: "python", Offer: "recipe python", Use: v1alpha1.ServerOnRequest, Reason: v1alpha1.ReasonNotApproved,
		}, v1alpha1.EffectiveServer{
			Name: "older", Profile: "team", Recipe: "moved", RecipeVersion: "1.0.0", Offer: "recipe moved", Use: v1alpha1.ServerOnRequest, Reason: v1alpha1.ReasonNotApproved,
		})
	})
	for _, step := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/servers/offer-0", "", 200, `"reason":"not_approved"`},
		{"GET", "/servers/offer-0", "", 200, `"fix":{"code":"request"`},
		{"GET", "/servers", "", 200, `"actions":["ask"]`},
		{"PUT", "/servers/offer-0/choice", `{"use":"On"}`, 409, "choice_not_permitted"},
		{"GET", "/requests", "", 200, `"requests":[],"offered":["offer-0",`},
		{"GET", "/requests", "", 200, `"offer-9","offer-10","older"]}`}, // What cannot run here is not among them.
		{"PUT", "/requests/snake", `{}`, 404, "request_not_found"},
		{"PUT", "/requests/none", `{}`, 404, "request_not_found"},
		{"PUT", "/requests/offer-0", `{"why":"tickets"}`, 422, "request_invalid"},
		{"PUT", "/requests/offer-0", `{"reason":"` + strings.Repeat("ü", 501) + `"}`, 422, "reason_too_long"},
		{"PUT", "/requests/offer-0", `{"reason":"` + strings.Repeat("a", 9<<10) + `"}`, 422, "reason_too_long"},
		{"PUT", "/requests/offer-0", `{"reason":"tickets"}`, 200, `"offer":"recipe jira","state":"open","reason":"tickets"`},
		{"PUT", "/requests/offer-0", `{"reason":"tickets"}`, 409, "request_open"},
		{"GET", "/requests", "", 200, `"offered":["offer-1",`},
		{"DELETE", "/requests/offer-0", "", 204, ""},
		{"DELETE", "/requests/offer-0", "", 404, "request_not_found"},
		{"POST", "/requests", "{}", 405, "method_not_allowed"},
	} {
		if status, _, text := ask[any](w, step.method, step.path, alice, step.body); status != step.status || !strings.Contains(text, step.says) {
			t.Errorf("%s %s %.40s: %d %s, want %d", step.method, step.path, step.body, status, text, step.status)
		}
	}
	for n := range requests.MaxOpen {
		kept.all = append(kept.all, v1alpha1.BridgeRequest{Spec: v1alpha1.BridgeRequestSpec{
			User: "alice", BridgeUID: "uid-alice", Server: fmt.Sprintf("offer-%d", n), Offer: "recipe jira",
		}})
	}
	if status, _, text := ask[any](w, "PUT", fmt.Sprintf("/requests/offer-%d", requests.MaxOpen), alice, ""); status != http.StatusConflict || !strings.Contains(text, "request_limit_reached") {
		t.Errorf("one more: %d %s", status, text)
	}
}

func TestUsersSeeAndEndConnections(t *testing.T) {
	w, alice, _ := selfWorld(t)
	connection := func() selfservice.Connection {
		t.Helper()
		_, all, text := ask[selfservice.Connections](w, "GET", "/connections", alice, "")
		if len(all.Connections) != 1 {
			t.Fatal(text)
		}
		return all.Connections[0]
	}
	if c := connection(); c.Connected || c.Host != "login.example.com" || c.ConnectURL != publicURL+"/oauth/connect/alice/own" {
		t.Errorf("at first %+v", c)
	}
	if status, _, text := ask[any](w, "DELETE", "/connections/own", alice, ""); status != http.StatusNotFound || !strings.Contains(text, "connection_not_found") {
		t.Errorf("the end of none: %d %s", status, text)
	}
	if got := w.do(w.request("PUT", "/u/alice/secrets/TOKEN", alice, "refresh-token")); got.status != http.StatusCreated {
		t.Fatal(got)
	}
	if c := connection(); !c.Connected || c.Updated.IsZero() {
		t.Errorf("with tokens %+v", c)
	}
	w.secrets.failWith(errAway)
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Status.Secrets = &v1alpha1.SecretsStatus{Revision: "1"} })
	if c := connection(); !c.Connected {
		t.Errorf("without the keybroker %+v", c)
	}
	w.secrets.failWith(nil)
	if status, _, text := ask[any](w, "DELETE", "/connections/own", alice, ""); status != http.StatusNoContent {
		t.Errorf("disconnect: %d %s", status, text)
	}
	if c := connection(); c.Connected {
		t.Errorf("without tokens %+v", c)
	}
	if status, _, _ := ask[any](w, "DELETE", "/connections/must", alice, ""); status != http.StatusNotFound {
		t.Errorf("the end of that of a server without one: %d", status)
	}
}

func TestUsageIsOfTheUserAlone(t *testing.T) {
	w, alice, _ := selfWorld(t)
	w.setTiers(quota.Tiers{testTier: {PerMinute: 60, PerHour: 100, PerDay: 1000, Burst: 10, ConcurrentCalls: 4, Streams: 4}})
	w.index.answerFigures(audit.Figures{Total: audit.Calls{ByStatus: map[audit.Status]int64{audit.Success: 3}}}, nil)
	status, usage, text := ask[selfservice.Usage](w, "GET", "/usage?step=day&from=2026-11-01&to=2026-11-20", alice, "")
	if status != http.StatusOK || usage.Calls == nil || usage.Calls.Total != 3 || len(usage.Quota) != 4 || usage.Quota[1].Most != 100 || usage.Tier != testTier {
		t.Errorf("%d %s", status, text)
	}
	asked := w.index.counts()
	if len(asked) != 1 || asked[0].UserID != "alice" || asked[0].BridgeUID != "uid-alice" || asked[0].Step != 24*time.Hour {
		t.Errorf("the index is asked %+v", asked)
	}
	for query, says := range map[string]string{"step=week": "step", "userId=bob": "the parameters are", "from=2026-11-02&to=2026-11-01": "before", "to=soon": "time", "from=;": "query"} {
		if status, _, text := ask[any](w, "GET", "/usage?"+query, alice, ""); status != http.StatusBadRequest || !strings.Contains(text, says) {
			t.Errorf("%s: %d %s", query, status, text)
		}
	}
	for _, err := range []error{errAway, fmt.Errorf("x: %w", errAway)} {
		w.index.answerFigures(audit.Figures{}, err)
		if status, usage, text := ask[selfservice.Usage](w, "GET", "/usage", alice, ""); status != http.StatusOK || usage.Calls != nil || usage.CallsUnknown == "" || len(usage.Quota) != 4 {
			t.Errorf("without the index: %d %s", status, text)
		}
	}
}

func TestActivityIsOfTheUserAlone(t *testing.T) {
	w, alice, _ := selfWorld(t)
	entry := audit.Entry{
		ID: "1", Time: time.Unix(1, 0).UTC(), UserID: "alice", Principal: audit.Principal{Kind: audit.KindUserKey, ID: "key"}, ReportedBy: audit.Bridge, SourceIPHash: "hashed",
		Call: audit.Call{Server: "must", Tool: "a", Method: methods.CallTool, Status: audit.Success},
	}
	w.index.answer(audit.Page{Entries: []audit.Entry{entry}, Next: &audit.Position{TimeMS: 1, Writer: "w", Seq: 1}}, nil)
	status, activity, text := ask[selfservice.Activity](w, "GET", "/activity?server=must&limit=5", alice, "")
	if status != http.StatusOK || len(activity.Entries) != 1 || activity.Entries[0].KeyID != "key" || strings.Contains(text, "hashed") || activity.Next == "" {
		t.Errorf("%d %s", status, text)
	}
	if status, _, _ := ask[any](w, "GET", "/activity?cursor="+activity.Next, alice, ""); status != http.StatusOK {
		t.Errorf("the next page: %d", status)
	}
	for _, q := range w.index.queries() {
		if q.UserID != "alice" || q.BridgeUID != "uid-alice" {
			t.Errorf("the index is asked %+v", q)
		}
	}
	for query, says := range map[string]string{"userId=bob": "the parameters are server", "limit=0": "limit", "cursor=x": "cursor", "status=odd": "status"} {
		if status, _, text := ask[any](w, "GET", "/activity?"+query, alice, ""); status != http.StatusBadRequest || !strings.Contains(text, says) {
			t.Errorf("%s: %d %s", query, status, text)
		}
	}
	w.index.answer(audit.Page{}, errAway)
	if status, _, text := ask[any](w, "GET", "/activity", alice, ""); status != http.StatusServiceUnavailable || !strings.Contains(text, "audit_index_unavailable") {
		t.Errorf("without the index: %d %s", status, text)
	}
}

func TestNoQuestionWakesABridge(t *testing.T) {
	w, alice, _ := selfWorld(t)
	w.lastReport = func(context.Context, route.Backend) health.Report {
		return health.Report{Tools: 2, Servers: map[string]health.Server{"must": {Status: health.Healthy, Tools: 2}}}
	}
	w.sleep("alice")
	_, servers, text := ask[selfservice.Servers](w, "GET", "/servers", alice, "")
	if must, _ := servers.Find("must"); servers.Bridge.Status != selfservice.Asleep || must.State != health.Healthy || must.Tools != 2 {
		t.Errorf("the servers of a bridge that sleeps are %s", text)
	}
	if own, _ := servers.Find("own"); own.State != selfservice.ServerUnknown || own.Message == "" {
		t.Errorf("a server that was never reported is %+v", own)
	}
	for route, r := range selfPaths(t) {
		if got := w.do(w.request(r[0], r[1], alice, "")); got.status >= http.StatusInternalServerError {
			t.Errorf("%s: %d %s", route, got.status, got.body)
		}
	}
	if woken := w.activity.wakes(); len(woken) != 0 {
		t.Errorf("%v are woken", woken)
	}
}

func TestReadsGoOnWhileTheAPIServerIsAway(t *testing.T) {
	w, alice, _ := selfWorld(t)
	w.away.Store(true)
	w.keys.fail(errAway)
	for _, path := range []string{"/servers", "/servers/may", "/tools", "/keys", "/connections", "/usage"} {
		if status, _, text := ask[any](w, "GET", path, alice, ""); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, _, text := ask[any](w, "PUT", "/servers/may/choice", alice, `{"use":"On"}`); status != http.StatusServiceUnavailable || !strings.Contains(text, "cluster_unavailable") {
		t.Errorf("a choice: %d %s", status, text)
	}
	if acts := w.audit.all(); len(acts) != 1 || acts[0].Status != audit.UpstreamError {
		t.Errorf("the acts are %+v", acts)
	}
}

// selfPaths are a request of each route, by the route.
func selfPaths(t *testing.T) map[string][2]string {
	t.Helper()
	paths := map[string][2]string{}
	fill := strings.NewReplacer(":userId", "alice", ":server", "may", ":keyId", "0123456789ab")
	for _, r := range management.NewSelf(management.SelfOptions{}).Feature().Routes {
		paths[r.Method+" "+r.Path] = [2]string{r.Method, fill.Replace(r.Path)}
	}
	return paths
}

func TestOthersOfEachRouteSeeTheSameAsOfNobody(t *testing.T) {
	w, _, bob := selfWorld(t)
	for route, r := range selfPaths(t) {
		of := func(user, key string) reply {
			got := w.do(w.request(r[0], strings.Replace(r[1], "/alice/", "/"+user+"/", 1), key, ""))
			got.header.Del("Date")
			got.header.Del("X-Request-Id")
			return got
		}
		theirs, nobodys := of("alice", bob), of("nobody", bob)
		if theirs.status != http.StatusUnauthorized || theirs.body != nobodys.body || cmp.Diff(theirs.header, nobodys.header) != "" {
			t.Errorf("%s: alice's is %d %s, nobody's is %d %s", route, theirs.status, theirs.body, nobodys.status, nobodys.body)
		}
		if got := of("alice", ""); got.status != http.StatusUnauthorized {
			t.Errorf("%s without a key: %d", route, got.status)
		}
		if got := of("alice", adminKey); got.status != http.StatusUnauthorized {
			t.Errorf("%s with the admin key: %d", route, got.status)
		}
	}
	for _, e := range w.audit.all() {
		if e.Status != audit.Denied || e.UserID != "bob" {
			t.Errorf("a refused request did something: %+v", e)
		}
	}
	if calls := w.secrets.calls(); len(calls) != 0 {
		t.Errorf("the keybroker is asked %+v", calls)
	}
}

// TestATokenManagesABridgeByItsScopeAlone tries each route with each token, and key.
func TestATokenManagesABridgeByItsScopeAlone(t *testing.T) {
	w, tokens, key := loginWorld(t)
	calls := tokens.add("calls", "alice", "/u/alice/mcp", nil)
	manages := tokens.add("manages", "alice", "/u/alice/mcp", func(t *oauth.Token) { t.Scopes = []string{oauth.ScopeManage} })
	blind := tokens.add("blind", "alice", "/u/alice/mcp", func(t *oauth.Token) { t.Read, t.Scopes = false, []string{oauth.ScopeManage} })
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) {
		b.Status.Effective = &v1alpha1.EffectiveSettings{Servers: []v1alpha1.EffectiveServer{{Name: "may", Profile: "team", Use: v1alpha1.ServerOptional, Reason: v1alpha1.ReasonServerOff}}}
	})
	reads := []string{"GET /u/:userId/servers", "GET /u/:userId/servers/:server", "GET /u/:userId/tools", "GET /u/:userId/usage"}
	paths := selfPaths(t)
	paths["GET secrets"], paths["PUT secrets"] = [2]string{"GET", "/u/alice/secrets"}, [2]string{"PUT", "/u/alice/secrets/TOKEN"}
	for route, r := range paths {
		do := func(credential string) reply { return w.do(w.request(r[0], r[1], credential, "")) }
		allowed := slices.Contains(reads, route)
		got := do(calls)
		if refused := got.status == http.StatusForbidden; refused == allowed {
			t.Errorf("%s with a token of an MCP client: %d %s", route, got.status, got.body)
		}
		if challenge := got.header.Get("WWW-Authenticate"); !allowed && (!strings.Contains(challenge, "insufficient_scope") || !strings.Contains(challenge, oauth.ScopeManage)) {
			t.Errorf("%s: the challenge is %q", route, challenge)
		}
		for what, credential := range map[string]string{"with the scope": manages, "with a key": key} {
			if got := do(credential); got.status == http.StatusForbidden || got.status == http.StatusUnauthorized {
				t.Errorf("%s %s: %d %s", route, what, got.status, got.body)
			}
		}
		if got := do(blind); got.status != http.StatusForbidden {
			t.Errorf("%s with a token that may not read: %d", route, got.status)
		}
	}
	for _, e := range w.audit.all() {
		if e.Method == audit.UserPrefix+"keys.create" && e.Principal.Kind == audit.KindOAuth && (e.Principal.ID == "" || e.Principal.Issuer != issuerURL) {
			t.Errorf("the act of a login is %+v", e)
		}
	}
}

func TestQuestionsOfOneUserAreLimited(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, alice, _ := selfWorld(t)
		limited := false
		for range 200 {
			if got := w.do(w.request("GET", "/u/alice/servers", alice, "")); got.status == http.StatusTooManyRequests {
				limited = got.header.Get("Retry-After") != ""
				break
			}
		}
		if !limited {
			t.Error("200 requests are answered at once")
		}
	})
}
