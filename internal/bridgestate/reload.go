// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import "github.com/hostedbridge/hostedbridge/internal/effective"

// Untold returns the pods whose nodes have to be told that the configuration
// now has that digest. A pod of a Deployment that was changed just now is about
// to be replaced, and its successor reads the new configuration.
func (p Plan) Untold(o Observed, out Outcome, digest string) []Pod {
	if p.Action != Run || out.Failed != (Finding{}) || out.Workload == nil || !out.Workload.observed() {
		return nil
	}
	var untold []Pod
	for _, pod := range o.Pods {
		if !pod.Deleting && pod.Told != digest && !out.ConfigMap.precedes(pod, o.Bridge) {
			untold = append(untold, pod)
		}
	}
	return untold
}

// precedes reports that the pod was created after the ConfigMap's last change,
// and so has started with it. In the second of that change this is not known.
// It is known for a ConfigMap that has never changed: it exists before the
// Deployment, and its content changes with the spec, with recipes and with
// outages.
func (c ConfigMap) precedes(pod Pod, b *effective.Bridge) bool {
	if c.Written.IsZero() {
		return false
	}
	never := c.Written.Equal(c.Made) && b.Generation == 1 && b.Status.Effective == nil && len(b.Status.Recipes) == 0 && len(b.Status.Outages) == 0
	return never || pod.Created.After(c.Written)
}
