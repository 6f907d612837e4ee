// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
)

// callTimeout is for one call of the API server. It answers in milliseconds; if
// it does not, a second call may reach another replica.
const callTimeout = 5 * time.Second

// Cluster is the API server as the keybroker uses it. It caches nothing.
type Cluster struct {
	tokens  authenticationclient.AuthenticationV1Interface
	core    coreclient.CoreV1Interface
	bridges rest.Interface
}

var (
	_ Reader              = (*Cluster)(nil)
	_ secretstore.Secrets = (*Cluster)(nil)
	_ Trust               = (*Cluster)(nil)
)

// NewCluster returns the API server that config leads to.
func NewCluster(config *rest.Config) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.Timeout = callTimeout
	// Requests are limited where they come in, and the API server is fair
	// between its clients.
	config.QPS = -1
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	tokens, err := authenticationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("make client for tokens: %w", err)
	}
	core, err := coreclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("make client for core objects: %w", err)
	}
	bridges, err := bridgeClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("make client for HostedBridges: %w", err)
	}
	return &Cluster{tokens: tokens, core: core, bridges: bridges}, nil
}

func bridgeClient(config *rest.Config, client *http.Client) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.GroupVersion = &v1alpha1.GroupVersion
	config.APIPath = "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.RESTClientForConfigAndClient(config, client)
}

// Review implements Reader.
func (c *Cluster) Review(ctx context.Context, token, audience string) (*authenticationv1.TokenReviewStatus, error) {
	review, err := c.tokens.TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{audience}},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return &review.Status, nil
}

// Document returns the document at a path of the API server, such as the public
// keys of its tokens.
func (c *Cluster) Document(ctx context.Context, path string) ([]byte, error) {
	return c.core.RESTClient().Get().AbsPath(path).Do(ctx).Raw()
}

// Pod implements Reader.
func (c *Cluster) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return c.core.Pods(namespace).Get(ctx, name, metav1.GetOptions{})
}

// ServiceAccount implements Reader.
func (c *Cluster) ServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	return c.core.ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
}

// Bridge implements Reader. The spec is the one in effect, with what profiles change.
func (c *Cluster) Bridge(ctx context.Context, namespace, name string) (*effective.Bridge, error) {
	bridge := &v1alpha1.HostedBridge{}
	err := c.bridges.Get().Namespace(namespace).Resource("hostedbridges").Name(name).Do(ctx).Into(bridge)
	return effective.Of(bridge), err
}

// SharedServer implements Reader.
func (c *Cluster) SharedServer(ctx context.Context, namespace, name string) (*v1alpha1.SharedServer, error) {
	server := &v1alpha1.SharedServer{}
	err := c.bridges.Get().Namespace(namespace).Resource("sharedservers").Name(name).Do(ctx).Into(server)
	return server, err
}

// SharedServers implements Reader.
func (c *Cluster) SharedServers(ctx context.Context, namespace string) ([]v1alpha1.SharedServer, error) {
	var list v1alpha1.SharedServerList
	err := c.bridges.Get().Namespace(namespace).Resource("sharedservers").Do(ctx).Into(&list)
	return list.Items, err
}

// Persons implements Reader.
func (c *Cluster) Persons(ctx context.Context, namespace, field, value string) ([]v1alpha1.BridgePerson, error) {
	var list v1alpha1.BridgePersonList
	err := c.bridges.Get().Namespace(namespace).Resource("bridgepersons").
		Param("fieldSelector", fields.OneTermEqualSelector(field, value).String()).Do(ctx).Into(&list)
	return list.Items, err
}

// Secret implements secretstore.Secrets.
func (c *Cluster) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return c.core.Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
}

// CreateSecret implements secretstore.Secrets.
func (c *Cluster) CreateSecret(ctx context.Context, secret *corev1.Secret) (*corev1.Secret, error) {
	return c.core.Secrets(secret.Namespace).Create(ctx, secret, metav1.CreateOptions{FieldManager: v1alpha1.FieldOwnerKeybroker})
}

// PatchSecret implements secretstore.Secrets. It is a merge patch and not an apply:
// an apply removes what the same owner applied before and does not name again,
// which would be all other secrets of the user.
func (c *Cluster) PatchSecret(ctx context.Context, secret *corev1.Secret, data map[string][]byte) (*corev1.Secret, error) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]string{"resourceVersion": secret.ResourceVersion},
		"data":     data, // A nil slice is null, which removes the key.
	})
	if err != nil {
		return nil, fmt.Errorf("encode patch: %w", err)
	}
	return c.core.Secrets(secret.Namespace).Patch(ctx, secret.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: v1alpha1.FieldOwnerKeybroker})
}

// ApplyCA implements Trust. It takes over the fields from any other writer: only
// the keybroker knows the certificate of its authority, and its keys.
func (c *Cluster) ApplyCA(ctx context.Context, namespace string, data map[string]string) error {
	config := corev1ac.ConfigMap(caName, namespace).WithData(data)
	_, err := c.core.ConfigMaps(namespace).Apply(ctx, config, metav1.ApplyOptions{FieldManager: v1alpha1.FieldOwnerKeybroker, Force: true})
	return err
}

// DeleteSecret implements secretstore.Secrets.
func (c *Cluster) DeleteSecret(ctx context.Context, secret *corev1.Secret) error {
	return c.core.Secrets(secret.Namespace).Delete(ctx, secret.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &secret.UID}})
}
