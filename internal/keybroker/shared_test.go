// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/sharing"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const (
	sharedPath = "/v1/shared/payments/uid-payments/secrets"
	payToken   = sharedPath + "/PAY_TOKEN"
	heldToken  = "shared/payments/PAY_TOKEN@https://pay.example.com"
)

// sharingWorld is a world with the SharedServer payments, of which alice is a member and bob
// is not. Profiles give it to both, as an operator that is wrong might.
func sharingWorld() *world {
	w := newWorld()
	w.shared[key(system, "payments")] = &v1alpha1.SharedServer{
		ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "payments", UID: "uid-payments", Generation: 1},
		Spec: v1alpha1.SharedServerSpec{
			Server: v1alpha1.SharedEndpoint{Transport: v1alpha1.Transport{
				Type: v1alpha1.TransportStreamableHTTP, URL: "https://pay.example.com/mcp",
				Headers: []v1alpha1.Header{{Name: "Authorization", Value: "Bearer ${PAY_TOKEN}"}},
			}},
			Secrets: []v1alpha1.SecretName{"PAY_TOKEN", "SECOND"}, Namespaces: []string{tenant},
			Members: []v1alpha1.IssuerGroup{{Issuer: "https://idp", Value: "payments"}},
			Owners:  []v1alpha1.IssuerGroup{{Issuer: "https://idp", Value: "leads"}},
		},
	}
	for _, name := range []string{"alice", "bob"} {
		b := w.bridges[key(tenant, name)]
		b.Spec.OAuth = &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: "https://idp", Subject: "sub-" + name}}}
		b.Status.Effective = &v1alpha1.EffectiveSettings{Servers: []v1alpha1.EffectiveServer{{Name: "pay", Profile: "p", Use: "Required", Shared: "payments", Source: "{}"}}}
		w.persons = append(w.persons, v1alpha1.BridgePerson{
			ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "p-" + name},
			Spec:       v1alpha1.BridgePersonSpec{Issuer: "https://idp", Subject: "sub-" + name},
			Status:     v1alpha1.BridgePersonStatus{Login: &v1alpha1.PersonLogin{Time: metav1.Now(), Groups: []string{"other"}}},
		})
	}
	w.persons[0].Status.Login.Groups = []string{"payments"}
	return w
}

func TestASharedSecretReachesMembersAlone(t *testing.T) {
	var log bytes.Buffer
	w := sharingWorld()
	s, registry := testServer(t, w, &log)
	h := s.handler()
	put(t, h, payToken, canary, http.StatusCreated)
	put(t, h, setPath, "alice's", http.StatusCreated)

	got := deliver(t, h, "token-of-alice-pod")
	if diff := cmp.Diff(map[string][]byte{"TOKEN": []byte("alice's"), heldToken: []byte(canary)}, got.Secrets); diff != "" {
		t.Errorf("a member has (-want +got):\n%s", diff)
	}
	if bobs := deliver(t, h, "token-of-bob-pod"); len(bobs.Secrets) != 0 || bobs.Revision != "" {
		t.Errorf("somebody else has %d secrets", len(bobs.Secrets))
	}
	if strings.Contains(log.String(), canary) {
		t.Error("the value is in the log")
	}
	if got := counters(t, registry, "hostedbridge_keybroker_sealed_total")["owner"]; got != 1 {
		t.Errorf("%v values of owners sealed", got)
	}
	if !strings.Contains(log.String(), `"route":"shared_set","status":201`) || !strings.Contains(log.String(), `"hostedBridge":"shared/payments","uid":"uid-payments","secret":"PAY_TOKEN"`) {
		t.Errorf("log: %s", log.String())
	}
}

