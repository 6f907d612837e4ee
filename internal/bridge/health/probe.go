// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package health

import "time"

const (
	// Interval is the time between two probes of a server. A minute is short
	// beside a person's notice and long beside what a probe costs an upstream.
	Interval = time.Minute
	// Timeout is how long a probe may take: a server that needs longer to
	// answer a ping is of no use to a person who waits for a tool.
	Timeout = 5 * time.Second
	// FailureThreshold is how many probes in a row must fail before a healthy
	// server is called unhealthy, so that one lost packet does not alarm.
	FailureThreshold = 3
	// errorLimit bounds the error text of a report, in bytes: a server chooses
	// part of it.
	errorLimit = 256
)

// Probe is the outcome of one probe.
type Probe struct {
	// At is when the probe ended.
	At time.Time
	// Latency is how long it took.
	Latency time.Duration
	// Tools is how many tools the server has, where the probe succeeded.
	Tools int
	// Failure is empty where the probe succeeded.
	Failure string
}

// New returns the health of a server of which nothing is known at now.
func New(now time.Time) Server {
	return Server{Status: Connecting, Since: &now}
}

// After returns the server's health after p. One success makes a server
// healthy; FailureThreshold failures in a row make it unhealthy; in between it
// keeps the status that it had.
func (s Server) After(p Probe) Server {
	at := p.At
	s.LastCheck, s.Reason = &at, ""
	if p.Failure == "" {
		s.Failures, s.Error, s.Tools = 0, "", p.Tools
		s.LatencyMS = p.Latency.Milliseconds()
		return s.become(Healthy, at)
	}
	s.Failures++
	s.Error = truncate(p.Failure)
	if s.Failures >= FailureThreshold {
		return s.become(Unhealthy, at)
	}
	return s
}

// OutOfService returns the health of a server that is not used for a reason
// that no probe finds. It is unhealthy at once and offers nothing.
func (s Server) OutOfService(at time.Time, reason string) Server {
	s.LastCheck = &at
	s.Tools, s.Error, s.Reason = 0, truncate(reason), ""
	return s.become(Unhealthy, at)
}

// InService returns the health of a server for whose being out of service the
// reason is gone: nothing is known of it yet.
func (s Server) InService(at time.Time) Server {
	s.Failures, s.Error, s.Reason = 0, "", ""
	return s.become(Connecting, at)
}

func (s Server) become(status Status, at time.Time) Server {
	if s.Status != status {
		s.Status, s.Since = status, &at
	}
	return s
}

func truncate(s string) string { return bounded(s, errorLimit) }

// bounded returns the beginning of s of at most limit bytes, ending at a
// character's end.
func bounded(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut]
}
