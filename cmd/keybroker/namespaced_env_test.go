// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/installation"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// namespaced is a keybroker that looks after two namespaces, with an API server
// where nothing is granted for the whole cluster.
type namespaced struct {
	t      *testing.T
	client client.Client
	plane  *testenv.ControlPlane
	at     string
	roots  *x509.CertPool

	kubeconfig, ring, probes string
}

// bridge makes a HostedBridge with a secret, and what the operator and the kubelet
// make of it, and returns its pod's token.
func (n *namespaced) bridge(namespace, name string) (bridge *v1alpha1.HostedBridge, token string) {
	n.t.Helper()
	bridge = &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.HostedBridgeSpec{SecretRefs: []v1alpha1.SecretRef{{Name: "source-of-" + name, Keys: []v1alpha1.SecretRefKey{{Key: "value", As: "TOKEN"}}}}},
	}
	testenv.ExpectApplied(n.t, n.client, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "source-of-" + name},
		StringData: map[string]string{"value": adminCanary + name},
	}, bridge)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: v1alpha1.WorkloadName(name),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(bridge, v1alpha1.GroupVersion.WithKind("HostedBridge"))},
	}}
	return bridge, n.token(account)
}

// token makes a ServiceAccount and a pod, and returns the pod's token.
func (n *namespaced) token(account *corev1.ServiceAccount) string {
	n.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: testenv.OfTenant(metav1.ObjectMeta{Namespace: account.Namespace, Name: account.Name}),
		Spec:       corev1.PodSpec{ServiceAccountName: account.Name, Containers: []corev1.Container{{Name: "a", Image: "a"}}},
	}
	testenv.ExpectApplied(n.t, n.client, account, pod)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences:      []string{keybroker.Audience},
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}
	must.Succeed(n.t, n.client.SubResource("token").Create(n.t.Context(), account, request))
	return request.Status.Token
}

// secrets asks for the secrets of who presents the token.
func (n *namespaced) secrets(token string) (status int, secrets map[string][]byte) {
	n.t.Helper()
	r := must.Value(http.NewRequestWithContext(n.t.Context(), http.MethodGet, "https://"+n.at+"/v1/secrets", nil))(n.t)
	r.Header.Set("Authorization", "Bearer "+token)
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: n.roots, ServerName: "hosted-bridge-keybroker." + testenv.System + ".svc",
	}}
	response := must.Value((&http.Client{Transport: transport, Timeout: 30 * time.Second}).Do(r))(n.t)
	defer response.Body.Close()
	var answer struct{ Secrets map[string][]byte }
	must.Succeed(n.t, json.NewDecoder(response.Body).Decode(&answer))
	return response.StatusCode, answer.Secrets
}

// awaitServing waits for the certificate by which the keybroker is known.
func (n *namespaced) awaitServing() {
	n.t.Helper()
	n.roots = x509.NewCertPool()
	ca := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.System, Name: "hosted-bridge-ca"}}
	wait.Until(n.t, "the certificate is published", func() bool {
		testenv.ExpectExists(n.t, n.client, ca)
		return n.roots.AppendCertsFromPEM([]byte(ca.Data["ca.crt"]))
	})
}

func startNamespaced(t *testing.T) (n *namespaced, logs *logtest.Log, stop func()) {
	t.Helper()
	n, start := installNamespaced(t)
	logs, stop = start()
	return n, logs, stop
}

// installNamespaced makes what a keybroker needs that looks after two namespaces,
// and returns what starts it.
func installNamespaced(t *testing.T) (n *namespaced, start func() (logs *logtest.Log, stop func())) {
	t.Helper()
	p := testenv.StartControlPlane(t)
	n = &namespaced{t: t, client: p.Client(), plane: p, at: unusedAddress(t)}
	o := shipped()
	o.Listen, o.ProbeListen, o.DrainDelay = n.at, unusedAddress(t), 0
	o.Kubeconfig, o.Keys.Dir = p.InstallNamespaced("../..", "keybroker"), t.TempDir()
	n.kubeconfig, n.ring, n.probes = o.Kubeconfig, o.Keys.Dir, o.ProbeListen
	o.Namespace, o.WatchNamespaces = testenv.System, namespaces.Set{testenv.Tenants, testenv.Trials}
	testenv.ExpectApplied(t, n.client, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.System, Name: "hosted-bridge-ca"}})
	writeKey(t, o.Keys.Dir, "authority", 9)
	writeKey(t, o.Keys.Dir, "1", 1)
	return n, func() (logs *logtest.Log, stop func()) {
		logs = &logtest.Log{}
		return logs, testenv.Run(t, func(ctx context.Context) error { return run(ctx, o, logs) })
	}
}

