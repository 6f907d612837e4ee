// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load || testenv

package load

import (
	"context"
	"crypto/x509"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

const (
	// tier is that of all users: one whose quota is out of the way.
	tier = "load"
	// tiers is the file that has it.
	tiers = `tiers:
  load: {perMinute: 1000000000, perHour: 1000000000, perDay: 1000000000, burst: 1000000, auditDays: 1, concurrentCalls: 100000, streams: 100000}
`
)

// installation is everything but bridges and ingresses.
type installation struct {
	t          *testing.T
	client     client.Client
	namespace  string
	kubeconfig string
	dir        string
	authority  *pki.Authority
	roots      *x509.CertPool
	// keybroker is its URL, and keybrokerProcess the program behind that.
	keybroker        string
	keybrokerProcess *world.Process
	hosts            *hosts
}

// install starts a keybroker, whose master key the test has too.
func install(t *testing.T, addresses int) *installation {
	t.Helper()
	i := &installation{
		t: t, client: testenv.Client(t), kubeconfig: testenv.Kubeconfig(t), dir: t.TempDir(), roots: x509.NewCertPool(),
	}
	must.Succeed(t, build())
	i.namespace = testenv.Namespace(t, i.client)
	t.Cleanup(i.forget)
	i.hosts = newHosts(addresses)
	i.write("tiers.yaml", tiers)
	ring := filepath.Join(i.dir, "ring")
	i.authority = world.Ring(t, ring)
	i.roots.AppendCertsFromPEM(i.authority.CertificatePEM())
	i.startKeybroker(ring)
	testenv.ExpectApplied(t, i.client, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: world.Account}})
	return i
}

// forget takes away what the ingresses of the next test would ask after.
func (i *installation) forget() {
	for _, kind := range []client.Object{&v1alpha1.HostedBridge{}, &corev1.Pod{}} {
		if err := i.client.DeleteAllOf(context.WithoutCancel(i.t.Context()), kind, client.InNamespace(i.namespace), client.GracePeriodSeconds(0)); err != nil {
			i.t.Error(err)
		}
	}
}

// write writes a file of the installation and returns its path.
func (i *installation) write(name, content string) string {
	i.t.Helper()
	path := filepath.Join(i.dir, name)
	must.Succeed(i.t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// startKeybroker starts one and waits until it has published its certificate.
func (i *installation) startKeybroker(ring string) {
	i.t.Helper()
	address, probes := world.UnusedAddress(i.t), world.UnusedAddress(i.t)
	i.keybrokerProcess = i.launch(i.t, "keybroker", exec.Command(filepath.Join(programDir, "keybroker"),
		"--kubeconfig="+i.kubeconfig, "--namespace="+i.namespace, "--master-key-dir="+ring,
		"--tiers-file="+filepath.Join(i.dir, "tiers.yaml"), "--listen="+address, "--probe-listen="+probes))
	i.keybroker = world.Front(i.t, i.authority, i.namespace, address)
	i.keybrokerProcess.AwaitOK(i.t, "http://"+probes+"/readyz")
}

// hosts are addresses of the loopback that bridges listen on, as pods have
// addresses of their own.
type hosts struct {
	all  []string
	free chan string
}

func newHosts(n int) *hosts {
	h := &hosts{free: make(chan string, n)}
	for i := range n {
		// Not 127.0.0.1, where connections begin.
		host := fmt.Sprintf("127.7.%d.%d", i/200, 1+i%200)
		h.all = append(h.all, host)
		h.free <- host
	}
	return h
}

func (h *hosts) take() string { return <-h.free }
