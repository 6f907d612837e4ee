// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

const (
	// firstOutage is how long a server is out of service for the first time:
	// long enough for its other users to work, and short for one who waits. Each
	// further time takes twice as long, up to longestOutage.
	firstOutage   = 5 * time.Minute
	longestOutage = time.Hour
)

// outagesAfter returns the servers that are out of service after the ends of
// the process, and those that were so shortly before.
func (o Observed) outagesAfter(ends []v1alpha1.Termination, now time.Time) []v1alpha1.ServerOutage {
	if len(ends)+len(o.Before.Outages) == 0 {
		return nil
	}
	var outages []v1alpha1.ServerOutage
	for _, server := range Servers(o.Bridge) {
		was := v1alpha1.ServerOutage{Server: server.Name, Configuration: configurationOf(server, o.Bridge.Spec.Resources)}
		i := slices.IndexFunc(o.Before.Outages, func(s v1alpha1.ServerOutage) bool { return s.Server == server.Name })
		if i >= 0 {
			was = since(o.Before.Outages[i], was, ends, now)
		}
		is := again(was, ends, now)
		if is.Message != "" || i >= 0 && now.Before(is.Until.Add(remembered)) {
			outages = append(outages, is)
		}
	}
	return outages
}

// since returns what the outage came to by now. An outage ends with its time,
// and with a change of the server, whose former ends do not count any more.
func since(outage, unknown v1alpha1.ServerOutage, ends []v1alpha1.Termination, now time.Time) v1alpha1.ServerOutage {
	switch {
	case outage.Configuration != unknown.Configuration:
		unknown.Until = metav1.NewTime(latest(ends, now))
		return unknown
	case !now.Before(outage.Until.Time):
		outage.Message = ""
	}
	return outage
}

// again returns the outage after the ends. A server in service is taken out of
// it by repeated ends, and by a single one if it was out a short time before.
func again(outage v1alpha1.ServerOutage, ends []v1alpha1.Termination, now time.Time) v1alpha1.ServerOutage {
	if outage.Message != "" {
		return outage
	}
	var own []v1alpha1.Termination
	for _, e := range ends {
		if e.Server == outage.Server && e.Time.After(outage.Until.Time) && now.Sub(e.Time.Time) <= repeatedWithin {
			own = append(own, e)
		}
	}
	how := fmt.Sprintf("%d times within %.0f minutes", len(own), repeatedWithin.Minutes())
	switch {
	case len(own) > 0 && outage.Times > 0:
		how = "again"
	case len(own) < repeated:
		return outage
	}
	// A node's clock may be ahead.
	until := latest(ends, now).Add(min(firstOutage<<min(outage.Times, 8), longestOutage))
	outage.Until = metav1.NewTime(until)
	outage.Times++
	outage.Message = fmt.Sprintf("the bridge's process ended %s while it handled this server%s, so the server is out of service until %s; "+
		"a change of the server or of spec.resources ends that sooner", how, lastReason(own), timeOf(until))
	return outage
}

// latest returns the time, or that of the last end if that is later, in the
// precision of a status.
func latest(ends []v1alpha1.Termination, now time.Time) time.Time {
	if n := len(ends); n > 0 && ends[n-1].Time.After(now) {
		now = ends[n-1].Time.Time
	}
	return now.Truncate(time.Second)
}

func lastReason(ends []v1alpha1.Termination) string {
	if reason := ends[len(ends)-1].Reason; reason != "" {
		return " (" + reason + ")"
	}
	return ""
}

// configurationOf identifies what a user can change to make the process last:
// the server, and the memory of the bridge.
func configurationOf(server Server, resources *corev1.ResourceRequirements) string {
	h := fnv.New64a()
	for _, part := range []any{told(server), resources} {
		encoded, err := json.Marshal(part)
		if err != nil {
			panic(err) // Both come from JSON.
		}
		_, _ = h.Write(encoded)
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// faults returns why servers are out of service, by name.
func faults(b *effective.Bridge) map[string]string {
	said := map[string]string{}
	for _, outage := range b.Status.Outages {
		said[outage.Server] = outage.Message
	}
	return said
}

// outages returns the outages with which the pod runs. A pod that keeps its
// configuration keeps them.
func (p Plan) outages(o Observed) []v1alpha1.ServerOutage {
	if p.Action == Hold || p.Action == Leave {
		return o.Before.Outages
	}
	return o.Bridge.Status.Outages
}

// out returns the outages of servers that are out of service now.
func (p Plan) out(o Observed) []v1alpha1.ServerOutage {
	return slices.DeleteFunc(slices.Clone(p.outages(o)), func(s v1alpha1.ServerOutage) bool { return s.Message == "" })
}

// withdrawn summarizes which servers are out of service because the process
// ended while it handled them. It is empty if none is.
func (p Plan) withdrawn(o Observed) string {
	out := p.out(o)
	if len(out) == 0 {
		return ""
	}
	return "; out of service because the bridge's process ended while it handled them: " +
		enumerate(out, ", ", func(s v1alpha1.ServerOutage) string {
			return fmt.Sprintf("server %s (until %s)", s.Server, timeOf(s.Until.Time))
		})
}
