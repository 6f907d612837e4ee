// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore/storetest"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const canary = "canary-value-nobody-may-see"

// delivered is what a bridge is answered.
type delivered struct {
	Revision    string            `json:"revision"`
	Secrets     map[string][]byte `json:"secrets"`
	Unreadable  []string          `json:"unreadable"`
	SessionKeys [][]byte          `json:"sessionKeys"`
}

// deliver asks for the secrets of the pod with that token.
func deliver(t testing.TB, h http.Handler, token string) delivered {
	t.Helper()
	w := ask(t, h, "GET", "/v1/secrets", token, "", nil)
	var got delivered
	if err := json.Unmarshal(w.Body.Bytes(), &got); w.Code != http.StatusOK || err != nil || got.Secrets == nil {
		t.Fatalf("%d, error %v", w.Code, err)
	}
	if w.Header().Get("ETag") != `"`+got.Revision+`"` || w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("header %v", w.Header())
	}
	return got
}

// put sets a secret as the ingress does.
func put(t testing.TB, h http.Handler, path, value string, want int) *httptest.ResponseRecorder {
	t.Helper()
	w := ask(t, h, "PUT", path, ingressCertificate, "", []byte(value))
	if w.Code != want {
		t.Fatalf("PUT %s: %d %s, want %d", path, w.Code, w.Body, want)
	}
	return w
}

// refusal returns the code and the detail of a refusal.
func refusal(t testing.TB, w *httptest.ResponseRecorder) (code, detail string) {
	t.Helper()
	var body struct{ Code, Detail string }
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code < 400 {
		t.Fatalf("%d %s, error %v", w.Code, w.Body, err)
	}
	return body.Code, body.Detail
}

func TestASecretGoesFromTheIngressToItsBridgeAndNowhereElse(t *testing.T) {
	var log bytes.Buffer
	s, registry := testServer(t, newWorld(), &log)
	h := s.handler()
	first := put(t, h, setPath, canary, http.StatusCreated)
	put(t, h, setPath, canary, http.StatusOK)
	put(t, h, listPath+"/empty.json", "", http.StatusCreated)

	got := deliver(t, h, "token-of-alice-pod")
	if diff := cmp.Diff(map[string][]byte{"TOKEN": []byte(canary), "empty.json": {}}, got.Secrets); diff != "" || len(got.Unreadable) != 0 {
		t.Errorf("unreadable %v, alice's (-want +got):\n%s", got.Unreadable, diff)
	}
	if bobs := deliver(t, h, "token-of-bob-pod"); len(bobs.Secrets) != 0 || bobs.Revision != "" {
		t.Errorf("bob's: %d secrets of revision %q", len(bobs.Secrets), bobs.Revision)
	}
	var info map[string]any
	must.Succeed(t, json.Unmarshal(first.Body.Bytes(), &info))
	want := map[string]any{"name": "TOKEN", "size": float64(len(canary)), "keyVersion": 1.0, "created": info["created"], "updated": info["updated"]}
	if diff := cmp.Diff(want, info); diff != "" {
		t.Errorf("the secret as the ingress sees it (-want +got):\n%s", diff)
	}
	if _, err := time.Parse(time.RFC3339, fmt.Sprint(info["created"])); err != nil {
		t.Error(err)
	}
	if w := ask(t, h, "DELETE", setPath, ingressCertificate, "", nil); w.Code != http.StatusNoContent || w.Body.Len() != 0 {
		t.Errorf("remove: %d %s", w.Code, w.Body)
	}
	if after := deliver(t, h, "token-of-alice-pod"); len(after.Secrets) != 1 || after.Revision == got.Revision {
		t.Errorf("%d secrets after the removal, revision %s", len(after.Secrets), after.Revision)
	}
	if strings.Contains(log.String(), canary) || strings.Contains(log.String(), "token-of") {
		t.Error("a secret is in the log")
	}
	if !strings.Contains(log.String(), `"route":"set","status":201,"duration":`) || !strings.Contains(log.String(), `"caller":"ingress","namespace":"tenants","hostedBridge":"alice","uid":"uid-alice","secret":"TOKEN"`) {
		t.Errorf("log: %s", log.String())
	}
	wantRequests := map[string]float64{"secrets 200 ": 3, "set 200 ": 1, "set 201 ": 2, "remove 204 ": 1}
	if diff := cmp.Diff(wantRequests, requests(t, registry)); diff != "" {
		t.Errorf("hostedbridge_keybroker_requests_total (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]float64{"user": 3, "bridge": 0, "source": 0, "owner": 0}, counters(t, registry, "hostedbridge_keybroker_sealed_total")); diff != "" {
		t.Errorf("hostedbridge_keybroker_sealed_total (-want +got):\n%s", diff)
	}
}

// counters returns the counters of a metric by its one label's value.
func counters(t *testing.T, registry *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	families := must.Value(registry.Gather())(t)
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			label := ""
			for _, l := range m.GetLabel() {
				label += l.GetValue()
			}
			if family.GetName() == name {
				got[label] = m.GetCounter().GetValue()
			}
		}
	}
	return got
}

