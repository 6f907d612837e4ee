// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package health

import "time"

const (
	// Interval is the time between two probes of a server. A minute is short for a person, and
	// long for the cost of a probe.
	Interval = time.Minute
	// Timeout limits a probe: a server that needs longer to answer a ping is of no use to a person
	// who waits for a tool.
	Timeout = 5 * time.Second
	// FailureThreshold is how many consecutive probes must fail before a healthy server becomes
	// unhealthy, so that one lost packet does not raise an alarm.
	FailureThreshold = 3
	// errorLimit limits the error text of a report, in bytes, because servers choose part of it.
	errorLimit = 256
	// lastLines and lastLine limit LastLines of a report, the latter in bytes.
	lastLines = 10
	lastLine  = 200
)

// Probe is the outcome of one probe.
type Probe struct {
	// At is when the probe ended.
	At time.Time
	// Latency is how long it took.
	Latency time.Duration
	// Tools is the number of the server's tools, if the probe succeeded.
	Tools int
	// Failure is the error, empty if the probe succeeded.
	Failure string
	// Reason classifies Failure, for programs.
	Reason string
	// LastLines are what a program that failed wrote last.
	LastLines []string
	// Final means that another probe is likely to fail alike, such as that of a program which ends as
	// it starts. The server is unhealthy at once.
	Final bool
}

// New returns the health of a server before its first probe.
func New(now time.Time) Server {
	return Server{Status: Connecting, Since: &now}
}

// NotReady returns the health of a connecting server whose program is not there yet, since a time and
// for a reason.
func (s Server) NotReady(since time.Time, reason string) Server {
	s.Since, s.Error, s.Reason = &since, truncate(reason), ReasonNotReady
	return s
}

// After returns the server's health after p. One success makes a server healthy. A failure that is
// final, or FailureThreshold consecutive ones, make it unhealthy. Fewer failures keep its status.
func (s Server) After(p Probe) Server {
	at := p.At
	s.LastCheck, s.Reason, s.LastLines = &at, p.Reason, boundedLines(p.LastLines)
	if p.Failure == "" {
		s.Failures, s.Error, s.Tools = 0, "", p.Tools
		s.LatencyMS = p.Latency.Milliseconds()
		return s.become(Healthy, at)
	}
	s.Failures++
	s.Error = truncate(p.Failure)
	if p.Final || s.Failures >= FailureThreshold {
		return s.become(Unhealthy, at)
	}
	return s
}

// OutOfService returns the health of a server that is disabled for a reason that no probe finds.
// It is unhealthy at once and has no tools.
func (s Server) OutOfService(at time.Time, reason string) Server {
	s.LastCheck = &at
	s.Tools, s.Error, s.Reason, s.LastLines = 0, truncate(reason), "", nil
	return s.become(Unhealthy, at)
}

// InService returns the health of a server that is no longer out of service: it was not probed
// yet.
func (s Server) InService(at time.Time) Server {
	s.Failures, s.Error, s.Reason, s.LastLines = 0, "", "", nil
	return s.become(Connecting, at)
}

func (s Server) become(status Status, at time.Time) Server {
	if s.Status != status {
		s.Status, s.Since = status, &at
	}
	return s
}

// boundedLines returns the last lines of a program, as many and as long as a report has.
func boundedLines(all []string) []string {
	var out []string
	for _, line := range all[max(0, len(all)-lastLines):] {
		out = append(out, kept(line, lastLine))
	}
	return out
}

func truncate(s string) string { return bounded(s, errorLimit) }

// bounded returns the beginning of s, at most limit bytes, without splitting a character.
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
