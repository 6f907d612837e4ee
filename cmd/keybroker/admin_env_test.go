// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/installation"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/masterkey"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

const (
	adminCanary = "hb-canary-5b0e7a"
	adminRing   = "hosted-bridge-master-key"
)

// administered is an installation with a ring and no process of its own, whose
// commands have the rights of the keybroker's ServiceAccount and no others.
type administered struct {
	t          *testing.T
	client     client.Client
	namespace  string // Of its users.
	kubeconfig string
	ring       string // A folder, as the kubelet would mount it.
	*installation.Installation
}

// administer makes one. The API server has none but its own HostedBridges,
// since a rotation is about all of them.
func administer(t *testing.T) *administered {
	t.Helper()
	c := testenv.Client(t)
	o := shipped()
	installKeybroker(t, c, o.Namespace)
	a := &administered{t: t, client: c, namespace: testenv.Namespace(t, c), kubeconfig: impersonating(t), ring: t.TempDir()}
	a.deleteBridges(t.Context())
	for name, first := range map[string]byte{"1": 1, "authority": 9} {
		writeKey(t, a.ring, name, first)
	}
	a.keep(ringOf(t, a.ring))
	o.Keys.Dir, o.Kubeconfig = a.ring, a.kubeconfig
	var err error
	if a.Installation, err = installation.Connect(t.Context(), o.installation()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.deleteBridges(context.WithoutCancel(t.Context())) })
	return a
}

// keep creates an object of the installation's namespace for this test alone.
func (a *administered) keep(o client.Object) {
	a.t.Helper()
	must.Succeed(a.t, a.client.Create(a.t.Context(), o))
	a.t.Cleanup(func() {
		at := context.WithoutCancel(a.t.Context())
		if err := a.client.Delete(at, o, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
			a.t.Error(err)
		}
	})
}

// ringSecret is the Secret that the ring is mounted from.
func ringSecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: shipped().Namespace, Name: adminRing}}
}

func ringOf(t *testing.T, dir string) *corev1.Secret {
	t.Helper()
	secret := ringSecret()
	secret.Data = map[string][]byte{}
	for _, name := range []string{"1", "authority"} {
		content := must.Value(os.ReadFile(filepath.Join(dir, name)))(t)
		secret.Data[name] = content
	}
	return secret
}

// deleteBridges removes all HostedBridges with their Secrets, as Kubernetes'
// garbage collector would.
func (a *administered) deleteBridges(ctx context.Context) {
	a.t.Helper()
	var bridges v1alpha1.HostedBridgeList
	var shared v1alpha1.SharedServerList
	var secrets corev1.SecretList
	ours := client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.FieldOwnerKeybroker}
	must.Succeed(a.t, errors.Join(a.client.List(ctx, &bridges), a.client.List(ctx, &shared), a.client.List(ctx, &secrets, ours)))
	var all []client.Object
	for i := range bridges.Items {
		all = append(all, &bridges.Items[i])
	}
	for i := range shared.Items {
		all = append(all, &shared.Items[i])
	}
	for i := range secrets.Items {
		all = append(all, &secrets.Items[i])
	}
	for _, o := range all {
		must.Succeed(a.t, client.IgnoreNotFound(a.client.Delete(ctx, o)))
	}
}