func TestABridgeGetsItsSessionKeys(t *testing.T) {
	var log bytes.Buffer
	world := newWorld()
	deps := testDeps(t, world, world, &log)
	restarted := func(first byte) http.Handler {
		t.Helper()
		deps.MasterKey, deps.Registry = &master{keys: deps.MasterKey.Keys(), authority: testAuthority(t, first)}, prometheus.NewRegistry()
		s := must.Value(New(Config{Namespace: system}, deps))(t)
		return s.handler()
	}
	h := restarted(1)
	alice := must.Value(testAuthority(t, 1).SessionKeys("uid-alice"))(t)
	check := func(when string) {
		t.Helper()
		if got := deliver(t, h, "token-of-alice-pod").SessionKeys; !cmp.Equal(got, alice) {
			t.Errorf("%s: %d keys, not alice's", when, len(got))
		}
	}
	check("without secrets")
	put(t, h, setPath, canary, http.StatusCreated)
	check("with secrets")
	h = restarted(1)
	check("after a restart")
	// Others of her envelopes' name, so that she has no secrets: keys she has.
	world.Stored[storetest.Key(tenant, "alice-envelopes")].OwnerReferences = nil
	check("with somebody else's Secret in the place of hers")
	if got := deliver(t, h, "token-of-bob-pod").SessionKeys; len(got) != 1 || cmp.Equal(got, alice) {
		t.Errorf("bob has %d keys, or alice's", len(got))
	}
	h = restarted(2)
	if got := deliver(t, h, "token-of-alice-pod").SessionKeys; len(got) != 1 || cmp.Equal(got, alice) {
		t.Error("another authority gives the same keys")
	}
	if strings.Contains(log.String(), base64.StdEncoding.EncodeToString(alice[0])) {
		t.Error("a session key is in the log")
	}
}

