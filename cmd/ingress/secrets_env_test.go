// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// secretsSeen is what keybroker and bridge are asked of secrets, and which
// revision the bridge has.
type secretsSeen struct {
	mu sync.Mutex
	// asked is the last request at the keybroker: method, path, body, and the
	// URI of the certificate that was shown.
	asked              string
	revision, offered  string
	notices, otherwise int
}

func (s *secretsSeen) serveKeybroker(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	uri := ""
	for _, certificate := range r.TLS.PeerCertificates {
		for _, u := range certificate.URIs {
			uri = u.String()
		}
	}
	s.mu.Lock()
	s.asked = fmt.Sprintf("%s %s %s by %s", r.Method, r.URL.Path, body, uri)
	s.mu.Unlock()
	switch r.Method {
	case http.MethodPut:
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"name":"TOKEN","size":7,"keyVersion":1}`)
	case http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default:
		_, _ = io.WriteString(w, `{"secrets":[{"name":"TOKEN","size":7,"keyVersion":1}],"limit":5,"revision":"r"}`)
	}
}

func (s *secretsSeen) lastAsked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *secretsSeen) held() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// refresh is what a bridge does on a notice.
func (s *secretsSeen) refresh(method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if method != http.MethodPost {
		s.otherwise++
	}
	s.notices++
	s.revision = s.offered
}

func (s *secretsSeen) offer(revision string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offered = revision
}

func TestSecretsGoToTheKeybrokerAndTheirChangeToTheBridge(t *testing.T) {
	t.Parallel()
	l := must.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	i := start(t, l.Addr().(*net.TCPAddr).Port)
	b := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: i.namespace},
		Spec: v1alpha1.HostedBridgeSpec{Servers: []v1alpha1.Server{{
			Name: "one", Transport: v1alpha1.Transport{URL: "https://one.example.com/mcp"}, Secrets: []v1alpha1.SecretName{"TOKEN"},
		}}},
	}
	testenv.ExpectApplied(t, i.client, b)
	user := string(b.User())
	key := applyKey(t, i.client, keys.Command{User: user, Name: b.Name, Namespace: b.Namespace, Output: "text"}).Key
	secret := "/u/" + user + "/secrets/TOKEN"
	i.await("the key", func() bool { status, _ := i.call("GET", "/u/"+user+"/health", key); return status == 200 })
	if status, body := i.call("GET", secret, key); status != 503 || !strings.Contains(body, `"secrets_unavailable"`) {
		t.Errorf("before the keybroker is known: %d %s", status, body)
	}
	i.publishCA()
	i.await("readiness", i.ready)

	at := fmt.Sprintf(" /v1/bridges/%s/%s/%s/secrets", b.Namespace, b.Name, b.UID)
	by := " by " + pki.IngressURI().String()
	entry := `{"name":"TOKEN","size":7,"keyVersion":1,"servers":["one"]}`
	for _, tt := range []struct {
		method, path, body string
		status             int
		want, asked        string
	}{
		{"PUT", secret, "canary7", 201, entry, "PUT" + at + "/TOKEN canary7" + by},
		{"GET", secret, "", 200, entry, "GET" + at + " " + by},
		{"GET", strings.TrimSuffix(secret, "/TOKEN"), "", 200, `{"secrets":[` + entry + `],"limit":5}`, "GET" + at + " " + by},
		{"DELETE", secret, "", 204, "", "DELETE" + at + "/TOKEN " + by},
	} {
		status, body := i.send(tt.method, tt.path, key, tt.body)
		if asked := i.secrets.lastAsked(); status != tt.status || body != tt.want || asked != tt.asked {
			t.Errorf("%s %s = %d %s, want %d %s; the keybroker was asked %q, want %q", tt.method, tt.path, status, body, tt.status, tt.want, asked, tt.asked)
		}
	}
	if strings.Contains(i.log.String(), "canary7") {
		t.Error("the log contains the value")
	}

	i.serveBridge(l, b)
	i.addPod(b, "127.0.0.1")
	i.await("health", func() bool {
		_, body := i.call("GET", "/u/"+user+"/health", key)
		return strings.HasPrefix(body, `{"status":"healthy"`)
	})
	for n, revision := range []string{"0123456789abcdef", "fedcba9876543210", ""} {
		i.secrets.offer(revision)
		testenv.ExpectStatusChanged(t, i.client, b, func() { b.Status.Secrets = &v1alpha1.SecretsStatus{Revision: revision} })
		// Patience ends long before the next probe that is not due to the change.
		i.await("a notice of revision "+revision, func() bool { return i.secrets.held() == revision })
		i.secrets.mu.Lock()
		if i.secrets.notices != n+1 || i.secrets.otherwise != 0 {
			t.Errorf("%d notices, %d of another method; want %d and none", i.secrets.notices, i.secrets.otherwise, n+1)
		}
		i.secrets.mu.Unlock()
	}
}
