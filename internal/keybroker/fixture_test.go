// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore/storetest"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/sharing"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const (
	system = "hosted-bridge-system"
	tenant = "tenants"
)

// world is an API server in memory with two bridges, alice and bob, and the
// ingress. Tests change what they are about.
type world struct {
	// Memory has the Secrets; its Err is the error of every call of the world.
	*storetest.Memory

	mu       sync.Mutex
	tokens   map[string]*authenticationv1.TokenReviewStatus
	pods     map[string]*corev1.Pod
	accounts map[string]*corev1.ServiceAccount
	bridges  map[string]*v1alpha1.HostedBridge
	shared   map[string]*v1alpha1.SharedServer
	persons  []v1alpha1.BridgePerson
}

var (
	_ Reader              = (*world)(nil)
	_ secretstore.Secrets = (*world)(nil)
)

func key(namespace, name string) string { return namespace + "/" + name }

func newWorld() *world {
	w := &world{
		Memory: storetest.New(),
		tokens: map[string]*authenticationv1.TokenReviewStatus{}, pods: map[string]*corev1.Pod{},
		accounts: map[string]*corev1.ServiceAccount{}, bridges: map[string]*v1alpha1.HostedBridge{},
		shared: map[string]*v1alpha1.SharedServer{},
	}
	w.addBridge(tenant, "alice", "uid-alice")
	w.addBridge(tenant, "bob", "uid-bob")
	w.addPod(system, "hosted-bridge-ingress", "ingress-1", "uid-ingress", nil)
	w.addPod(system, "hosted-bridge-store", "store-1", "uid-store", nil)
	w.addPod(system, "hosted-bridge-bundler", "bundler-1", "uid-bundler", nil)
	return w
}

// addBridge adds a HostedBridge with all that belongs to it.
func (w *world) addBridge(namespace, name, uid string) {
	yes := true
	owner := []metav1.OwnerReference{{APIVersion: "hostedbridge.dev/v1alpha1", Kind: "HostedBridge", Name: name, UID: types.UID(uid), Controller: &yes}}
	w.bridges[key(namespace, name)] = &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid)},
		Spec:       v1alpha1.HostedBridgeSpec{Tier: "free"},
	}
	w.addPod(namespace, name+"-bridge", name+"-pod", uid, owner)
	pod := w.pods[key(namespace, name+"-pod")]
	pod.Labels = map[string]string{"app.kubernetes.io/name": "hosted-bridge", "app.kubernetes.io/component": "bridge"}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name + "-bridge-1", UID: "rs-" + types.UID(uid), Controller: &yes}}
}

// addPod adds a pod, its service account, and its token, which is "token of"
// and the pod's name.
func (w *world) addPod(namespace, account, pod, uid string, owner []metav1.OwnerReference) {
	w.accounts[key(namespace, account)] = &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account, UID: types.UID("sa-" + uid), OwnerReferences: owner}}
	w.pods[key(namespace, pod)] = &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod, UID: types.UID("pod-" + uid)},
		Spec:       corev1.PodSpec{ServiceAccountName: account},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	w.tokens["token-of-"+pod] = &authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: []string{Audience},
		User: authenticationv1.UserInfo{
			Username: "system:serviceaccount:" + namespace + ":" + account, UID: "sa-" + uid,
			Extra: map[string]authenticationv1.ExtraValue{extraPodName: {pod}, extraPodUID: {"pod-" + uid}},
		},
	}
}

func get[T any](w *world, objects map[string]*T, resource, namespace, name string) (*T, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Err != nil {
		return nil, w.Err
	}
	object, ok := objects[key(namespace, name)]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: resource}, name)
	}
	return object, nil
}

func (w *world) Review(_ context.Context, token, audience string) (*authenticationv1.TokenReviewStatus, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Err != nil {
		return nil, w.Err
	}
	if status, ok := w.tokens[token]; ok && audience == Audience {
		return status, nil
	}
	return &authenticationv1.TokenReviewStatus{Error: "invalid bearer token"}, nil
}

func (w *world) Pod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	return get(w, w.pods, "pods", namespace, name)
}

func (w *world) ServiceAccount(_ context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	return get(w, w.accounts, "serviceaccounts", namespace, name)
}

func (w *world) Bridge(_ context.Context, namespace, name string) (*effective.Bridge, error) {
	b, err := get(w, w.bridges, "hostedbridges", namespace, name)
	if err != nil {
		return nil, err
	}
	return effective.Of(b), nil
}

func (w *world) SharedServer(_ context.Context, namespace, name string) (*v1alpha1.SharedServer, error) {
	return get(w, w.shared, "sharedservers", namespace, name)
}

func (w *world) SharedServers(_ context.Context, namespace string) ([]v1alpha1.SharedServer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []v1alpha1.SharedServer
	for _, s := range w.shared {
		if s.Namespace == namespace {
			list = append(list, *s)
		}
	}
	return list, w.Err
}

func (w *world) Persons(_ context.Context, namespace, field, value string) ([]v1alpha1.BridgePerson, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []v1alpha1.BridgePerson
	for _, p := range w.persons {
		of := map[string]string{sharing.FieldUser: string(p.Spec.User), sharing.FieldSubject: p.Spec.Subject, sharing.FieldLoginUser: ""}
		if p.Status.Login != nil {
			of[sharing.FieldLoginUser] = string(p.Status.Login.User)
		}
		if namespace == system && of[field] == value {
			list = append(list, p)
		}
	}
	return list, w.Err
}

// master is a master key in memory.
type master struct {
	keys      *envelope.Keys
	authority *pki.Authority
	login     uint32
	err       error
}

func (m *master) Keys() *envelope.Keys      { return m.keys }
func (m *master) Err() error                { return m.err }
func (m *master) Authority() *pki.Authority { return m.authority }
func (m *master) LoginGeneration() uint32   { return m.login }

// testMaster returns a master key of these versions.
func testMaster(t testing.TB, versions ...uint32) *master {
	t.Helper()
	masters := map[uint32][envelope.KeySize]byte{}
	for _, v := range versions {
		masters[v] = [envelope.KeySize]byte{byte(v), 1}
	}
	ring := must.Value(envelope.NewKeyring(masters, 0))(t)
	keys := must.Value(envelope.NewKeys(ring))(t)
	return &master{keys: keys, authority: testAuthority(t, 1)}
}

func testAuthority(t testing.TB, first byte) *pki.Authority {
	t.Helper()
	return must.Value(pki.NewAuthority([32]byte{first}))(t)
}

// testDeps returns all that a server stands on, over the Secrets and the
// readings of the same API server.
func testDeps(t testing.TB, reader Reader, secrets secretstore.Secrets, log io.Writer) Deps {
	t.Helper()
	m := testMaster(t, 1)
	logger := slog.New(slog.NewJSONHandler(log, nil))
	vault, err := secretstore.New(secretstore.Config{Secrets: secrets, Keys: m.Keys, Cluster: "test", Random: rand.Reader, Now: time.Now, Log: logger})
	if err != nil {
		t.Fatal(err)
	}
	return Deps{
		Reader: reader, Store: vault, MasterKey: m, Tiers: quota.Defaults(), Random: rand.Reader, Now: time.Now,
		Registry: prometheus.NewRegistry(), Log: logger,
	}
}

func testServer(t testing.TB, w *world, log io.Writer) (*Server, *prometheus.Registry) {
	t.Helper()
	deps := testDeps(t, w, w, log)
	s := must.Value(New(Config{Namespace: system}, deps))(t)
	return s, deps.Registry
}
