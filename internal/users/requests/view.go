// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package requests is what users ask administrators for: servers that profiles offer on request,
// and the answers.
package requests

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
)

// The reasons why a request is not written.
var (
	// ErrNotFound says that the request does not exist.
	ErrNotFound = errors.New("there is no such request")
	// ErrOpen says that the user has asked already, and has no answer yet.
	ErrOpen = errors.New("the request is open")
	// ErrApproved says that the request was approved.
	ErrApproved = errors.New("the request is approved")
	// ErrChanged says that the request is not the version that an answer is about.
	ErrChanged = errors.New("the request was changed by somebody else")
	// ErrOutdated says that the profile offers something else than the user asked for.
	ErrOutdated = errors.New("the request is for something else than the profile offers")
)

// MaxOpen is how many requests of a user may be open at the same time.
const MaxOpen = 10

// MaxReason is how long a reason may be, in characters.
const MaxReason = 500

// The states of a request.
const (
	Open     = "open"
	Approved = "approved"
	Refused  = "refused"
	// Outdated is a request for something else than the profile offers now under the
	// server's name. It has no effect, whatever its answer was, and the user may ask again.
	Outdated = "outdated"
)

// List is what a user has asked for.
type List struct {
	Requests []Request `json:"requests"`
	// Offered are the servers that the user may ask for, and has not asked for yet.
	Offered []string `json:"offered"`
}

// Compare orders requests: open ones come first, the oldest of them first, and then the
// others, the newest answer first.
func (r Request) Compare(other Request) int {
	open, otherOpen := r.State == Open, other.State == Open
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

// requestOf returns a request to the bridge as its user sees it.
func requestOf(b *effective.Bridge, q *v1alpha1.BridgeRequest) Request {
	r := Request{Server: q.Spec.Server, Offer: q.Spec.Offer, State: Open, Reason: q.Spec.Reason, Asked: q.CreationTimestamp.UTC()}
	if d := q.Spec.Decision; d != nil {
		r.State, r.Answer = Refused, d.Reason
		if d.Verdict == v1alpha1.RequestApproved {
			r.State = Approved
		}
		if at := answeredAt(q); !at.IsZero() {
			r.Answered = new(at.UTC())
		}
	}
	if offer := selfservice.OfferOf(b, q.Spec.Server); offer != "" && offer != q.Spec.Offer {
		r.State = Outdated
	}
	return r
}

// answeredAt returns when a request was answered: the time of the decision, or else when its field
// manager wrote it, since a decision by kubectl needs no time. It is zero if that is not known.
func answeredAt(q *v1alpha1.BridgeRequest) time.Time {
	at := q.Spec.Decision.Time.Time
	for _, f := range q.ManagedFields {
		if q.Spec.Decision.Time.IsZero() && f.Time != nil && f.Time.After(at) && decides(f.FieldsV1) {
			at = f.Time.Time
		}
	}
	return at
}

// decides reports whether a decision is among the fields.
func decides(fields *metav1.FieldsV1) bool {
	var held struct {
		Spec struct {
			Decision json.RawMessage `json:"f:decision"`
		} `json:"f:spec"`
	}
	// The API server writes nothing else; a set that cannot be read holds nothing that we know of.
	return fields != nil && json.Unmarshal(fields.GetRawBytes(), &held) == nil && held.Spec.Decision != nil
}

// UserRequest is a request as administrators see it.
type UserRequest struct {
	User v1alpha1.UserID `json:"user"`
	Request
	// Version changes with each change of the request. An answer repeats it, so that it is
	// about what the administrator has read.
	Version string `json:"version"`
}

// userRequestOf returns a request to the bridge as administrators see it.
func userRequestOf(b *effective.Bridge, q *v1alpha1.BridgeRequest) UserRequest {
	return UserRequest{User: q.Spec.User, Request: requestOf(b, q), Version: q.ResourceVersion}
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

// listOf returns what a user has asked for, of the servers that are offered on request.
func listOf(b *effective.Bridge, recipes selfservice.Recipes, found []v1alpha1.BridgeRequest) List {
	out := List{Requests: []Request{}, Offered: []string{}}
	for i := range found {
		out.Requests = append(out.Requests, requestOf(b, &found[i]))
	}
	for _, server := range selfservice.Askable(b, recipes) {
		if _, asked := out.To(server); !asked {
			out.Offered = append(out.Offered, server)
		}
	}
	return out
}

// To returns the request for a server, and false without one.
func (l List) To(server string) (Request, bool) {
	at := slices.IndexFunc(l.Requests, func(q Request) bool { return q.Server == server })
	if at < 0 {
		return Request{}, false
	}
	return l.Requests[at], true
}
