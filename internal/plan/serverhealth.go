// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// serversHealthy returns the condition that says which servers cannot be used.
func serversHealthy(o Observed, p Plan) metav1.Condition {
	const kind = v1alpha1.ConditionServersHealthy
	servers := o.Bridge.Spec.Servers
	var unhealthy, unknown []string
	for _, s := range servers {
		switch cause, known := p.serverFault(o, s.Name); {
		case cause != "":
			unhealthy = append(unhealthy, "server "+s.Name+": "+cause)
		case !known:
			unknown = append(unknown, s.Name)
		}
	}
	same := func(s string) string { return s }
	switch {
	case len(unhealthy) > 0:
		return isFalse(kind, Finding{v1alpha1.ReasonServersUnhealthy, fmt.Sprintf(
			"%d of %d servers cannot be used; %s", len(unhealthy), len(servers), enumerate(unhealthy, "; ", same))})
	case len(unknown) > 0:
		return isUnknown(kind, Finding{v1alpha1.ReasonServersUnknown, "the bridge has not reported yet of " + enumerate(unknown, ", ", same)})
	case len(servers) == 0:
		return isTrue(kind, v1alpha1.ReasonServersHealthy, "spec.servers is empty")
	}
	return isTrue(kind, v1alpha1.ReasonServersHealthy, "all servers can be used")
}

// serverFault returns why a server cannot be used, and whether its state is
// known.
func (p Plan) serverFault(o Observed, server string) (cause string, known bool) {
	if r := RecipeOf(o.Bridge, server); r.Recipe != "" && r.Source == "" {
		return cmp.Or(r.Message, r.Reason), true
	}
	if f := o.lacks(server); f != (Finding{}) {
		return f.Message, true
	}
	for _, outage := range p.out(o) {
		if outage.Server == server {
			return outage.Message, true
		}
	}
	for _, s := range o.Bridge.Status.ServerStates {
		if s.Name != server {
			continue
		}
		if s.State == v1alpha1.ServerUnhealthy {
			return cmp.Or(s.Message, s.Reason, "it is unhealthy"), true
		}
		return "", s.State == v1alpha1.ServerHealthy
	}
	return "", false
}
