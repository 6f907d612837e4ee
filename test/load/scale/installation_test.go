// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package scale

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// installation is all of this project's processes on a control plane, with the
// rights that they are shipped with.
type installation struct {
	plane              *plane
	bin, token, broker string
	operators          []*world.Process
	keybroker, ingress *world.Process
	// address is the ingress's, and authority makes the certificates of bridges.
	address   string
	authority *pki.Authority
}

func (p *plane) install(t *testing.T) *installation {
	t.Helper()
	n := &installation{plane: p, bin: p.dir, token: p.path("token")}
	must.Value(envtest.InstallCRDs(p.config, envtest.CRDInstallOptions{Paths: []string{"../../../config/crd/bases"}}))(t)
	programs := []string{"operator", "keybroker", "ingress"}
	must.Succeed(t, world.Build(t.Context(), n.bin, programs...))
	for _, name := range programs {
		testenv.ExpectInstalled(t, p.client, "../../../config/rbac/"+name+".yaml", installationNamespace)
	}
	n.publish(t)
	n.startKeybroker(t)
	n.giveToken(t)
	n.operators = []*world.Process{n.startOperator(t), n.startOperator(t)}
	n.startIngress(t)
	return n
}

// publish makes what the keybroker's manifest has beside its Deployment. Its
// endpoint is an address that nobody here dials.
func (n *installation) publish(t *testing.T) {
	t.Helper()
	for _, o := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: installationNamespace, Name: "hosted-bridge-ca"}},
		&discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: installationNamespace, Name: "hosted-bridge-keybroker-1",
				Labels: map[string]string{discoveryv1.LabelServiceName: "hosted-bridge-keybroker"},
			},
			AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}},
		},
	} {
		must.Succeed(t, n.plane.client.Create(t.Context(), o))
	}
}

// run starts one of the programs as its ServiceAccount.
func (n *installation) run(t *testing.T, name, metrics string, flags ...string) *world.Process {
	t.Helper()
	kubeconfig := n.plane.kubeconfig(t, userOf("hosted-bridge-"+name))
	if name != "operator" {
		flags = append(flags, "--kubeconfig="+kubeconfig)
	}
	cmd := exec.Command(filepath.Join(n.bin, name), append(flags, "--namespace="+installationNamespace)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "GODEBUG=gctrace=1") // For memory.
	switch name {
	case "operator":
		cmd.Env = append(cmd.Env, "GOMEMLIMIT=256MiB") // Its own limit at its start, in a container of config/operator.
	case "ingress":
		cmd.Env = append(cmd.Env, "GOGC=400", "GOMEMLIMIT=384MiB") // As config/ingress sets them.
	}
	p := world.Start(t, n.plane.dir, name, cmd)
	p.Metrics = "http://" + metrics + "/metrics"
	return p
}

func (n *installation) startOperator(t *testing.T) *world.Process {
	t.Helper()
	probes, metrics := world.UnusedAddress(t), world.UnusedAddress(t)
	p := n.run(t, "operator", metrics, "--probe-listen="+probes, "--metrics-listen="+metrics)
	p.AwaitOK(t, "http://"+probes+"/readyz")
	return p
}

func (n *installation) startKeybroker(t *testing.T) {
	t.Helper()
	ring := n.plane.path("ring")
	n.authority = world.Ring(t, ring)
	address, probes := world.UnusedAddress(t), world.UnusedAddress(t)
	n.keybroker = n.run(t, "keybroker", probes, "--master-key-dir="+ring, "--listen="+address, "--probe-listen="+probes)
	n.keybroker.AwaitOK(t, "http://"+probes+"/healthz")
	n.broker = world.Front(t, n.authority, installationNamespace, address)
}

// giveToken writes the ingress's token as the kubelet projects it into a pod.
func (n *installation) giveToken(t *testing.T) {
	t.Helper()
	must.Succeed(t, os.WriteFile(n.token, []byte(world.IngressToken(t, n.plane.client, installationNamespace)), 0o600))
}

func (n *installation) startIngress(t *testing.T) {
	t.Helper()
	address, probes := world.UnusedAddress(t), world.UnusedAddress(t)
	n.ingress = n.run(t, "ingress", probes, "--listen="+address, "--probe-listen="+probes, "--keybroker-url="+n.broker, "--token-file="+n.token,
		"--audit-file="+n.plane.path("audit.log"), "--catalog-seed=none", "--drain-delay=0s")
	n.address = address
	n.ingress.AwaitOK(t, "http://"+probes+"/readyz")
}

// leader returns the operator that leads, and its place.
func (n *installation) leader(t *testing.T) (leads int) {
	t.Helper()
	wait.UntilWithin(t, world.StartLimit, "an operator leads", func() bool {
		for i, p := range n.operators {
			if p.Ended() {
				continue
			}
			said, err := world.Get(p.Metrics)
			if err == nil && strings.Contains(string(said), `leader_election_master_status{name="hosted-bridge-operator"} 1`) {
				leads = i
				return true
			}
		}
		return false
	})
	return leads
}
