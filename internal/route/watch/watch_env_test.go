// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package watch

import (
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bundling"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// start runs a watcher for the test, which also fails if it leaves a goroutine.
func start(t *testing.T) *Watcher {
	t.Helper()
	return startAt(t, testenv.Config())
}

func startAt(t *testing.T, config *rest.Config) *Watcher {
	t.Helper()
	w := must.Value(New(config, nil, "hosted-bridge-system", bundling.Package, slog.New(slog.DiscardHandler)))(t)
	run(t, w)
	return w
}

// run runs w until the test ends, which then fails if w leaves a goroutine.
func run(t *testing.T, w *Watcher) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		goleak.VerifyNone(t, before,
			// Connections that client-go keeps for the next client.
			goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
			goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
			goleak.IgnoreAnyFunction("internal/poll.runtime_pollWait"),
			// The API server that the test started meanwhile.
			goleak.IgnoreAnyFunction("os/exec.(*Cmd).Wait"))
	})
	testenv.Run(t, w.Run)
}

// await returns when the table fulfils the condition.
func await(t *testing.T, w *Watcher, what string, fulfilled func(*route.Table) bool) {
	t.Helper()
	deadline := time.After(wait.Limit)
	for {
		changed := w.Changed()
		if table := w.Current(); table != nil && fulfilled(table) {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("never seen: %s", what)
		}
	}
}

func isRouted(user v1alpha1.UserID, state route.State, ip string) func(*route.Table) bool {
	return func(table *route.Table) bool {
		b, ok := table.Lookup(user)
		return ok && b.State == state && b.PodIP == ip
	}
}

// applied creates a bridge and returns it with its backend, once it is seen.
func applied(t *testing.T, c client.Client, w *Watcher) (*v1alpha1.HostedBridge, route.Backend) {
	t.Helper()
	namespace := testenv.Namespace(t, c)
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: namespace}}
	testenv.ExpectApplied(t, c, b)
	await(t, w, "the bridge", isRouted(v1alpha1.UserID(namespace), route.Starting, ""))
	backend, _ := w.Current().Lookup(v1alpha1.UserID(namespace))
	return b, backend
}

func TestTheTableFollowsTheAPIServer(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	w := start(t)
	user := v1alpha1.UserID("user-" + namespace)

	b := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bridge"},
		Spec: v1alpha1.HostedBridgeSpec{UserID: user, APIKeys: []v1alpha1.APIKey{
			{ID: "key0" + namespaceLetters(namespace), Hash: "sha256:" + strings.Repeat("0a", 32)},
		}},
	}
	testenv.ExpectApplied(t, c, b)
	await(t, w, "the new bridge", isRouted(user, route.Starting, ""))
	await(t, w, "its key", func(table *route.Table) bool { return len(table.Keys(b.Spec.APIKeys[0].ID)) == 1 })

	login := v1alpha1.OAuthSubject{Issuer: "https://login.example.com", Subject: string(user)}
	mayUse := func(table *route.Table) []v1alpha1.UserID {
		return table.Subjects(oauth.KeyOf(login.Issuer, login.Subject))
	}
	testenv.ExpectExists(t, c, b)
	b.Spec.OAuth = &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{login}}
	testenv.ExpectApplied(t, c, b)
	await(t, w, "who may use it by a login", func(table *route.Table) bool { return slices.Equal(mayUse(table), []v1alpha1.UserID{user}) })
	b.Spec.OAuth.Subjects = nil
	testenv.ExpectApplied(t, c, b)
	await(t, w, "that nobody may any more", func(table *route.Table) bool { return mayUse(table) == nil })

	pod := bridgePod(b)
	testenv.ExpectApplied(t, c, pod)
	setReady(t, c, pod, corev1.ConditionTrue)
	await(t, w, "the ready pod", isRouted(user, route.Ready, "10.1.2.3"))
	setReady(t, c, pod, corev1.ConditionFalse)
	await(t, w, "the pod that is ready no more", isRouted(user, route.Starting, ""))
	setReady(t, c, pod, corev1.ConditionTrue)
	await(t, w, "the pod that is ready again", isRouted(user, route.Ready, "10.1.2.3"))

	testenv.ExpectExists(t, c, b)
	b.Spec.APIKeys = nil
	testenv.ExpectApplied(t, c, b)
	await(t, w, "the revoked key", func(table *route.Table) bool { return len(table.Keys("key0"+namespaceLetters(namespace))) == 0 })

	must.Succeed(t, c.Delete(t.Context(), b))
	await(t, w, "the deleted bridge", func(table *route.Table) bool { _, ok := table.Lookup(user); return !ok })
}

