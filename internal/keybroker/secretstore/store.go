// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
)

// maxTries is how often a write is tried when other writers are first: more
// often than there are writers for one user at once, which are a few requests
// of each ingress pod and the sealing controller.
const maxTries = 16

// Bridge is the owner of secrets: a HostedBridge, or the SharedServer that Shared returns. A
// later one of the same name is another.
type Bridge struct {
	Namespace, Name string
	UID             types.UID
}

// Secrets are the Secrets of the API server, live. Errors are the API
// server's.
type Secrets interface {
	Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	CreateSecret(ctx context.Context, secret *corev1.Secret) (*corev1.Secret, error)
	// PatchSecret sets these keys of the Secret, all or none, and removes those
	// whose value is nil. If the Secret has changed since it was read, the
	// error is a conflict.
	PatchSecret(ctx context.Context, secret *corev1.Secret, data map[string][]byte) (*corev1.Secret, error)
	// DeleteSecret deletes the Secret, unless another one has taken its name.
	DeleteSecret(ctx context.Context, secret *corev1.Secret) error
}

// Config is what a store needs. No field may be empty.
type Config struct {
	Secrets Secrets
	// Keys returns the current keys.
	Keys func() *envelope.Keys
	// Cluster names the installation in sealed data.
	Cluster string
	Random  io.Reader
	Now     func() time.Time
	Log     *slog.Logger
}

// Store keeps users' secrets. It caches nothing and is safe for concurrent
// use.
type Store struct {
	Config
}

// New returns a store, or an error when part of c is missing.
func New(c Config) (*Store, error) {
	if c.Secrets == nil || c.Keys == nil || c.Cluster == "" || c.Random == nil || c.Now == nil || c.Log == nil {
		return nil, errors.New("store: a part of the configuration is missing")
	}
	return &Store{c}, nil
}
