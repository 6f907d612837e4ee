// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/pki/pkitest"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// installation is a process of ours with a keybroker and an API server.
type installation struct {
	t         *testing.T
	client    client.Client
	namespace string
	authority *pki.Authority
	options   options
	log       *logtest.Log
	public    string
	probes    string
	end       func()
	broker    *httptest.Server
	secrets   *secretsSeen
}

// start runs the ingress the way main does, with bridges on bridgePort.
func start(t *testing.T, bridgePort int) *installation {
	t.Helper()
	return startAt(t, testenv.Client(t), testenv.Kubeconfig(t), bridgePort)
}

// startAt is start with another API server and more flags.
func startAt(t *testing.T, c client.Client, kubeconfig string, bridgePort int, flags ...string) *installation {
	t.Helper()
	authority, err := pki.NewAuthority([32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	i := &installation{t: t, client: c, authority: authority, secrets: &secretsSeen{}}
	i.namespace = testenv.Namespace(t, i.client)
	testenv.ExpectApplied(t, i.client, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: "hosted-bridge-sessions"}})
	token := filepath.Join(t.TempDir(), "token")
	must.Succeed(t, os.WriteFile(token, []byte("token"), 0o600))
	i.options, err = parseOptions(append([]string{
		"--listen=127.0.0.1:0", "--probe-listen=127.0.0.1:0", "--namespace=" + i.namespace, "--drain-delay=0s",
		"--kubeconfig=" + kubeconfig, "--keybroker-url=" + i.keybroker(), "--token-file=" + token,
	}, flags...), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	i.options.BridgePort = bridgePort
	t.Cleanup(func() { i.end() })
	i.launch()
	return i
}

// launch starts the process, and end ends it, so that it can be launched again.
func (i *installation) launch() {
	i.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended, log := make(chan error, 1), &logtest.Log{}
	i.log, i.public = log, ""
	go func() { ended <- run(ctx, i.options, io.Discard, log) }()
	i.end = func() {
		i.t.Helper()
		i.end = func() {}
		stop()
		if err := <-ended; err != nil {
			i.t.Errorf("run: %v", err)
		}
	}
	i.await("the addresses", i.findAddresses)
}

// findAddresses reads from the log where the process listens.
func (i *installation) findAddresses() bool {
	for line := range strings.Lines(i.log.String()) {
		var record struct{ Msg, Public, Probes string }
		if json.Unmarshal([]byte(line), &record) == nil && record.Msg == "serving" {
			i.public, i.probes = record.Public, record.Probes
		}
	}
	return i.public != ""
}

func (i *installation) await(what string, condition func() bool) {
	i.t.Helper()
	wait.NoError(i.t, wait.Limit, what, func(context.Context) error {
		if !condition() {
			return errors.New("log:\n" + i.log.String())
		}
		return nil
	})
}

func (i *installation) ready() bool {
	r := must.Value(http.NewRequestWithContext(i.t.Context(), http.MethodGet, "http://"+i.probes+"/readyz", nil))(i.t)
	res, err := http.DefaultClient.Do(r) //nolint:forbidigo // A test's client.
	if err != nil {
		i.t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// call returns the status and body of a request with key.
func (i *installation) call(method, path, key string) (int, string) {
	i.t.Helper()
	body := ""
	if method == http.MethodPost {
		body = `{"jsonrpc":"2.0","id":1,"method":"prompts/get"}` // It counts.
	}
	return i.send(method, path, key, body)
}

// send is call with a body.
func (i *installation) send(method, path, key, body string) (int, string) {
	i.t.Helper()
	r := must.Value(http.NewRequestWithContext(i.t.Context(), method, "http://"+i.public+path, strings.NewReader(body)))(i.t)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r) //nolint:forbidigo // A test's client.
	if err != nil {
		i.t.Fatal(err)
	}
	defer res.Body.Close()
	answer := must.Value(io.ReadAll(res.Body))(i.t)
	return res.StatusCode, string(answer)
}

// keybroker starts one that certifies whoever asks as the ingress, or as the store
// by a token of that name, and notes what else it is asked.
func (i *installation) keybroker() string {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/certificates" {
			i.serveKeybroker(w, r)
			return
		}
		csr, _ := io.ReadAll(r.Body)
		subject := pki.IngressSubject()
		if r.Header.Get("Authorization") == "Bearer "+storeToken {
			subject = pki.StoreSubject()
		}
		chain, err := i.authority.Issue(rand.Reader, csr, subject, time.Now())
		if err != nil {
			i.t.Error(err)
		}
		_, _ = w.Write(chain)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pkitest.Certificate(i.t, i.authority, pki.ServiceSubject("localhost"))}, ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	i.t.Cleanup(server.Close)
	i.broker = server
	return strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
}

