// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// tenant is one user of the run with a key of theirs.
type tenant struct {
	// name is the HostedBridge's and the user id.
	name string
	key  credential
	uid  types.UID
	// at is where the tenant is; nil is the installation under test.
	at *installation
}

// credential is a key with its id.
type credential struct{ secret, id string }

// listed returns what the object of the user lists of the key.
func (c credential) listed(user string) v1alpha1.APIKey {
	return v1alpha1.APIKey{ID: c.id, Hash: apikey.HashFor(user, c.secret).String()}
}

// url is what the tenant pastes into a client.
func (n tenant) url() string { return n.base() + "/mcp" }

func (n tenant) base() string { return cmp.Or(n.at, installed).url + "/u/" + n.name }

// mint makes a key that no object lists yet.
func mint(t testing.TB) credential {
	t.Helper()
	key, id, err := apikey.Mint(rand.Reader, apikey.KindUser)
	if err != nil {
		t.Fatalf("mint a key: %v", err)
	}
	return credential{secret: key, id: id}
}

// bridge returns the HostedBridge of a user of this run, with the run's
// upstream under each of the server names: the first with sessions, the second
// without.
func bridge(name string, keys []credential, servers ...string) *v1alpha1.HostedBridge {
	b := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: installed.namespace, Name: name},
		Spec:       v1alpha1.HostedBridgeSpec{DesiredState: v1alpha1.StateRunning},
	}
	for n, s := range servers {
		b.Spec.Servers = append(b.Spec.Servers, v1alpha1.Server{
			Name:      s,
			Transport: v1alpha1.Transport{Type: v1alpha1.TransportStreamableHTTP, URL: installed.upstreamURL(n)},
		})
	}
	for _, k := range keys {
		b.Spec.APIKeys = append(b.Spec.APIKeys, k.listed(name))
	}
	return b
}

// newTenant makes a tenant, waits until it is Ready and its tool answers, and
// removes it with the test.
func newTenant(t *testing.T, short string, servers ...string) tenant {
	t.Helper()
	n := tenant{name: installed.name(short), key: mint(t)}
	n.uid = create(t, bridge(n.name, []credential{n.key}, servers...))
	awaitReady(t, n.name)
	return n
}

// create creates the object and removes it with the test.
func create(t testing.TB, b *v1alpha1.HostedBridge) types.UID {
	t.Helper()
	if err := installed.client.Create(t.Context(), b); err != nil {
		t.Fatalf("create HostedBridge %s: %v", b.Name, err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), cleanupTimeout)
		defer cancel()
		if err := client.IgnoreNotFound(installed.client.Delete(ctx, b)); err != nil {
			t.Errorf("delete HostedBridge %s: %v", b.Name, err)
		}
	})
	return b.UID
}

// awaitReady waits until the bridge's current spec is Ready.
func awaitReady(t testing.TB, name string) {
	t.Helper()
	wait.NoError(t, wait.Limit, "HostedBridge "+name+" is Ready", func(ctx context.Context) error {
		b, err := getBridge(ctx, name)
		if err != nil {
			return err
		}
		if b.Status.ObservedGeneration != b.Generation {
			return fmt.Errorf("generation %d is observed, not %d", b.Status.ObservedGeneration, b.Generation)
		}
		if !meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionReady) {
			return fmt.Errorf("conditions are %s", describe(b.Status.Conditions))
		}
		return nil
	})
}

// awaitRefused waits until the bridge is not accepted for the reason, and
// returns the message.
func awaitRefused(t *testing.T, name, reason string) (message string) {
	t.Helper()
	wait.NoError(t, wait.Limit, "HostedBridge "+name+" is refused with "+reason, func(ctx context.Context) error {
		b, err := getBridge(ctx, name)
		if err != nil {
			return err
		}
		c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionAccepted)
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != reason {
			return fmt.Errorf("conditions are %s", describe(b.Status.Conditions))
		}
		message = c.Message
		return nil
	})
	return message
}

func describe(conditions []metav1.Condition) string {
	s := ""
	for _, c := range conditions {
		s += fmt.Sprintf("%s=%s (%s: %s) ", c.Type, c.Status, c.Reason, c.Message)
	}
	return s
}

func getBridge(ctx context.Context, name string) (*v1alpha1.HostedBridge, error) {
	b := &v1alpha1.HostedBridge{}
	err := installed.client.Get(ctx, types.NamespacedName{Namespace: installed.namespace, Name: name}, b)
	return b, err
}

// bridgePods returns the pods of the bridge with that UID which are not on
// their way out.
func bridgePods(ctx context.Context, uid types.UID) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := installed.client.List(ctx, &list, client.InNamespace(installed.namespace),
		client.MatchingLabels{v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelComponent: v1alpha1.ComponentBridge})
	var pods []corev1.Pod
	for _, p := range list.Items {
		if p.Annotations[v1alpha1.AnnotationBridgeUID] == string(uid) && p.DeletionTimestamp == nil {
			pods = append(pods, p)
		}
	}
	return pods, err
}

// bridgePod returns the one pod of the bridge.
func bridgePod(t *testing.T, uid types.UID) corev1.Pod {
	t.Helper()
	pods, err := bridgePods(t.Context(), uid)
	if err != nil || len(pods) != 1 {
		t.Fatalf("bridge %s has %d pods, want 1 (%v)", uid, len(pods), err)
	}
	return pods[0]
}

// remains says which of a deleted bridge's objects are still there.
func remains(ctx context.Context, uid types.UID) error {
	var left error
	for _, list := range []client.ObjectList{
		&appsv1.DeploymentList{}, &corev1.ServiceAccountList{}, &corev1.SecretList{},
	} {
		if err := installed.client.List(ctx, list, client.InNamespace(installed.namespace)); err != nil {
			return err
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			object := item.(client.Object)
			for _, owner := range object.GetOwnerReferences() {
				if owner.UID == uid {
					left = errors.Join(left, fmt.Errorf("%T %s is still there", object, object.GetName()))
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	pods, err := bridgePods(ctx, uid)
	if len(pods) > 0 {
		left = errors.Join(left, fmt.Errorf("pod %s is still there", pods[0].Name))
	}
	return errors.Join(left, err)
}

// gone reports a bridge that is not there any more.
func gone(ctx context.Context, name string) error {
	_, err := getBridge(ctx, name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return errors.Join(fmt.Errorf("HostedBridge %s is still there", name), err)
}
