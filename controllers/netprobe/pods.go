// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package netprobe

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/internal/bridge/reach"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
)

// await returns the result of a pod's attempt, as soon as there is one.
func (p *Probe) await(ctx context.Context, name string) bridgestate.Attempt {
	ticker := p.Clock.NewTicker(look)
	defer ticker.Stop()
	for {
		pod := &corev1.Pod{ObjectMeta: p.meta(name)}
		err := p.Client.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		if apierrors.IsNotFound(err) {
			return bridgestate.Attempt{Why: "the pod was deleted"}
		}
		if err == nil {
			if a, ended := attempt(pod); ended {
				return a
			}
		}
		select {
		case <-ctx.Done():
			return bridgestate.Attempt{Why: cmp.Or(waits(pod), "it did not end in time")}
		case <-ticker.C():
		}
	}
}

// attempt reads the result of a pod, and returns false while it runs.
func attempt(pod *corev1.Pod) (bridgestate.Attempt, bool) {
	if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		return bridgestate.Attempt{}, false
	}
	for _, c := range pod.Status.ContainerStatuses {
		t := c.State.Terminated
		switch {
		case t == nil:
		case t.ExitCode == reach.ExitReached, t.ExitCode == reach.ExitUnreached:
			return bridgestate.Attempt{Ended: true, Reached: t.ExitCode == reach.ExitReached}, true
		default:
			return bridgestate.Attempt{Why: fmt.Sprintf("it ended with exit code %d", t.ExitCode)}, true
		}
	}
	return bridgestate.Attempt{Why: "it ended: " + cmp.Or(pod.Status.Reason, "no cause is given")}, true
}

// waits says what keeps a pod from running, in words that stay the same between
// reads.
func waits(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return "it is not scheduled: " + c.Message
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil && w.Reason != "" {
			return "its container is waiting: " + w.Reason
		}
	}
	return ""
}

// removeBoth returns when neither pod exists.
func (p *Probe) removeBoth(ctx context.Context) error {
	return errors.Join(p.remove(ctx, bridgeobjects.ProbeOpen), p.remove(ctx, bridgeobjects.ProbeDenied))
}

func (p *Probe) remove(ctx context.Context, name string) error {
	ticker := p.Clock.NewTicker(look)
	defer ticker.Stop()
	for {
		err := p.Client.Delete(ctx, &corev1.Pod{ObjectMeta: p.meta(name)}, client.GracePeriodSeconds(0))
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("remove pod %s: %w", name, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("remove pod %s: %w", name, ctx.Err())
		case <-ticker.C():
		}
	}
}
