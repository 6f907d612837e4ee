// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load || testenv

package load

import (
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/load/world"
)

const (
	// drainDelay is longer than endpoints lag, as it is where they do by
	// seconds.
	drainDelay = time.Second
	// drainTimeout is how long calls in flight then have.
	drainTimeout = 10 * time.Second
	// lag is how long the Service goes on leading to a replica that has ended
	// or is not ready.
	lag = 300 * time.Millisecond
	// trailSize is when the next file of an audit trail is begun, in bytes: the
	// least that there may be, so that there are some.
	trailSize = 1 << 20
)

// replica is one ingress, and the connections that clients keep to it.
type replica struct {
	*world.Process
	home           int
	Public, Probes string
	// clients speak HTTP/1.1 and HTTP/2, as load balancers do, one pool for
	// all users.
	clients [2]*http.Client
}

// ingresses are the replicas of the ingress and the Service in front of them.
type ingresses struct {
	installation *installation
	token        string
	// redis is the URL of where quotas are counted, empty for each replica by
	// itself.
	redis string
	// flags are set after all others.
	flags []string

	mu        sync.Mutex
	endpoints []*replica
	homes     int
	dead      []*replica
}

// startIngresses starts so many replicas and waits until they are ready.
func (i *installation) startIngresses(t *testing.T, n int) *ingresses {
	t.Helper()
	g := i.newIngresses(t)
	for range n {
		g.add(g.startNew(t))
	}
	return g
}

// newIngresses makes what replicas need: a pod that has their token.
func (i *installation) newIngresses(t *testing.T) *ingresses {
	t.Helper()
	return &ingresses{installation: i, token: i.write("token", world.IngressToken(t, i.client, i.namespace))}
}

// startNew is start for a replica in a pod of its own.
func (g *ingresses) startNew(t *testing.T) *replica {
	t.Helper()
	g.homes++
	return g.start(t, g.homes)
}

// start starts a replica, whose audit trail goes on from that of an earlier one
// with the same home, and waits until it is ready. Calls reach it when it is
// added.
func (g *ingresses) start(t *testing.T, home int) *replica {
	t.Helper()
	i := g.installation
	r := &replica{home: home}
	args := []string{
		"--kubeconfig=" + i.kubeconfig, "--namespace=" + i.namespace, "--keybroker-url=" + i.keybroker, "--token-file=" + g.token,
		"--listen=127.0.0.1:0", "--probe-listen=127.0.0.1:0",
		"--drain-delay=" + drainDelay.String(), "--drain-timeout=" + drainTimeout.String(),
		"--tiers-file=" + filepath.Join(i.dir, "tiers.yaml"), fmt.Sprintf("--replicas=%d", max(1, g.homes)),
		"--audit-file=" + g.trail(home), fmt.Sprintf("--audit-max-bytes=%d", trailSize),
	}
	if g.redis != "" {
		args = append(args, "--quota-redis-url="+g.redis)
	}
	cmd := exec.Command(filepath.Join(programDir, "ingress"), append(args, g.flags...)...)
	cmd.Env = append(os.Environ(), "GOGC=400", "GOMEMLIMIT=384MiB") // As config/ingress sets them.
	r.Process = i.launch(t, fmt.Sprintf("ingress %d", home), cmd)
	r.AwaitSaid(t, "serving", r)
	for n := range r.clients {
		protocols := new(http.Protocols)
		protocols.SetHTTP1(n == 0)
		protocols.SetUnencryptedHTTP2(n == 1)
		transport := &http.Transport{Protocols: protocols, DisableCompression: true, MaxIdleConnsPerHost: 256}
		r.clients[n] = &http.Client{Transport: transport}
		t.Cleanup(transport.CloseIdleConnections)
	}
	r.AwaitOK(t, "http://"+r.Probes+"/readyz")
	return r
}

// trail is where the replicas of a home write their audit trail, before full
// files that are beside it.
func (g *ingresses) trail(home int) string {
	return filepath.Join(g.installation.dir, fmt.Sprintf("audit-%d.jsonl", home))
}

// add lets the Service lead to the replica.
func (g *ingresses) add(r *replica) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.endpoints = append(g.endpoints, r)
}

// remove ends that.
func (g *ingresses) remove(r *replica) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.endpoints = slices.DeleteFunc(g.endpoints, func(e *replica) bool { return e == r })
	g.dead = append(g.dead, r)
}

// pick returns one of the replicas that the Service leads to.
func (g *ingresses) pick() *replica {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.endpoints[mathrand.IntN(len(g.endpoints))]
}

// expectAlive fails when a replica ended that nobody told to.
func (g *ingresses) expectAlive(t *testing.T) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range append(slices.Clone(g.endpoints), g.dead...) {
		if r.Crashed() {
			t.Errorf("%s ended by itself: %v", r.Name, r.Wait())
		}
	}
}
