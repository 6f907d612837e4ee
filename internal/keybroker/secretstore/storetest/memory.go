// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storetest has the Secrets of an API server in memory, for tests that
// need a store. Only tests import it.
package storetest

import (
	"context"
	"errors"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var resource = schema.GroupResource{Resource: "secrets"}

// Memory is an API server with Secrets alone. As the real one does, it refuses
// to change a Secret that has changed since it was read, or that is immutable;
// and it returns copies.
type Memory struct {
	// Mu guards the fields after it, for a test that runs several goroutines.
	Mu sync.Mutex
	// Stored are the Secrets themselves, by Key.
	Stored map[string]*corev1.Secret
	// Err is the error of every call while it is set.
	Err error
	// Reads counts the calls that ask for a Secret, Writes the changes.
	Reads, Writes int

	// BeforePatch runs before each change of a Secret.
	BeforePatch func()
	// AfterPatch runs with the lock held, after a change that took place; its
	// error is what the writer gets.
	AfterPatch func(secret *corev1.Secret) error
}

// New returns an API server without Secrets.
func New() *Memory { return &Memory{Stored: map[string]*corev1.Secret{}} }

// Key is the key under which a Secret is stored.
func Key(namespace, name string) string { return namespace + "/" + name }

// Secret returns a copy of the Secret.
func (m *Memory) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.Reads++
	if err := errors.Join(ctx.Err(), m.Err); err != nil {
		return nil, err
	}
	stored, found := m.Stored[Key(namespace, name)]
	if !found {
		return nil, apierrors.NewNotFound(resource, name)
	}
	return stored.DeepCopy(), nil
}

// CreateSecret stores a copy of the Secret and returns another.
func (m *Memory) CreateSecret(ctx context.Context, secret *corev1.Secret) (*corev1.Secret, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if err := errors.Join(ctx.Err(), m.Err); err != nil {
		return nil, err
	}
	if _, found := m.Stored[Key(secret.Namespace, secret.Name)]; found {
		return nil, apierrors.NewAlreadyExists(resource, secret.Name)
	}
	return m.put(secret.DeepCopy()), nil
}

// PatchSecret sets these keys of the Secret and removes those whose value is
// nil.
func (m *Memory) PatchSecret(ctx context.Context, read *corev1.Secret, data map[string][]byte) (*corev1.Secret, error) {
	if m.BeforePatch != nil {
		m.BeforePatch()
	}
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if err := errors.Join(ctx.Err(), m.Err); err != nil {
		return nil, err
	}
	stored, err := m.asRead(read)
	if err != nil {
		return nil, err
	}
	next := stored.DeepCopy()
	if next.Data == nil {
		next.Data = map[string][]byte{}
	}
	for key, value := range data {
		if next.Data[key] = value; value == nil {
			delete(next.Data, key)
		}
	}
	result := m.put(next)
	if m.AfterPatch != nil {
		if err := m.AfterPatch(next); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// DeleteSecret deletes the Secret that was read.
func (m *Memory) DeleteSecret(ctx context.Context, read *corev1.Secret) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if err := errors.Join(ctx.Err(), m.Err); err != nil {
		return err
	}
	stored, found := m.Stored[Key(read.Namespace, read.Name)]
	switch {
	case !found:
		return apierrors.NewNotFound(resource, read.Name)
	case stored.UID != read.UID:
		return apierrors.NewConflict(resource, read.Name, errors.New("it is another one"))
	}
	delete(m.Stored, Key(read.Namespace, read.Name))
	m.Writes++
	return nil
}

// asRead returns the stored Secret if the Secret that was read may be changed.
func (m *Memory) asRead(read *corev1.Secret) (*corev1.Secret, error) {
	stored, found := m.Stored[Key(read.Namespace, read.Name)]
	switch {
	case !found:
		return nil, apierrors.NewNotFound(resource, read.Name)
	case stored.ResourceVersion != read.ResourceVersion:
		return nil, apierrors.NewConflict(resource, read.Name, errors.New("it has changed"))
	case stored.Immutable != nil && *stored.Immutable:
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, read.Name, nil)
	}
	return stored, nil
}

// Touch gives a stored Secret a new resource version, as any write does.
func (m *Memory) Touch(stored *corev1.Secret) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.touch(stored)
}

// Remove deletes the Secret, if it exists.
func (m *Memory) Remove(namespace, name string) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	delete(m.Stored, Key(namespace, name))
}

func (m *Memory) put(secret *corev1.Secret) *corev1.Secret {
	m.touch(secret)
	m.Stored[Key(secret.Namespace, secret.Name)] = secret
	return secret.DeepCopy()
}

func (m *Memory) touch(secret *corev1.Secret) {
	m.Writes++
	secret.ResourceVersion = strconv.Itoa(m.Writes)
}
