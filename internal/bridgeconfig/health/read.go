// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// The limits of a report, for readers that keep it. Texts are in bytes.
const (
	// MaxServers is how many servers a bridge has at most: spec.servers of a
	// HostedBridge takes no more.
	MaxServers = 64
	// maxRenamed is how many collisions a bridge reports at most.
	maxRenamed = 32
	// maxServerName is twice the length of a name in spec.servers.
	maxServerName = 64
	// maxWord limits words of the bridge's own, such as a status or a kind.
	maxWord = 64
	// maxName limits the client-side name of a feature: a server's name, a
	// separator and the 128 characters that clients take.
	maxName = 256
	// maxURL is several times the login page's URL.
	maxURL = 1024
)

var (
	errTooManyServers = fmt.Errorf("more than %d servers", MaxServers)
	errServerName     = fmt.Errorf("the name of a server is longer than %d bytes", maxServerName)
	errNoObject       = errors.New("the servers are not an object")
)

// Read reads a report that somebody else may have written than a bridge of ours,
// such as an attacker in a bridge's pod. It refuses what a bridge does not report,
// and shortens texts that are too long, so that what it returns takes little
// memory, whatever the length of the JSON is.
func Read(b []byte) (Report, error) {
	var r struct {
		Report

		Servers boundedServers `json:"servers"`
		Renamed boundedRenamed `json:"renamed"`
	}
	if err := json.Unmarshal(b, &r); err != nil {
		// The decoder quotes what it read.
		return Report{}, errors.New(bounded(err.Error(), errorLimit))
	}
	switch r.Status {
	case Healthy, Degraded, Unhealthy:
	default:
		return Report{}, fmt.Errorf("status %.20q is unknown", r.Status)
	}
	if r.Tools < 0 {
		return Report{}, fmt.Errorf("%d tools", r.Tools)
	}
	report := r.Report
	report.SecretsRevision = kept(report.SecretsRevision, maxWord)
	report.Servers, report.Renamed = r.Servers, r.Renamed
	if report.Servers == nil {
		report.Servers = map[string]Server{}
	}
	return report, nil
}

// boundedServers are the servers of a report. They are counted before they are
// kept: in JSON a server takes 8 bytes, and in memory 200.
type boundedServers map[string]Server

// UnmarshalJSON implements json.Unmarshaler.
func (s *boundedServers) UnmarshalJSON(b []byte) error {
	*s = nil
	d := json.NewDecoder(bytes.NewReader(b))
	start, err := d.Token()
	switch {
	case err != nil:
		return err
	case start == nil:
		return nil
	case start != json.Delim('{'):
		return errNoObject
	}
	servers := boundedServers{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		if len(servers) == MaxServers {
			return errTooManyServers
		}
		key, ok := name.(string)
		if !ok || len(key) > maxServerName {
			return errServerName
		}
		var server Server
		if err := d.Decode(&server); err != nil {
			return err
		}
		servers[key] = server.bounded()
	}
	*s = servers
	return nil
}

func (s Server) bounded() Server {
	s.Status = Status(kept(string(s.Status), maxWord))
	s.Transport, s.Reason = kept(s.Transport, maxWord), kept(s.Reason, maxWord)
	s.Error, s.LastLines = kept(s.Error, errorLimit), boundedLines(s.LastLines)
	if len(s.ConnectURL) > maxURL {
		s.ConnectURL = "" // A part of a URL leads elsewhere.
	}
	return s
}

// boundedRenamed are the first collisions of a report.
type boundedRenamed []Renamed

// UnmarshalJSON implements json.Unmarshaler.
func (l *boundedRenamed) UnmarshalJSON(b []byte) error {
	*l = nil
	d := json.NewDecoder(bytes.NewReader(b))
	if start, err := d.Token(); err != nil || start != json.Delim('[') {
		return err
	}
	for d.More() && len(*l) < maxRenamed {
		var r Renamed
		if err := d.Decode(&r); err != nil {
			return err
		}
		*l = append(*l, Renamed{
			Kind: kept(r.Kind, maxWord), Name: kept(r.Name, maxName), Server: kept(r.Server, maxServerName),
			Original: kept(r.Original, originalLimit),
		})
	}
	return nil
}

// kept returns the beginning of s, without keeping the rest of it in memory.
func kept(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.Clone(bounded(s, limit))
}
