// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package netprobe tells whether the cluster's network enforces network
// policies. On a network that ignores policies the API server accepts them all
// the same, and nothing would show that they have no effect.
//
// The operator that leads starts two pods that try to connect to it; a policy
// of the installation forbids one of them. Without a result it tries again
// after longer and longer pauses. With a result it waits long before the next
// try: a network plugin may be added or removed.
package netprobe

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
)

const (
	// firstPause and longestPause are between attempts without a result: most
	// causes that keep a pod from running are over soon or need an
	// administrator.
	firstPause   = 30 * time.Second
	longestPause = 30 * time.Minute
	// pauseNotEnforced is how long until the next look for a plugin that an
	// administrator was told to install. pauseEnforced is longer, since plugins
	// are rarely removed. Each attempt creates and removes two pods.
	pauseNotEnforced = 30 * time.Minute
	pauseEnforced    = 24 * time.Hour
	// limit is how long the pods may take. They try for 12 s.
	limit = 90 * time.Second
	// look is how often the pods are read meanwhile: a watch would need a right
	// on all pods of the namespace.
	look = time.Second
	// cleanup bounds the removal of the pods when the operator ends.
	cleanup = 5 * time.Second
)

// Probe runs the attempts and holds their result.
type Probe struct {
	// Client makes and removes the pods and reads them. It has no cache.
	Client client.Client
	Clock  clock.WithTicker
	Log    logr.Logger
	// Pods builds the pods.
	Pods    bridgeobjects.Probe
	Metrics *Metrics

	mu      sync.Mutex
	known   bridgestate.Enforcement
	why     string
	changes chan event.GenericEvent
	once    sync.Once
}

var (
	_ manager.Runnable               = (*Probe)(nil)
	_ manager.LeaderElectionRunnable = (*Probe)(nil)
)

// NeedLeaderElection implements manager.LeaderElectionRunnable: only the
// operator that leads probes.
func (p *Probe) NeedLeaderElection() bool { return true }

// Known returns the result, and the reason why there is no result yet.
func (p *Probe) Known() (bridgestate.Enforcement, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known, p.why
}

// Changes gets an event whenever the result changes.
func (p *Probe) Changes() <-chan event.GenericEvent {
	p.once.Do(func() { p.changes = make(chan event.GenericEvent, 1) })
	return p.changes
}

// Start probes repeatedly whether policies are enforced, until ctx ends.
func (p *Probe) Start(ctx context.Context) error {
	for pause := firstPause; ; {
		known, why := p.try(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // An operator that ends has not failed.
		}
		if before, _ := p.Known(); known == bridgestate.Undetermined && before != bridgestate.Untried && before != known && pause < longestPause {
			// A node without room now says nothing about the network.
			p.Log.Info("it could not be tried again whether the cluster's network enforces network policies", "cause", why)
		} else {
			p.tell(known, why)
		}
		var wait time.Duration
		wait, pause = pauses(known, pause)
		timer := p.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

// pauses returns how long to wait after an attempt, and after the next attempt
// without a result.
func pauses(known bridgestate.Enforcement, pause time.Duration) (wait, next time.Duration) {
	switch known {
	case bridgestate.Enforced:
		return pauseEnforced, firstPause
	case bridgestate.NotEnforced:
		return pauseNotEnforced, firstPause
	default:
		return pause, min(2*pause, longestPause)
	}
}

func (p *Probe) tell(known bridgestate.Enforcement, why string) {
	switch known {
	case bridgestate.NotEnforced:
		p.Log.Info("the cluster's network does not enforce network policies: tenants are not kept apart by it")
	case bridgestate.Undetermined:
		p.Log.Info("it is not known whether the cluster's network enforces network policies", "cause", why)
	default:
		p.Log.Info("the cluster's network enforces network policies")
	}
	p.Metrics.set(known)
	p.mu.Lock()
	changed := p.known != known || p.why != why
	p.known, p.why = known, why
	p.mu.Unlock()
	if !changed {
		return
	}
	p.Changes()
	select {
	case p.changes <- event.GenericEvent{Object: &v1alpha1.HostedBridge{}}:
	default: // A pod that was not read yet stands for both.
	}
}

// try runs both pods at the same time, and removes them whatever the result.
func (p *Probe) try(ctx context.Context) (bridgestate.Enforcement, string) {
	if p.Pods.Address == "" {
		return bridgestate.Undetermined, "the operator was not told the address of its pod, by the variable POD_IP"
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	policy := client.ObjectKey{Namespace: p.Pods.Namespace, Name: bridgeobjects.ProbePolicyName}
	if err := p.Client.Get(ctx, policy, &networkingv1.NetworkPolicy{}); err != nil {
		return bridgestate.Undetermined, fmt.Sprintf("the policy to try could not be read: %v", err)
	}
	// A pod that a crashed operator left behind would give its old result.
	if err := p.removeBoth(ctx); err != nil {
		return bridgestate.Undetermined, err.Error()
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
		defer cancel()
		if err := p.removeBoth(ctx); err != nil {
			p.Log.Error(err, "remove the pods that tried whether network policies hold")
		}
	}()
	open, denied := bridgeobjects.ProbePods(p.Pods)
	for _, pod := range []client.Object{open, denied} {
		if err := p.Client.Create(ctx, pod); err != nil {
			return bridgestate.Undetermined, fmt.Sprintf("pod %s could not be made: %v", pod.GetName(), err)
		}
	}
	var attempts [2]bridgestate.Attempt
	for i, name := range []string{bridgeobjects.ProbeOpen, bridgeobjects.ProbeDenied} {
		attempts[i] = p.await(ctx, name)
	}
	return bridgestate.JudgeAttempts(attempts[0], attempts[1])
}

// meta returns the name and namespace of a pod.
func (p *Probe) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: p.Pods.Namespace, Name: name}
}
