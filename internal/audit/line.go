// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"strconv"
)

// line appends members of a JSON object, each with its comma before it. It
// writes what encoding/json writes of the same fields, byte by byte: a trail is
// read by the form of its lines, whoever wrote them.
type line []byte

// text appends a string member.
func (l line) text(name, value string) line {
	return appendText(l.name(name), value)
}

// some appends a string member, unless it is empty.
func (l line) some(name, value string) line {
	if value == "" {
		return l
	}
	return l.text(name, value)
}

// number appends a member that is a number.
func (l line) number(name string, value int64) line {
	return strconv.AppendInt(l.name(name), value, 10)
}

func (l line) name(name string) line {
	if l[len(l)-1] != '{' {
		l = append(l, ',')
	}
	l = append(l, '"')
	l = append(l, name...)
	return append(l, '"', ':')
}

// appendText appends s as a JSON string. Names and hashes stand for themselves;
// what else there may be is encoding/json's to escape.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if !itself[s[i]] {
			quoted, err := json.Marshal(s)
			if err != nil {
				panic(err) // Strings always encode.
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// itself are the bytes that are the same in and out of a JSON string of
// encoding/json, which escapes those of HTML.
var itself = func() (t [256]bool) {
	for c := ' '; c <= '~'; c++ {
		t[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return t
}()

// link appends what ties the next line to the one before.
func (l line) link(h *Head) line {
	l = append(l, '{').text("writer", h.Writer).name("seq")
	return line(strconv.AppendUint(l, h.Seq+1, 10)).text("prev", h.Hash)
}

// entry appends the members of an entry that is bounded.
func (l line) entry(e *Entry) line {
	l = append(l.text("id", e.ID).name("time"), '"')
	l, err := e.Time.AppendText(l)
	if err != nil {
		panic(err) // No clock tells of another era.
	}
	l = append(append(l, '"').some("userId", e.UserID).some("bridgeUid", e.BridgeUID).name("principal"), '{')
	l = l.text("kind", string(e.Principal.Kind)).some("id", e.Principal.ID).some("issuer", e.Principal.Issuer).some("role", e.Principal.Role)
	l = append(l, '}').call(&e.Call)
	l = l.text("reportedBy", string(e.ReportedBy)).some("sessionHash", e.SessionHash).some("sourceIpHash", e.SourceIPHash)
	return l.some("userAgent", e.UserAgent).some("traceId", e.TraceID).some("requestId", e.RequestID)
}

// call appends the members of a call but for its id.
func (l line) call(c *Call) line {
	l = l.some("server", c.Server).some("credential", c.Credential).text("tool", c.Tool).text("method", c.Method).some("action", c.Action)
	if len(c.ParamKeys) > 0 {
		l = append(l.name("paramKeys"), '[')
		for i, key := range c.ParamKeys {
			if i > 0 {
				l = append(l, ',')
			}
			l = appendText(l, key)
		}
		l = append(l, ']')
	}
	l = l.text("status", string(c.Status)).some("errorType", c.ErrorType)
	l = l.number("latencyMs", c.LatencyMS).number("bytesIn", c.BytesIn).number("bytesOut", c.BytesOut)
	if c.Cached {
		l = append(l.name("cached"), "true"...)
	}
	if c.Retries != 0 {
		l = l.number("retries", int64(c.Retries))
	}
	return l.some("protocolVersion", c.ProtocolVersion)
}

// AppendJSON appends h as encoding/json writes it.
func (h Head) AppendJSON(b []byte) []byte {
	l := line(append(b, '{')).text("writer", h.Writer).name("seq")
	l = line(strconv.AppendUint(l, h.Seq, 10)).text("hash", h.Hash)
	return append(l, '}')
}
