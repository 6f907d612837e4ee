// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package termination is the message that a bridge keeps in its container's termination message
// file: which server most likely ends the process if it ends now. The kubelet reports the file's
// content in the pod's status, also if the process was killed, and the operator reads it there.
//
// The package is pure and uses only the standard library, because the bridge links nothing of
// Kubernetes.
package termination

import (
	"encoding/json"
	"strings"
)

// limit is how many bytes of the file the kubelet reports.
const limit = 4096

// Cause is why a server is suspected.
type Cause string

// The causes.
const (
	// Memory: most of what the bridge holds of messages is the server's, and the process uses much
	// of its container's memory.
	Memory Cause = "memory"
	// InFlight: of all servers, only this one has requests in flight.
	InFlight Cause = "in_flight"
)

// Message is the content of the file. The zero Message suspects no server.
type Message struct {
	Server string `json:"server"`
	Cause  Cause  `json:"cause"`
}

// Text returns the message in the format of Parse, empty for the zero Message.
func (m Message) Text() string {
	if m == (Message{}) {
		return ""
	}
	encoded, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings always encode
	}
	return string(encoded)
}

// Parse parses the content of the file. It returns the zero Message for any other text: the process
// may have been killed while it wrote, and another program may have written. The caller compares
// the server with those that it knows.
func Parse(text string) Message {
	var m Message
	if len(text) > limit {
		return Message{}
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&m) != nil || decoder.More() || m.Server == "" || m.Cause != Memory && m.Cause != InFlight {
		return Message{}
	}
	return m
}