func TestWhatABridgeHasAlreadyIsNotSentAgain(t *testing.T) {
	s, registry := testServer(t, newWorld(), io.Discard)
	h := s.handler()
	conditional := func(header string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/secrets", http.NoBody)
		r.Header.Set("Authorization", "Bearer token-of-alice-pod")
		r.Header.Set("If-None-Match", header)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	if w := conditional(`""`); w.Code != http.StatusOK {
		t.Errorf("before the first secret: %d", w.Code)
	}
	put(t, h, setPath, canary, http.StatusCreated)
	tag := etag(deliver(t, h, "token-of-alice-pod").Revision)
	if w := conditional(tag); w.Code != http.StatusNotModified || w.Body.Len() != 0 || w.Header().Get("ETag") != tag {
		t.Errorf("%d %v, %d bytes", w.Code, w.Header(), w.Body.Len())
	}
	for _, header := range []string{"", "*", strings.Trim(tag, `"`), "W/" + tag, tag + ", " + tag, `"`, `"x"`} {
		if w := conditional(header); w.Code != http.StatusOK {
			t.Errorf("%s: %d", header, w.Code)
		}
	}
	put(t, h, setPath, canary, http.StatusOK)
	if w := conditional(tag); w.Code != http.StatusOK || w.Header().Get("ETag") == tag {
		t.Errorf("after a change: %d", w.Code)
	}
	if got := counters(t, registry, "hostedbridge_keybroker_opens_total"); got["unchanged"] != 1 || got["opened"] != 10 {
		t.Errorf("hostedbridge_keybroker_opens_total: %v", got)
	}
}

func TestTheIngressSeesWhatAUserHas(t *testing.T) {
	w := newWorld()
	s, _ := testServer(t, w, io.Discard)
	h := s.handler()
	type item struct {
		Name, Source string
		Size         int
		KeyVersion   uint32
	}
	type list struct {
		Secrets  []item
		Limit    *int
		Revision string
	}
	ls := func() list {
		t.Helper()
		w := ask(t, h, "GET", listPath, ingressCertificate, "", nil)
		var got list
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK || got.Secrets == nil || strings.Contains(w.Body.String(), canary) {
			t.Fatalf("%d, error %v", w.Code, err)
		}
		return got
	}
	five := 5
	if diff := cmp.Diff(list{Secrets: []item{}, Limit: &five}, ls()); diff != "" {
		t.Errorf("nothing (-want +got):\n%s", diff)
	}
	put(t, h, setPath, canary, http.StatusCreated)
	sourced(t, s, "FROM_SOURCE", &secretstore.Source{Secret: "github"})
	sourced(t, s, "KEPT", &secretstore.Source{Secret: "gone", Deleted: true})
	want := list{Secrets: []item{{"FROM_SOURCE", "github", 1, 1}, {"KEPT", "", 1, 1}, {"TOKEN", "", len(canary), 1}}, Limit: &five, Revision: deliver(t, h, "token-of-alice-pod").Revision}
	if diff := cmp.Diff(want, ls()); diff != "" {
		t.Errorf("three (-want +got):\n%s", diff)
	}
	w.bridges[key(tenant, "alice")].Spec.Tier = "business"
	if got := ls(); got.Limit != nil {
		t.Errorf("limit %d of a tier without one", *got.Limit)
	}
	w.bridges[key(tenant, "alice")].Spec.Tier = "gone"
	if got := ls(); got.Limit == nil || *got.Limit != 0 || len(got.Secrets) != 3 {
		t.Errorf("a tier that there is not: %+v", got)
	}
}

var aliceRef = secretstore.Bridge{Namespace: tenant, Name: "alice", UID: "uid-alice"}

// sourced seals a secret of alice's as if it came from there.
func sourced(t *testing.T, s *Server, name string, from *secretstore.Source) {
	t.Helper()
	change(t, s, secretstore.Change{Name: name, Value: []byte("x"), Source: from})
}

func TestWhatASourceGivesIsChangedThere(t *testing.T) {
	s, _ := testServer(t, newWorld(), io.Discard)
	h := s.handler()
	sourced(t, s, "TOKEN", &secretstore.Source{Secret: "github"})
	for _, method := range []string{"PUT", "DELETE"} {
		code, detail := refusal(t, ask(t, h, method, setPath, ingressCertificate, "", nil))
		if code != "secret_managed" || !strings.Contains(detail, `"github"`) {
			t.Errorf("%s: %s, %s", method, code, detail)
		}
	}
	// Once the source is deleted, the secret is the user's own, and still known
	// to have come from there.
	sourced(t, s, "TOKEN", &secretstore.Source{Secret: "github", Deleted: true})
	put(t, h, setPath, canary, http.StatusOK)
	listing, err := s.store.List(t.Context(), aliceRef)
	if e, _ := listing.Find("TOKEN"); err != nil || e.Source == nil || !e.Source.Deleted {
		t.Errorf("%+v, error %v", e, err)
	}
	if w := ask(t, h, "DELETE", setPath, ingressCertificate, "", nil); w.Code != http.StatusNoContent {
		t.Errorf("DELETE: %d", w.Code)
	}
}

func TestATierLimitsHowManySecretsThereAre(t *testing.T) {
	w := newWorld()
	s, _ := testServer(t, w, io.Discard)
	h := s.handler()
	for n := range 5 {
		put(t, h, fmt.Sprintf("%s/SECRET_%d", listPath, n), canary, http.StatusCreated)
	}
	code, detail := refusal(t, put(t, h, setPath, canary, http.StatusConflict))
	if code != "secret_limit_reached" || !strings.Contains(detail, "5 secrets") || !strings.Contains(detail, `"free"`) {
		t.Errorf("%s: %s", code, detail)
	}
	put(t, h, listPath+"/SECRET_0", "another value", http.StatusOK)
	w.bridges[key(tenant, "alice")].Spec.Tier = "gone"
	if code, detail := refusal(t, put(t, h, setPath, canary, http.StatusConflict)); code != "tier_unknown" || !strings.Contains(detail, `"gone"`) {
		t.Errorf("%s: %s", code, detail)
	}
	put(t, h, listPath+"/SECRET_0", "another value", http.StatusOK)
	w.bridges[key(tenant, "alice")].Spec.Tier = "business"
	put(t, h, setPath, canary, http.StatusCreated)
}

// refusing lets nobody read a Secret.
type refusing struct{ secretstore.Secrets }

func (refusing) Secret(context.Context, string, string) (*corev1.Secret, error) {
	return nil, apierrors.NewForbidden(corev1.Resource("secrets"), "x", errors.New("no such right"))
}

func TestRefusalsOfTheStore(t *testing.T) {
	for _, test := range []struct {
		name              string
		change            func(s *Server, w *world)
		get, set, rm, see string // Codes, empty where it works.
	}{
		{"a salt that is gone", func(_ *Server, w *world) { w.Remove(tenant, "alice-salt") }, "", "salt_missing", "", ""},
		{"a salt that is none", func(_ *Server, w *world) { w.Stored[storetest.Key(tenant, "alice-salt")].Data = nil }, "", "salt_invalid", "", ""},
		{"what an earlier HostedBridge left", func(_ *Server, w *world) {
			w.Stored[storetest.Key(tenant, "alice-envelopes")].OwnerReferences[0].UID = "uid-earlier"
		}, "bridge_not_prepared", "bridge_not_prepared", "bridge_not_prepared", "bridge_not_prepared"},
		{"what somebody else has", func(_ *Server, w *world) { w.Stored[storetest.Key(tenant, "alice-envelopes")].OwnerReferences = nil }, "", "secret_not_owned", "secret_not_owned", "secret_not_owned"},
		{"an API server that does not answer", func(_ *Server, w *world) { w.Err = errors.New("connection refused") }, "cluster_unavailable", "cluster_unavailable", "cluster_unavailable", "cluster_unavailable"},
		{"an API server that refuses", func(s *Server, _ *world) {
			s.store.Secrets = refusing{s.store.Secrets}
		}, "cluster_refused", "cluster_refused", "cluster_refused", "cluster_refused"},
		{"more than a Secret holds", func(_ *Server, w *world) {
			w.Stored[storetest.Key(tenant, "alice-envelopes")].Data["BIG"] = make([]byte, 1<<20)
		}, "", "secrets_too_large", "", ""},
		{"a HostedBridge that is being deleted", func(_ *Server, w *world) {
			now := metav1.Now()
			w.bridges[key(tenant, "alice")].DeletionTimestamp = &now
		}, "bridge_not_current", "bridge_not_found", "bridge_not_found", "bridge_not_found"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld()
			s, _ := testServer(t, w, io.Discard)
			h := s.handler()
			put(t, h, listPath+"/OTHER", canary, http.StatusCreated)
			test.change(s, w)
			for _, request := range []struct{ method, path, token, want string }{
				{"GET", "/v1/secrets", "token-of-alice-pod", test.get}, {"GET", listPath, ingressCertificate, test.see},
				{"PUT", setPath, ingressCertificate, test.set}, {"DELETE", listPath + "/OTHER", ingressCertificate, test.rm},
			} {
				got := ask(t, h, request.method, request.path, request.token, "", nil)
				if strings.Contains(got.Body.String(), canary) {
					t.Errorf("%s %s: the plaintext is in the answer", request.method, request.path)
				}
				if request.want == "" {
					if got.Code >= 300 {
						t.Errorf("%s %s: %d %s", request.method, request.path, got.Code, got.Body)
					}
					continue
				}
				code, detail := refusal(t, got)
				if code != request.want || detail == "" || (got.Code == http.StatusServiceUnavailable) != (got.Header().Get("Retry-After") != "") {
					t.Errorf("%s %s: %d %s, want %s", request.method, request.path, got.Code, code, request.want)
				}
			}
		})
	}
}

