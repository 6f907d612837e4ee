// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"maps"
	"strconv"
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

	"github.com/hostedbridge/hostedbridge/internal/envelope"
)

const (
	system = "hosted-bridge-system"
	tenant = "tenants"
)

// world is an API server in memory with two bridges, alice and bob, and the
// ingress. Tests change what they are about.
type world struct {
	mu       sync.Mutex
	tokens   map[string]*authenticationv1.TokenReviewStatus
	pods     map[string]*corev1.Pod
	accounts map[string]*corev1.ServiceAccount
	bridges  map[string]*metav1.PartialObjectMetadata
	secrets  map[string]*corev1.Secret
	// away is the error of every call while it is set.
	away error
	// beforePatch runs before each change of a Secret.
	beforePatch func()
	version     int
}

var (
	_ Reader  = (*world)(nil)
	_ Secrets = (*world)(nil)
)

func key(namespace, name string) string { return namespace + "/" + name }

func newWorld() *world {
	w := &world{
		tokens: map[string]*authenticationv1.TokenReviewStatus{}, pods: map[string]*corev1.Pod{},
		accounts: map[string]*corev1.ServiceAccount{}, bridges: map[string]*metav1.PartialObjectMetadata{},
		secrets: map[string]*corev1.Secret{},
	}
	w.addBridge(tenant, "alice", "uid-alice")
	w.addBridge(tenant, "bob", "uid-bob")
	w.addPod(system, "hosted-bridge-ingress", "ingress-1", "uid-ingress", nil)
	return w
}

// addBridge adds a HostedBridge with all that belongs to it.
func (w *world) addBridge(namespace, name, uid string) {
	yes := true
	owner := []metav1.OwnerReference{{APIVersion: "hostedbridge.dev/v1alpha1", Kind: "HostedBridge", Name: name, UID: types.UID(uid), Controller: &yes}}
	w.bridges[key(namespace, name)] = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid)}}
	w.secrets[key(namespace, name+"-envelopes")] = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-envelopes", OwnerReferences: owner, ResourceVersion: "0"}}
	w.addPod(namespace, name+"-bridge", name+"-pod", uid, owner)
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
	if w.away != nil {
		return nil, w.away
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
	if w.away != nil {
		return nil, w.away
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

func (w *world) Bridge(_ context.Context, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	return get(w, w.bridges, "hostedbridges", namespace, name)
}

func (w *world) Secret(_ context.Context, namespace, name string) (*corev1.Secret, error) {
	s, err := get(w, w.secrets, "secrets", namespace, name)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return s.DeepCopy(), nil
}

func (w *world) CreateSecret(_ context.Context, secret *corev1.Secret) (*corev1.Secret, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := key(secret.Namespace, secret.Name)
	if _, ok := w.secrets[k]; ok {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "secrets"}, secret.Name)
	}
	w.secrets[k] = secret.DeepCopy()
	return secret, nil
}

func (w *world) SetKey(_ context.Context, secret *corev1.Secret, name string, value []byte) error {
	if w.beforePatch != nil {
		w.beforePatch()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	resource := schema.GroupResource{Resource: "secrets"}
	stored, ok := w.secrets[key(secret.Namespace, secret.Name)]
	if !ok {
		return apierrors.NewNotFound(resource, secret.Name)
	}
	if stored.ResourceVersion != secret.ResourceVersion {
		return apierrors.NewConflict(resource, secret.Name, nil)
	}
	data := maps.Clone(stored.Data)
	if data == nil {
		data = map[string][]byte{}
	}
	data[name] = value
	stored.Data = data
	w.touch(stored)
	return nil
}

// touch gives the Secret a new resource version, as any write does.
func (w *world) touch(s *corev1.Secret) {
	w.version++
	s.ResourceVersion = strconv.Itoa(w.version)
}

func testRing(t *testing.T, versions ...uint32) *Ring {
	t.Helper()
	keys := map[uint32][envelope.KeySize]byte{}
	for _, v := range versions {
		keys[v] = [envelope.KeySize]byte{byte(v), 1}
	}
	ring, err := newRing(keys)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func testServer(t *testing.T, w *world, log io.Writer) (*Server, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	s, err := New(Config{Namespace: system, ClusterID: "test"}, Deps{
		Reader: w, Secrets: w, Ring: testRing(t, 1), Random: rand.Reader, Now: time.Now,
		Registry: registry, Log: slog.New(slog.NewJSONHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, registry
}
