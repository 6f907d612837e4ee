// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

// Untold returns the pods whose nodes have to be told that the configuration
// is now the one with that digest. A pod of a Deployment that was changed just
// now is about to be replaced, and its successor reads the new one.
func (p Plan) Untold(o Observed, out Outcome, digest string) []Pod {
	if p.Action != Run || out.Failed != (Finding{}) || out.Workload == nil || !out.Workload.observed() {
		return nil
	}
	var untold []Pod
	for _, pod := range o.Pods {
		if !pod.Deleting && pod.Told != digest {
			untold = append(untold, pod)
		}
	}
	return untold
}