// TestNobodyElseGetsASecret has alice's secret set and asks for it as others
// would.
func TestNobodyElseGetsASecret(t *testing.T) {
	token := func(w *world) *authenticationv1.TokenReviewStatus { return w.tokens["token-of-alice-pod"] }
	for _, test := range []struct {
		name, token string
		change      func(w *world)
		code        string
	}{
		{"by the replayed token of a deleted pod", "token-of-alice-pod", func(w *world) { delete(w.pods, key(tenant, "alice-pod")) }, "pod_not_current"},
		{"by the replayed token of a pod whose name is used again", "token-of-alice-pod", func(w *world) { w.pods[key(tenant, "alice-pod")].UID = "pod-later" }, "pod_not_current"},
		{"by a token with another audience", "token-of-alice-pod", func(w *world) { token(w).Audiences = []string{"vault"} }, "token_refused"},
		{"by a token for the API server", "token-of-alice-pod", func(w *world) { token(w).Audiences = nil }, "token_refused"},
		{"by the token of a pod whose HostedBridge was recreated", "token-of-alice-pod", func(w *world) { w.bridges[key(tenant, "alice")].UID = "uid-later" }, "bridge_not_current"},
		{"by the token of a pod whose service account was recreated", "token-of-alice-pod", func(w *world) { w.accounts[key(tenant, "alice-bridge")].UID = "sa-later" }, "service_account_not_current"},
		{"by a service account that anybody could make", "token-of-x", func(w *world) { w.addPod(tenant, "alice-bridge-2", "x", "uid-x", nil) }, "not_a_bridge"},
		{"by a pod that somebody made with a bridge's account", "token-of-alice-pod", func(w *world) {
			w.pods[key(tenant, "alice-pod")].Labels, w.pods[key(tenant, "alice-pod")].OwnerReferences = nil, nil
		}, "not_a_bridge"},
		{"by the ingress's token", "token-of-ingress-1", func(*world) {}, "caller_not_allowed"},
		{"by the store's token", "token-of-store-1", func(*world) {}, "caller_not_allowed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld()
			s, _ := testServer(t, w, io.Discard)
			h := s.handler()
			put(t, h, setPath, canary, http.StatusCreated)
			test.change(w)
			got := ask(t, h, "GET", "/v1/secrets", test.token, "", nil)
			if code, _ := refusal(t, got); code != test.code || strings.Contains(got.Body.String(), "secrets\":{") {
				t.Errorf("%d %s, want %s", got.Code, code, test.code)
			}
		})
	}

	t.Run("by a pod of another namespace with the same labels and service account's name", func(t *testing.T) {
		w := newWorld()
		s, _ := testServer(t, w, io.Discard)
		h := s.handler()
		put(t, h, setPath, canary, http.StatusCreated)
		mine := w.tokens["token-of-alice-pod"]
		w.addBridge("other", "alice", "uid-other")
		for _, namespace := range []string{tenant, "other"} {
			w.pods[key(namespace, "alice-pod")].Labels["app.kubernetes.io/instance"] = "alice"
		}
		if got := deliver(t, h, "token-of-alice-pod"); len(got.Secrets) != 0 {
			t.Errorf("the other alice gets %d secrets", len(got.Secrets))
		}
		// Nor does an account there whose owner is named as if it were this
		// one, by UID too: the HostedBridge is looked for beside the account.
		w.accounts[key("other", "alice-bridge")].OwnerReferences[0].UID = "uid-alice"
		if code, _ := refusal(t, ask(t, h, "GET", "/v1/secrets", "token-of-alice-pod", "", nil)); code != "bridge_not_current" {
			t.Errorf("a forged owner: %s", code)
		}
		w.tokens["token-of-alice-pod"] = mine
		if got := deliver(t, h, "token-of-alice-pod"); string(got.Secrets["TOKEN"]) != canary {
			t.Error("alice does not get her own")
		}
	})
}

