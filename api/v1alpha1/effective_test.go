// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheSpecInEffect(t *testing.T) {
	const given = `{"name":"x","transport":{"type":"StreamableHTTP","url":"https://given"}}`
	at := func(name, url string) Server { return Server{Name: name, Transport: Transport{URL: url}} }
	b := &HostedBridge{Spec: HostedBridgeSpec{
		Tier: "free", Mode: ModeDirect, ToolPrefix: ToolPrefixAlways, Servers: []Server{at("own", "https://own"), at("both", "https://own"), at("out", "https://own"), at("kept", "https://own")},
	}}
	if b.WithEffective() != b {
		t.Error("a bridge without profiles is another one")
	}
	b.Status.Effective = &EffectiveSettings{
		Tier: "pro", Mode: ModeRouter, IdleTimeout: &metav1.Duration{Duration: time.Hour}, RuntimeClassName: "gvisor", LeftOut: []string{"out"},
		Servers: []EffectiveServer{
			{Name: "new", Use: ServerDefault, Source: given}, {Name: "both", Use: ServerRequired, Source: given}, {Name: "kept", Use: ServerDefault, Source: given},
			{Name: "off", Use: ServerOptional, Reason: ReasonServerOff}, {Name: "broken", Use: ServerRequired, Source: "{"},
		},
	}
	before := b.DeepCopy()
	got := b.WithEffective()
	from := func(name string) Server {
		return Server{Name: name, Transport: Transport{Type: TransportStreamableHTTP, URL: "https://given"}}
	}
	want := HostedBridgeSpec{
		Tier: "pro", Mode: ModeRouter, ToolPrefix: ToolPrefixAlways, IdleTimeout: &metav1.Duration{Duration: time.Hour}, RuntimeClassName: new("gvisor"),
		Servers: []Server{at("own", "https://own"), from("both"), at("kept", "https://own"), from("new")},
	}
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, b); diff != "" {
		t.Errorf("the bridge itself was changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(got, got.WithEffective()); diff != "" {
		t.Errorf("twice is not as once (-once +twice):\n%s", diff)
	}
}
