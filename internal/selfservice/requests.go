// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package selfservice

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// RequestActions are what a user may do about servers that profiles offer on request.
type RequestActions interface {
	Requests(ctx context.Context, of route.Backend) (Requests, error)
	// Ask asks an administrator for a server. One that was refused can be asked for again.
	Ask(ctx context.Context, by Actor, of route.Backend, server, reason string) (Request, error)
	// Withdraw removes a request. An approved one is given up by it.
	Withdraw(ctx context.Context, by Actor, of route.Backend, server string) error
}

// The reasons why a request is not written.
var (
	// ErrNoRequest says that there is no such request.
	ErrNoRequest = errors.New("there is no such request")
	// ErrRequestOpen says that the user has asked already, and has no answer yet.
	ErrRequestOpen = errors.New("the request is open")
	// ErrRequestApproved says that the request was approved.
	ErrRequestApproved = errors.New("the request is approved")
	// ErrRequestChanged says that the request is not the version that an answer is about.
	ErrRequestChanged = errors.New("the request was changed by somebody else")
	// ErrRequestOutdated says that the profile offers something else than the user asked for.
	ErrRequestOutdated = errors.New("the request is for something else than the profile offers")
)

// MaxOpenRequests is how many requests of a user may be open at the same time.
const MaxOpenRequests = 10

// MaxReason is how long a reason may be, in characters.
const MaxReason = 500

// The states of a request.
const (
	RequestOpen     = "open"
	RequestApproved = "approved"
	RequestRefused  = "refused"
	// RequestOutdated is a request for something else than the profile offers now under the
	// server's name. It has no effect, whatever its answer was, and the user may ask again.
	RequestOutdated = "outdated"
)

// Requests are what a user has asked for.
type Requests struct {
	Requests []Request `json:"requests"`
	// Offered are the servers that the user may ask for, and has not asked for yet.
	Offered []string `json:"offered"`
}

// Compare orders requests: open ones come first, the oldest of them first, and then the
// others, the newest answer first.
func (r Request) Compare(other Request) int {
	open, otherOpen := r.State == RequestOpen, other.State == RequestOpen
	switch {
	case open && otherOpen:
		return r.Asked.Compare(other.Asked)
	case open:
		return -1
	case otherOpen:
		return 1
	}
	return ptr.Deref(other.Answered, time.Time{}).Compare(ptr.Deref(r.Answered, time.Time{}))
}

// Request is a request for a server, and its answer.
type Request struct {
	Server string `json:"server"`
	// Offer is what the profile offered when the user asked, such as a recipe or a URL.
	Offer string `json:"offer"`
	// State is open, approved, refused or outdated.
	State string `json:"state"`
	// Reason is why the user asks, and Answer what an administrator wrote.
	Reason   string     `json:"reason,omitempty"`
	Answer   string     `json:"answer,omitempty"`
	Asked    time.Time  `json:"asked"`
	Answered *time.Time `json:"answered,omitempty"`
}

// RequestOf returns a request to the bridge as its user sees it.
func RequestOf(b *v1alpha1.HostedBridge, q *v1alpha1.BridgeRequest) Request {
	r := Request{Server: q.Spec.Server, Offer: q.Spec.Offer, State: RequestOpen, Reason: q.Spec.Reason, Asked: q.CreationTimestamp.UTC()}
	if d := q.Spec.Decision; d != nil {
		r.State, r.Answer = RequestRefused, d.Reason
		if d.Verdict == v1alpha1.RequestApproved {
			r.State = RequestApproved
		}
		if !d.Time.IsZero() {
			r.Answered = new(d.Time.UTC())
		}
	}
	if offer := OfferOf(b, q.Spec.Server); offer != "" && offer != q.Spec.Offer {
		r.State = RequestOutdated
	}
	return r
}

// UserRequest is a request as administrators see it.
type UserRequest struct {
	User v1alpha1.UserID `json:"user"`
	Request
	// Version changes with each change of the request. An answer repeats it, so that it is
	// about what the administrator has read.
	Version string `json:"version"`
}

// UserRequestOf returns a request to the bridge as administrators see it.
func UserRequestOf(b *v1alpha1.HostedBridge, q *v1alpha1.BridgeRequest) UserRequest {
	return UserRequest{User: q.Spec.User, Request: RequestOf(b, q), Version: q.ResourceVersion}
}

// Decision is an administrator's answer to a user's request.
type Decision struct {
	User   v1alpha1.UserID
	Server string
	// Version is that of the UserRequest that the administrator has read.
	Version string
	Verdict v1alpha1.RequestVerdict
	// Reason is what the user reads. A refusal needs one.
	Reason string
}

// RequestsOf returns what a user has asked for, of the servers that are offered on request.
func RequestsOf(b *v1alpha1.HostedBridge, found []v1alpha1.BridgeRequest) Requests {
	out := Requests{Requests: []Request{}, Offered: []string{}}
	for i := range found {
		out.Requests = append(out.Requests, RequestOf(b, &found[i]))
	}
	for _, server := range OnRequest(b) {
		if _, asked := out.To(server); !asked {
			out.Offered = append(out.Offered, server)
		}
	}
	return out
}

// To returns the request for a server, and false if there is none.
func (r Requests) To(server string) (Request, bool) {
	at := slices.IndexFunc(r.Requests, func(q Request) bool { return q.Server == server })
	if at < 0 {
		return Request{}, false
	}
	return r.Requests[at], true
}

// OfferOf returns what the bridge's profiles offer under the name of a server that they offer on
// request, empty for another server.
func OfferOf(b *v1alpha1.HostedBridge, server string) string {
	e, _ := entry(b, server)
	return e.Offer
}

// OnRequest returns the servers that the bridge's profiles offer on request. An operator of an
// earlier release does not say what the offer is, so that nothing can be asked for.
func OnRequest(b *v1alpha1.HostedBridge) []string {
	var servers []string
	for _, e := range offered(b) {
		if e.Use == v1alpha1.ServerOnRequest && e.Offer != "" && e.Reason != v1alpha1.ReasonServerShadowed {
			servers = append(servers, e.Name)
		}
	}
	return servers
}
