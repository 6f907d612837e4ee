// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
)

const savePath = "/v1/secrets/LOGIN"

// withLogin has alice's bridge keep a login in the secret LOGIN.
func withLogin(w *world) *world {
	w.bridges[key(tenant, "alice")].Spec.Servers = []v1alpha1.Server{
		{Name: "plain", Secrets: []v1alpha1.SecretName{"TOKEN"}},
		{Name: "own", Auth: &v1alpha1.Auth{OAuth: &v1alpha1.OAuth{ClientSecret: "CLIENT"}}},
		{Name: "login", Auth: &v1alpha1.Auth{OAuth: &v1alpha1.OAuth{ClientSecret: "CLIENT", TokenSecret: "LOGIN"}}},
	}
	return w
}

// save sends what a bridge stores, under the condition that revision is still
// that of its secrets.
func save(t *testing.T, h http.Handler, path, token, value, revision string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, path, strings.NewReader(value))
	r.Header.Set("Authorization", "Bearer "+token)
	if revision != "" {
		r.Header.Set("If-Match", etag(revision))
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestABridgeStoresTheLoginThatItRefreshed(t *testing.T) {
	var log bytes.Buffer
	s, registry := testServer(t, withLogin(newWorld()), &log)
	h := s.handler()
	put(t, h, listPath+"/LOGIN", "first", http.StatusCreated)
	put(t, h, setPath, "other", http.StatusCreated)
	before := deliver(t, h, "token-of-alice-pod")
	w := save(t, h, savePath, "token-of-alice-pod", canary, before.Revision)
	after := deliver(t, h, "token-of-alice-pod")
	if want := `{"revision":"` + after.Revision + `"}`; w.Code != http.StatusOK || w.Body.String() != want || w.Header().Get("ETag") != etag(after.Revision) || after.Revision == before.Revision {
		t.Errorf("%d %s %v, want %s", w.Code, w.Body, w.Header(), want)
	}
	if diff := cmp.Diff(map[string][]byte{"LOGIN": []byte(canary), "TOKEN": []byte("other")}, after.Secrets); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	// Somebody who has not seen that change overwrites nothing.
	if w := save(t, h, savePath, "token-of-alice-pod", "late", before.Revision); w.Code != http.StatusPreconditionFailed {
		t.Errorf("with the revision before: %d %s", w.Code, w.Body)
	}
	if got := deliver(t, h, "token-of-alice-pod"); string(got.Secrets["LOGIN"]) != canary {
		t.Error("it was overwritten")
	}
	if w := save(t, h, savePath, "token-of-alice-pod", canary, ""); w.Code != http.StatusOK {
		t.Errorf("without a condition: %d %s", w.Code, w.Body)
	}
	if strings.Contains(log.String(), canary) || !strings.Contains(log.String(), `"caller":"bridge","namespace":"tenants","hostedBridge":"alice","uid":"uid-alice","secret":"LOGIN"`) {
		t.Errorf("log: %s", log.String())
	}
	got := requests(t, registry)
	if got["save 200 "] != 2 || got["save 412 revision_changed"] != 1 {
		t.Errorf("hostedbridge_keybroker_requests_total: %v", got)
	}
	if diff := cmp.Diff(map[string]float64{"user": 2, "bridge": 2, "source": 0, "owner": 0}, counters(t, registry, "hostedbridge_keybroker_sealed_total")); diff != "" {
		t.Errorf("hostedbridge_keybroker_sealed_total (-want +got):\n%s", diff)
	}
}

// TestARecipesLoginIsStoredToo has the login named by the status and not by the
// spec.
func TestARecipesLoginIsStoredToo(t *testing.T) {
	w := newWorld()
	b := w.bridges[key(tenant, "alice")]
	b.Spec.Servers = []v1alpha1.Server{{Name: "mine", Recipe: &v1alpha1.RecipeReference{Name: "notes"}}}
	b.Status.Recipes = []v1alpha1.RecipeStatus{{Server: "mine", Recipe: "notes", TokenSecret: "LOGIN", Secrets: []string{"LOGIN", "TOKEN"}}}
	s, _ := testServer(t, w, &bytes.Buffer{})
	h := s.handler()
	put(t, h, listPath+"/LOGIN", "first", http.StatusCreated)
	put(t, h, setPath, "other", http.StatusCreated)
	if w := save(t, h, savePath, "token-of-alice-pod", "second", ""); w.Code != http.StatusOK {
		t.Errorf("the login: %d %s", w.Code, w.Body)
	}
	if w := save(t, h, "/v1/secrets/TOKEN", "token-of-alice-pod", "x", ""); w.Code != errNotLogin.Status {
		t.Errorf("another secret: %d %s", w.Code, w.Body)
	}
	b.Spec.Servers[0].Recipe.Name = "other"
	if w := save(t, h, savePath, "token-of-alice-pod", "third", ""); w.Code != errNotLogin.Status {
		t.Errorf("of a recipe that the spec does not name any more: %d %s", w.Code, w.Body)
	}
	b.Spec.Servers = nil
	if w := save(t, h, savePath, "token-of-alice-pod", "third", ""); w.Code != errNotLogin.Status {
		t.Errorf("of a server that is gone: %d %s", w.Code, w.Body)
	}
}

func TestABridgeStoresNothingElse(t *testing.T) {
	now := metav1.Now()
	for _, test := range []struct {
		name, path, token, value string
		edit                     func(t *testing.T, w *world, s *Server)
		want                     *httpapi.Problem
	}{
		{"another secret of its own", "/v1/secrets/TOKEN", "token-of-alice-pod", "x", nil, errNotLogin},
		{"a client's secret", "/v1/secrets/CLIENT", "token-of-alice-pod", "x", nil, errNotLogin},
		{"a login that only another bridge has", savePath, "token-of-bob-pod", "x", nil, errNotLogin},
		{"a name that is none", "/v1/secrets/login", "token-of-alice-pod", "x", nil, errName},
		{"the index", "/v1/secrets/.index", "token-of-alice-pod", "x", nil, errName},
		{"an encoded name", "/v1/secrets/LOGIN%2f..%2fTOKEN", "token-of-alice-pod", "x", nil, errName},
		{"nothing", savePath, "token-of-alice-pod", "", nil, errEmpty},
		{"too much", savePath, "token-of-alice-pod", strings.Repeat("x", maxLogin+1), nil, errBodyTooLarge},
		{"by the ingress's token", savePath, "token-of-ingress-1", "x", nil, errCaller},
		{"by the store's token", savePath, "token-of-store-1", "x", nil, errCaller},
		{"by a forged token", savePath, "forged", "x", nil, errTokenRefused},
		{"one that follows a source", savePath, "token-of-alice-pod", "x", func(t *testing.T, _ *world, s *Server) {
			change(t, s, secretstore.Change{Name: "LOGIN", Value: []byte("y"), Source: &secretstore.Source{Secret: "github"}})
		}, errManaged},
		{"one that was never set", savePath, "token-of-alice-pod", "x", nil, errSecretNotFound},
		{"one that its user has removed", savePath, "token-of-alice-pod", "x", func(t *testing.T, _ *world, s *Server) {
			change(t, s, secretstore.Change{Name: "LOGIN", Value: []byte("y")})
			change(t, s, secretstore.Change{Name: "LOGIN", Delete: true})
		}, errSecretNotFound},
		{"for a HostedBridge that is gone", savePath, "token-of-alice-pod", "x", func(_ *testing.T, w *world, _ *Server) { delete(w.bridges, key(tenant, "alice")) }, errBridge},
		{"by a pod that has ended", savePath, "token-of-alice-pod", "x", func(_ *testing.T, w *world, _ *Server) {
			pod := w.pods[key(tenant, "alice-pod")]
			pod.DeletionTimestamp, pod.Status.Phase = &now, corev1.PodSucceeded
		}, errPod},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := withLogin(newWorld())
			s, _ := testServer(t, w, &bytes.Buffer{})
			if test.edit != nil {
				test.edit(t, w, s)
			}
			writes := w.Writes
			got := save(t, s.handler(), test.path, test.token, test.value, "")
			if code, _ := refusal(t, got); code != test.want.Code || got.Code != test.want.Status {
				t.Errorf("%d %s, want %d %s", got.Code, code, test.want.Status, test.want.Code)
			}
			if w.Writes != writes {
				t.Error("something was stored")
			}
		})
	}
}

// A pod that is being deleted may still refresh a login, which would be lost
// with it.
func TestAPodThatEndsStillStoresItsLogin(t *testing.T) {
	w := withLogin(newWorld())
	now := metav1.Now()
	w.pods[key(tenant, "alice-pod")].DeletionTimestamp = &now
	s, _ := testServer(t, w, &bytes.Buffer{})
	change(t, s, secretstore.Change{Name: "LOGIN", Value: []byte("first")})
	h := s.handler()
	if got := save(t, h, savePath, "token-of-alice-pod", canary, ""); got.Code != http.StatusOK {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := deliver(t, h, "token-of-alice-pod"); string(got.Secrets["LOGIN"]) != canary {
		t.Error("it was not stored")
	}
	if got := ask(t, h, "POST", "/v1/certificates", "token-of-alice-pod", "application/pkcs10", request(t)); got.Code != http.StatusForbidden {
		t.Errorf("it gets another certificate: %d", got.Code)
	}
}
