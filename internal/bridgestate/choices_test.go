// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

func TestEachChoiceWithoutEffectIsNamed(t *testing.T) {
	minute := func(n time.Duration) *metav1.Duration { return &metav1.Duration{Duration: n * time.Minute} }
	for name, tt := range map[string]struct {
		choices   *v1alpha1.Choices
		effective *v1alpha1.EffectiveSettings
		want      []string
	}{
		"no choices": {nil, &v1alpha1.EffectiveSettings{Mode: v1alpha1.ModeRouter}, nil},
		"all of them are followed": {
			&v1alpha1.Choices{Mode: v1alpha1.ModeRouter, IdleTimeout: minute(2), Servers: []v1alpha1.ServerChoice{{Name: "x", Use: "Off"}}},
			&v1alpha1.EffectiveSettings{Mode: v1alpha1.ModeRouter, IdleTimeout: minute(2), Servers: []v1alpha1.EffectiveServer{{Name: "x", Reason: v1alpha1.ReasonServerOff}}},
			nil,
		},
		"no profile": {
			&v1alpha1.Choices{ToolPrefix: v1alpha1.ToolPrefixNever, IdleTimeout: minute(2), Servers: []v1alpha1.ServerChoice{{Name: "x"}}}, nil,
			[]string{"toolPrefix", "idleTimeout", "servers[x]"},
		},
		"a profile decides otherwise": {
			&v1alpha1.Choices{Mode: v1alpha1.ModeRouter, IdleTimeout: minute(9)},
			&v1alpha1.EffectiveSettings{Mode: v1alpha1.ModeDirect, IdleTimeout: minute(2)}, []string{"mode", "idleTimeout"},
		},
		"servers that are required, shadowed, without room and unknown": {
			&v1alpha1.Choices{Servers: []v1alpha1.ServerChoice{{Name: "r"}, {Name: "s"}, {Name: "n"}, {Name: "u"}}},
			&v1alpha1.EffectiveSettings{Servers: []v1alpha1.EffectiveServer{
				{Name: "r", Reason: v1alpha1.ReasonChoiceIgnored}, {Name: "s", Reason: v1alpha1.ReasonServerShadowed}, {Name: "n", Reason: v1alpha1.ReasonServerNoRoom},
			}},
			[]string{"servers[r]", "servers[s]", "servers[u]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := &v1alpha1.HostedBridge{Spec: v1alpha1.HostedBridgeSpec{Choices: tt.choices}, Status: v1alpha1.HostedBridgeStatus{Effective: tt.effective}}
			var got []string
			for _, i := range IgnoredChoices(effective.Of(b)) {
				if i.Why == "" || (i.Server != "") != (i.Field == "servers["+i.Server+"]") {
					t.Errorf("%+v", i)
				}
				got = append(got, i.Field)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
