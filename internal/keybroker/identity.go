// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
)

const (
	// Audience is the audience of the tokens that callers present. No other
	// service accepts such a token, the API server included.
	Audience = "hosted-bridge-keybroker"

	// ingressAccount, storeAccount and bundlerAccount are service accounts in the
	// system namespace.
	ingressAccount = "hosted-bridge-ingress"
	storeAccount   = "hosted-bridge-store"
	bundlerAccount = "hosted-bridge-bundler"

	// The keys under which the API server says to which pod a token is bound.
	extraPodName = "authentication.kubernetes.io/pod-name"
	extraPodUID  = "authentication.kubernetes.io/pod-uid"

	accountPrefix = "system:serviceaccount:"
)

// Reader reads the API server, live. An absent object is an error for which
// apierrors.IsNotFound holds.
type Reader interface {
	// Review asks whether the token is valid for the audience.
	Review(ctx context.Context, token, audience string) (*authenticationv1.TokenReviewStatus, error)
	Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	ServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error)
	Bridge(ctx context.Context, namespace, name string) (*effective.Bridge, error)
	// SharedServer, SharedServers and Persons read the installation's namespace.
	SharedServer(ctx context.Context, namespace, name string) (*v1alpha1.SharedServer, error)
	SharedServers(ctx context.Context, namespace string) ([]v1alpha1.SharedServer, error)
	Persons(ctx context.Context, namespace, field, value string) ([]v1alpha1.BridgePerson, error)
}

// kind is the kind of a caller. Its values are metric labels.
type kind string

const (
	kindBridge  kind = "bridge"
	kindIngress kind = "ingress"
	kindStore   kind = "store"
	kindBundler kind = "bundler"
)

// identity identifies the caller. bridge is set for a bridge alone, and object is its
// HostedBridge.
type identity struct {
	kind   kind
	bridge secretstore.Bridge
	object *effective.Bridge
}

// endedAfter is how long after the end of its grace period a pod that still
// exists is accepted. A token review accepts tokens of such pods for as long.
const endedAfter = time.Minute

// identifier identifies the caller that presents a token.
type identifier struct {
	cluster Reader
	// namespace is the installation's own. HostedBridges are in the watched
	// namespaces.
	namespace string
	watched   namespaces.Set
	now       func() time.Time
}

// account is what a token says of its bearer.
type account struct {
	namespace, name string
	uid             types.UID
	podName, podUID string
}

// identify returns the caller that presents the token. Every link from the
// token to the HostedBridge is followed by UID, since names are used again.
func (i *identifier) identify(ctx context.Context, token string) (identity, error) {
	return i.follow(ctx, token, false)
}

// identifyEnding is identify, except that it also accepts the token of a pod
// that is being deleted and has not ended.
func (i *identifier) identifyEnding(ctx context.Context, token string) (identity, error) {
	return i.follow(ctx, token, true)
}

func (i *identifier) follow(ctx context.Context, token string, ending bool) (identity, error) {
	a, err := i.review(ctx, token)
	if err != nil {
		return identity{}, err
	}
	// Before any object there is read: this installation has no right to.
	own := i.ownKind(a)
	if own == "" && !i.watched.Contain(a.namespace) {
		return identity{}, fmt.Errorf("%w: service account %s/%s is in none of the installation's namespaces", errNotABridge, a.namespace, a.name)
	}
	if err := i.checkPod(ctx, a, ending); err != nil {
		return identity{}, err
	}
	sa, err := i.serviceAccount(ctx, a)
	if err != nil {
		return identity{}, err
	}
	if own != "" {
		return identity{kind: own}, nil
	}
	object, err := i.owner(ctx, sa)
	if err != nil {
		return identity{kind: kindBridge}, err
	}
	return identity{kind: kindBridge, bridge: secretstore.Bridge{Namespace: object.Namespace, Name: object.Name, UID: object.UID}, object: object}, nil
}

// ownKind returns which of the installation's own processes has the account,
// empty for none.
func (i *identifier) ownKind(a account) kind {
	switch {
	case a.namespace != i.namespace:
		return ""
	case a.name == ingressAccount:
		return kindIngress
	case a.name == storeAccount:
		return kindStore
	case a.name == bundlerAccount:
		return kindBundler
	}
	return ""
}

func (i *identifier) review(ctx context.Context, token string) (account, error) {
	status, err := i.cluster.Review(ctx, token, Audience)
	if err != nil {
		return account{}, fmt.Errorf("%w: review token: %w", errClusterAway, err)
	}
	// The audiences show whether the API server checked ours: without them the
	// token is one for the API server itself.
	if !status.Authenticated || !slices.Contains(status.Audiences, Audience) {
		return account{}, fmt.Errorf("%w: not authenticated for the audience: %s", errTokenRefused, cmp.Or(status.Error, "no reason given"))
	}
	return boundAccount(&status.User)
}