func TestAPodLosesASharedSecretWhen(t *testing.T) {
	payments := func(w *world) *v1alpha1.SharedServer { return w.shared[key(system, "payments")] }
	alice := func(w *world) *v1alpha1.HostedBridge { return w.bridges[key(tenant, "alice")] }
	for name, change := range map[string]func(w *world){
		"the person leaves the group":           func(w *world) { w.persons[0].Status.Login.Groups = nil },
		"the person is suspended":               func(w *world) { w.persons[0].Spec.Access = v1alpha1.AccessSuspended },
		"nothing is known of the person":        func(w *world) { w.persons = w.persons[1:] },
		"the login lapses":                      func(w *world) { w.persons[0].Status.Login.Time = metav1.NewTime(time.Now().Add(-8 * 24 * time.Hour)) },
		"the group is of another issuer":        func(w *world) { payments(w).Spec.Members[0].Issuer = "https://other" },
		"the group is no member any more":       func(w *world) { payments(w).Spec.Members[0].Value = "others" },
		"the namespace is none of the server's": func(w *world) { payments(w).Spec.Namespaces = []string{"elsewhere"} },
		"the server is gone":                    func(w *world) { delete(w.shared, key(system, "payments")) },
		"the server is another of the name":     func(w *world) { payments(w).UID = "uid-later" },
		"the server is in another namespace":    func(w *world) { payments(w).Namespace = tenant },
		"the origin changes":                    func(w *world) { payments(w).Spec.Server.Transport.URL = "https://evil.example.com/mcp" },
		"the scheme changes":                    func(w *world) { payments(w).Spec.Server.Transport.URL = "http://pay.example.com/mcp" },
		"the spec does not name the secret":     func(w *world) { payments(w).Spec.Secrets = []v1alpha1.SecretName{"SECOND"} },
		"no profile gives the server":           func(w *world) { alice(w).Status.Effective.Servers[0].Shared = "" },
		"a profile's server is off":             func(w *world) { alice(w).Status.Effective.Servers[0].Source = "" },
		"no profile selects the bridge":         func(w *world) { alice(w).Status.Effective = nil },
		"another person uses the bridge as well": func(w *world) {
			alice(w).Spec.OAuth.Subjects = append(alice(w).Spec.OAuth.Subjects, v1alpha1.OAuthSubject{Issuer: "https://idp", Subject: "sub-bob"})
		},
		"a rule makes another person the user": func(w *world) { w.persons[1].Status.Login.User = "alice" },
		"another record of the person suspends": func(w *world) {
			w.persons = append(w.persons, v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Name: "by-hand"}, Spec: v1alpha1.BridgePersonSpec{Issuer: "https://idp", Subject: "sub-alice", Access: v1alpha1.AccessSuspended}})
		},
		"the user is suspended": func(w *world) {
			w.persons = append(w.persons, v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Name: "user.alice"}, Spec: v1alpha1.BridgePersonSpec{User: "alice", Access: v1alpha1.AccessSuspended}})
		},
		"the manifest alone says that they may": func(w *world) { w.persons[0].Status.Login.Groups = nil; alice(w).Spec.Groups = []string{"payments"} },
		"its own server names the held name": func(w *world) {
			alice(w).Status.Effective = nil
			alice(w).Spec.Servers = []v1alpha1.Server{{Name: "x", Secrets: []v1alpha1.SecretName{heldToken}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := sharingWorld()
			s, _ := testServer(t, w, &bytes.Buffer{})
			h := s.handler()
			put(t, h, payToken, canary, http.StatusCreated)
			before := deliver(t, h, "token-of-alice-pod")
			if len(before.Secrets) != 1 {
				t.Fatalf("%d secrets at first", len(before.Secrets))
			}
			change(w)
			after := deliver(t, h, "token-of-alice-pod")
			if len(after.Secrets) != 0 || after.Revision == before.Revision {
				t.Errorf("%d secrets, revision %s and before %s", len(after.Secrets), after.Revision, before.Revision)
			}
		})
	}
}

func TestAMembersPodIsToldOfAChangeByItsRevision(t *testing.T) {
	w := sharingWorld()
	s, _ := testServer(t, w, &bytes.Buffer{})
	h := s.handler()
	put(t, h, payToken, "one", http.StatusCreated)
	revisions := []string{deliver(t, h, "token-of-alice-pod").Revision}
	unchanged := func() int { return get304(t, h, revisions[len(revisions)-1]) }
	if got := unchanged(); got != http.StatusNotModified {
		t.Errorf("nothing changed: %d", got)
	}
	for _, change := range []func(){
		func() { put(t, h, payToken, "two", http.StatusOK) },
		func() { put(t, h, setPath, "alice's", http.StatusCreated) },
		func() { put(t, h, sharedPath+"/SECOND", "x", http.StatusCreated) },
		func() { w.shared[key(system, "payments")].Spec.Server.Transport.URL = "https://pay.example.org/mcp" },
	} {
		change()
		if got := unchanged(); got != http.StatusOK {
			t.Errorf("after a change: %d", got)
		}
		revisions = append(revisions, deliver(t, h, "token-of-alice-pod").Revision)
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(revisions))); len(distinct) != len(revisions) {
		t.Errorf("revisions %v", revisions)
	}
	// The sealing controller computes the same from the status.
	listing := must.Value(s.store.List(t.Context(), secretstore.Shared(system, "payments", "uid-payments")))(t)
	w.shared[key(system, "payments")].Status.Revision = listing.Revision
	grants, until, err := sharing.Grants(t.Context(), ownNamespace{w, system}, w.bridges[key(tenant, "alice")], time.Now())
	if err != nil || until.IsZero() || sharing.Revision(sharing.Own(revisions[4]), grants) != revisions[4] {
		t.Errorf("%v, until %v, error %v", grants, until, err)
	}
}

