// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// World is a real API server with a keybroker, without nodes.
type World struct {
	Dir, Namespace string
	Client         client.Client
	Keybroker      *Process
	kubeconfig     string
	// front is where the ingress finds the keybroker.
	front string
	env   []string
}

// BridgePort is where the ingress calls bridges. In these tests each listens on an address of its own.
const BridgePort = "8443"

// New builds the keybroker and further programs, which run with the variables env,
// and starts the keybroker.
func New(t testing.TB, env []string, programs ...string) *World {
	t.Helper()
	plane := testenv.StartControlPlane(t)
	c := plane.Client()
	w := &World{Dir: Folder(t), Namespace: testenv.Namespace(t, c), Client: c, kubeconfig: plane.Kubeconfig(), env: env}
	must.Succeed(t, Build(t.Context(), w.Dir, append(programs, "keybroker")...))
	w.startKeybroker(t)
	return w
}

// startKeybroker starts what an ingress has its certificate from, without which it
// is not ready and keeps no connection, and makes what it proves itself by there.
func (w *World) startKeybroker(t testing.TB) {
	t.Helper()
	ring := filepath.Join(w.Dir, "ring")
	authority, address := Ring(t, ring), UnusedAddress(t)
	w.Keybroker = w.Start(t, "keybroker", "--kubeconfig="+w.kubeconfig, "--namespace="+w.Namespace, "--master-key-dir="+ring,
		"--listen="+address, "--probe-listen="+UnusedAddress(t))
	w.Keybroker.AwaitListener(t, address)
	w.front = Front(t, authority, w.Namespace, address)
	testenv.ExpectApplied(t, w.Client, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: Account}})
	w.File(t, "token", IngressToken(t, w.Client, w.Namespace))
}

// StartIngress starts an ingress at an address, and waits until it is ready.
func (w *World) StartIngress(t testing.TB, addr string, flags ...string) *Process {
	t.Helper()
	probes := UnusedAddress(t)
	p := w.Start(t, "ingress", append([]string{
		"--namespace=" + w.Namespace, "--kubeconfig=" + w.kubeconfig, "--listen=" + addr, "--probe-listen=" + probes,
		"--keybroker-url=" + w.front, "--token-file=" + filepath.Join(w.Dir, "token"),
		"--audit-file=" + filepath.Join(w.Dir, "audit.log"), "--drain-delay=0s",
	}, flags...)...)
	p.Addr = addr
	p.AwaitOK(t, "http://"+probes+"/readyz")
	return p
}

// Start starts one of the programs that were built.
func (w *World) Start(t testing.TB, name string, args ...string) *Process {
	t.Helper()
	cmd := exec.Command(filepath.Join(w.Dir, name), args...)
	cmd.Env = append(append(os.Environ(), "KUBECONFIG="+w.kubeconfig), w.env...)
	if name == "ingress" { // As config/ingress sets them.
		cmd.Env = append(cmd.Env, "GOGC=400", "GOMEMLIMIT=384MiB")
	}
	return Start(t, w.Dir, name, cmd)
}

// File writes a file and returns its path.
func (w *World) File(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(w.Dir, name)
	must.Succeed(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}
