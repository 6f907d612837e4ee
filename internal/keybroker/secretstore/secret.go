// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
)

const (
	// SaltKey is the key of the salt in its Secret.
	SaltKey = "salt"

	// BridgeKind is the kind of the objects that bridges belong to.
	BridgeKind = "HostedBridge"
)

// IsBridge reports whether the owner is a HostedBridge. It compares the group
// without the version: an owner reference outlives the API version that it was
// written in.
func IsBridge(owner *metav1.OwnerReference) bool {
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && gv.Group == v1alpha1.GroupVersion.Group && owner.Kind == BridgeKind
}

// read returns the bridge's envelopes, which are empty if there is no Secret.
func (s *Store) read(ctx context.Context, b Bridge) (snapshot, error) {
	secret, err := s.owned(ctx, b, b.EnvelopesName())
	if errors.Is(err, ErrNotFound) {
		return snapshot{index: index{}}, nil
	}
	if err != nil {
		return snapshot{}, err
	}
	current, err := take(secret)
	if err != nil {
		s.warn(ctx, b, "secrets' index not read", slog.Any("error", err))
	}
	return current, nil
}

// owned returns the Secret if it belongs to the bridge.
func (s *Store) owned(ctx context.Context, b Bridge, name string) (*corev1.Secret, error) {
	secret, err := s.Secrets.Secret(ctx, b.Namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: Secret %s/%s does not exist", ErrNotFound, b.Namespace, name)
	}
	if err != nil {
		return nil, fmt.Errorf("get Secret %s/%s: %w", b.Namespace, name, classify(err))
	}
	owner, known := OwnerOf(b.Namespace, metav1.GetControllerOfNoCopy(secret))
	switch {
	case !known || owner.Name != b.Name:
		return nil, fmt.Errorf("%w: Secret %s/%s", ErrNotOwned, b.Namespace, name)
	case owner.UID != b.UID:
		return nil, fmt.Errorf("%w: Secret %s/%s belongs to an earlier object of this name", ErrNotReady, b.Namespace, name)
	case secret.DeletionTimestamp != nil:
		return nil, fmt.Errorf("%w: Secret %s/%s is being deleted", ErrNotReady, b.Namespace, name)
	}
	return secret, nil
}

// user returns the user's keys, derived with the stored salt.
func (s *Store) user(ctx context.Context, b Bridge) (*envelope.User, error) {
	salt, err := s.owned(ctx, b, b.SaltName())
	if errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("%w: %w", ErrSaltMissing, err)
	}
	if err != nil {
		return nil, err
	}
	return s.userOf(b, salt)
}

func (s *Store) userOf(b Bridge, salt *corev1.Secret) (*envelope.User, error) {
	user, err := s.Keys().User(s.Cluster, b.userUID(), salt.Data[SaltKey])
	if err != nil {
		return nil, fmt.Errorf("%w: Secret %s/%s: %w", ErrSaltInvalid, salt.Namespace, salt.Name, err)
	}
	return user, nil
}

// saltless reports whether the error says that the user has no usable salt, now
// or later.
func saltless(err error) bool {
	return errors.Is(err, ErrSaltMissing) || errors.Is(err, ErrSaltInvalid) || errors.Is(err, ErrNotOwned)
}

// createSalt makes the user's salt, which is deleted with the HostedBridge and
// cannot be changed. It is no error if another replica was first.
func (s *Store) createSalt(ctx context.Context, b Bridge) error {
	salt := make([]byte, envelope.SaltSize)
	if _, err := io.ReadFull(s.Random, salt); err != nil {
		return fmt.Errorf("choose salt: %w", err)
	}
	secret := newSecret(b, b.SaltName(), map[string][]byte{SaltKey: salt})
	secret.Immutable = new(true)
	_, err := s.Secrets.CreateSecret(ctx, secret)
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsConflict(err):
		return errOvertaken // By other objects that count against the same quota.
	}
	return fmt.Errorf("create Secret %s/%s: %w", b.Namespace, secret.Name, classify(err))
}

// newSecret returns a Secret that is deleted with its owner and is labelled as the
// installation's.
func newSecret(b Bridge, name string, data map[string][]byte) *corev1.Secret {
	kind, owner := b.owner()
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: b.Namespace, Name: name,
			Labels: map[string]string{
				v1alpha1.LabelName:      v1alpha1.NameValue,
				v1alpha1.LabelManagedBy: v1alpha1.FieldOwnerKeybroker,
				v1alpha1.LabelInstance:  v1alpha1.InstanceLabelValue(owner),
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: kind,
				Name: owner, UID: b.UID, Controller: new(true),
			}},
		},
		Type: corev1.SecretTypeOpaque,
		Data: data,
	}
}

// put writes the keys of data, and removes those whose value is nil. It returns
// errOvertaken if the stored Secret is not current any more.
func (s *Store) put(ctx context.Context, b Bridge, current snapshot, data map[string][]byte) (snapshot, error) {
	if err := fits(current, data); err != nil {
		return snapshot{}, err
	}
	name := b.EnvelopesName()
	var stored *corev1.Secret
	var err error
	if current.secret == nil {
		stored, err = s.Secrets.CreateSecret(ctx, newSecret(b, name, data))
	} else {
		stored, err = s.Secrets.PatchSecret(ctx, current.secret, data)
	}
	switch {
	case err == nil:
		next, _ := take(stored) // The next reader reports an index that cannot be read.
		return next, nil
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err) && current.secret != nil:
		return snapshot{}, errOvertaken
	}
	return snapshot{}, fmt.Errorf("write Secret %s/%s: %w", b.Namespace, name, classify(err))
}

// fits returns an error if the Secret would be too large. The API server
// refuses it too, but its answer does not distinguish this from other refusals.
// Room for the time that Retain notes stays free, which no user can fill. A Secret
// that is fuller than that can become smaller.
func fits(current snapshot, data map[string][]byte) error {
	size, before := 0, 0
	if current.secret != nil {
		for key, value := range current.secret.Data {
			before += len(value)
			if _, changes := data[key]; !changes {
				size += len(value)
			}
		}
	}
	for _, value := range data {
		size += len(value)
	}
	room := corev1.MaxSecretSize
	if _, notes := data[retainedKey]; !notes {
		room = max(room-retainedSize, min(before, room))
	}
	if size > room {
		return fmt.Errorf("%w: %d bytes of sealed secrets, at most %d", ErrTooLarge, size, room)
	}
	return nil
}

func (s *Store) warn(ctx context.Context, b Bridge, message string, attrs ...slog.Attr) {
	s.Log.LogAttrs(ctx, slog.LevelWarn, message, append([]slog.Attr{
		slog.String("namespace", b.Namespace), slog.String("hostedBridge", b.Name), slog.String("uid", string(b.UID)),
	}, attrs...)...)
}
