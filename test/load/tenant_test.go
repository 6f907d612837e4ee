// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load || testenv

package load

import (
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/pki/pkitest"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// canaryPrefix begins every canary and nothing else.
const canaryPrefix = "canary-"

// tenant is a user with a bridge.
type tenant struct {
	user, key string
	// canary is in everything that is the user's: the calls and the answers.
	canary string
	// session is the one that the user's calls of the earlier era are in, the
	// constant where it is empty.
	session     string
	bridge      *v1alpha1.HostedBridge
	certificate tls.Certificate

	// mu guards where the bridge is; those who move bridges hold it.
	mu     sync.Mutex
	host   string
	pod    *corev1.Pod
	pods   int
	server *http.Server

	// strangers counts what reached the bridge and was not its user's.
	strangers atomic.Int64
	// ran are the tools that were called by a name of their own, with how often
	// each was.
	ran sync.Map
}

// newTenant adds a user whose bridge does not run yet.
func (i *installation) newTenant(t *testing.T, n int) *tenant {
	t.Helper()
	key, id := must.Values(apikey.Mint(rand.Reader, apikey.KindUser))(t)
	u := &tenant{user: fmt.Sprintf("%s-%03d", i.namespace, n), key: key}
	u.canary = canaryPrefix + u.user + "-" + strings.ToLower(rand.Text())
	u.bridge = &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: u.user}}
	u.bridge.Spec.Tier = tier
	u.bridge.Spec.APIKeys = []v1alpha1.APIKey{{ID: id, Hash: apikey.HashFor(u.user, key).String()}}
	testenv.ExpectApplied(t, i.client, u.bridge)
	u.certificate = pkitest.Certificate(i.t, i.authority, pki.BridgeSubject(string(u.bridge.UID)))
	return u
}

// run starts the tenant's bridge on an address, and says so.
func (i *installation) run(t *testing.T, u *tenant, host string) {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	i.listen(t, u, host)
	i.addPod(t, u)
}

// addPod does for the tenant's bridge what operator, scheduler and kubelet do
// for a pod that has become ready.
func (i *installation) addPod(t *testing.T, u *tenant) {
	t.Helper()
	u.pods++
	u.pod = i.podOf(u, fmt.Sprintf("%s-%d", u.user, u.pods))
	testenv.ExpectApplied(t, i.client, u.pod)
	i.readyAt(t, u.pod, u.host)
}

func (i *installation) podOf(u *tenant, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: i.namespace, Name: name,
			Labels:      map[string]string{v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelComponent: v1alpha1.ComponentBridge},
			Annotations: map[string]string{v1alpha1.AnnotationBridgeUID: string(u.bridge.UID), v1alpha1.AnnotationUserID: u.user},
			// The keybroker gives secrets to no pod but those of ReplicaSets.
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: "replica-set", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "bridge", Image: "bridge"}}},
	}
}

// readyAt is what the kubelet says of a pod that serves at host.
func (i *installation) readyAt(t *testing.T, pod *corev1.Pod, host string) {
	t.Helper()
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, host, []corev1.PodIP{{IP: host}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	must.Succeed(t, i.client.Status().Update(t.Context(), pod))
}

// deletePod deletes the tenant's pod at once, as there is no kubelet that would
// end it first.
func (i *installation) deletePod(t *testing.T, u *tenant) {
	t.Helper()
	must.Succeed(t, i.client.Delete(t.Context(), u.pod, client.GracePeriodSeconds(0)))
}

// exchange ends two bridges and starts each on the address of the other. Until
// the pods are deleted, and until the ingresses have heard of it, their routes
// lead to somebody else.
func (i *installation) exchange(t *testing.T, a, b *tenant) {
	t.Helper()
	for _, u := range []*tenant{a, b} {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.end()
	}
	a.host, b.host = b.host, a.host
	for _, u := range []*tenant{a, b} {
		i.listen(t, u, u.host)
	}
	for _, u := range []*tenant{a, b} {
		i.deletePod(t, u)
		i.addPod(t, u)
	}
}

// restart kills the tenant's bridge and starts it again where it was, in the
// same pod, as a container that crashed is.
func (i *installation) restart(t *testing.T, u *tenant) {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.end()
	i.listen(t, u, u.host)
}
