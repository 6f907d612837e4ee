// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load || testenv

package load

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/pki/pkitest"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

const (
	// ingressAccount is by which the keybroker knows the ingress.
	ingressAccount = "hosted-bridge-ingress"
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
	programs   programs
	namespace  string
	kubeconfig string
	dir        string
	authority  *pki.Authority
	roots      *x509.CertPool
	// keybroker is its URL.
	keybroker string
	// bridgePort is where all bridges listen, each on an address of its own.
	bridgePort int
	hosts      *hosts
}

// install starts a keybroker, whose master key the test has too.
func install(t *testing.T, addresses int) *installation {
	t.Helper()
	i := &installation{
		t: t, client: testenv.Client(t), kubeconfig: testenv.Kubeconfig(t), dir: t.TempDir(), roots: x509.NewCertPool(),
	}
	var err error
	if i.programs, err = build(); err != nil {
		t.Fatal(err)
	}
	i.namespace = testenv.Namespace(t, i.client)
	t.Cleanup(i.forget)
	i.hosts = newHosts(addresses)
	i.bridgePort = unusedPort(t, i.hosts.all...)
	i.write("tiers.yaml", tiers)
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // It never fails.
	ring := filepath.Join(i.dir, "ring")
	if err := os.Mkdir(ring, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"authority", "1"} {
		i.write("ring/"+name, base64.StdEncoding.EncodeToString(secret[:]))
	}
	if i.authority, err = pki.NewAuthority(secret); err != nil {
		t.Fatal(err)
	}
	i.roots.AppendCertsFromPEM(i.authority.CertificatePEM())
	i.startKeybroker(ring)
	testenv.ExpectApplied(t, i.client, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: ingressAccount}})
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
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		i.t.Fatal(err)
	}
	return path
}

// startKeybroker starts one and waits until it has published its certificate.
func (i *installation) startKeybroker(ring string) {
	i.t.Helper()
	address, probes := unusedAddress(i.t), unusedAddress(i.t)
	launch(i.t, "keybroker", exec.Command(i.programs.keybroker,
		"--kubeconfig="+i.kubeconfig, "--namespace="+i.namespace, "--master-key-dir="+ring,
		"--tiers-file="+filepath.Join(i.dir, "tiers.yaml"), "--listen="+address, "--probe-listen="+probes, "--drain-delay=0s"))
	i.keybroker = i.front(address)
	testenv.Eventually(i.t, "the keybroker is ready", func() bool { return answers("http://" + probes + "/readyz") })
}

// front is where processes find the keybroker. It proves by its certificate to
// be the Service in the installation's namespace, and here no name of that kind
// leads anywhere; so there is one more server, by the name of localhost.
func (i *installation) front(keybroker string) string {
	i.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		i.t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "https", Host: keybroker})
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: i.roots, ServerName: "hosted-bridge-keybroker." + i.namespace + ".svc",
	}}
	proxy.Transport = transport
	proxy.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	server := &http.Server{
		Handler: proxy, ReadHeaderTimeout: patience, ErrorLog: proxy.ErrorLog,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pkitest.Certificate(i.t, i.authority, pki.ServiceSubject("localhost"))}},
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.ServeTLS(l, "", "") }()
	i.t.Cleanup(func() { _ = server.Close(); <-ended; transport.CloseIdleConnections() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return "https://localhost:" + port
}

// tokenFile writes a token as the kubelet projects it into a pod.
func (i *installation) tokenFile(pod *corev1.Pod) string {
	i.t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences:      []string{keybroker.Audience},
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Spec.ServiceAccountName}}
	if err := i.client.SubResource("token").Create(i.t.Context(), account, request); err != nil {
		i.t.Fatal(err)
	}
	return i.write("token-"+pod.Name, request.Status.Token)
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