// TestWhoIsNotTheIngress is about the certificate on its routes: without one,
// with a bridge's, with one of another authority.
func TestWhoIsNotTheIngress(t *testing.T) {
	own, other := testAuthority(t, 1), testAuthority(t, 2)
	for _, test := range []struct {
		name      string
		authority *pki.Authority
		subject   pki.Subject
		code      string
	}{
		{"no certificate", nil, pki.Subject{}, "certificate_missing"},
		{"a bridge's certificate", own, pki.BridgeSubject("uid-alice"), "caller_not_allowed"},
		{"the store's certificate", own, pki.StoreSubject(), "caller_not_allowed"},
		{"the keybroker's own certificate", own, pki.ServiceSubject("hosted-bridge-keybroker"), "caller_not_allowed"},
		{"the ingress's name for a server", own, pki.Subject{URI: pki.IngressURI(), Usage: pki.BridgeSubject("x").Usage}, "caller_not_allowed"},
		{"the ingress's certificate of another authority", other, pki.IngressSubject(), "caller_not_allowed"},
		{"the ingress's certificate", own, pki.IngressSubject(), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, _ := testServer(t, newWorld(), io.Discard)
			h := s.handler()
			put(t, h, listPath+"/OTHER", canary, http.StatusCreated)
			for _, method := range []string{"GET " + listPath, "PUT " + setPath, "DELETE " + listPath + "/OTHER"} {
				name, path, _ := strings.Cut(method, " ")
				r := httptest.NewRequestWithContext(t.Context(), name, path, http.NoBody)
				// A token does not help.
				r.Header.Set("Authorization", "Bearer token-of-ingress-1")
				if test.authority != nil {
					r.TLS = shown(t, test.authority, test.subject)
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if test.code == "" {
					if w.Code >= 300 {
						t.Errorf("%s: %d", name, w.Code)
					}
					continue
				}
				if code, _ := refusal(t, w); code != test.code || w.Code != http.StatusForbidden {
					t.Errorf("%s: %d %s, want %s", name, w.Code, code, test.code)
				}
			}
		})
	}
}

