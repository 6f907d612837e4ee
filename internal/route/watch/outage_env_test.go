// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package watch

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// gate stands before the API server and can be shut.
type gate struct {
	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu    sync.Mutex
	shut  bool
	conns map[net.Conn]bool
	tried chan struct{} // Gets a token when somebody comes to the shut gate.
}

// newGate returns a configuration that goes through a gate.
func newGate(t *testing.T) (*gate, *rest.Config) {
	t.Helper()
	config := testenv.Config()
	server, err := url.Parse(config.Host)
	if err != nil || server.Host == "" {
		server = &url.URL{Scheme: "https", Host: config.Host}
	}
	g := &gate{target: server.Host, conns: map[net.Conn]bool{}, tried: make(chan struct{}, 1)}
	if g.listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		g.listener.Close()
		g.set(true)
		g.running.Wait()
	})
	g.running.Go(g.accept)
	server.Host = g.listener.Addr().String()
	config.Host = server.String()
	return g, config
}

func (g *gate) accept() {
	for {
		conn, err := g.listener.Accept()
		if err != nil {
			return
		}
		g.running.Go(func() { g.pass(conn) })
	}
}

func (g *gate) pass(conn net.Conn) {
	defer conn.Close()
	server, err := (&net.Dialer{}).Dial("tcp", g.target)
	if err != nil {
		return
	}
	defer server.Close()
	if !g.enter(conn) {
		return
	}
	g.running.Go(func() {
		_, _ = io.Copy(server, conn)
		server.Close()
	})
	_, _ = io.Copy(conn, server)
}

func (g *gate) enter(conn net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		select {
		case g.tried <- struct{}{}:
		default:
		}
		return false
	}
	g.conns[conn] = true
	return true
}

// set shuts the gate, with whoever is in it, or opens it.
func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	if shut {
		for conn := range g.conns {
			conn.Close()
		}
		clear(g.conns)
	}
}

func TestTheLastTableOutlivesTheAPIServer(t *testing.T) {
	c := testenv.Client(t)
	g, config := newGate(t)
	w := startAt(t, config)
	stays, kept := applied(t, c, w)
	pod := bridgePod(stays)
	testenv.ExpectApplied(t, c, pod)
	setReady(t, c, pod, corev1.ConditionTrue)
	goes, _ := applied(t, c, w)
	await(t, w, "the ready pod", isRouted(stays.User(), route.Ready, "10.1.2.3"))
	routes := w.Current().Len()

	g.set(true)
	for range 3 { // Both informers have come back at least once, to no avail.
		<-g.tried
	}
	must.Succeed(t, c.Delete(t.Context(), goes))
	table := w.Current()
	if b, _ := table.Lookup(kept.User); b.State != route.Ready || table.Len() != routes {
		t.Errorf("%d routes of %d are left, the bridge's is %+v", table.Len(), routes, b)
	}

	// What happened meanwhile is made up for, and nothing else is lost on the way.
	g.set(false)
	await(t, w, "the bridge that was deleted meanwhile", func(table *route.Table) bool {
		if b, _ := table.Lookup(kept.User); b.State != route.Ready {
			t.Fatalf("the bridge that stays was lost on the way: %+v", b)
		}
		_, ok := table.Lookup(goes.User())
		return !ok
	})
}

func TestNoUpdateIsLostInAStorm(t *testing.T) {
	c := testenv.Client(t)
	w := start(t)
	var namespaces []string
	for range 4 {
		namespaces = append(namespaces, testenv.Namespace(t, c))
	}
	var storm sync.WaitGroup
	for _, namespace := range namespaces {
		storm.Go(func() {
			for i := range 25 {
				if err := churn(t.Context(), c, namespace, i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	storm.Wait()
	for _, namespace := range namespaces {
		want := routesOf(t, c, namespace)
		var got map[v1alpha1.UserID]route.Backend
		await(t, w, "the end of the storm in "+namespace, func(table *route.Table) bool {
			got = map[v1alpha1.UserID]route.Backend{}
			for b := range table.Backends {
				if b.Namespace == namespace {
					got[b.User] = b
				}
			}
			return cmp.Equal(got, want)
		})
	}
}

// churn makes bridge i with its pod and then, by its number, leaves it ready,
// or lets it be unready, suspended or deleted.
func churn(ctx context.Context, c client.Client, namespace string, i int) error {
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%d", namespace, i)}}
	if err := c.Create(ctx, b); err != nil {
		return err
	}
	pod := bridgePod(b)
	pod.Name = b.Name
	if err := c.Create(ctx, pod); err != nil {
		return err
	}
	pod.Status.PodIP, pod.Status.PodIPs = "10.1.2.3", []corev1.PodIP{{IP: "10.1.2.3"}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if err := c.Status().Update(ctx, pod); err != nil {
		return err
	}
	switch i % 4 {
	case 0:
		return c.Delete(ctx, b)
	case 1:
		b.Spec.DesiredState = v1alpha1.StateSuspended
		return c.Update(ctx, b)
	case 2:
		pod.Status.Conditions[0].Status = corev1.ConditionFalse
		return c.Status().Update(ctx, pod)
	}
	return nil
}

// routesOf returns what the API server's objects amount to.
func routesOf(t *testing.T, c client.Client, namespace string) map[v1alpha1.UserID]route.Backend {
	t.Helper()
	var bridges v1alpha1.HostedBridgeList
	var pods corev1.PodList
	for _, list := range []client.ObjectList{&bridges, &pods} {
		must.Succeed(t, c.List(t.Context(), list, client.InNamespace(namespace)))
	}
	index := route.NewIndex()
	for i := range bridges.Items {
		index.SetBridge(&bridges.Items[i])
	}
	for i := range pods.Items {
		index.SetPod(&pods.Items[i])
	}
	routes := map[v1alpha1.UserID]route.Backend{}
	for b := range index.Snapshot().Backends {
		routes[b.User] = b
	}
	if len(routes) != 18 { // 25 bridges, of which 7 were deleted.
		t.Fatalf("%d bridges are left of the storm", len(routes))
	}
	return routes
}
