// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// TrailerName is the HTTP trailer by which a bridge tells the ingress of its
// calls. It never reaches a client.
const TrailerName = "Hosted-Bridge-Audit"

// maxTrailer bounds a trailer's value, in bytes: what Go's server reads of a
// trailer together with its headers is several times that.
const maxTrailer = 8 << 10

// Trailer is what a trailer says.
type Trailer struct {
	// Calls are the tool calls of one HTTP request, in the order in which they
	// ended.
	Calls []Call `json:"calls"`
	// Dropped counts those for which there was no room.
	Dropped int `json:"dropped,omitempty"`
}

// EncodeTrailer returns the value of the trailer for calls, of at most 8 KiB of
// printable ASCII. Where there are too many it leaves out the names of
// arguments, and then the last calls, and counts them. It returns nothing for
// no calls.
func EncodeTrailer(calls []Call) string {
	if len(calls) == 0 {
		return ""
	}
	t := Trailer{Calls: make([]Call, 0, len(calls))}
	for _, c := range calls {
		c = c.bounded()
		c.Method = methods.CallTool
		t.Calls = append(t.Calls, c)
	}
	value := t.encode()
	if len(value) > maxTrailer {
		for i := range t.Calls {
			t.Calls[i].ParamKeys = nil
		}
		value = t.encode()
	}
	for len(value) > maxTrailer {
		// A call that is left out frees what a call takes on average, or less.
		over := max(1, (len(value)-maxTrailer)*len(t.Calls)/len(value))
		t.Calls, t.Dropped = t.Calls[:len(t.Calls)-over], t.Dropped+over
		value = t.encode()
	}
	return value
}

func (t Trailer) encode() string {
	b, err := json.Marshal(t)
	if err != nil {
		panic(err) // bounded strings and numbers always encode
	}
	return string(b)
}

// ParseTrailer reads the value of a trailer. It refuses whatever EncodeTrailer
// does not write: it is told by a pod in which a user's programs run.
func ParseTrailer(value string) (Trailer, error) {
	if len(value) > maxTrailer {
		return Trailer{}, errors.New("parse audit trailer: too long")
	}
	t, ok := scanTrailer(value)
	if !ok {
		var err error
		if t, err = decodeTrailer(value); err != nil {
			return Trailer{}, err
		}
	}
	if t.Dropped < 0 || len(t.Calls) == 0 {
		return Trailer{}, errors.New("parse audit trailer: no calls")
	}
	for i, c := range t.Calls {
		if err := c.validate(); err != nil {
			return Trailer{}, fmt.Errorf("parse audit trailer: call %d: %w", i, err)
		}
		if c.Method != methods.CallTool { // Acts of administrators are the ingress's to tell.
			return Trailer{}, fmt.Errorf("parse audit trailer: call %d: method is not %s", i, methods.CallTool)
		}
	}
	return t, nil
}

// decodeTrailer reads what a trailer says in any spelling.
func decodeTrailer(value string) (t Trailer, err error) {
	d := json.NewDecoder(strings.NewReader(value))
	d.DisallowUnknownFields()
	if d.Decode(&t) != nil {
		// Not the decoder's error: it repeats what it read.
		return Trailer{}, errors.New("parse audit trailer: not a trailer")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Trailer{}, errors.New("parse audit trailer: data after the value")
	}
	return t, nil
}

// EventPrefix begins the line of an event stream in which a bridge tells of the
// calls whose answer follows, as in a trailer. The ingress takes it out.
const EventPrefix = ": hosted-bridge-audit "

// Later is the value of the header TrailerName in an answer that does not have
// the calls' answers: they follow on another stream, and what there is to tell
// with them.
const Later = "later"

// InStreams is the value of the header TrailerName in a request whose sender
// takes what is told out of event streams.
const InStreams = "in-streams"

// PostName is the HTTP header by which the ingress asks for the answer to a
// message of HTTP+SSE, with PostHold, and ends that with PostDone.
const PostName = "Hosted-Bridge-Post"

const (
	// PostHold asks for an answer that ends when that to the message is to go onto
	// the stream. Its body says in short how the request ended, and its trailer tells
	// of the calls. It has no body where the stream ended before.
	PostHold = "hold"
	// PostDone says, with the request id of the message, that the entries of its
	// calls are written, so that the stream may have the answer.
	PostDone = "done"
)