// boundAccount reads a service account's name, and the pod that the token is
// bound to, from what the API server says of its bearer.
func boundAccount(user *authenticationv1.UserInfo) (account, error) {
	full, ok := strings.CutPrefix(user.Username, accountPrefix)
	namespace, name, cut := strings.Cut(full, ":")
	podName, podUID := single(user.Extra[extraPodName]), single(user.Extra[extraPodUID])
	if !ok || !cut || namespace == "" || name == "" || strings.Contains(name, ":") || user.UID == "" {
		return account{}, fmt.Errorf("%w: not a service account", errTokenRefused)
	}
	if podName == "" || podUID == "" {
		return account{}, fmt.Errorf("%w: not bound to a pod", errTokenRefused)
	}
	return account{
		namespace: namespace, name: name, uid: types.UID(user.UID),
		podName: podName, podUID: podUID,
	}, nil
}

// single returns the only value, and nothing for several: it would be unclear
// which of them is meant.
func single(values authenticationv1.ExtraValue) string {
	if len(values) != 1 {
		return ""
	}
	return values[0]
}

func (i *identifier) checkPod(ctx context.Context, a account, ending bool) error {
	pod, err := i.cluster.Pod(ctx, a.namespace, a.podName)
	if err != nil {
		return absent(err, errPod, "pod", a.namespace, a.podName)
	}
	why := i.ended(pod, ending)
	switch {
	case string(pod.UID) != a.podUID:
		why = "has another UID"
	case pod.Spec.ServiceAccountName != a.name:
		why = "has another service account"
	}
	if why != "" {
		return fmt.Errorf("%w: pod %s/%s %s", errPod, a.namespace, a.podName, why)
	}
	// Anybody with the right to create pods can create one with a bridge's
	// account and get its token.
	if i.ownKind(a) == "" && !ofTenant(pod) {
		return fmt.Errorf("%w: pod %s/%s was not made as a tenant's", errNotABridge, a.namespace, a.podName)
	}
	return nil
}

// ended says why a pod counts as ended, and is empty for a pod that runs. With
// ending, a pod that is being deleted runs until its grace period is over.
func (i *identifier) ended(pod *corev1.Pod, ending bool) string {
	switch {
	case pod.DeletionTimestamp != nil && !ending:
		return "is being deleted" // It has its certificate, which stays valid longer.
	case pod.DeletionTimestamp != nil && i.now().After(pod.DeletionTimestamp.Add(endedAfter)):
		return "should have ended"
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return "has ended"
	}
	return ""
}

// ofTenant reports whether only the ReplicaSet controller can have created the
// pod, for a Deployment of the operator: an admission policy ensures that. The
// policy goes by the labels. Where all controllers have one user name, it
// admits a Job's pod too, so this function checks the controller's kind.
func ofTenant(pod *corev1.Pod) bool {
	maker := metav1.GetControllerOfNoCopy(pod)
	return labels.SelectorFromSet(v1alpha1.BridgePodLabels()).Matches(labels.Set(pod.Labels)) &&
		maker != nil && maker.APIVersion == "apps/v1" && maker.Kind == "ReplicaSet"
}

func (i *identifier) serviceAccount(ctx context.Context, a account) (*corev1.ServiceAccount, error) {
	sa, err := i.cluster.ServiceAccount(ctx, a.namespace, a.name)
	if err != nil {
		return nil, absent(err, errServiceAccount, "service account", a.namespace, a.name)
	}
	if sa.UID != a.uid {
		return nil, fmt.Errorf("%w: service account %s/%s has another UID", errServiceAccount, a.namespace, a.name)
	}
	if sa.DeletionTimestamp != nil {
		return nil, fmt.Errorf("%w: service account %s/%s is being deleted", errServiceAccount, a.namespace, a.name)
	}
	return sa, nil
}

// owner returns the HostedBridge that controls the service account.
func (i *identifier) owner(ctx context.Context, sa *corev1.ServiceAccount) (*effective.Bridge, error) {
	owner := metav1.GetControllerOfNoCopy(sa)
	if owner == nil || !secretstore.IsBridge(owner) {
		return nil, fmt.Errorf("%w: service account %s/%s", errNotABridge, sa.Namespace, sa.Name)
	}
	bridge, err := i.cluster.Bridge(ctx, sa.Namespace, owner.Name)
	if err != nil {
		return nil, absent(err, errBridge, secretstore.BridgeKind, sa.Namespace, owner.Name)
	}
	if bridge.UID != owner.UID {
		return nil, fmt.Errorf("%w: HostedBridge %s/%s has another UID", errBridge, sa.Namespace, owner.Name)
	}
	if bridge.DeletionTimestamp != nil {
		return nil, fmt.Errorf("%w: HostedBridge %s/%s is being deleted", errBridge, sa.Namespace, owner.Name)
	}
	return bridge, nil
}

// absent returns gone for an object that does not exist, err itself if it is a
// problem already, and otherwise the problem that the API server did not
// answer.
func absent(err error, gone *httpapi.Problem, what, namespace, name string) error {
	if isProblem(err) {
		return err
	}
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: %s %s/%s does not exist", gone, what, namespace, name)
	}
	return fmt.Errorf("%w: get %s %s/%s: %w", errClusterAway, what, namespace, name, err)
}
