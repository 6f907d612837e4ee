// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// server is an API server of one HostedBridge. Patches are answered by patch.
type server struct {
	client.Client

	bridge v1alpha1.HostedBridge
	patch  func(b *v1alpha1.HostedBridge) error
}

func (s *server) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	s.bridge.DeepCopyInto(into.(*v1alpha1.HostedBridge))
	return nil
}

func (s *server) Patch(_ context.Context, into client.Object, _ client.Patch, _ ...client.PatchOption) error {
	err := s.patch(&s.bridge)
	s.bridge.DeepCopyInto(into.(*v1alpha1.HostedBridge))
	return err
}

// keysOf returns a HostedBridge with the key k1, held by these managers.
func keysOf(managers ...string) v1alpha1.HostedBridge {
	b := v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "alice", UID: "1"}}
	b.Spec.APIKeys = []v1alpha1.APIKey{{ID: "k1"}}
	for _, m := range managers {
		b.ManagedFields = append(b.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: m, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:apiKeys":{"k:{\"id\":\"k1\"}":{}}}}`),
		})
	}
	return b
}

func of(b v1alpha1.HostedBridge) route.Backend {
	return route.Backend{Namespace: b.Namespace, Name: b.Name, BridgeUID: b.UID}
}

func TestWhatARefusalSaysOfAnAct(t *testing.T) {
	kind := schema.GroupKind{Kind: "HostedBridge"}
	resource := schema.GroupResource{Resource: "hostedbridges"}
	keys := field.NewPath("spec", "apiKeys")
	away := errors.New("connection reset by peer")
	tests := map[string]struct {
		err    error
		is     error // nil: none of the errors of this package
		unsure bool
	}{
		"too many keys":        {apierrors.NewInvalid(kind, "alice", field.ErrorList{field.TooMany(keys, 33, 32)}), ErrTooMany, false},
		"something else is":    {apierrors.NewInvalid(kind, "alice", field.ErrorList{field.TooMany(field.NewPath("spec", "servers"), 65, 64)}), nil, false},
		"a key is wrong":       {apierrors.NewInvalid(kind, "alice", field.ErrorList{field.Invalid(keys, "x", "no hash")}), nil, false},
		"no causes":            {&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonInvalid, Code: 422}}, nil, false},
		"another HostedBridge": {apierrors.NewConflict(resource, "alice", errors.New("uid mismatch")), ErrNoBridge, false},
		"it is gone":           {apierrors.NewNotFound(resource, "alice"), ErrNoBridge, false},
		"not allowed":          {apierrors.NewForbidden(resource, "alice", errors.New("no")), nil, false},
		"an internal error":    {apierrors.NewInternalError(errors.New("storage")), nil, true},
		"a proxy's":            {apierrors.NewGenericServerResponse(http.StatusGatewayTimeout, "patch", resource, "alice", "", 0, true), nil, true},
		"no answer":            {away, nil, true},
		"no time":              {context.DeadlineExceeded, nil, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := &server{bridge: keysOf(manager("k1")), patch: func(*v1alpha1.HostedBridge) error { return tt.err }}
			ring := NewCluster(s, rand.Reader)
			_, created := ring.Create(t.Context(), of(s.bridge), "", time.Time{})
			for act, err := range map[string]error{"create": created, "revoke": ring.Revoke(t.Context(), of(s.bridge), "k1")} {
				for _, known := range []error{ErrTooMany, ErrNoBridge, ErrNoKey} {
					if errors.Is(err, known) != errors.Is(tt.is, known) {
						t.Errorf("%s: %v", act, err)
					}
				}
				unsure, ok := errors.AsType[*UnsureError](err)
				if ok != tt.unsure || ok && (unsure.KeyID == "" || act == "revoke" && unsure.KeyID != "k1") {
					t.Errorf("%s: %v is %+v", act, err, unsure)
				}
				if tt.is == nil && !errors.Is(err, tt.err) {
					t.Errorf("%s: %v does not say %v", act, err, tt.err)
				}
			}
		})
	}
}

// TestAKeyThatMovesInTheListIsRevoked has another key removed between reading and writing.
func TestAKeyThatMovesInTheListIsRevoked(t *testing.T) {
	before := keysOf(manager("k1"))
	before.Spec.APIKeys = []v1alpha1.APIKey{{ID: "k0"}, {ID: "k1"}}
	patches := 0
	s := &server{bridge: before}
	s.patch = func(b *v1alpha1.HostedBridge) error {
		if patches++; patches == 1 {
			b.Spec.APIKeys = b.Spec.APIKeys[1:]
			return apierrors.NewInvalid(schema.GroupKind{Kind: "HostedBridge"}, "alice", nil)
		}
		b.Spec.APIKeys = nil
		return nil
	}
	ring := NewCluster(s, rand.Reader)
	if err := ring.Revoke(t.Context(), of(s.bridge), "k1"); err != nil || patches != 2 {
		t.Errorf("after %d patches: %v", patches, err)
	}
}

// TestAKeyThatSomebodyTakesHoldOfMeanwhile has the act done, and the key there.
func TestAKeyThatSomebodyTakesHoldOfMeanwhile(t *testing.T) {
	s := &server{bridge: keysOf(manager("k1")), patch: func(b *v1alpha1.HostedBridge) error {
		*b = keysOf("kubectl")
		return nil
	}}
	ring := NewCluster(s, rand.Reader)
	err := ring.Revoke(t.Context(), of(s.bridge), "k1")
	managed, isManaged := errors.AsType[*ManagedError](err)
	if unsure, ok := errors.AsType[*UnsureError](err); !ok || unsure.KeyID != "k1" || !isManaged || managed.By[0] != "kubectl" {
		t.Errorf("%v", err)
	}
	s.bridge = keysOf("kubectl")
	s.patch = func(*v1alpha1.HostedBridge) error { t.Error("it was sent"); return nil }
	err = ring.Revoke(t.Context(), of(s.bridge), "k1")
	if _, ok := errors.AsType[*UnsureError](err); ok || err == nil {
		t.Errorf("of what was not sent: %v", err)
	}
}
