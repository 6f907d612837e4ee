// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package login

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
	"path/filepath"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/internal/keybroker"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/pki/pkitest"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// account is by which the keybroker knows the ingress.
const account = "hosted-bridge-ingress"

// startKeybroker starts what signs access tokens, and gives the ingress what it
// proves itself by there.
func (w *world) startKeybroker(t *testing.T) *program {
	t.Helper()
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // It never fails.
	ring := filepath.Join(w.dir, "ring")
	if err := os.Mkdir(ring, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"authority", "1"} {
		w.secret(t, filepath.Join("ring", name), base64.StdEncoding.EncodeToString(secret[:]))
	}
	authority, err := pki.NewAuthority(secret)
	if err != nil {
		t.Fatal(err)
	}
	address := freeAddr(t)
	broker := w.start(t, "keybroker", "--kubeconfig="+w.kubeconfig, "--namespace="+w.namespace, "--master-key-dir="+ring,
		"--listen="+address, "--probe-listen="+freeAddr(t), "--drain-delay=0s")
	broker.awaitListener(t, address)
	w.keybroker = w.front(t, authority, address)
	w.giveToken(t)
	return broker
}

// front is where the ingress finds the keybroker. It proves by its certificate to
// be the Service in the installation's namespace, and here no name of that kind
// leads anywhere; so there is one more server, by the name of localhost. To the
// keybroker it is the ingress, where that has shown to it that it is.
func (w *world) front(t *testing.T, authority *pki.Authority, keybroker string) string {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.CertificatePEM())
	to := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: "hosted-bridge-keybroker." + w.namespace + ".svc"}
	known := to.Clone()
	known.Certificates = []tls.Certificate{pkitest.Certificate(t, authority, pki.IngressSubject())}
	as := &asWhoAsks{unknown: &http.Transport{TLSClientConfig: to}, known: &http.Transport{TLSClientConfig: known, MaxIdleConnsPerHost: atOnce}}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "https", Host: keybroker})
	proxy.Transport = as
	proxy.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler: proxy, ReadHeaderTimeout: 10 * time.Second, ErrorLog: proxy.ErrorLog,
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pkitest.Certificate(t, authority, pki.ServiceSubject("localhost"))},
			ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: roots,
		},
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.ServeTLS(l, "", "") }()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
		as.unknown.CloseIdleConnections()
		as.known.CloseIdleConnections()
	})
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return "https://localhost:" + port
}

// asWhoAsks sends a request on with a certificate where it came with one.
type asWhoAsks struct{ unknown, known *http.Transport }

// RoundTrip implements http.RoundTripper.
func (a *asWhoAsks) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return a.known.RoundTrip(r)
	}
	return a.unknown.RoundTrip(r)
}

// giveToken writes the ingress's token as the kubelet projects it into a pod.
func (w *world) giveToken(t *testing.T) {
	t.Helper()
	own := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: account}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "ingress"},
		Spec:       corev1.PodSpec{ServiceAccountName: account, Containers: []corev1.Container{{Name: "ingress", Image: "ingress"}}},
	}
	testenv.ExpectApplied(t, w.client, own, pod)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences:      []string{keybroker.Audience},
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}
	if err := w.client.SubResource("token").Create(t.Context(), own, request); err != nil {
		t.Fatal(err)
	}
	w.secret(t, "token", request.Status.Token)
}

func (w *world) token() string { return filepath.Join(w.dir, "token") }
