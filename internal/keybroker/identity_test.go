// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"errors"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
)

func TestWhoCalls(t *testing.T) {
	now := metav1.Now()
	no := false
	alice := identity{kind: kindBridge, bridge: secretstore.Bridge{Namespace: tenant, Name: "alice", UID: "uid-alice"}}
	token := func(w *world) *authenticationv1.TokenReviewStatus { return w.tokens["token-of-alice-pod"] }
	pod := func(w *world) *corev1.Pod { return w.pods[key(tenant, "alice-pod")] }
	account := func(w *world) *corev1.ServiceAccount { return w.accounts[key(tenant, "alice-bridge")] }
	bridge := func(w *world) *v1alpha1.HostedBridge { return w.bridges[key(tenant, "alice")] }

	for _, test := range []struct {
		name   string
		token  string
		change func(w *world)
		want   identity
		err    *httpapi.Problem
	}{
		{"a bridge's pod", "token-of-alice-pod", nil, alice, nil},
		{"the ingress's pod", "token-of-ingress-1", nil, identity{kind: kindIngress}, nil},
		{"the store's pod", "token-of-store-1", nil, identity{kind: kindStore}, nil},
		{"a bundler's pod", "token-of-bundler-1", nil, identity{kind: kindBundler}, nil},
		{"an owner reference of a later version", "token-of-alice-pod", func(w *world) { account(w).OwnerReferences[0].APIVersion = "hostedbridge.dev/v1" }, alice, nil},

		// The token.
		{"a token that the API server does not know", "forged", nil, identity{}, errTokenRefused},
		{"a token for another audience", "token-of-alice-pod", func(w *world) { token(w).Audiences = []string{"https://kubernetes.default.svc"} }, identity{}, errTokenRefused},
		{"a token for the API server itself", "token-of-alice-pod", func(w *world) { token(w).Audiences = nil }, identity{}, errTokenRefused},
		{"a review that says no and names a user", "token-of-alice-pod", func(w *world) { token(w).Authenticated = false }, identity{}, errTokenRefused},
		{"a person", "token-of-alice-pod", func(w *world) { token(w).User.Username = "alice" }, identity{}, errTokenRefused},
		{"a name like a service account's with a part too many", "token-of-alice-pod", func(w *world) { token(w).User.Username += ":x" }, identity{}, errTokenRefused},
		{"a name like a service account's without one", "token-of-alice-pod", func(w *world) { token(w).User.Username = "system:serviceaccount:" + tenant }, identity{}, errTokenRefused},
		{"a token without the account's UID", "token-of-alice-pod", func(w *world) { token(w).User.UID = "" }, identity{}, errTokenRefused},
		{"a token that is bound to no pod", "token-of-alice-pod", func(w *world) { token(w).User.Extra = nil }, identity{}, errTokenRefused},
		{"a token that is bound to two pods", "token-of-alice-pod", func(w *world) { token(w).User.Extra[extraPodUID] = []string{"pod-uid-alice", "pod-uid-bob"} }, identity{}, errTokenRefused},
		{"a token that is bound to a pod without UID", "token-of-alice-pod", func(w *world) { token(w).User.Extra[extraPodUID] = []string{""} }, identity{}, errTokenRefused},

		// The pod.
		{"the replayed token of a deleted pod", "token-of-alice-pod", func(w *world) { delete(w.pods, key(tenant, "alice-pod")) }, identity{}, errPod},
		{"the replayed token of a pod whose name is used again", "token-of-alice-pod", func(w *world) { pod(w).UID = "pod-later" }, identity{}, errPod},
		{"a pod with another service account", "token-of-alice-pod", func(w *world) { pod(w).Spec.ServiceAccountName = "bob-bridge" }, identity{}, errPod},
		{"a pod that is being deleted", "token-of-alice-pod", func(w *world) { pod(w).DeletionTimestamp = &now }, identity{}, errPod},
		{"a pod that has failed", "token-of-alice-pod", func(w *world) { pod(w).Status.Phase = corev1.PodFailed }, identity{}, errPod},
		{"a pod that has ended", "token-of-alice-pod", func(w *world) { pod(w).Status.Phase = corev1.PodSucceeded }, identity{}, errPod},
		{"the ingress's token after its pod", "token-of-ingress-1", func(w *world) { delete(w.pods, key(system, "ingress-1")) }, identity{}, errPod},

		// Who made the pod: whoever may make pods makes one with alice's account.
		{"a pod that somebody made with a bridge's account", "token-of-alice-pod", func(w *world) { pod(w).Labels, pod(w).OwnerReferences = nil, nil }, identity{}, errNotABridge},
		{"a pod of somebody's Deployment without the labels", "token-of-alice-pod", func(w *world) { pod(w).Labels = nil }, identity{}, errNotABridge},
		{"a pod of another name in the labels", "token-of-alice-pod", func(w *world) { pod(w).Labels[v1alpha1.LabelName] = "other" }, identity{}, errNotABridge},
		{"a pod of another component in the labels", "token-of-alice-pod", func(w *world) { pod(w).Labels[v1alpha1.LabelComponent] = "ingress" }, identity{}, errNotABridge},
		{"a pod with the labels that nobody controls", "token-of-alice-pod", func(w *world) { pod(w).OwnerReferences = nil }, identity{}, errNotABridge},
		{"a pod with the labels of a Job", "token-of-alice-pod", func(w *world) {
			pod(w).OwnerReferences[0].APIVersion, pod(w).OwnerReferences[0].Kind = "batch/v1", "Job"
		}, identity{}, errNotABridge},
		{"a pod with the labels of a StatefulSet", "token-of-alice-pod", func(w *world) { pod(w).OwnerReferences[0].Kind = "StatefulSet" }, identity{}, errNotABridge},
		{"a pod with the labels of another group's ReplicaSet", "token-of-alice-pod", func(w *world) { pod(w).OwnerReferences[0].APIVersion = "example.com/v1" }, identity{}, errNotABridge},
		{"a pod with the labels that its ReplicaSet does not control", "token-of-alice-pod", func(w *world) { pod(w).OwnerReferences[0].Controller = &no }, identity{}, errNotABridge},

		// The service account.
		{"a service account that is gone", "token-of-alice-pod", func(w *world) { delete(w.accounts, key(tenant, "alice-bridge")) }, identity{}, errServiceAccount},
		{"a service account that was made again", "token-of-alice-pod", func(w *world) { account(w).UID = "sa-later" }, identity{}, errServiceAccount},
		{"a service account that is being deleted", "token-of-alice-pod", func(w *world) { account(w).DeletionTimestamp = &now }, identity{}, errServiceAccount},
		{"the ingress's service account made again", "token-of-ingress-1", func(w *world) { w.accounts[key(system, ingressAccount)].UID = "sa-later" }, identity{}, errServiceAccount},

		// Its owner.
		{"a service account without an owner", "token-of-alice-pod", func(w *world) { account(w).OwnerReferences = nil }, identity{}, errNotABridge},
		{"an owner that does not control", "token-of-alice-pod", func(w *world) { account(w).OwnerReferences[0].Controller = &no }, identity{}, errNotABridge},
		{"an owner of another group", "token-of-alice-pod", func(w *world) { account(w).OwnerReferences[0].APIVersion = "example.com/v1alpha1" }, identity{}, errNotABridge},
		{"an owner of another kind", "token-of-alice-pod", func(w *world) { account(w).OwnerReferences[0].Kind = "CatalogRecipe" }, identity{}, errNotABridge},
		{"an owner whose version is none", "token-of-alice-pod", func(w *world) { account(w).OwnerReferences[0].APIVersion = "hostedbridge.dev/a/b" }, identity{}, errNotABridge},
		{"the ingress's name in another namespace", "token-of-x", func(w *world) { w.addPod(tenant, ingressAccount, "x", "uid-x", nil) }, identity{}, errNotABridge},
		{"a bundler's name in another namespace", "token-of-x", func(w *world) { w.addPod(tenant, bundlerAccount, "x", "uid-x", nil) }, identity{}, errNotABridge},
		{"the store's name in another namespace", "token-of-x", func(w *world) { w.addPod(tenant, storeAccount, "x", "uid-x", nil) }, identity{}, errNotABridge},
		{"another account of the system namespace", "token-of-x", func(w *world) { w.addPod(system, "hosted-bridge-operator", "x", "uid-x", nil) }, identity{}, errNotABridge},

		// The HostedBridge.
		{"a HostedBridge that is gone", "token-of-alice-pod", func(w *world) { delete(w.bridges, key(tenant, "alice")) }, identity{}, errBridge},
		{"a HostedBridge that was made again", "token-of-alice-pod", func(w *world) { bridge(w).UID = "uid-later" }, identity{}, errBridge},
		{"a HostedBridge that is being deleted", "token-of-alice-pod", func(w *world) { bridge(w).DeletionTimestamp = &now }, identity{}, errBridge},
		{"a HostedBridge that only exists in another namespace", "token-of-alice-pod", func(w *world) {
			w.bridges[key("other", "alice")] = bridge(w)
			delete(w.bridges, key(tenant, "alice"))
		}, identity{}, errBridge},

		{"an API server that does not answer", "token-of-alice-pod", func(w *world) { w.Err = errors.New("connection refused") }, identity{}, errClusterAway},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld()
			if test.change != nil {
				test.change(w)
			}
			i := &identifier{cluster: w, namespace: system, now: time.Now}
			got, err := i.identify(t.Context(), test.token)
			if o := got.object; (o != nil) != (err == nil && got.kind == kindBridge) || o != nil && o.UID != got.bridge.UID {
				t.Errorf("the HostedBridge is %v", o)
			}
			got.object = nil
			if test.err == nil && (err != nil || got != test.want) {
				t.Errorf("%+v, error %v; want %+v", got, err, test.want)
			}
			if test.err != nil && (!errors.Is(err, test.err) || publicProblem(err) != test.err || got.bridge != (secretstore.Bridge{})) {
				t.Errorf("%+v, error %v; want %v", got, err, test.err)
			}
		})
	}
}

