// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package effective

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

func TestTheSpecInEffect(t *testing.T) {
	const given = `{"name":"x","transport":{"type":"StreamableHTTP","url":"https://given"}}`
	at := func(name, url string) v1alpha1.Server {
		return v1alpha1.Server{Name: name, Transport: v1alpha1.Transport{URL: url}}
	}
	b := &v1alpha1.HostedBridge{Spec: v1alpha1.HostedBridgeSpec{
		Tier: "free", Mode: v1alpha1.ModeDirect, ToolPrefix: v1alpha1.ToolPrefixAlways, DesiredState: v1alpha1.StateRunning,
		Servers: []v1alpha1.Server{at("own", "https://own"), at("both", "https://own"), at("out", "https://own"), at("kept", "https://own")},
	}}
	b.Status.Access = &v1alpha1.BridgeAccess{State: v1alpha1.AccessSuspended}
	b.Status.Effective = &v1alpha1.EffectiveSettings{
		Tier: "pro", Mode: v1alpha1.ModeRouter, IdleTimeout: &metav1.Duration{Duration: time.Hour}, RuntimeClassName: "gvisor", LeftOut: []string{"out"},
		Servers: []v1alpha1.EffectiveServer{
			{Name: "new", Use: v1alpha1.ServerDefault, Source: given}, {Name: "both", Use: v1alpha1.ServerRequired, Source: given, Shared: "ours"},
			{Name: "kept", Use: v1alpha1.ServerDefault, Source: given, Shared: "ours"},
			{Name: "off", Use: v1alpha1.ServerOptional, Reason: v1alpha1.ReasonServerOff}, {Name: "broken", Use: v1alpha1.ServerRequired, Source: "{"},
		},
	}
	before := b.DeepCopy()
	got := Of(b)
	from := func(name, shared string) Server {
		return Server{Shared: shared, Server: v1alpha1.Server{Name: name, Transport: v1alpha1.Transport{Type: v1alpha1.TransportStreamableHTTP, URL: "https://given"}}}
	}
	want := Spec{
		HostedBridgeSpec: v1alpha1.HostedBridgeSpec{
			Tier: "pro", Mode: v1alpha1.ModeRouter, ToolPrefix: v1alpha1.ToolPrefixAlways, DesiredState: v1alpha1.StateSuspended,
			IdleTimeout: &metav1.Duration{Duration: time.Hour}, RuntimeClassName: new("gvisor"),
		},
		Servers: []Server{{Server: at("own", "https://own")}, from("both", "ours"), {Server: at("kept", "https://own")}, from("new", "")},
	}
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, b); diff != "" {
		t.Errorf("the bridge itself was changed (-before +after):\n%s", diff)
	}
}

func TestABridgeWithoutProfilesIsInEffectAsItIs(t *testing.T) {
	b := &v1alpha1.HostedBridge{Spec: v1alpha1.HostedBridgeSpec{Tier: "free", Servers: []v1alpha1.Server{{Name: "own"}}}}
	want := Spec{HostedBridgeSpec: v1alpha1.HostedBridgeSpec{Tier: "free"}, Servers: []Server{{Server: v1alpha1.Server{Name: "own"}}}}
	if diff := cmp.Diff(want, Of(b).Spec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
