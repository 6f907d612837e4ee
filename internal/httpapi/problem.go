// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

// ContentType is that of an encoded problem.
const ContentType = "application/problem+json"

// Problem is an error that the caller may see. Its code is part of the API and
// never changes its meaning; its detail is for people.
type Problem struct {
	Status       int
	Code, Detail string
	// RetryAfter is how long to wait before the next try, in whole seconds; 0
	// when waiting does not help.
	RetryAfter time.Duration
	// Problems lists the problems with the request, nil if Detail is enough.
	// JSON must be able to express it.
	Problems any
}

// RetrySoon is what the 503 answers advise: about the time in which a pod of ours starts.
const RetrySoon = 5 * time.Second

// The problems that the ingress and packages of features return, so that their answers cannot
// differ.
var (
	NotFound     = New(http.StatusNotFound, "not_found", "There is nothing here for this caller.")
	NotReady     = New(http.StatusServiceUnavailable, "not_ready", "This replica is starting.").After(RetrySoon)
	BodyTooLarge = New(http.StatusRequestEntityTooLarge, "body_too_large", "The body of a request is too large.")
	ClusterAway  = New(http.StatusServiceUnavailable, "cluster_unavailable", "The API server did not answer or refused. A change may have been made or not; GET shows which. Running bridges go on.").After(RetrySoon)
	// BridgeUnknown is returned while a replica does not know yet what a bridge has.
	BridgeUnknown = New(http.StatusServiceUnavailable, "cluster_unavailable", "This replica is still loading what the bridge has. Try again in a few seconds; its tools can be called.").After(RetrySoon)
)

// New returns a problem for which waiting does not help.
func New(status int, code, detail string) *Problem {
	return &Problem{Status: status, Code: code, Detail: detail}
}

// Error implements error.
func (p *Problem) Error() string { return p.Code }

// Is makes a problem with another detail equal to the original.
func (p *Problem) Is(target error) bool {
	other, ok := target.(*Problem)
	return ok && p.Code == other.Code && p.Status == other.Status
}

// Saying returns the problem with another detail, unless that is empty.
func (p *Problem) Saying(detail string) *Problem {
	said := *p
	if detail != "" {
		said.Detail = detail
	}
	return &said
}

// After returns the problem with another time to wait, in whole seconds rounded
// up.
func (p *Problem) After(wait time.Duration) *Problem {
	later := *p
	later.RetryAfter = time.Duration(math.Ceil(wait.Seconds())) * time.Second
	return &later
}

// With returns the problem with a list of problems.
func (p *Problem) With(problems any) *Problem {
	listed := *p
	listed.Problems = problems
	return &listed
}

// Title returns the title of a page that says the problem.
func (p *Problem) Title() string {
	switch {
	case p.Status == http.StatusNotFound:
		return "There is no such page"
	case p.Status == http.StatusTooManyRequests:
		return "Too many requests"
	case p.Status >= http.StatusInternalServerError:
		return "This does not work at the moment"
	}
	return "That was not accepted"
}

// Encode returns the problem as JSON, which can express what problems hold. The members of limit, a pointer to a
// struct or nil, are added to it.
func (p *Problem) Encode(limit any) []byte {
	b := jsondoc.EncodeExact(struct {
		Title    string `json:"title"`
		Status   int    `json:"status"`
		Code     string `json:"code"`
		Detail   string `json:"detail"`
		Problems any    `json:"problems,omitempty"`
	}{http.StatusText(p.Status), p.Status, p.Code, p.Detail, p.Problems})
	if limit == nil {
		return b
	}
	more := jsondoc.EncodeExact(limit)
	if len(more) <= len("{}") || more[0] != '{' {
		return b
	}
	b[len(b)-1] = ','
	return append(b, more[1:]...)
}

// SetHeader sets the headers that belong to the problem. realm names the
// credentials that a refusal asks for.
func (p *Problem) SetHeader(h http.Header, realm string) {
	h.Set("Content-Type", ContentType)
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(p.RetryAfter.Seconds())))
	}
	if p.Status == http.StatusUnauthorized && h.Get("WWW-Authenticate") == "" {
		h.Set("WWW-Authenticate", `Bearer realm="`+realm+`"`)
	}
}

// AnswerJSON answers with what nobody may keep.
func AnswerJSON(c Call, status int, v any) error {
	body, err := jsondoc.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	h := c.Writer().Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.Writer().WriteHeader(status)
	_, _ = c.Writer().Write(body) // A failed write is the client's leaving.
	return nil
}
