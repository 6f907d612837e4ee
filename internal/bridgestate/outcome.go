// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// foreignRetry is when to look again at an object with another owner. Its
// deletion causes no event, since only the installation's own objects are
// watched.
const foreignRetry = time.Minute

// Outcome is the result of applying a plan.
type Outcome struct {
	// Failed says why applying stopped. It is zero if everything was applied.
	Failed Finding
	// Workload is the API server's answer for the Deployment, nil if none was
	// applied.
	Workload *Workload
	// ConfigMap describes the existing ConfigMap of the bridge, zero if it was
	// written just now.
	ConfigMap ConfigMap
	// Configuration is the digest of the configuration in it, empty if it was not applied.
	Configuration string
}

// ConfigMap is since when a bridge's ConfigMap has its content, by the API
// server's clock, in whole seconds.
type ConfigMap struct{ Made, Written time.Time }

// RequeueAfter is when to decide again although nothing was seen to change;
// zero is never.
func (o Outcome) RequeueAfter() time.Duration {
	if o.Failed.Reason == v1alpha1.ReasonNotOwned {
		return foreignRetry
	}
	return 0
}

// Workload is what a Deployment reports. It comes from the answer to the write
// and not from a cache, so that a Deployment that was changed just now is not
// mistaken for available because its earlier state was.
type Workload struct {
	// Generation is that of the Deployment's spec, ObservedGeneration that
	// which the Deployment controller has acted on.
	Generation, ObservedGeneration int64
	// Replicas, Updated and Available count pods: all, those of the current
	// template, and those that are ready.
	Replicas, Updated, Available int32
	// ReplicaFailure says why the Deployment cannot make its pod, where it
	// cannot.
	ReplicaFailure string
}

func (w *Workload) observed() bool { return w.ObservedGeneration >= w.Generation }

// available reports whether the requested pod is ready and no other is left.
func (w *Workload) available() bool {
	return w.observed() && w.Updated >= 1 && w.Available >= 1 && w.Replicas == w.Updated
}

// availableBut reports the same if only the bridge in the pod is ready. The
// Deployment does not count the pod as available while a server's container
// does not run.
func (w *Workload) availableBut(current *Pod) bool {
	return w.observed() && w.Updated >= 1 && w.Replicas == w.Updated && current != nil && current.Ready
}

func (w *Workload) empty() bool { return w.observed() && w.Replicas == 0 }
