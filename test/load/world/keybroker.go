// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package world

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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/internal/keybroker"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/pki/pkitest"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// Account is by which the keybroker knows the ingress.
const Account = "hosted-bridge-ingress"

// idle is how many connections a front keeps to the keybroker, so that none who
// measures waits for one.
const idle = 1024

// Ring makes a folder with new keys, and returns the authority by them.
func Ring(t testing.TB, dir string) *pki.Authority {
	t.Helper()
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // It never fails.
	must.Succeed(t, os.Mkdir(dir, 0o700))
	for _, name := range []string{"authority", "1"} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(base64.StdEncoding.EncodeToString(secret[:])), 0o600))
	}
	return must.Value(pki.NewAuthority(secret))(t)
}

// Front is where the ingress finds the keybroker at an address. That one proves by
// its certificate to be the Service in the installation's namespace, and here no
// name of that kind leads anywhere; so there is one more server, by the name of
// localhost. To the keybroker it is the ingress, where that has shown to it that it
// is.
func Front(t testing.TB, authority *pki.Authority, namespace, address string) string {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.CertificatePEM())
	to := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: "hosted-bridge-keybroker." + namespace + ".svc"}
	known := to.Clone()
	known.Certificates = []tls.Certificate{pkitest.Certificate(t, authority, pki.IngressSubject())}
	as := &asWhoAsks{unknown: &http.Transport{TLSClientConfig: to}, known: &http.Transport{TLSClientConfig: known, MaxIdleConnsPerHost: idle}}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "https", Host: address})
	proxy.Transport = as
	proxy.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	l := must.Value((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	server := &http.Server{
		Handler: proxy, ReadHeaderTimeout: 10 * time.Second, ErrorLog: proxy.ErrorLog,
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pkitest.Certificate(t, authority, pki.ServiceSubject("localhost"))},
			ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: roots,
		},
	}
	t.Cleanup(func() {
		as.unknown.CloseIdleConnections()
		as.known.CloseIdleConnections()
	})
	Serve(t, server, l) // It ends before the connections that it uses are closed.
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return "https://localhost:" + port
}

// Serve runs a server with TLS until the test ends.
func Serve(t testing.TB, server *http.Server, l net.Listener) {
	t.Helper()
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.ServeTLS(l, "", "") }()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
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

// IngressToken returns the ingress's token as the kubelet projects it into a pod, of
// the ServiceAccount Account in the namespace, which has to be there.
func IngressToken(t testing.TB, c client.Client, namespace string) string {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "ingress"},
		Spec:       corev1.PodSpec{ServiceAccountName: Account, Containers: []corev1.Container{{Name: "ingress", Image: "ingress"}}},
	}
	testenv.ExpectApplied(t, c, pod)
	return TokenOf(t, c, pod)
}

// TokenOf returns a pod's token for the keybroker.
func TokenOf(t testing.TB, c client.Client, pod *corev1.Pod) string {
	t.Helper()
	own := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Spec.ServiceAccountName}}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences:      []string{keybroker.Audience},
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}
	must.Succeed(t, c.SubResource("token").Create(t.Context(), own, request))
	return request.Status.Token
}
