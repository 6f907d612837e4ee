// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

const (
	// defaultGuardedImage is the MCP server that wants a token.
	defaultGuardedImage = "hosted-bridge/guarded-server:dev"
	guardedName         = "guarded"
)

// The two guarded servers stand side by side, so that what is meant for the
// one can be seen not to reach the other.
var (
	left  = newGuard("left", 8080, "LEFT_TOKEN")
	right = newGuard("right", 8081, "RIGHT_TOKEN")
)

// guard is one of the guarded servers, under the name that a bridge gives it.
type guard struct {
	name string
	port int32
	// secret is the name of the user's secret that holds its token.
	secret string
	// tokens are those that it lets in; each test takes some of its own.
	tokens []string
	taken  atomic.Int32
}

func newGuard(name string, port int32, secret string) *guard {
	g := &guard{name: name, port: port, secret: secret}
	for range 32 {
		g.tokens = append(g.tokens, newToken())
	}
	return g
}

// newToken returns a value that can be searched for, with characters that each
// way of writing it down changes in its own manner.
func newToken() string { return `+/"` + rand.Text() + rand.Text() + `=&?%<\` }

// token returns a token that no other test has.
func (g *guard) token(t *testing.T) string {
	t.Helper()
	n := int(g.taken.Add(1)) - 1
	if n >= len(g.tokens) {
		t.Fatalf("the %d tokens of the %s server are all taken", len(g.tokens), g.name)
	}
	return g.tokens[n]
}

// server is the entry of a HostedBridge that reaches the guarded server with
// the user's secret.
func (g *guard) server() v1alpha1.Server {
	return v1alpha1.Server{
		Name: g.name,
		Transport: v1alpha1.Transport{
			Type:    v1alpha1.TransportStreamableHTTP,
			URL:     fmt.Sprintf("http://%s.%s.svc:%d/mcp", guardedName, installed.namespace, g.port),
			Headers: []v1alpha1.Header{{Name: "Authorization", Value: "Bearer ${" + g.secret + "}"}},
		},
		Secrets: []v1alpha1.SecretName{v1alpha1.SecretName(g.secret)},
	}
}

// guardedObjects are the guarded servers in the run's namespace.
func (i *installation) guardedObjects() []client.Object {
	labels := map[string]string{"app": guardedName}
	meta := metav1.ObjectMeta{Namespace: i.namespace, Name: guardedName}
	pod := corev1.PodSpec{
		TerminationGracePeriodSeconds: new(int64(1)),
		AutomountServiceAccountToken:  new(false),
	}
	service := corev1.ServiceSpec{Selector: labels}
	for _, g := range []*guard{left, right} {
		args := []string{fmt.Sprintf("--http=:%d", g.port)}
		for _, token := range g.tokens {
			args = append(args, "--token-hash="+apikey.HashOf(token).String())
		}
		pod.Containers = append(pod.Containers, corev1.Container{
			Name: g.name, Image: i.guarded, ImagePullPolicy: corev1.PullIfNotPresent, Args: args,
			ReadinessProbe: listensOn(g.port),
		})
		service.Ports = append(service.Ports, corev1.ServicePort{Name: g.name, Port: g.port})
	}
	pod.Containers = append(pod.Containers, issuer.container(i.guarded))
	service.Ports = append(service.Ports, corev1.ServicePort{Name: issuer.name, Port: issuer.port})
	return []client.Object{
		&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		}},
		&corev1.Service{ObjectMeta: meta, Spec: service},
	}
}

func listensOn(port int32) *corev1.Probe {
	return &corev1.Probe{
		PeriodSeconds: 1,
		ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(port)}},
	}
}

// guardedBridge returns the HostedBridge of a user with the guarded servers,
// and beside them one that needs no secret.
func guardedBridge(name string, keys []credential, guards ...*guard) *v1alpha1.HostedBridge {
	b := bridge(name, keys, "open")
	for _, g := range guards {
		b.Spec.Servers = append(b.Spec.Servers, g.server())
	}
	return b
}

// newGuardedTenant makes a tenant with the guarded servers. It is Ready before
// any secret is set.
func newGuardedTenant(t *testing.T, short string, guards ...*guard) tenant {
	t.Helper()
	n := tenant{name: installed.name(short), key: mint(t)}
	n.uid = create(t, guardedBridge(n.name, []credential{n.key}, guards...))
	awaitReady(t, n.name)
	return n
}

// presented is what a guarded server's tool whoami says of a call.
type presented struct {
	Token       string
	Headers     map[string][]string
	Connections int
}

// errOutOfService marks the answer to a call of a tool that is not there.
var errOutOfService = errors.New("out of service")

// whoami calls the tool of that name of one of the tenant's guarded servers.
func whoami(ctx context.Context, c *http.Client, n tenant, g *guard) (p presented, err error) {
	name := g.name + "_whoami"
	a, err := send(ctx, c, n.url(), n.key.secret, modern("tools/call", name, `{"name":"`+name+`","arguments":{}}`))
	if err != nil {
		return p, err
	}
	var m struct {
		Error  json.RawMessage
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal(a.message(), &m); err != nil {
		return p, fmt.Errorf("status %d: %w in %.300q", a.status, err, a.body)
	}
	if m.Error != nil || m.Result.IsError || len(m.Result.Content) != 1 {
		return p, fmt.Errorf("%w: %.300s", errOutOfService, a.message())
	}
	return p, json.Unmarshal([]byte(m.Result.Content[0].Text), &p)
}

// presents returns nil where the server answers, and was given this token.
func presents(ctx context.Context, c *http.Client, n tenant, g *guard, token string) error {
	p, err := whoami(ctx, c, n, g)
	if err != nil {
		return err
	}
	if p.Token != apikey.HashOf(token).String() {
		return fmt.Errorf("the %s server is given another token than the one that is set", g.name)
	}
	return nil
}

// awaitPresented waits until the server is given the token, and returns what
// it saw.
func awaitPresented(t *testing.T, n tenant, g *guard, token string) (p presented) {
	t.Helper()
	c := newHTTPClient(false)
	wait.NoError(t, wait.Limit, "the "+g.name+" server of "+n.name+" is given the token that is set", func(ctx context.Context) (err error) {
		if err := presents(ctx, c, n, g, token); err != nil {
			return err
		}
		p, err = whoami(ctx, c, n, g)
		return err
	})
	return p
}

// awaitOutOfService waits until a server's tools are listed no more and cannot
// be called, while those of the server without a secret are listed and can.
func awaitOutOfService(t *testing.T, n tenant, guards ...*guard) {
	t.Helper()
	c := newHTTPClient(false)
	wait.NoError(t, wait.Limit, "servers of "+n.name+" are out of service", func(ctx context.Context) error {
		names, err := listTools(ctx, c, n)
		if err != nil {
			return err
		}
		if !slices.Contains(names, "open_"+tool) {
			return fmt.Errorf("the tools are %v, want open_%s among them", names, tool)
		}
		for _, g := range guards {
			if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, g.name+"_") }) {
				return fmt.Errorf("the tools are %v, want none of %s", names, g.name)
			}
			if _, err := whoami(ctx, c, n, g); !errors.Is(err, errOutOfService) {
				return fmt.Errorf("a call of %s ends with %w, want that it is out of service", g.name, errors.Join(err, errors.New("an answer")))
			}
		}
		return nil
	})
}

// listTools returns the names of the tenant's tools, in the modern era.
func listTools(ctx context.Context, c *http.Client, n tenant) (names []string, err error) {
	a, err := send(ctx, c, n.url(), n.key.secret, modern("tools/list", "", `{}`))
	if err != nil {
		return nil, err
	}
	var m struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal(a.message(), &m); err != nil || a.status != http.StatusOK {
		return nil, fmt.Errorf("status %d: %w in %.300q", a.status, errors.Join(err, errors.New("no list")), a.body)
	}
	for _, found := range m.Result.Tools {
		names = append(names, found.Name)
	}
	return names, nil
}