// serveKeybroker answers what is asked beside certificates.
func (i *installation) serveKeybroker(w http.ResponseWriter, r *http.Request) {
	keys := oauth.NewSigningKeys(i.authority, 1)
	switch r.URL.Path {
	case "/v1/login/keys":
		set, err := keys.Public(time.Now())
		if err != nil {
			i.t.Error(err)
		}
		_ = json.NewEncoder(w).Encode(set)
	case "/v1/login/sign":
		claims, _ := io.ReadAll(r.Body)
		token, err := keys.Sign(claims, time.Now())
		if err != nil {
			i.t.Error(err)
		}
		_, _ = io.WriteString(w, token)
	default:
		i.secrets.serveKeybroker(w, r)
	}
}

// publishCA does what the keybroker does at its start.
func (i *installation) publishCA() {
	testenv.ExpectApplied(i.t, i.client, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: "hosted-bridge-ca"},
		Data:       map[string]string{"ca.crt": string(i.authority.CertificatePEM())},
	})
}

// serveBridge is the process in b's pod.
func (i *installation) serveBridge(l net.Listener, b *v1alpha1.HostedBridge) {
	i.serveBridgeBy(l, b, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/health":
			_, _ = io.WriteString(w, `{"status":"healthy","tools":3,"servers":{"one":{"status":"healthy","tools":3}},"secretsRevision":"`+i.secrets.held()+`"}`)
			return
		case "/secrets/refresh":
			i.secrets.refresh(r.Method)
			w.WriteHeader(http.StatusAccepted)
			return
		}
		_, _ = io.WriteString(w, r.Method+" "+r.URL.Path)
	})
}

// serveBridgeBy is serveBridge with another bridge.
func (i *installation) serveBridgeBy(l net.Listener, b *v1alpha1.HostedBridge, handler http.HandlerFunc) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(i.authority.CertificatePEM())
	server := &http.Server{ReadHeaderTimeout: wait.Limit, Handler: handler}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(tls.NewListener(l, &tls.Config{
			MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAnyClientCert,
			Certificates:     []tls.Certificate{pkitest.Certificate(i.t, i.authority, pki.BridgeSubject(string(b.UID)))},
			VerifyConnection: pki.VerifyPeer(roots, pki.IngressURI(), x509.ExtKeyUsageClientAuth, time.Now),
		}))
	}()
	i.t.Cleanup(func() { _ = server.Close(); <-done })
}

func (i *installation) addPod(b *v1alpha1.HostedBridge, ip string) {
	i.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: b.Namespace, Name: b.Name,
			Labels:      map[string]string{v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelComponent: v1alpha1.ComponentBridge},
			Annotations: map[string]string{v1alpha1.AnnotationBridgeUID: string(b.UID)},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "bridge", Image: "bridge"}}},
	}
	testenv.ExpectApplied(i.t, i.client, pod)
	pod.Status.PodIP, pod.Status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	must.Succeed(i.t, i.client.Status().Update(i.t.Context(), pod))
}

func TestFromAnEmptyInstallationToACall(t *testing.T) {
	t.Parallel()
	l := must.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	i := start(t, l.Addr().(*net.TCPAddr).Port)
	if i.ready() {
		t.Error("ready without a certificate")
	}
	i.publishCA()
	i.await("readiness", i.ready)

	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: i.namespace}}
	testenv.ExpectApplied(t, i.client, b)
	user := string(b.User())
	key := applyKey(t, i.client, keys.Command{User: user, Name: b.Name, Namespace: b.Namespace, Output: "text"}).Key
	i.await("the key", func() bool { status, _ := i.call("GET", "/u/"+user+"/health", key); return status == 200 })
	if _, body := i.call("GET", "/u/"+user+"/health", key); body != `{"status":"starting","tools":0,"servers":{}}` {
		t.Errorf("health without a pod = %s", body)
	}

	// The call is held until the pod is there.
	go func() {
		i.serveBridge(l, b)
		i.addPod(b, "127.0.0.1")
	}()
	if status, body := i.call("POST", "/u/"+user+"/mcp", key); status != 200 || body != "POST /u/"+user+"/mcp" {
		t.Errorf("call = %d %s", status, body)
	}
	i.await("health", func() bool {
		_, body := i.call("GET", "/u/"+user+"/health", key)
		return strings.HasPrefix(body, `{"status":"healthy","tools":3`)
	})
	i.await("the status", func() bool {
		testenv.ExpectExists(t, i.client, b)
		return b.Status.Servers == "1/1" && b.Status.Tools != nil && *b.Status.Tools == 3 && b.Status.LastActivityTime != nil
	})

	must.Succeed(t, i.client.Delete(t.Context(), b))
	deleted := time.Now()
	i.await("the route's end", func() bool { status, _ := i.call("POST", "/u/"+user+"/mcp", key); return status == 401 })
	if elapsed := time.Since(deleted); elapsed > 10*time.Second {
		t.Errorf("the route ended after %s, want a second, or 10s on a busy machine", elapsed)
	}
	if strings.Contains(i.log.String(), key[len(key)-20:]) {
		t.Error("the log contains the key")
	}
}