// mount writes the ring as files.
func mount(t *testing.T, dir string, data map[string][]byte) {
	t.Helper()
	for name, content := range data {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
}

// bridgeWith makes a HostedBridge with these secrets.
func (a *administered) bridgeWith(name string, secrets map[string]string) secretstore.Bridge {
	a.t.Helper()
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: name}}
	testenv.ExpectApplied(a.t, a.client, b)
	of := secretstore.Bridge{Namespace: a.namespace, Name: name, UID: b.UID}
	_, err := a.Store.Update(a.t.Context(), of, func(context.Context, secretstore.Listing, func(string) ([]byte, error)) ([]secretstore.Change, error) {
		var changes []secretstore.Change
		for secret, value := range secrets {
			changes = append(changes, secretstore.Change{Name: secret, Value: []byte(value)})
		}
		return changes, nil
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return of
}

// sharedWith makes a SharedServer with one secret.
func (a *administered) sharedWith(name, secret, value string) secretstore.Bridge {
	a.t.Helper()
	group := []v1alpha1.IssuerGroup{{Issuer: "https://idp.example.com", Value: "payments"}}
	s := &v1alpha1.SharedServer{ObjectMeta: metav1.ObjectMeta{Namespace: shipped().Namespace, Name: name}, Spec: v1alpha1.SharedServerSpec{
		Server:  v1alpha1.SharedEndpoint{Transport: v1alpha1.Transport{URL: "https://pay.example.com/mcp"}},
		Secrets: []v1alpha1.SecretName{v1alpha1.SecretName(secret)}, Namespaces: []string{"*"}, Members: group, Owners: group,
	}}
	testenv.ExpectApplied(a.t, a.client, s)
	of := secretstore.Shared(s.Namespace, name, s.UID)
	_, err := a.Store.Update(a.t.Context(), of, func(context.Context, secretstore.Listing, func(string) ([]byte, error)) ([]secretstore.Change, error) {
		return []secretstore.Change{{Name: secret, Value: []byte(value), Origin: "https://pay.example.com"}}, nil
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return of
}

// run runs a command in a process of its own, and expects its exit code.
func (a *administered) run(want int, args ...string) (stdout, stderr string) {
	a.t.Helper()
	return a.runPlain(want, append(args, "--master-key-dir="+a.ring)...)
}

// runPlain runs a command that needs no master key.
func (a *administered) runPlain(want int, args ...string) (stdout, stderr string) {
	a.t.Helper()
	cmd := exec.CommandContext(a.t.Context(), os.Args[0], append(args, "--kubeconfig="+a.kubeconfig)...)
	cmd.Env = append(os.Environ(), asKeybroker+"=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != want {
		a.t.Fatalf("keybroker %s: exit code %d, want %d: %v: %s%s", strings.Join(args, " "), got, want, err, out.String(), errs.String())
	}
	if strings.Contains(out.String()+errs.String(), adminCanary) {
		a.t.Errorf("keybroker %s shows a value", args[0])
	}
	return out.String(), errs.String()
}

func (a *administered) expect(output string, parts ...string) {
	a.t.Helper()
	for _, part := range parts {
		if !strings.Contains(output, part) {
			a.t.Errorf("%q is not in:\n%s", part, output)
		}
	}
}

func TestVerifyOnARealAPIServer(t *testing.T) {
	a := administer(t)
	a.bridgeWith("alice", map[string]string{"A": adminCanary, "B": adminCanary})
	a.bridgeWith("bob", map[string]string{"A": adminCanary})
	out, _ := a.run(0, "verify", "--namespace="+a.namespace)
	a.expect(out, "3 secrets of 2 HostedBridges: local:1 3", "everything opens")

	// One damaged, one without its salt, one whose HostedBridge is gone, which
	// this API server, having no controllers, does not clear away.
	envelopes := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "alice-envelopes"}}
	testenv.ExpectExists(t, a.client, envelopes)
	envelopes.Data["B"][len(envelopes.Data["B"])-1] ^= 1
	remove := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "bob-salt"}}
	carol := a.bridgeWith("carol", map[string]string{"A": adminCanary})
	gone := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: carol.Name}}
	for _, err := range []error{a.client.Update(t.Context(), envelopes), a.client.Delete(t.Context(), remove), a.client.Delete(t.Context(), gone)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	out, errs := a.run(1, "verify")
	a.expect(out, "does not open: "+a.namespace+"/alice/B\n", "does not open: "+a.namespace+"/bob/A\n",
		"has secrets and no salt: "+a.namespace+"/bob\n",
		"its HostedBridge is gone: Secret "+a.namespace+"/carol-envelopes\n", "its HostedBridge is gone: Secret "+a.namespace+"/carol-salt\n")
	a.expect(errs, "not everything opens")
	out, _ = a.run(1, "verify", "--namespace="+a.namespace, "--name=alice", "-o", "json")
	var report struct {
		Secrets    int
		Keys       map[string]int
		Unreadable []struct{ Namespace, Name, Secret string }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Secrets != 2 || report.Keys["local:1"] != 2 ||
		len(report.Unreadable) != 1 || report.Unreadable[0].Secret != "B" {
		t.Errorf("%+v, error %v", report, err)
	}
	payments := a.sharedWith("payments", "PAY_TOKEN", adminCanary)
	out, _ = a.run(0, "verify", "--namespace="+shipped().Namespace)
	a.expect(out, "1 secrets of 0 HostedBridges and 1 SharedServers: local:1 1", "everything opens")
	out, _ = a.run(0, "verify", "--namespace="+shipped().Namespace, "--name="+payments.Name)
	a.expect(out, "everything opens")
	if err := a.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: shipped().Namespace, Name: payments.SaltName()}}); err != nil {
		t.Fatal(err)
	}
	out, _ = a.run(1, "verify", "--namespace="+shipped().Namespace)
	a.expect(out, "does not open: "+shipped().Namespace+"/shared/payments/PAY_TOKEN\n", "has secrets and no salt: "+shipped().Namespace+"/shared/payments\n")
	_, errs = a.run(1, "verify", "--namespace="+a.namespace, "--name=carol")
	a.expect(errs, "there is no HostedBridge "+a.namespace+"/carol")
}

// replica stands for a keybroker: it loads the ring some time after it was
// written, tells of it, and, when it leads, wraps anew.
type replica struct {
	source atomic.Pointer[masterkey.Source]
	seen   string // The Secret's resourceVersion.
}