// TestNothingIsSaidOutsideOfWhyASecretDoesNotOpen compares the answers, byte by
// byte, of a bridge whose secret was changed in the store in one way or
// another. Package store has the mutants one by one.
func TestNothingIsSaidOutsideOfWhyASecretDoesNotOpen(t *testing.T) {
	var first []byte
	for name, mutate := range map[string]func(t *testing.T, w *world, s *Server){
		"a flipped bit":   func(_ *testing.T, w *world, _ *Server) { sealed(w, "TOKEN")[40] ^= 1 },
		"a truncated one": func(_ *testing.T, w *world, _ *Server) { alices(w)["TOKEN"] = sealed(w, "TOKEN")[:50] },
		"another user's": func(_ *testing.T, w *world, _ *Server) {
			alices(w)["TOKEN"] = w.Stored[storetest.Key(tenant, "bob-envelopes")].Data["TOKEN"]
		},
		"a renamed one":  func(_ *testing.T, w *world, _ *Server) { alices(w)["TOKEN"] = sealed(w, "GOOD") },
		"a later format": func(_ *testing.T, w *world, _ *Server) { sealed(w, "TOKEN")[3] = '9' },
		"an unknown key": func(_ *testing.T, w *world, _ *Server) { sealed(w, "TOKEN")[8] = 9 },
		"another cluster's": func(t *testing.T, _ *world, s *Server) {
			s.store.Cluster = "elsewhere"
			change(t, s, secretstore.Change{Name: "TOKEN", Value: []byte(canary)})
			s.store.Cluster = "test"
		},
		"one of a key that is gone": func(t *testing.T, _ *world, s *Server) {
			keys := s.store.Keys
			s.store.Keys = testMaster(t, 1, 2).Keys
			change(t, s, secretstore.Change{Name: "TOKEN", Value: []byte(canary)})
			s.store.Keys = keys
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			var log bytes.Buffer
			s, registry := testServer(t, w, &log)
			h := s.handler()
			put(t, h, setPath, canary, http.StatusCreated)
			put(t, h, listPath+"/GOOD", "good", http.StatusCreated)
			put(t, h, "/v1/bridges/"+tenant+"/bob/uid-bob/secrets/TOKEN", canary, http.StatusCreated)
			mutate(t, w, s)
			log.Reset()
			got := deliver(t, h, "token-of-alice-pod")
			if !slices.Equal(got.Unreadable, []string{"TOKEN"}) || string(got.Secrets["GOOD"]) != "good" || len(got.Secrets) != 1 {
				t.Fatalf("%d secrets, unreadable %v", len(got.Secrets), got.Unreadable)
			}
			// Of the answer, only the revision tells one from the other.
			body := ask(t, h, "GET", "/v1/secrets", "token-of-alice-pod", "", nil).Body.Bytes()
			body = bytes.Replace(body, []byte(got.Revision), []byte("r"), 1)
			if first == nil {
				first = body
			}
			if !bytes.Equal(first, body) {
				t.Errorf("%s, and before %s", body, first)
			}
			if !strings.Contains(log.String(), `"secret":"TOKEN"`) || !strings.Contains(log.String(), `"level":"WARN"`) || strings.Contains(log.String(), canary) {
				t.Errorf("log: %s", log.String())
			}
			if got := counters(t, registry, "hostedbridge_keybroker_opens_total"); got["unreadable"] != 2 {
				t.Errorf("hostedbridge_keybroker_opens_total: %v", got)
			}
			if got := counters(t, registry, "hostedbridge_keybroker_unreadable_secrets_total"); got[""] != 2 {
				t.Errorf("hostedbridge_keybroker_unreadable_secrets_total: %v", got)
			}
		})
	}
}

