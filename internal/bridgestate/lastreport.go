// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"strings"
	"unicode"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// LastReport returns what the status says of a bridge that reports nothing now.
func LastReport(b *effective.Bridge) health.Report {
	r := health.Report{Servers: map[string]health.Server{}}
	if b.Status.Tools != nil {
		r.Tools = int(*b.Status.Tools)
	}
	for _, state := range b.Status.ServerStates {
		server := health.Server{
			Status: health.Status(strings.ToLower(state.State)), Tools: int(state.Tools), Error: state.Message, Reason: SnakeCase(state.Reason),
		}
		if state.Since != nil {
			server.Since = &state.Since.Time
		}
		r.Servers[state.Name] = server
	}
	return r
}

// SnakeCase returns a reason of a status as reports have it.
func SnakeCase(reason string) string {
	var b strings.Builder
	for i, r := range reason {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// CamelCase is the opposite of SnakeCase. No word of the reason may be empty.
func CamelCase(reason string) string {
	words := strings.Split(reason, "_")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}