// awaitSealed waits until the bridge's secret is sealed.
func (n *namespaced) awaitSealed(b *v1alpha1.HostedBridge) {
	n.t.Helper()
	wait.Until(n.t, "the secret of "+b.Name+" is sealed", func() bool {
		testenv.ExpectExists(n.t, n.client, b)
		return b.Status.Secrets != nil && b.Status.Secrets.Count == 1 && len(b.Status.Secrets.Failures) == 0
	})
}

// TestOtherNamespacesAreLookedAfterWhereOneIsGone starts a keybroker after a
// watched namespace was deleted, and with it the Role there.
func TestOtherNamespacesAreLookedAfterWhereOneIsGone(t *testing.T) {
	n, start := installNamespaced(t)
	giveBack := testenv.TakeRole(t, n.client, testenv.Trials, "hosted-bridge-keybroker-tenants")
	there, token := n.bridge(testenv.Tenants, "there")
	late, lateToken := n.bridge(testenv.Trials, "late")
	logs, _ := start()
	n.awaitServing()
	n.awaitSealed(there)
	if said := logs.Bytes(); !bytes.Contains(said, []byte("is left out")) || !bytes.Contains(said, []byte(`in the namespace \"trials\"`)) {
		t.Errorf("the log does not name the namespace:\n%s", said)
	}
	expect := func(b *v1alpha1.HostedBridge, token string) {
		t.Helper()
		if status, secrets := n.secrets(token); status != http.StatusOK || string(secrets["TOKEN"]) != adminCanary+b.Name {
			t.Errorf("the pod of %s is answered %d with %d secrets", b.Name, status, len(secrets))
		}
	}
	expect(there, token)
	testenv.ExpectExists(t, n.client, late)
	if late.Status.Secrets != nil {
		t.Errorf("the status of a bridge that is not to be read is %+v", late.Status)
	}
	giveBack()
	n.awaitSealed(late)
	expect(late, lateToken)
}

func TestRunInNamespacedMode(t *testing.T) {
	n, logs, stop := startNamespaced(t)
	other, stranger := n.bridge(testenv.Elsewhere, "mallory")
	for _, namespace := range []string{testenv.Tenants, testenv.Trials} {
		b, token := n.bridge(namespace, "in-"+namespace)
		n.awaitSealed(b)
		n.awaitServing()
		if status, secrets := n.secrets(token); status != http.StatusOK || string(secrets["TOKEN"]) != adminCanary+b.Name {
			t.Errorf("the pod in %s is answered %d with %d secrets", namespace, status, len(secrets))
		}
	}
	testenv.ExpectExists(t, n.client, other)
	if other.Status.Secrets != nil {
		t.Errorf("the status of a bridge elsewhere is %+v", other.Status)
	}
	if status, _ := n.secrets(stranger); status != http.StatusForbidden {
		t.Errorf("the pod of a bridge elsewhere is answered %d", status)
	}
	ingress := n.token(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.System, Name: "hosted-bridge-ingress"}})
	// Its certificate it would get; secrets of its own it has none.
	if status, _ := n.secrets(ingress); status != http.StatusForbidden {
		t.Errorf("the ingress is answered %d", status)
	}
	if status, _ := n.secrets(strings.TrimRight(ingress, "=") + "x"); status != http.StatusUnauthorized {
		t.Errorf("a token that is not the API server's is answered %d", status)
	}
	// Not the same as "no right to look": a pod that is gone is looked for.
	b, token := n.bridge(testenv.Tenants, "gone")
	if err := n.client.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Tenants, Name: v1alpha1.WorkloadName(b.Name)}}, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	if status, _ := n.secrets(token); status != http.StatusForbidden {
		t.Errorf("a pod that is gone is answered %d", status)
	}
	running := logs.Bytes()
	stop()
	for _, bad := range []string{`is forbidden`, `"level":"ERROR"`, adminCanary} {
		if bytes.Contains(running, []byte(bad)) {
			t.Errorf("the log has %s:\n%s", bad, running)
		}
	}
}

