// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestore

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// oneBridge is a cluster with one HostedBridge.
type oneBridge struct {
	client.Reader

	bridge *v1alpha1.HostedBridge
}

func (o oneBridge) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	o.bridge.DeepCopyInto(into.(*v1alpha1.HostedBridge))
	return nil
}

func TestAConnectionSaysWhereItsTokensComeFromAndGo(t *testing.T) {
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "tenants", Name: "alice", UID: "uid-alice"}}
	b.Spec.Servers = []v1alpha1.Server{{
		Name: "drive", Secrets: []v1alpha1.SecretName{"DRIVE"}, Transport: v1alpha1.Transport{URL: "https://drive.example.com/mcp"},
		Auth: &v1alpha1.Auth{OAuth: &v1alpha1.OAuth{
			Grant: v1alpha1.OAuthAuthorizationCode, AuthorizationURL: "https://accounts.example.com/authorize", TokenURL: "https://tokens.example.com/token",
			ClientID: "me", TokenSecret: "DRIVE", Scopes: []string{"read"}, Resource: "https://drive.example.com",
		}},
	}}
	c := &Connections{Routes: tables{route.Build([]*v1alpha1.HostedBridge{b}, nil)}, Bridges: oneBridge{bridge: b}}
	got, err := c.Find(t.Context(), "alice", "drive")
	want := flow.Connection{
		User: "alice", Server: "drive", Bridge: "uid-alice", ClientID: "me", Scopes: []string{"read"}, Resource: "https://drive.example.com", Secret: "DRIVE",
		AuthorizationURL: "https://accounts.example.com/authorize", TokenURL: "https://tokens.example.com/token", ServerURL: "https://drive.example.com/mcp",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := c.Find(t.Context(), "alice", "other"); !errors.Is(err, flow.ErrNotFound) {
		t.Errorf("of another server: %v", err)
	}
	later := b.DeepCopy()
	later.UID = "uid-later"
	c.Bridges = oneBridge{bridge: later}
	if _, err := c.Find(t.Context(), "alice", "drive"); !errors.Is(err, flow.ErrNotFound) {
		t.Errorf("of a later bridge of the name: %v", err)
	}
}
