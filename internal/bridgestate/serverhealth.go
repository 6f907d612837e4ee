// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// serversHealthy returns the condition that says which servers cannot be used. Its
// reason tells those that failed from those that the operator left out. Accepted and
// Stable say more of the latter.
func serversHealthy(o Observed, p Plan) metav1.Condition {
	const kind = v1alpha1.ConditionServersHealthy
	servers := o.Bridge.Spec.Servers
	reason := v1alpha1.ReasonServersOutOfService
	var unhealthy, unknown []string
	for _, s := range servers {
		if cause := p.leftOut(o, s.Name); cause != "" {
			unhealthy = append(unhealthy, "server "+s.Name+": "+cause)
			continue
		}
		switch is := stateOf(o.Bridge, s.Name); is.State {
		case v1alpha1.ServerHealthy:
		case v1alpha1.ServerUnhealthy:
			reason = v1alpha1.ReasonServersUnhealthy
			unhealthy = append(unhealthy, "server "+s.Name+": "+cmp.Or(is.Message, is.Reason, "it is unhealthy")+logOf(o.Bridge, is))
		default:
			unknown = append(unknown, s.Name)
		}
	}
	same := func(s string) string { return s }
	switch {
	case len(unhealthy) > 0:
		return isFalse(kind, Finding{reason, fmt.Sprintf(
			"%d of %d servers cannot be used; %s", len(unhealthy), len(servers), enumerate(unhealthy, "; ", same))})
	case len(unknown) > 0:
		return isUnknown(kind, Finding{v1alpha1.ReasonServersUnknown, "the bridge has not reported yet of " + enumerate(unknown, ", ", same)})
	case len(servers) == 0:
		return isTrue(kind, v1alpha1.ReasonServersHealthy, "spec.servers is empty")
	}
	return isTrue(kind, v1alpha1.ReasonServersHealthy, "all servers can be used")
}

// programEnded is the reason in a server's state of a program that could not be started or has ended.
const programEnded = "ProgramEnded"

// logOf says how to read all that the program of a server wrote, if it has ended. The lines themselves
// may hold data of the user, and a status has more readers than a log. It names the Deployment: a pod's
// name would be another one after each start.
func logOf(b *effective.Bridge, is v1alpha1.ServerState) string {
	if is.Reason != programEnded {
		return ""
	}
	return fmt.Sprintf("; its log: kubectl logs --namespace=%s deployment/%s --container=%s", b.Namespace, v1alpha1.WorkloadName(b.Name), StdioPrefix+is.Name)
}

// leftOut returns why the operator took a server out of service. It is empty if it
// did not.
func (p Plan) leftOut(o Observed, server string) string {
	if r := RecipeOf(o.Bridge, server); r.Recipe != "" && r.Source == "" {
		return cmp.Or(r.Message, r.Reason)
	}
	if f := o.lacks(server); f != (Finding{}) {
		return f.Message
	}
	if cause := o.NotInstalled[server]; cause != "" {
		return cause
	}
	for _, outage := range p.out(o) {
		if outage.Server == server {
			return outage.Message
		}
	}
	return ""
}

// stateOf returns what the bridge reported of a server, a zero state if nothing.
func stateOf(b *effective.Bridge, server string) v1alpha1.ServerState {
	for _, s := range b.Status.ServerStates {
		if s.Name == server {
			return s
		}
	}
	return v1alpha1.ServerState{}
}
