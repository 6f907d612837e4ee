// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// foreignRetry is when to look again at an object that belongs to somebody
// else. Nobody tells when it goes, since only the installation's own objects
// are watched.
const foreignRetry = time.Minute

// Outcome is what came of applying a plan.
type Outcome struct {
	// Failed says why applying stopped. It is zero where all was applied.
	Failed Finding
	// Workload is what the API server answered to the Deployment, nil where
	// none was applied.
	Workload *Workload
	// ConfigMap is what was found of the bridge's ConfigMap, zero where it was
	// written just now.
	ConfigMap ConfigMap
}

// ConfigMap is since when a bridge's ConfigMap has been as it is, by the API
// server's clock, which tells seconds.
type ConfigMap struct{ Made, Written time.Time }

// RequeueAfter is when to decide again although nothing was seen to change;
// zero is never.
func (o Outcome) RequeueAfter() time.Duration {
	if o.Failed.Reason == v1alpha1.ReasonNotOwned {
		return foreignRetry
	}
	return 0
}

// Workload is what a Deployment says of itself. It comes from the answer to
// the write and not from a cache, so that a Deployment that was changed just
// now is not taken for available because the one before it was.
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

// available says that the pod that was asked for is ready and no other is
// left.
func (w *Workload) available() bool {
	return w.observed() && w.Updated >= 1 && w.Available >= 1 && w.Replicas == w.Updated
}

// availableBut says the same of a pod whose bridge is ready. To the Deployment
// it is not available while a server's container does not run.
func (w *Workload) availableBut(current *Pod) bool {
	return w.observed() && w.Updated >= 1 && w.Replicas == w.Updated && current != nil && current.Ready
}

func (w *Workload) empty() bool { return w.observed() && w.Replicas == 0 }
