// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhoSleepsAndWhoHasBeenWoken(t *testing.T) {
	at := func(second int64) *metav1.Time { return &metav1.Time{Time: time.Unix(second, 0)} }
	for name, tt := range map[string]struct {
		state           DesiredState
		idleSince, last *metav1.Time
		asleep, woken   bool
	}{
		"one that runs":                                  {StateOnDemand, nil, at(9), false, false},
		"one that sleeps and was never called":           {StateOnDemand, at(5), nil, true, false},
		"one that sleeps since its last call":            {StateOnDemand, at(5), at(5), true, false},
		"one that was called since":                      {StateOnDemand, at(5), at(6), true, true},
		"one that slept and shall run":                   {StateRunning, at(5), at(5), false, false},
		"one that slept, was called and is suspended":    {StateSuspended, at(5), at(6), false, false},
		"one that sleeps since it was ready, uncalled":   {StateOnDemand, at(7), at(5), true, false},
		"one of which a replica's late word is older":    {StateOnDemand, at(7), at(6), true, false},
		"one that runs as the user asks and was called":  {StateRunning, nil, at(6), false, false},
		"one that is suspended as its user asks":         {StateSuspended, nil, nil, false, false},
		"one that is on demand and has just been made":   {StateOnDemand, nil, nil, false, false},
		"one that was called a day after it fell asleep": {StateOnDemand, at(5), at(86405), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := &HostedBridge{Spec: HostedBridgeSpec{DesiredState: tt.state}, Status: HostedBridgeStatus{IdleSince: tt.idleSince, LastActivityTime: tt.last}}
			if b.Asleep() != tt.asleep || b.Woken() != tt.woken {
				t.Errorf("asleep %t, woken %t; want %t, %t", b.Asleep(), b.Woken(), tt.asleep, tt.woken)
			}
		})
	}
}

func TestIdleTimeoutIsOfBridgesOnDemand(t *testing.T) {
	set := &metav1.Duration{Duration: 3 * time.Minute}
	for name, tt := range map[string]struct {
		state DesiredState
		set   *metav1.Duration
		want  time.Duration
	}{
		"on demand":                    {StateOnDemand, set, 3 * time.Minute},
		"on demand, without one":       {StateOnDemand, nil, 15 * time.Minute},
		"a bridge that always runs":    {StateRunning, set, 0},
		"a bridge that shall not run":  {StateSuspended, set, 0},
		"a bridge stored without both": {"", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := &HostedBridge{Spec: HostedBridgeSpec{DesiredState: tt.state, IdleTimeout: tt.set}}
			if got := b.IdleTimeout(); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