func TestABridgeOfANamespaceThatIsNotWatchedIsNobody(t *testing.T) {
	w := newWorld()
	w.addBridge("trials", "carol", "uid-carol")
	i := &identifier{cluster: w, namespace: system, watched: namespaces.Set{tenant}, now: time.Now}
	for token, want := range map[string]error{"token-of-alice-pod": nil, "token-of-ingress-1": nil, "token-of-store-1": nil, "token-of-carol-pod": errNotABridge} {
		if _, err := i.identify(t.Context(), token); !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", token, err, want)
		}
	}
	// Nor is one of the installation's own namespace, unless that is watched.
	w.addBridge(system, "dave", "uid-dave")
	if _, err := i.identify(t.Context(), "token-of-dave-pod"); !errors.Is(err, errNotABridge) {
		t.Errorf("in the installation's namespace: error %v, want %v", err, errNotABridge)
	}
	i.watched = append(i.watched, system)
	if _, err := i.identify(t.Context(), "token-of-dave-pod"); err != nil {
		t.Errorf("in the installation's namespace, which is watched: error %v", err)
	}
}

func TestAPodThatEndsIsBelievedUntilItShouldHaveEnded(t *testing.T) {
	w := newWorld()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	i := &identifier{cluster: w, namespace: system, now: func() time.Time { return now }}
	for after, want := range map[time.Duration]error{-30 * time.Second: nil, time.Minute: nil, time.Minute + time.Second: errPod} {
		// The time at which its grace period ends.
		w.pods[key(tenant, "alice-pod")].DeletionTimestamp = &metav1.Time{Time: now.Add(-after)}
		if _, err := i.identifyEnding(t.Context(), "token-of-alice-pod"); !errors.Is(err, want) {
			t.Errorf("%s after its end: error %v, want %v", after, err, want)
		}
	}
}

