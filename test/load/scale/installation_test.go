// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package scale

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/hostedbridge/hostedbridge/internal/keybroker"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/pki/pkitest"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// installation is all of this project's processes on a control plane, with the
// rights that they are shipped with.
type installation struct {
	plane              *plane
	bin, token, broker string
	operators          []*program
	keybroker, ingress *program
	// address is the ingress's.
	address string
}

func (p *plane) install(t *testing.T) *installation {
	t.Helper()
	n := &installation{plane: p, bin: p.dir, token: p.path("token")}
	if _, err := envtest.InstallCRDs(p.config, envtest.CRDInstallOptions{Paths: []string{"../../../config/crd/bases"}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"operator", "keybroker", "ingress"} {
		build(t, n.bin, name)
		testenv.ExpectInstalled(t, p.client, "../../../config/rbac/"+name+".yaml", installationNamespace)
	}
	n.publish(t)
	n.startKeybroker(t)
	n.giveToken(t)
	n.operators = []*program{n.startOperator(t), n.startOperator(t)}
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
		if err := n.plane.client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// run starts one of the programs as its ServiceAccount.
func (n *installation) run(t *testing.T, name, metrics string, flags ...string) *program {
	t.Helper()
	kubeconfig := n.plane.kubeconfig(t, userOf("hosted-bridge-"+name))
	if name != "operator" {
		flags = append(flags, "--kubeconfig="+kubeconfig)
	}
	cmd := exec.Command(filepath.Join(n.bin, name), append(flags, "--namespace="+installationNamespace)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "GODEBUG=gctrace=1") // For memory.
	if name == "ingress" {
		cmd.Env = append(cmd.Env, "GOGC=400", "GOMEMLIMIT=384MiB") // As config/ingress sets them.
	}
	p := start(t, n.plane.dir, name, cmd)
	p.metrics = "http://" + metrics + "/metrics"
	return p
}

func (n *installation) startOperator(t *testing.T) *program {
	t.Helper()
	probes, metrics := freeAddr(t), freeAddr(t)
	p := n.run(t, "operator", metrics, "--leader-elect", "--probe-listen="+probes, "--metrics-listen="+metrics)
	p.awaitOK(t, "http://"+probes+"/readyz")
	return p
}

func (n *installation) startKeybroker(t *testing.T) {
	t.Helper()
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // It never fails.
	ring := n.plane.path("ring")
	if err := os.Mkdir(ring, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"authority", "1"} {
		if err := os.WriteFile(filepath.Join(ring, name), []byte(base64.StdEncoding.EncodeToString(secret[:])), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	authority, err := pki.NewAuthority(secret)
	if err != nil {
		t.Fatal(err)
	}
	address, probes := freeAddr(t), freeAddr(t)
	n.keybroker = n.run(t, "keybroker", probes, "--master-key-dir="+ring, "--listen="+address, "--probe-listen="+probes, "--drain-delay=0s")
	n.keybroker.awaitOK(t, "http://"+probes+"/healthz")
	n.broker = front(t, authority, address)
}

// front is where the ingress finds the keybroker. It proves by its certificate to
// be the Service in the installation's namespace, and here no name of that kind
// leads anywhere; so there is one more server, by the name of localhost.
func front(t *testing.T, authority *pki.Authority, keybroker string) string {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.CertificatePEM())
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: "hosted-bridge-keybroker." + installationNamespace + ".svc",
	}}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "https", Host: keybroker})
	proxy.Transport = transport
	proxy.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler: proxy, ReadHeaderTimeout: 10 * time.Second, ErrorLog: proxy.ErrorLog,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pkitest.Certificate(t, authority, pki.ServiceSubject("localhost"))}},
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.ServeTLS(l, "", "") }()
	t.Cleanup(func() { _ = server.Close(); <-ended; transport.CloseIdleConnections() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return "https://localhost:" + port
}

// giveToken writes the ingress's token as the kubelet projects it into a pod.
func (n *installation) giveToken(t *testing.T) {
	t.Helper()
	own := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: installationNamespace, Name: "hosted-bridge-ingress"}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: installationNamespace, Name: "ingress"},
		Spec:       corev1.PodSpec{ServiceAccountName: own.Name, Containers: []corev1.Container{{Name: "ingress", Image: "ingress"}}},
	}
	if err := n.plane.client.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences:      []string{keybroker.Audience},
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}
	if err := n.plane.client.SubResource("token").Create(t.Context(), own, request); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(n.token, []byte(request.Status.Token), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (n *installation) startIngress(t *testing.T) {
	t.Helper()
	address, probes := freeAddr(t), freeAddr(t)
	n.ingress = n.run(t, "ingress", probes, "--listen="+address, "--probe-listen="+probes, "--keybroker-url="+n.broker, "--token-file="+n.token,
		"--audit-file="+n.plane.path("audit.log"), "--catalog-seed=none", "--drain-delay=0s")
	n.address = address
	n.ingress.awaitOK(t, "http://"+probes+"/readyz")
}

// leader returns the operator that leads, and its place.
func (n *installation) leader(t *testing.T) (leads int) {
	t.Helper()
	testenv.EventuallyWithin(t, startLimit, "an operator leads", func() bool {
		for i, p := range n.operators {
			if p.isOver() {
				continue
			}
			said, err := get(p.metrics)
			if err == nil && strings.Contains(string(said), `leader_election_master_status{name="hosted-bridge-operator"} 1`) {
				leads = i
				return true
			}
		}
		return false
	})
	return leads
}
