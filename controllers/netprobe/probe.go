// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package netprobe tells whether the cluster's network does what network
// policies say. A policy on a network that ignores it is an object like any
// other, and nobody would know.
//
// The operator that leads starts two pods that try to connect to it, of which a
// policy of the installation forbids one. It does so again with longer and longer
// pauses while it cannot tell, and with long ones when it can: a network plugin may
// come or go.
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
	"github.com/hostedbridge/hostedbridge/internal/desired"
	"github.com/hostedbridge/hostedbridge/internal/plan"
)

const (
	// firstPause and longestPause are between attempts that told nothing: most of
	// what keeps a pod from running is over soon or needs somebody.
	firstPause   = 30 * time.Second
	longestPause = 30 * time.Minute
	// pauseNotEnforced is until it is looked for a plugin that somebody was told to
	// install, and pauseEnforced until for one that somebody took away, which is
	// rare. Two pods are made and removed each time.
	pauseNotEnforced = 30 * time.Minute
	pauseEnforced    = 24 * time.Hour
	// limit is how long the pods may take. They try for 12 s.
	limit = 90 * time.Second
	// look is how often they are looked at meanwhile: a watch would be a right on
	// all pods of the namespace for one attempt.
	look = time.Second
	// cleanup bounds the removal of the pods by an operator that ends.
	cleanup = 5 * time.Second
)

// Probe is what tries. It holds what is known.
type Probe struct {
	// Client makes and removes the pods and reads them. It has no cache.
	Client client.Client
	Clock  clock.WithTicker
	Log    logr.Logger
	// Pods say what is made.
	Pods    desired.Probe
	Metrics *Metrics

	mu      sync.Mutex
	known   plan.Enforcement
	why     string
	changes chan event.GenericEvent
	once    sync.Once
}

var (
	_ manager.Runnable               = (*Probe)(nil)
	_ manager.LeaderElectionRunnable = (*Probe)(nil)
)

// NeedLeaderElection lets only the operator that acts try.
func (p *Probe) NeedLeaderElection() bool { return true }

// Known returns what is known, and what keeps it from being known.
func (p *Probe) Known() (plan.Enforcement, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known, p.why
}

// Changes gets an event whenever something else is known than before.
func (p *Probe) Changes() <-chan event.GenericEvent {
	p.once.Do(func() { p.changes = make(chan event.GenericEvent, 1) })
	return p.changes
}

// Start tries again and again whether policies hold, until ctx ends.
func (p *Probe) Start(ctx context.Context) error {
	for pause := firstPause; ; {
		known, why := p.try(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // An operator that ends has not failed.
		}
		if before, _ := p.Known(); known == plan.Undetermined && before != plan.Untried && before != known && pause < longestPause {
			// A node that has no room now says nothing of the network.
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

// pauses returns how long to wait after an attempt, and after the next one that
// tells nothing.
func pauses(known plan.Enforcement, pause time.Duration) (wait, next time.Duration) {
	switch known {
	case plan.Enforced:
		return pauseEnforced, firstPause
	case plan.NotEnforced:
		return pauseNotEnforced, firstPause
	default:
		return pause, min(2*pause, longestPause)
	}
}

func (p *Probe) tell(known plan.Enforcement, why string) {
	switch known {
	case plan.NotEnforced:
		p.Log.Info("the cluster's network does not enforce network policies: tenants are not kept apart by it")
	case plan.Undetermined:
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
	default: // One that was not read yet stands for both.
	}
}

// try has both pods try at the same time, and removes them whatever comes of it.
func (p *Probe) try(ctx context.Context) (plan.Enforcement, string) {
	if p.Pods.Address == "" {
		return plan.Undetermined, "the operator was not told the address of its pod, by --pod-ip"
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	policy := client.ObjectKey{Namespace: p.Pods.Namespace, Name: desired.ProbePolicyName}
	if err := p.Client.Get(ctx, policy, &networkingv1.NetworkPolicy{}); err != nil {
		return plan.Undetermined, fmt.Sprintf("the policy to try could not be read: %v", err)
	}
	// What an operator left that died would answer for us.
	if err := p.removeBoth(ctx); err != nil {
		return plan.Undetermined, err.Error()
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
		defer cancel()
		if err := p.removeBoth(ctx); err != nil {
			p.Log.Error(err, "remove the pods that tried whether network policies hold")
		}
	}()
	open, denied := desired.ProbePods(p.Pods)
	for _, pod := range []client.Object{open, denied} {
		if err := p.Client.Create(ctx, pod); err != nil {
			return plan.Undetermined, fmt.Sprintf("pod %s could not be made: %v", pod.GetName(), err)
		}
	}
	var attempts [2]plan.Attempt
	for i, name := range []string{desired.ProbeOpen, desired.ProbeDenied} {
		attempts[i] = p.await(ctx, name)
	}
	return plan.JudgeAttempts(attempts[0], attempts[1])
}

// meta returns an object that stands for a pod by its name.
func (p *Probe) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: p.Pods.Namespace, Name: name}
}
