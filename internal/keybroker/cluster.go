// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// callTimeout is for one call of the API server: it answers in milliseconds,
// and one that does not should be asked again, perhaps another replica of it.
const callTimeout = 5 * time.Second

// Cluster is the API server as the keybroker uses it. It caches nothing.
type Cluster struct {
	tokens  authenticationclient.AuthenticationV1Interface
	core    coreclient.CoreV1Interface
	bridges metadata.Getter
}

var (
	_ Reader  = (*Cluster)(nil)
	_ Secrets = (*Cluster)(nil)
	_ Trust   = (*Cluster)(nil)
)

// NewCluster returns the API server that config leads to.
func NewCluster(config *rest.Config) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.Timeout = callTimeout
	// The number of requests at once is limited where they come in, and the
	// API server is fair between its clients.
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
	meta, err := metadata.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("make client for metadata: %w", err)
	}
	return &Cluster{tokens: tokens, core: core, bridges: meta.Resource(v1alpha1.GroupVersion.WithResource("hostedbridges"))}, nil
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

// Pod implements Reader.
func (c *Cluster) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return c.core.Pods(namespace).Get(ctx, name, metav1.GetOptions{})
}

// ServiceAccount implements Reader.
func (c *Cluster) ServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	return c.core.ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
}

// Bridge implements Reader.
func (c *Cluster) Bridge(ctx context.Context, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	return c.bridges.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}

// Secret implements Secrets.
func (c *Cluster) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return c.core.Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
}

// CreateSecret implements Secrets.
func (c *Cluster) CreateSecret(ctx context.Context, secret *corev1.Secret) (*corev1.Secret, error) {
	return c.core.Secrets(secret.Namespace).Create(ctx, secret, metav1.CreateOptions{FieldManager: v1alpha1.FieldOwnerKeybroker})
}

// SetKey implements Secrets. It is a merge patch and not an apply: an apply
// removes what the same owner applied before and does not name again, which
// are all other secrets of the user.
func (c *Cluster) SetKey(ctx context.Context, secret *corev1.Secret, key string, value []byte) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]string{"resourceVersion": secret.ResourceVersion},
		"data":     map[string][]byte{key: value},
	})
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	_, err = c.core.Secrets(secret.Namespace).Patch(ctx, secret.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: v1alpha1.FieldOwnerKeybroker})
	return err
}

// ApplyCA implements Trust. It takes the field from whoever else wrote it: the
// keybroker alone knows by what it can be known.
func (c *Cluster) ApplyCA(ctx context.Context, namespace string, pem []byte) error {
	config := corev1ac.ConfigMap(caName, namespace).WithData(map[string]string{caKey: string(pem)})
	_, err := c.core.ConfigMaps(namespace).Apply(ctx, config, metav1.ApplyOptions{FieldManager: v1alpha1.FieldOwnerKeybroker, Force: true})
	return err
}