// load does what the kubelet and the source do together.
func (r *replica) load(a *administered) {
	secret := ringSecret()
	if err := a.client.Get(a.t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
		a.t.Error(err)
		return
	}
	if secret.ResourceVersion == r.seen {
		return
	}
	r.seen = secret.ResourceVersion
	dir := a.t.TempDir()
	mount(a.t, dir, secret.Data)
	source, err := masterkey.Open(a.t.Context(), masterkey.Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		a.t.Error(err)
		return
	}
	r.source.Store(source)
}

// serve makes the pod, and answers at its address.
func (r *replica) serve(a *administered, name, address, port string) string {
	a.t.Helper()
	r.load(a)
	listener := must.Value(net.Listen("tcp", net.JoinHostPort(address, port)))(a.t)
	server := &http.Server{Handler: keybroker.WithRing(http.NotFoundHandler(), func() masterkey.Status { return r.source.Load().Status() }, nil)}
	go func() { _ = server.Serve(listener) }()
	a.t.Cleanup(func() { _ = server.Close() })
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: shipped().Namespace, Name: name, Labels: map[string]string{
			v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelComponent: "keybroker",
		}},
		Spec: corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "a", Image: "a"}}},
	}
	a.keep(pod)
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address}
	must.Succeed(a.t, a.client.Status().Update(a.t.Context(), pod))
	_, port = must.Values(net.SplitHostPort(listener.Addr().String()))(a.t)
	return port
}

// lead wraps anew what it can.
func (r *replica) lead(a *administered, bridges []secretstore.Bridge) {
	s, err := secretstore.New(secretstore.Config{
		Secrets: a.Cluster, Keys: r.source.Load().Keys, Cluster: shipped().ClusterID,
		Random: bytes.NewReader(bytes.Repeat([]byte{3}, 4096)), Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		a.t.Error(err)
		return
	}
	for _, b := range bridges {
		if _, _, err := s.Rewrap(a.t.Context(), b); err != nil {
			a.t.Error(err)
		}
	}
}

func TestRotateOnARealAPIServer(t *testing.T) {
	a := administer(t)
	bridges := []secretstore.Bridge{
		a.bridgeWith("alice", map[string]string{"A": adminCanary, "B": adminCanary}),
		a.sharedWith("payments", "PAY_TOKEN", adminCanary),
	}
	first, second := &replica{}, &replica{}
	port := first.serve(a, "keybroker-a", "127.0.0.1", "0")
	second.serve(a, "keybroker-b", "127.0.0.2", port)
	var living sync.WaitGroup
	defer living.Wait()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	living.Go(func() {
		for tick := 0; ctx.Err() == nil; tick++ {
			first.load(a)
			first.lead(a, bridges)
			if tick%20 == 19 {
				second.load(a)
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	rotate := func(want int, args ...string) (string, string) {
		t.Helper()
		return a.run(want, append([]string{"rotate", "--probe-listen=:" + port, "--timeout=90s"}, args...)...)
	}

	out, _ := rotate(0, "--dry-run")
	a.expect(out, "local ring: versions 1, current 1, minimum 1", "envelopes: local:1 3",
		"replica keybroker-a: versions 1, current 1, minimum 1", "replica keybroker-b: ", "next: add version 2, and keep version 1 current")
	out, _ = rotate(0)
	a.expect(out, "add version 2", "make version 2 current", "raise the minimum to version 2",
		"envelopes: local:2 3", "next: remove version 1")
	out, _ = rotate(0, "-o", "json")
	var report struct {
		Ring      struct{ Versions []int }
		Envelopes map[string]int
		Done      []string
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Done) > 0 || len(report.Ring.Versions) != 2 || report.Envelopes["local:2"] != 3 {
		t.Errorf("%+v, error %v", report, err)
	}
	out, _ = rotate(0, "--retire")
	a.expect(out, "remove version 1", "nothing remains to be done")
	secret := ringSecret()
	testenv.ExpectExists(t, a.client, secret)
	if len(secret.Data) != 4 || string(secret.Data["current"]) != "2" || string(secret.Data["minimum"]) != "2" || len(secret.Data["2"]) != 44 {
		t.Errorf("the ring has %d files, current %q, minimum %q", len(secret.Data), secret.Data["current"], secret.Data["minimum"])
	}
	_, errs := rotate(1, "--secret=absent")
	a.expect(errs, "there is no Secret "+shipped().Namespace+"/absent", `--secret=""`)

	// And all of it opens under the new version alone.
	end()
	living.Wait()
	must.Succeed(t, os.Remove(filepath.Join(a.ring, "1")))
	mount(t, a.ring, secret.Data)
	out, _ = a.run(0, "verify")
	a.expect(out, "3 secrets of 1 HostedBridges and 1 SharedServers: local:2 3", "everything opens")
}
