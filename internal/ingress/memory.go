// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
)

// The memory of what requests hold, in bytes, beside Config.MaxBodyMemory. All of it
// together fits into the memory limit that the chart gives the ingress.
const (
	// maxAnswerMemory bounds the answers to users, without those of their bridges, which
	// are passed on as they come. One user may fill a sixteenth, 4 MiB.
	maxAnswerMemory = 64 << 20
	userAnswers     = 16
	// maxProgramMemory bounds the bodies and answers of directories, publishers and owners of
	// SharedServers. One may fill a quarter: two of the largest bodies.
	maxProgramMemory = 32 << 20
	// maxAdminMemory bounds those of administrators. One may fill a half.
	maxAdminMemory = 32 << 20
	adminShare     = 2
	// maxStrangerMemory bounds those of callers who are not known, and maxReturningMemory
	// those of callers who are not known but were let in before. One address may fill a
	// sixteenth.
	maxStrangerMemory  = 64 << 20
	maxReturningMemory = 32 << 20
	// maxPeekMemory bounds what is read of refused calls for their ids. It is apart from
	// what callers without a key need to log in.
	maxPeekMemory = 4 << 20
	// maxStrangers bounds the requests in flight whose caller is not known yet, or was
	// refused. Each takes about 14 KiB. One address may have a sixteenth, 512.
	maxStrangers = 8192
	// defaultAnswer is the default of httpapi.Route.MaxAnswer, in bytes: twice the size of most
	// pages.
	defaultAnswer = 32 << 10
	// anonymousTimeout is how long the body of a caller who is not known may take, of at
	// most 64 KiB.
	anonymousTimeout = 5 * time.Second
)

// memory bounds what requests hold at a time, by whom they are from, so that no caller is
// in another's way.
type memory struct {
	bodies         *limits.Memory // of users
	answers        *limits.Memory // to users
	programs       *limits.Memory
	administrators *limits.Memory
	strangers      *limits.SourceMemory
	returning      *limits.SourceMemory // of strangers from whose network somebody was let in
	letIn          *limits.KnownSources
	peeks          *limits.SourceMemory
	// requests counts requests of strangers, not bytes.
	requests *limits.SourceMemory
}

func newMemory(bodies int64) memory {
	return memory{
		bodies:         limits.NewMemory(bodies, limits.UserShare),
		answers:        limits.NewMemory(maxAnswerMemory, userAnswers),
		programs:       limits.NewMemory(maxProgramMemory, limits.UserShare),
		administrators: limits.NewMemory(maxAdminMemory, adminShare),
		strangers:      limits.NewSourceMemory(maxStrangerMemory),
		returning:      limits.NewSourceMemory(maxReturningMemory),
		letIn:          limits.NewKnownSources(),
		peeks:          limits.NewSourceMemory(maxPeekMemory),
		requests:       limits.NewSourceMemory(maxStrangers),
	}
}

// ofStranger returns reservations for a request of a route whose caller is not known yet. A
// program that has a token renewed has a network from which it got one, and memory that
// other strangers cannot take.
func (m *memory) ofStranger(r *request, route httpapi.Route) (body, answer *limits.Reservation) {
	of := m.strangers
	if route.LetsIn && m.letIn.Has(r.source, time.Now()) {
		of = m.returning
	}
	return of.For(r.source), of.For(r.source)
}

// ofUser returns those of a user.
func (m *memory) ofUser(r *request) (body, answer *limits.Reservation) {
	user := string(r.principal().User)
	return m.bodies.For(user), m.answers.For(user)
}

// ofAdministrator returns those of an administrator.
func (m *memory) ofAdministrator(r *request) (body, answer *limits.Reservation) {
	id := r.administrator.Audited().ID
	return m.administrators.For(id), m.administrators.For(id)
}

// ofProgram returns those of the holder of a feature's key.
func (m *memory) ofProgram(f *feature, holder string) (body, answer *limits.Reservation) {
	id := f.Name + " " + holder
	return m.programs.For(id), m.programs.For(id)
}

// admitStranger counts a request whose caller is not known, and answers it if its source
// has too many. That answer has no body: for one, its client would have to read.
func (m *memory) admitStranger(r *request) bool {
	r.taken.stranger = m.requests.For(r.source)
	if r.taken.stranger.Reserve(1) == nil {
		return true
	}
	r.fail(problems.Busy, problems.Busy)
	h := r.w.Header()
	problems.Busy.SetHeader(h, "hosted-bridge")
	h.Del("Content-Type")
	r.w.WriteHeader(http.StatusServiceUnavailable)
	return false
}

// deliver waits until the client has read what was written, at most WriteTimeout. Over HTTP/1.1
// an answer that is short enough to wait in the server's buffer is on its way at the end of
// the request; over HTTP/2 it waits for the client's window, in memory that is still taken.
func (t *router) deliver(r *request) {
	if r.http.ProtoMajor != 2 || !r.Began() {
		return
	}
	control := http.NewResponseController(r) // The router's writer may serve another request by now.
	if control.SetWriteDeadline(time.Now().Add(t.tracker.WriteTimeout())) == nil {
		_ = control.Flush() // Its client has left, or was given up.
	}
}

// know notes that something of their own bounds the requests of r's caller.
func (r *request) know() { r.taken.stranger.Release() }

// answerWriter counts the answer of a feature as what it is once that is known.
type answerWriter struct {
	http.ResponseWriter

	reserved *limits.Reservation
	counted  bool
}

// Unwrap serves http.ResponseController.
func (a *answerWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Write implements http.ResponseWriter. Features write an answer at once, or in pieces of
// what is kept anyway.
func (a *answerWriter) Write(b []byte) (int, error) {
	if !a.counted {
		a.counted = true
		a.reserved.Set(answerSize(len(b)))
	}
	return a.ResponseWriter.Write(b) //nolint:wrapcheck // It is the writer's own error.
}

// answerSize is the memory of an answer that was built in a buffer that grew.
func answerSize(n int) int64 { return 2 * int64(n) }
