// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// probes serves /ring at an address of this machine, on the port that the first
// of them got.
func probes(t *testing.T, address, port string, handler http.HandlerFunc) (chosen string) {
	t.Helper()
	listener := must.Value(net.Listen("tcp", net.JoinHostPort(address, port)))(t)
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler}}
	server.Start()
	t.Cleanup(server.Close)
	_, chosen = must.Values(net.SplitHostPort(listener.Addr().String()))(t)
	return chosen
}

func keybrokerPod(name, address, node string, phase corev1.PodPhase) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{PodIP: address, Phase: phase},
	}
}

func TestReplicasAreAsked(t *testing.T) {
	port := probes(t, "127.0.0.1", "0", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ring" || r.Method != http.MethodGet {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, `{"provider":"local","versions":[1,2],"current":1,"minimum":1}`)
	})
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:"+port+"/ring")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	probes(t, "127.0.0.2", port, answer(http.StatusNotFound, ""))
	probes(t, "127.0.0.3", port, answer(http.StatusOK, `{"provider":"local"}`))
	probes(t, "127.0.0.4", port, answer(http.StatusFound, ""))
	probes(t, "127.0.0.5", port, answer(http.StatusOK, strings.Repeat(" ", maxRing)+`{"provider":"local","versions":[1],"current":1,"minimum":1}`))
	probes(t, "127.0.0.7", port, answer(http.StatusOK, `{"provider":"transit","versions":[],"current":0,"minimum":0}`))
	probes(t, "127.0.0.8", port, answer(http.StatusOK, `{"provider":"local","versions":[1,2],"current":1,"minimum":1,"watchNamespaces":["tenants"]}`))
	pods := []corev1.Pod{
		keybrokerPod("l-fewer-namespaces", "127.0.0.8", "node", corev1.PodRunning),
		keybrokerPod("k-vault-away", "127.0.0.7", "node", corev1.PodRunning),
		keybrokerPod("g-away", "127.0.0.6", "node", corev1.PodRunning),
		keybrokerPod("a-ready", "127.0.0.1", "node", corev1.PodRunning),
		keybrokerPod("b-older-program", "127.0.0.2", "node", corev1.PodRunning),
		keybrokerPod("c-no-ring", "127.0.0.3", "node", corev1.PodRunning),
		keybrokerPod("d-redirect", "127.0.0.4", "node", corev1.PodRunning),
		keybrokerPod("e-too-much", "127.0.0.5", "node", corev1.PodRunning),
		keybrokerPod("f-starting", "", "node", corev1.PodPending),
		keybrokerPod("h-without-node", "", "", corev1.PodPending),
		keybrokerPod("i-failed", "127.0.0.1", "node", corev1.PodFailed),
		keybrokerPod("j-ended", "127.0.0.1", "node", corev1.PodSucceeded),
	}
	replicas := NewReplicas(port, func(context.Context) ([]corev1.Pod, error) { return pods, nil })
	got := must.Value(replicas.List(t.Context()))(t)
	problems := map[string]string{
		"a-ready": "", "b-older-program": "404", "c-no-ring": "not a ring", "d-redirect": "redirect",
		"e-too-much": "not a ring", "f-starting": "no address", "g-away": "refused", "k-vault-away": "not reached the transit engine",
		"l-fewer-namespaces": "other namespaces than --watch-namespaces says",
	}
	for _, replica := range got {
		want, found := problems[replica.Pod]
		if !found || !strings.Contains(replica.Problem, want) || (want == "") != (replica.Ring != nil) {
			t.Errorf("%+v, want %q", replica, want)
		}
		delete(problems, replica.Pod)
	}
	if len(problems) > 0 {
		t.Errorf("not asked: %v", problems)
	}
	want := local(1, 1, 1, 2)
	if diff := cmp.Diff(&want, got[0].Ring); diff != "" {
		t.Errorf("the ring (-want +got):\n%s", diff)
	}
}

func TestPodsThatCannotBeListedAreAnError(t *testing.T) {
	replicas := NewReplicas("1", func(context.Context) ([]corev1.Pod, error) { return nil, errors.New("forbidden") })
	if got, err := replicas.List(t.Context()); err == nil {
		t.Errorf("%v, want an error", got)
	}
}
