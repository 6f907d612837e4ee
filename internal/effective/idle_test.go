// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package effective

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

func TestWhoSleepsAndWhoHasBeenWoken(t *testing.T) {
	at := func(second int64) *metav1.Time { return &metav1.Time{Time: time.Unix(second, 0)} }
	for name, tt := range map[string]struct {
		state           v1alpha1.DesiredState
		idleSince, last *metav1.Time
		asleep, woken   bool
	}{
		"one that runs":                                  {v1alpha1.StateOnDemand, nil, at(9), false, false},
		"one that sleeps and was never called":           {v1alpha1.StateOnDemand, at(5), nil, true, false},
		"one that sleeps since its last call":            {v1alpha1.StateOnDemand, at(5), at(5), true, false},
		"one that was called since":                      {v1alpha1.StateOnDemand, at(5), at(6), true, true},
		"one that slept and shall run":                   {v1alpha1.StateRunning, at(5), at(5), false, false},
		"one that slept, was called and is suspended":    {v1alpha1.StateSuspended, at(5), at(6), false, false},
		"one that sleeps since it was ready, uncalled":   {v1alpha1.StateOnDemand, at(7), at(5), true, false},
		"one of which a replica's late word is older":    {v1alpha1.StateOnDemand, at(7), at(6), true, false},
		"one that runs as the user asks and was called":  {v1alpha1.StateRunning, nil, at(6), false, false},
		"one that is suspended as its user asks":         {v1alpha1.StateSuspended, nil, nil, false, false},
		"one that is on demand and has just been made":   {v1alpha1.StateOnDemand, nil, nil, false, false},
		"one that was called a day after it fell asleep": {v1alpha1.StateOnDemand, at(5), at(86405), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := &v1alpha1.HostedBridge{Spec: v1alpha1.HostedBridgeSpec{DesiredState: tt.state}, Status: v1alpha1.HostedBridgeStatus{IdleSince: tt.idleSince, LastActivityTime: tt.last}}
			if Of(b).Asleep() != tt.asleep || Of(b).Woken() != tt.woken || Woken(b) != tt.woken {
				t.Errorf("asleep %t, woken %t; want %t, %t", Of(b).Asleep(), Woken(b), tt.asleep, tt.woken)
			}
		})
	}
}

func TestIdleTimeoutIsOfBridgesOnDemand(t *testing.T) {
	set := &metav1.Duration{Duration: 3 * time.Minute}
	for name, tt := range map[string]struct {
		state v1alpha1.DesiredState
		set   *metav1.Duration
		want  time.Duration
	}{
		"on demand":                    {v1alpha1.StateOnDemand, set, 3 * time.Minute},
		"on demand, without one":       {v1alpha1.StateOnDemand, nil, 15 * time.Minute},
		"a bridge that always runs":    {v1alpha1.StateRunning, set, 0},
		"a bridge that shall not run":  {v1alpha1.StateSuspended, set, 0},
		"a bridge stored without both": {"", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := &v1alpha1.HostedBridge{Spec: v1alpha1.HostedBridgeSpec{DesiredState: tt.state, IdleTimeout: tt.set}}
			if got := Of(b).IdleTimeout(); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
