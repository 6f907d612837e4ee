// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
)

// requestsPage lists what users have asked for.
type requestsPage struct {
	frame

	// Open are those without an answer, the oldest first, and Answered the newest others.
	Open, Answered []requests.UserRequest
	// More is how many answered ones are not shown.
	More int
	// Decides is whether the administrator may answer.
	Decides bool
	Now     time.Time
}

// maxAnswered is how many answered requests a page has.
const maxAnswered = 50

// list is the page of the requests.
func (q *requestPages) list(v *visit) error {
	all, err := q.Requests.All(v.Request().Context(), v, "")
	if err != nil {
		return err
	}
	page := &requestsPage{frame: frame{Title: "Requests", Path: pathRequests}, Decides: v.who().May(deciders), Now: v.Now()}
	for _, r := range all {
		switch {
		case r.State == requests.Open:
			page.Open = append(page.Open, r)
		case len(page.Answered) < maxAnswered:
			page.Answered = append(page.Answered, r)
		default:
			page.More++
		}
	}
	return q.show(v, "requests", http.StatusOK, page)
}

// requestPage is one request, with the form that answers it.
type requestPage struct {
	frame

	Request requests.UserRequest
	// Entered is the reason that was entered, and Error what is wrong with it.
	Entered, Error string
	Now            time.Time
}

// confirm is the page on which an administrator answers a request.
func (q *requestPages) confirm(v *visit) error { return q.ask(v, http.StatusOK, "") }

// ask shows a request, with what is wrong with the answer that was entered.
func (q *requestPages) ask(v *visit, status int, wrong string) error {
	user, server := v.user(), v.Param("server")
	all, err := q.Requests.All(v.Request().Context(), v, "")
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(r requests.UserRequest) bool { return r.User == user && r.Server == server })
	if at < 0 {
		return console.ErrNotFound
	}
	return q.show(v, "request", status, &requestPage{
		frame: frame{Title: string(user) + " asks for " + server, Path: pathRequests}, Request: all[at],
		Entered: v.form.Get("reason"), Error: wrong, Now: v.Now(),
	})
}

// verdicts are the answers of the form, with what is said then.
var verdicts = map[string]string{string(v1alpha1.RequestApproved): "approved", string(v1alpha1.RequestRefused): "refused"}

// decide answers a request.
func (q *requestPages) decide(v *visit) error {
	verdict := v.form.Get("verdict")
	done, ok := verdicts[verdict]
	if !ok {
		return console.ErrForm
	}
	_, err := q.Requests.Decide(v.Request().Context(), v, requests.Decision{
		User: v.user(), Server: v.Param("server"), Version: v.form.Get("version"),
		Verdict: v1alpha1.RequestVerdict(verdict), Reason: v.form.Get("reason"),
	})
	if p, ok := errors.AsType[*httpapi.Problem](err); ok && (p.Status == http.StatusUnprocessableEntity || p.Status == http.StatusConflict) {
		return q.ask(v, p.Status, p.Detail)
	}
	if err != nil {
		return err
	}
	return v.done(pathRequests, done)
}