// TestTheSameNamesInAnotherNamespaceAreSomebodyElse has all names equal, so
// that only namespace and UIDs tell the two apart.
func TestTheSameNamesInAnotherNamespaceAreSomebodyElse(t *testing.T) {
	w := newWorld()
	mine := w.tokens["token-of-alice-pod"]
	w.addBridge("other", "alice", "uid-other")
	theirs := w.tokens["token-of-alice-pod"]
	w.tokens["mine"], w.tokens["theirs"] = mine, theirs
	i := &identifier{cluster: w, namespace: system, now: time.Now}
	for token, want := range map[string]secretstore.Bridge{"mine": {Namespace: tenant, Name: "alice", UID: "uid-alice"}, "theirs": {Namespace: "other", Name: "alice", UID: "uid-other"}} {
		got, err := i.identify(t.Context(), token)
		if err != nil || got.bridge != want {
			t.Errorf("%s: %+v, error %v; want %+v", token, got, err, want)
		}
	}
	// A token that mixes the two is nobody's: the UIDs do not fit.
	mixed := theirs.DeepCopy()
	mixed.User.Username = mine.User.Username
	w.tokens["mixed"] = mixed
	if _, err := i.identify(t.Context(), "mixed"); !errors.Is(err, errPod) {
		t.Errorf("mixed: error %v, want %v", err, errPod)
	}
}