// get304 asks for alice's secrets unless they have the revision.
func get304(t *testing.T, h http.Handler, revision string) int {
	t.Helper()
	r := must.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/secrets", http.NoBody))(t)
	r.Header.Set("Authorization", "Bearer token-of-alice-pod")
	r.Header.Set("If-None-Match", `"`+revision+`"`)
	w := &statusRecorder{header: http.Header{}}
	h.ServeHTTP(w, r)
	return w.status
}

type statusRecorder struct {
	header http.Header
	status int
}

func (r *statusRecorder) Header() http.Header         { return r.header }
func (r *statusRecorder) Write(b []byte) (int, error) { return len(b), nil }
func (r *statusRecorder) WriteHeader(status int)      { r.status = status }

// TestTwoHundredMembersAndOneWrite counts the writes of Secrets.
func TestTwoHundredMembersAndOneWrite(t *testing.T) {
	w := sharingWorld()
	for i := range 200 {
		name := fmt.Sprintf("member-%d", i)
		w.addBridge(tenant, name, "uid-"+name)
		b := w.bridges[key(tenant, name)]
		b.Spec.OAuth = &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: "https://idp", Subject: name}}}
		b.Status.Effective = w.bridges[key(tenant, "alice")].Status.Effective
		w.persons = append(w.persons, v1alpha1.BridgePerson{
			ObjectMeta: metav1.ObjectMeta{Name: "p-" + name}, Spec: v1alpha1.BridgePersonSpec{Issuer: "https://idp", Subject: name},
			Status: v1alpha1.BridgePersonStatus{Login: &v1alpha1.PersonLogin{Time: metav1.Now(), Groups: []string{"payments"}}},
		})
	}
	s, _ := testServer(t, w, &bytes.Buffer{})
	h := s.handler()
	put(t, h, payToken, "first", http.StatusCreated)
	before := w.Writes
	put(t, h, payToken, canary, http.StatusOK)
	if got := w.Writes - before; got != 1 {
		t.Errorf("%d writes of a new value", got)
	}
	for i := range 200 {
		if got := deliver(t, h, fmt.Sprintf("token-of-member-%d-pod", i)); string(got.Secrets[heldToken]) != canary {
			t.Fatalf("member %d has %d secrets", i, len(got.Secrets))
		}
	}
	if got := w.Writes - before; got != 1 {
		t.Errorf("%d writes after all have fetched it", got)
	}
}

func TestWhatASharedServerTakes(t *testing.T) {
	long := strings.Repeat("x", 64<<10)
	for name, tt := range map[string]struct {
		method, path, value string
		change              func(w *world)
		status              int
		code                string
	}{
		"the longest value":                {"PUT", payToken, long, nil, 201, ""},
		"a longer one":                     {"PUT", payToken, long + "x", nil, 413, "body_too_large"},
		"nothing":                          {"PUT", payToken, "", nil, 400, "secret_empty"},
		"a secret that the spec lacks":     {"PUT", sharedPath + "/OTHER", "x", nil, 409, "secret_not_shared"},
		"a name that no secret has":        {"PUT", sharedPath + "/shared%2Fx", "x", nil, 400, "name_invalid"},
		"another UID":                      {"PUT", "/v1/shared/payments/uid-former/secrets/PAY_TOKEN", "x", nil, 404, "shared_not_found"},
		"a bridge's UID":                   {"PUT", "/v1/shared/payments/uid-alice/secrets/PAY_TOKEN", "x", nil, 404, "shared_not_found"},
		"another name":                     {"GET", "/v1/shared/others/uid-payments/secrets", "", nil, 404, "shared_not_found"},
		"a name with a slash":              {"GET", "/v1/shared/a%2Fb/uid-payments/secrets", "", nil, 400, "name_invalid"},
		"one that is being deleted":        {"PUT", payToken, "x", func(w *world) { w.shared[key(system, "payments")].DeletionTimestamp = new(metav1.Now()) }, 404, "shared_not_found"},
		"the removal of what is not there": {"DELETE", payToken, "", nil, 404, "secret_not_found"},
		"an API server that is away":       {"GET", sharedPath, "", func(w *world) { w.Err = errors.New("gone") }, 503, "cluster_unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			w := sharingWorld()
			s, _ := testServer(t, w, &bytes.Buffer{})
			if tt.change != nil {
				tt.change(w)
			}
			answered := ask(t, s.handler(), tt.method, tt.path, ingressCertificate, "", []byte(tt.value))
			if answered.Code != tt.status {
				t.Fatalf("%d %s, want %d", answered.Code, answered.Body, tt.status)
			}
			if tt.code != "" {
				if code, _ := refusal(t, answered); code != tt.code {
					t.Errorf("code %s, want %s", code, tt.code)
				}
			}
			for _, token := range []string{"token-of-alice-pod", "token-of-ingress-1", ""} { // The ingress's certificate alone counts.
				if got := ask(t, s.handler(), tt.method, tt.path, token, "", []byte(tt.value)); got.Code != http.StatusForbidden {
					t.Errorf("with the token %q: %d", token, got.Code)
				}
			}
		})
	}
}

