// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"regexp"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

const (
	// reportsPerSecond and reportsAtOnce bound the writes of what bridges report. If a
	// server fails that 10,000 tenants use, each of two replicas writes 25 of their
	// objects a second, and the writes of keys and of activity do not wait.
	reportsPerSecond = 25
	reportsAtOnce    = 50
	// maxMessage limits the message of a state, in bytes.
	maxMessage = 512
	// maxReason limits the reason of a state, in bytes.
	maxReason = 64
)

// reasonForm is the form of reasons in reports.
var reasonForm = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

// serverStates returns the states of the bridge's servers after a report, in the order of the
// spec. A report is the word of a tenant's pod: it decides about no server that is not in the
// spec. A server that is only connecting keeps the state from before, because each start of a
// bridge would be two writes otherwise.
func serverStates(b *effective.Bridge, r *health.Report, now time.Time) []v1alpha1.ServerState {
	before := map[string]v1alpha1.ServerState{}
	for _, s := range b.Status.ServerStates {
		before[s.Name] = s
	}
	var states []v1alpha1.ServerState
	for _, server := range b.Spec.Servers {
		was, had := before[server.Name]
		reported, ok := r.Servers[server.Name]
		if !ok {
			continue
		}
		is := stateOf(reported, now)
		is.Name = server.Name
		if server.Recipe != nil {
			is.From = server.Recipe.Name
		}
		is.Profile, is.Use = givenBy(b, server.Name)
		if had && (is.State == v1alpha1.ServerConnecting || sameState(was, is)) {
			was.From, was.Profile, was.Use = is.From, is.Profile, is.Use
			is = was
		}
		states = append(states, is)
	}
	return states
}

// givenBy returns the profile that gives the server, and how.
func givenBy(b *effective.Bridge, server string) (string, v1alpha1.ServerUse) {
	if b.Status.Effective != nil {
		for _, s := range b.Status.Effective.Servers {
			if s.Name == server && effective.Gives(s) {
				return s.Profile, s.Use
			}
		}
	}
	return "", ""
}

// sameState reports whether two states differ in nothing but the time, which restarts with
// each process.
func sameState(a, b v1alpha1.ServerState) bool {
	a.Since, a.From, a.Profile, a.Use = b.Since, b.From, b.Profile, b.Use
	return equality.Semantic.DeepEqual(a, b)
}

func stateOf(s health.Server, now time.Time) v1alpha1.ServerState {
	state := v1alpha1.ServerState{State: v1alpha1.ServerConnecting, Since: &metav1.Time{Time: now.Truncate(time.Second)}}
	if s.Since != nil && s.Since.Before(now) && now.Sub(*s.Since) < 10*365*24*time.Hour {
		state.Since.Time = s.Since.Truncate(time.Second)
	}
	switch s.Status {
	case health.Healthy:
		state.State, state.Tools = v1alpha1.ServerHealthy, int32(max(0, min(s.Tools, 1<<30)))
	case health.Unhealthy:
		state.State = v1alpha1.ServerUnhealthy
		state.Reason, state.Message = camelCase(s.Reason), printable(s.Error)
	}
	return state
}

// camelCase returns a reason of a report as reasons in Kubernetes are written.
func camelCase(reason string) string {
	if len(reason) > maxReason || !reasonForm.MatchString(reason) {
		return "OutOfService"
	}
	return bridgestate.CamelCase(reason)
}

// printable returns the beginning of s on one line.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(s, ""))
	return truncate(s, maxMessage)
}

// LastReport returns what the status says of a bridge that reports nothing now, because it sleeps
// or starts.
func (s *Writer) LastReport(ctx context.Context, of route.Backend) health.Report {
	b, err := s.bridge(ctx, of)
	if err != nil {
		return health.Report{Servers: map[string]health.Server{}} // Deleted meanwhile.
	}
	return bridgestate.LastReport(b)
}