func alices(w *world) map[string][]byte {
	return w.Stored[storetest.Key(tenant, "alice-envelopes")].Data
}
func sealed(w *world, name string) []byte { return alices(w)[name] }

// change changes a secret of alice's.
func change(t *testing.T, s *Server, c secretstore.Change) {
	t.Helper()
	_, err := s.store.Update(t.Context(), aliceRef, func(context.Context, secretstore.Listing, func(string) ([]byte, error)) ([]secretstore.Change, error) {
		return []secretstore.Change{c}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestEveryErrorOfTheStoreHasACode: those of which the caller can make
// something, and of the rest nothing but that it is internal.
func TestEveryErrorOfTheStoreHasACode(t *testing.T) {
	for _, test := range []struct {
		err  error
		want *httpapi.Problem
	}{
		{secretstore.ErrNotOwned, errNotOwned}, {secretstore.ErrNotReady, errNotPrepared}, {secretstore.ErrSaltMissing, errSaltMissing},
		{secretstore.ErrSaltInvalid, errSaltInvalid}, {secretstore.ErrUnreadable, errUnreadable}, {secretstore.ErrNotFound, errSecretNotFound},
		{secretstore.ErrName, errName}, {secretstore.ErrTooLarge, errTooMuch}, {secretstore.ErrConflict, errConflict}, {secretstore.ErrUnavailable, errClusterAway},
		{fmt.Errorf("%w: %w", secretstore.ErrUnavailable, envelope.ErrUnavailable), errMasterKeyAway},
		{fmt.Errorf("%w: %w", secretstore.ErrUnreadable, secretstore.ErrSaltMissing), errUnreadable},
		{secretstore.ErrExists, errInternal}, {errors.New("anything"), errInternal},
		{errManaged.Saying("x"), errManaged},
	} {
		if got := publicProblem(fmt.Errorf("a cause: %w", test.err)); !errors.Is(got, test.want) {
			t.Errorf("%v: %s, want %s", test.err, got.Code, test.want.Code)
		}
	}
	if diff := cmp.Diff(errManaged, errManaged.Saying("x"), cmpopts.IgnoreFields(httpapi.Problem{}, "Detail")); diff != "" || errManaged.Detail == "x" {
		t.Errorf("with another detail (-want +got):\n%s", diff)
	}
}
