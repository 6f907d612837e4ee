// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridge"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// keyed adds a user's key to requests.
type keyed struct {
	next http.RoundTripper
	key  string
}

// RoundTrip implements http.RoundTripper.
func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return k.next.RoundTrip(r)
}

// sleepingBridge is a whole bridge of a user, at an address of its own.
type sleepingBridge struct {
	*installation
	object *v1alpha1.HostedBridge
	http   *http.Client
}

// connect returns a client's session in one era, through a replica of the ingress.
func (s *sleepingBridge) connect(t *testing.T, at *installation, version string) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
	to := &mcp.StreamableClientTransport{Endpoint: "http://" + at.public + "/u/" + string(s.object.User()) + "/mcp", HTTPClient: s.http}
	return must.Value(c.Connect(t.Context(), to, &mcp.ClientSessionOptions{ProtocolVersion: version}))(t)
}

// setStatus writes the status that the operator would write.
func (s *sleepingBridge) setStatus(t *testing.T, configuration string, idleSince *metav1.Time) {
	t.Helper()
	// The ingress writes the status too.
	must.Succeed(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(s.object), s.object); err != nil {
			return err
		}
		status := &s.object.Status
		status.Configuration, status.ObservedGeneration, status.IdleSince = configuration, s.object.Generation, idleSince
		return s.client.Status().Update(t.Context(), s.object)
	}))
}

func toolsOf(t *testing.T, session *mcp.ClientSession) string {
	t.Helper()
	var names []string
	for tool, err := range session.Tools(t.Context(), nil) {
		must.Succeed(t, err)
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

// configurationOf is a bridge's configuration with two servers, of which one has a tool.
func configurationOf(t *testing.T, b *v1alpha1.HostedBridge) bridgeconfig.Config {
	t.Helper()
	c := bridgeconfig.Config{UserID: string(b.User()), BridgeUID: string(b.UID), Egress: bridgeconfig.Egress{Unrestricted: true}}
	for _, name := range []string{"one", "two"} {
		s := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)
		mcp.AddTool(s, &mcp.Tool{Name: "hello"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name}}}, nil, nil
		})
		upstream := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
		t.Cleanup(upstream.Close)
		c.Servers = append(c.Servers, bridgeconfig.Server{Name: name, URL: upstream.URL})
	}
	return c
}

// TestAClientHasItsToolsWhileItsBridgeSleepsAndCallsThemWhenItRuns has clients of both eras connect
// at one ingress while the bridge runs, and at another one while no pod is there.
func TestAClientHasItsToolsWhileItsBridgeSleepsAndCallsThemWhenItRuns(t *testing.T) {
	pod := must.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	dir, address := t.TempDir(), freeAddress(t)
	for name, text := range map[string]string{"snapshot-key": strings.Repeat("A", 43) + "=", "store-token": storeToken} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	first := startAt(t, testenv.Client(t), testenv.Kubeconfig(t), pod.Addr().(*net.TCPAddr).Port,
		"--answers-url=https://"+address, "--snapshot-key-file="+filepath.Join(dir, "snapshot-key"))
	second := *first
	second.launch()
	t.Cleanup(func() { second.end() })
	first.publishCA()
	first.await("readiness of the first", first.ready)
	second.await("readiness of the second", second.ready)
	startStore(t, first, address, dir)

	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: first.namespace, Name: first.namespace}}
	testenv.ExpectApplied(t, first.client, b)
	key := applyKey(t, first.client, keys.Command{User: string(b.User()), Name: b.Name, Namespace: b.Namespace, Output: "text"}).Key
	s := &sleepingBridge{installation: first, object: b, http: &http.Client{Transport: keyed{&http.Transport{}, key}}}
	c := configurationOf(t, b)
	process := bridge.New(t.Context(), c, bridge.Options{Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(process.Close)
	first.serveBridgeBy(pod, b, process.Handler().ServeHTTP)
	configuration := must.Value(c.Digest())(t)
	s.setStatus(t, configuration, nil)
	first.addPod(b, "127.0.0.1")
	first.await("the key", func() bool {
		status, _ := first.call("GET", "/u/"+string(b.User())+"/health", key)
		return status == 200
	})
	const tools = "one_hello two_hello"
	eras := []string{"2025-11-25", "2026-07-28"}
	// Answers that the bridge gives while one of its servers is still starting are not kept.
	first.await("four answers are kept", func() bool {
		for _, version := range eras {
			session := s.connect(t, first, version)
			if got := toolsOf(t, session); got != tools {
				t.Fatalf("%s: tools %q", version, got)
			}
			must.Succeed(t, session.Close())
		}
		return strings.Contains(metricsOf(t, first), `hostedbridge_ingress_recorded_answers_total{result="kept"} 4`)
	})

	must.Succeed(t, first.client.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}}, client.GracePeriodSeconds(0)))
	s.setStatus(t, configuration, &metav1.Time{Time: time.Now()})
	second.await("the bridge sleeps", func() bool {
		_, body := second.call("GET", "/u/"+string(b.User())+"/health", key)
		return strings.Contains(body, `"asleep"`)
	})
	called := make(chan string, len(eras))
	for _, version := range eras {
		session := s.connect(t, &second, version)
		if got := toolsOf(t, session); got != tools {
			t.Errorf("%s, asleep: tools %q", version, got)
		}
		go func() {
			defer session.Close()
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "two_hello"})
			if err != nil {
				called <- err.Error()
				return
			}
			called <- result.Content[0].(*mcp.TextContent).Text
		}()
	}
	if n := len(called); n > 0 {
		t.Errorf("%d calls did not wait for the pod", n)
	}
	s.setStatus(t, configuration, nil)
	first.addPod(b, "127.0.0.1")
	for range eras {
		if got := <-called; got != "two" {
			t.Errorf("a call is answered %q", got)
		}
	}
}

// metricsOf returns the metrics of a replica.
func metricsOf(t *testing.T, i *installation) string {
	t.Helper()
	r := must.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+i.probes+"/metrics", http.NoBody))(t)
	res := must.Value((&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r))(t)
	defer res.Body.Close()
	return string(must.Value(io.ReadAll(res.Body))(t))
}