func TestTheTableFollowsTheSecretsOfABridge(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	w := start(t)
	user := v1alpha1.UserID(namespace)
	b := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: namespace},
		Spec: v1alpha1.HostedBridgeSpec{Servers: []v1alpha1.Server{
			{Name: "first", Transport: v1alpha1.Transport{URL: "https://one.example.com/mcp"}},
			{Name: "second", Transport: v1alpha1.Transport{URL: "https://two.example.com/mcp"}, Secrets: []v1alpha1.SecretName{"TOKEN", "credentials.json"}},
		}},
	}
	testenv.ExpectApplied(t, c, b)
	await(t, w, "the grants", func(table *route.Table) bool {
		backend, _ := table.Lookup(user)
		return backend.SecretsRevision == "" && slices.Equal(backend.Grants.Servers("credentials.json"), []string{"second"})
	})
	for _, revision := range []string{"0123456789abcdef", "fedcba9876543210", ""} {
		testenv.ExpectStatusChanged(t, c, b, func() {
			b.Status.Secrets = &v1alpha1.SecretsStatus{Count: 2, Revision: revision, Missing: []string{"OTHER"}}
		})
		await(t, w, "revision "+revision, func(table *route.Table) bool {
			backend, _ := table.Lookup(user)
			return backend.SecretsRevision == revision
		})
	}
	testenv.ExpectExists(t, c, b)
	b.Spec.Servers[1].Secrets = nil
	testenv.ExpectApplied(t, c, b)
	await(t, w, "the grant's end", func(table *route.Table) bool {
		backend, _ := table.Lookup(user)
		return backend.Grants == ""
	})
}

func TestPodsWithoutOurLabelsAreNotSeen(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	w := start(t)
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: namespace}}
	testenv.ExpectApplied(t, c, b)
	stranger := bridgePod(b)
	stranger.Name, stranger.Labels = "stranger", nil
	testenv.ExpectApplied(t, c, stranger)
	setReady(t, c, stranger, corev1.ConditionTrue)
	ours := bridgePod(b)
	testenv.ExpectApplied(t, c, ours)
	setReady(t, c, ours, corev1.ConditionTrue)
	await(t, w, "a route", func(table *route.Table) bool {
		backend, ok := table.Lookup(v1alpha1.UserID(namespace))
		if ok && backend.PodName == stranger.Name {
			t.Fatal("the route leads to a pod that is not a bridge's")
		}
		return ok && backend.PodName == ours.Name
	})
}

// namespaceLetters makes a key id that no other test has.
func namespaceLetters(namespace string) string { return strings.ReplaceAll(namespace, "-", "0") }

func bridgePod(b *v1alpha1.HostedBridge) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: b.Namespace, Name: "pod",
			Labels:      map[string]string{v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelComponent: v1alpha1.ComponentBridge},
			Annotations: map[string]string{v1alpha1.AnnotationBridgeUID: string(b.UID)},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "bridge", Image: "bridge"}}},
	}
}

func setReady(t *testing.T, c client.Client, pod *corev1.Pod, ready corev1.ConditionStatus) {
	t.Helper()
	pod.Status.PodIP, pod.Status.PodIPs = "10.1.2.3", []corev1.PodIP{{IP: "10.1.2.3"}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	must.Succeed(t, c.Status().Update(t.Context(), pod))
}