// mountRing keeps the ring's files as its Secret is, like the kubelet, until the
// context ends.
func (n *namespaced) mountRing(ctx context.Context, ended chan<- struct{}) {
	defer close(ended)
	for ctx.Err() == nil {
		secret := ringSecret()
		if err := n.client.Get(ctx, client.ObjectKeyFromObject(secret), secret); err == nil {
			for name, content := range secret.Data {
				aside := filepath.Join(filepath.Dir(n.ring), "aside-"+name)
				if err := os.WriteFile(aside, content, 0o600); err != nil {
					n.t.Error(err)
				}
				if err := os.Rename(aside, filepath.Join(n.ring, name)); err != nil {
					n.t.Error(err)
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// TestRotateInNamespacedMode runs the command with the rights of namespaced mode:
// the ring is in a namespace of which nothing else is granted on Secrets.
func TestRotateInNamespacedMode(t *testing.T) {
	n, _, _ := startNamespaced(t)
	testenv.ExpectApplied(t, n.client, ringOf(t, n.ring))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go n.mountRing(ctx, ended)
	defer func() { cancel(); <-ended }()

	address, port := must.Values(net.SplitHostPort(n.probes))(t)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.System, Name: "keybroker-a", Labels: map[string]string{
			v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelComponent: "keybroker",
		}},
		Spec: corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "a", Image: "a"}}},
	}
	testenv.ExpectApplied(t, n.client, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.System, Name: "default"}}, pod)
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address}
	must.Succeed(t, n.client.Status().Update(t.Context(), pod))
	for _, namespace := range []string{testenv.Tenants, testenv.Trials} {
		b, _ := n.bridge(namespace, "in-"+namespace)
		n.awaitSealed(b)
	}
	out := n.command("rotate", "--probe-listen=:"+port, "--timeout=120s")
	for _, part := range []string{"make version 2 current", "raise the minimum to version 2", "envelopes: local:2 2"} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is not in:\n%s", part, out)
		}
	}
	if out, err := n.try("rotate", "--probe-listen=:"+port, "--retire"); err == nil || !strings.Contains(out, "tenants, trials") || !strings.Contains(out, "--only-watched") {
		t.Errorf("what others may need is retired unasked: %v\n%s", err, out)
	}
	if out := n.command("rotate", "--probe-listen=:"+port, "--timeout=120s", "--retire", "--only-watched"); !strings.Contains(out, "remove version 1") {
		t.Errorf("nothing is retired: %s", out)
	}
	// What is granted are Secrets of the installation, where those of SharedServers are, and of
	// the watched namespaces, and no other.
	other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "of-somebody-else"}}
	testenv.ExpectApplied(t, n.client, other)
	o := shipped()
	o.Kubeconfig, o.Keys.Dir = n.kubeconfig, n.ring
	i := must.Value(installation.Connect(t.Context(), o.installation()))(t)
	if _, err := i.Secret(t.Context(), other.Namespace, other.Name); !apierrors.IsForbidden(err) {
		t.Errorf("a Secret of another namespace: %v, want that it is forbidden", err)
	}
}

// command runs one of the keybroker's in a process of its own.
func (n *namespaced) command(args ...string) string {
	n.t.Helper()
	out, err := n.try(args...)
	if err != nil {
		n.t.Fatalf("%s: %v\n%s", args[0], err, out)
	}
	return out
}

// try is command for one that may fail.
func (n *namespaced) try(args ...string) (string, error) {
	n.t.Helper()
	args = append(args, "--master-key-dir="+n.ring, "--kubeconfig="+n.kubeconfig, "--namespace="+testenv.System,
		"--"+namespaces.Flag+"="+testenv.Tenants+","+testenv.Trials)
	cmd := exec.CommandContext(n.t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asKeybroker+"=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
