// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"encoding/json"
	"strings"
)

// terminationLimit is how many bytes of the file the kubelet reports.
const terminationLimit = 4096

// SuspectCause is why a server is suspected.
type SuspectCause string

// The causes.
const (
	// SuspectMemory: most of what the bridge holds of messages is the server's, and the process uses much
	// of its container's memory.
	SuspectMemory SuspectCause = "memory"
	// SuspectInFlight: of all servers, only this one has requests in flight.
	SuspectInFlight SuspectCause = "in_flight"
)

// Suspect is the content of the termination message file of a bridge's container: which server
// most likely ends the process if it ends now. The kubelet reports the file's content in the
// pod's status, also if the process was killed, and the operator reads it there. The zero
// Suspect names no server.
type Suspect struct {
	Server string       `json:"server"`
	Cause  SuspectCause `json:"cause"`
}

// Text returns the message in the format of ParseSuspect, empty for the zero Suspect.
func (m Suspect) Text() string {
	if m == (Suspect{}) {
		return ""
	}
	encoded, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings always encode
	}
	return string(encoded)
}

// ParseSuspect parses the content of the file. It returns the zero Suspect for any other text: the process
// may have been killed while it wrote, and another program may have written. The caller compares
// the server with those that it knows.
func ParseSuspect(text string) Suspect {
	var m Suspect
	if len(text) > terminationLimit {
		return Suspect{}
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&m) != nil || decoder.More() || m.Server == "" || m.Cause != SuspectMemory && m.Cause != SuspectInFlight {
		return Suspect{}
	}
	return m
}
