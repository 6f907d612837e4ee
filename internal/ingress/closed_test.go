// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"io"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// setPeople replaces the BridgePersons.
func (w *world) setPeople(persons ...*v1alpha1.BridgePerson) {
	w.change(func() { w.persons = persons })
}

func TestAccessThatIsTakenAwayEndsKeysTokensAndStreams(t *testing.T) {
	alice := v1alpha1.BridgePersonSpec{Issuer: issuerURL, Subject: "alice"}
	for name, spec := range map[string]v1alpha1.BridgePersonSpec{
		"of a user": {User: "alice"}, "of the only person": alice,
	} {
		t.Run(name, func(t *testing.T) {
			w, tokens, key := loginWorld(t)
			began := make(chan struct{}, 2)
			w.servers[hosts[0]].Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(rw, ": begun\n\n")
				_ = http.NewResponseController(rw).Flush()
				if r.Method == http.MethodGet {
					began <- struct{}{}
					<-r.Context().Done()
				}
			})
			token := tokens.add("t", "alice", "/u/alice/mcp", func(t *oauth.Token) { t.Issued = time.Now() })
			ended := make(chan struct{}, 2)
			for _, credential := range []string{key, token} {
				go func() {
					w.do(w.request(http.MethodGet, "/u/alice/mcp", credential, "")) // It returns when the stream ends.
					ended <- struct{}{}
				}()
				<-began
			}
			record := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Name: "record"}, Spec: spec}
			record.Spec.Access = v1alpha1.AccessSuspended
			w.setPeople(record)
			for range 2 {
				<-ended
			}
			for _, credential := range []string{key, token} {
				if got := w.do(w.request(http.MethodPost, "/u/alice/mcp", credential, toolCall)); got.status != http.StatusUnauthorized {
					t.Errorf("%.6s: %d %s", credential, got.status, got.body)
				}
			}
			w.setPeople()
			for _, credential := range []string{key, token} {
				if got := w.do(w.request(http.MethodPost, "/u/alice/mcp", credential, toolCall)); got.status != http.StatusOK {
					t.Errorf("%.6s, allowed again: %d %s", credential, got.status, got.body)
				}
			}
		})
	}
}

func TestAnAdministratorWithoutAccessAdministersNothing(t *testing.T) {
	w, tokens, _ := loginWorld(t)
	token := tokens.add("admin", "ann", oauth.AdminPath, func(t *oauth.Token) { withRoles(oauth.RoleAdmin)(t); t.Issued = time.Now() })
	get := func() int { return w.do(w.request(http.MethodGet, keysOfAlice, token, "")).status }
	if got := get(); got != http.StatusOK {
		t.Fatalf("before: %d", got)
	}
	record := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Name: "ann"}, Spec: v1alpha1.BridgePersonSpec{Issuer: issuerURL, Subject: "ann"}}
	record.Spec.Access = v1alpha1.AccessOffboarded
	w.setPeople(record)
	if got := get(); got != http.StatusUnauthorized {
		t.Errorf("without access: %d", got)
	}
	back := record.DeepCopy()
	back.Spec.Access = v1alpha1.AccessAllowed
	ended := metav1.NewTime(time.Now().Add(time.Second))
	back.Status.LoginsEndedTime = &ended
	w.setPeople(back)
	if got := get(); got != http.StatusUnauthorized {
		t.Errorf("by a token from before: %d", got)
	}
}