func TestTheListOfASharedServerSaysWhatIsSetAndForWhere(t *testing.T) {
	w := sharingWorld()
	s, _ := testServer(t, w, &bytes.Buffer{})
	h := s.handler()
	put(t, h, payToken, canary, http.StatusCreated)
	w.shared[key(system, "payments")].Spec.Server.Transport.URL = "https://PAY.example.org:443/mcp"
	put(t, h, sharedPath+"/SECOND", canary, http.StatusCreated)
	answered := ask(t, h, "GET", sharedPath, ingressCertificate, "", nil)
	var list struct {
		Secrets []struct {
			Name, Origin string
			Usable       bool
		}
		Missing []string
		Origin  string
	}
	if err := json.Unmarshal(answered.Body.Bytes(), &list); err != nil || strings.Contains(answered.Body.String(), canary) {
		t.Fatal(answered.Code, err)
	}
	if got, want := fmt.Sprint(list), "{[{PAY_TOKEN https://pay.example.com false} {SECOND https://pay.example.org true}] [PAY_TOKEN] https://pay.example.org}"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := ask(t, h, "DELETE", payToken, ingressCertificate, "", nil); got.Code != http.StatusNoContent {
		t.Errorf("remove: %d", got.Code)
	}
}

func TestNamesThatTheSpecNoLongerHasCount(t *testing.T) {
	w := sharingWorld()
	s, _ := testServer(t, w, &bytes.Buffer{})
	h, server := s.handler(), w.shared[key(system, "payments")]
	for i := range 16 {
		server.Spec.Secrets = []v1alpha1.SecretName{v1alpha1.SecretName(fmt.Sprintf("S%d", i))}
		put(t, h, sharedPath+fmt.Sprintf("/S%d", i), "x", http.StatusCreated)
	}
	server.Spec.Secrets = []v1alpha1.SecretName{"ONE_MORE"}
	if code, _ := refusal(t, put(t, h, sharedPath+"/ONE_MORE", "x", http.StatusConflict)); code != "secret_limit_reached" {
		t.Errorf("code %s", code)
	}
}

// TestABridgesOwnSecretsDoNotDependOnASharedServer has a foreign Secret at the SharedServer's
// place: the bridge goes on with its own.
func TestABridgesOwnSecretsDoNotDependOnASharedServer(t *testing.T) {
	w := sharingWorld()
	s, _ := testServer(t, w, &bytes.Buffer{})
	h := s.handler()
	put(t, h, payToken, canary, http.StatusCreated)
	put(t, h, setPath, "alice's", http.StatusCreated)
	w.Stored[key(system, "payments.shared.envelopes")].OwnerReferences[0].UID = types.UID("uid-alice")
	got := deliver(t, h, "token-of-alice-pod")
	if diff := cmp.Diff(map[string][]byte{"TOKEN": []byte("alice's")}, got.Secrets); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// One that lost its salt is reported by its name in the pod.
	w = sharingWorld()
	s, _ = testServer(t, w, &bytes.Buffer{})
	put(t, s.handler(), payToken, canary, http.StatusCreated)
	delete(w.Stored, key(system, "payments.shared.salt"))
	if got := deliver(t, s.handler(), "token-of-alice-pod"); len(got.Secrets) != 0 || !slices.Equal(got.Unreadable, []string{heldToken}) {
		t.Errorf("%d secrets, unreadable %v", len(got.Secrets), got.Unreadable)
	}
}
