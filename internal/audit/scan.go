// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import "strings"

// scan reads the value of a trailer in the one spelling in which bridges write
// it. What is spelled in another way is not refused here, and is encoding/json's
// to read: scan only spares the many the time that takes.
type scan struct {
	rest string
	// first is set where a member needs no comma.
	first bool
	// other is set once something was spelled in another way.
	other bool
}

// scanTrailer returns what value says, or false for another spelling. Its
// strings are parts of value.
func scanTrailer(value string) (t Trailer, ok bool) {
	s := scan{rest: value}
	if s.take(`{"calls":[`); s.other {
		return Trailer{}, false
	}
	t.Calls = make([]Call, 1, 1+strings.Count(value, "},{"))
	for s.call(&t.Calls[0]); s.has(","); {
		t.Calls = append(t.Calls, Call{})
		s.call(&t.Calls[len(t.Calls)-1])
	}
	s.take("]")
	if s.member("dropped") {
		t.Dropped = int(s.number())
	}
	s.take("}")
	return t, !s.other && s.rest == ""
}

func (s *scan) call(c *Call) {
	s.take("{")
	s.first = true
	s.some("id", &c.ID)
	s.some("server", &c.Server)
	s.some("credential", &c.Credential)
	s.text("tool", &c.Tool)
	s.text("method", &c.Method)
	s.some("action", &c.Action)
	if s.member("paramKeys") {
		s.take("[")
		for c.ParamKeys = append(c.ParamKeys, s.quoted()); s.has(","); {
			c.ParamKeys = append(c.ParamKeys, s.quoted())
		}
		s.take("]")
	}
	s.text("status", (*string)(&c.Status))
	s.some("errorType", &c.ErrorType)
	s.count("latencyMs", &c.LatencyMS)
	s.count("bytesIn", &c.BytesIn)
	s.count("bytesOut", &c.BytesOut)
	if s.member("cached") {
		s.take("true")
		c.Cached = true
	}
	if s.member("retries") {
		c.Retries = int(s.number())
	}
	s.some("protocolVersion", &c.ProtocolVersion)
	s.take("}")
}

// has takes what comes next, if it does.
func (s *scan) has(next string) bool {
	rest, ok := strings.CutPrefix(s.rest, next)
	if ok = ok && !s.other; ok {
		s.rest = rest
	}
	return ok
}

// take takes what must come next.
func (s *scan) take(next string) {
	if !s.has(next) {
		s.other = true
	}
}

// member takes the name of a member, if it is the next one.
func (s *scan) member(name string) bool {
	at := 0
	if !s.first {
		at = 1
	}
	end := at + len(name) + len(`"":`)
	if s.other || len(s.rest) < end || at == 1 && s.rest[0] != ',' ||
		s.rest[at] != '"' || s.rest[at+1:end-2] != name || s.rest[end-2:end] != `":` {
		return false
	}
	s.rest, s.first = s.rest[end:], false
	return true
}

func (s *scan) some(name string, value *string) {
	if s.member(name) {
		*value = s.quoted()
	}
}

func (s *scan) text(name string, value *string) {
	if !s.member(name) {
		s.other = true
		return
	}
	*value = s.quoted()
}

func (s *scan) count(name string, value *int64) {
	if !s.member(name) {
		s.other = true
		return
	}
	*value = s.number()
}

// quoted takes a string without escapes.
func (s *scan) quoted() string {
	s.take(`"`)
	for i := range len(s.rest) {
		if !itself[s.rest[i]] {
			text := s.rest[:i]
			s.rest = s.rest[i:]
			s.take(`"`)
			return text
		}
	}
	s.other = true
	return ""
}

// number takes a number that needs no sign and fits for sure.
func (s *scan) number() (n int64) {
	const most = 18
	i := 0
	for ; i < len(s.rest) && i < most && '0' <= s.rest[i] && s.rest[i] <= '9'; i++ {
		n = 10*n + int64(s.rest[i]-'0')
	}
	if i == 0 || i > 1 && s.rest[0] == '0' {
		s.other = true
	}
	s.rest = s.rest[i:]
	return n
}
