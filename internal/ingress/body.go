// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
)

const (
	// bodyTimeout is the default of Config.BodyTimeout: 4 MiB in it is 140 KB/s.
	bodyTimeout = 30 * time.Second
	// maxPeek and peekTimeout bound what is read for the id's sake from a
	// caller that is refused anyway.
	maxPeek     = 64 << 10
	peekTimeout = 2 * time.Second
)

// readBody reads the whole body of a POST. It is read before anything is
// dialed, because only a body that we hold can be sent again when the first
// attempt did not reach the bridge.
func (b *bounds) readBody(r *request) error {
	if r.http.Method != http.MethodPost {
		return nil
	}
	if !httpapi.IsJSON(r.http.Header.Get("Content-Type")) {
		return problems.MediaType
	}
	limit := b.bodyLimit(r)
	if r.http.ContentLength > limit {
		return bodyTooLarge(limit)
	}
	// Set first, so that after a failure the rest is not taken for a body.
	r.bodyRead = true
	r.taken.body = b.memory.Bodies.For(string(r.principal().User))
	body, err := readWithin(r, limit+1, deadlineSet, r.taken.body)
	if err != nil {
		return unreadable(err)
	}
	if int64(len(body)) > limit {
		return bodyTooLarge(limit)
	}
	r.body = body
	return checkMessages(r)
}

// unreadable returns why a body was not read, as its sender may know it.
func unreadable(err error) error {
	if errors.Is(err, problems.Busy) {
		return err
	}
	return fmt.Errorf("%w: %w", problems.BodyUnreadable, err)
}

// checkMessages lets only bodies pass that a bridge cannot read differently: a call
// that only the bridge recognizes would be neither counted nor audited.
func checkMessages(r *request) error {
	if r.requests(); r.batch.Plain {
		return nil
	}
	r.body = nil // Which id an answer has to have is not known.
	return problems.NotOneMessage
}

func bodyTooLarge(limit int64) error {
	return problems.BodyTooLarge.Saying(fmt.Sprintf("The body of a request is limited to %d bytes.", limit))
}

// peekBody returns the body, or where it has not been read, its beginning, and
// what gives its memory back. Where there is no room for it, it returns none:
// then the answer has no id.
func (b *bounds) peekBody(r *request) (body []byte, giveBack func()) {
	giveBack = func() {}
	if !r.isRPC() {
		return nil, giveBack
	}
	if r.bodyRead {
		return r.body, giveBack
	}
	if r.http.Header.Get("Expect") != "" {
		return nil, giveBack // Its sender waits for our word, and this is not a yes.
	}
	reserved := b.memory.Peeks.For(r.source)
	// Without a body there is no id to echo, and that is all it was read for.
	body, _ = readWithin(r, maxPeek, peekTimeout, reserved)
	return body, reserved.Release
}

// readWithin reads at most limit bytes of a body. The memory for them is reserved as they
// come.
func readWithin(r *request, limit int64, timeout time.Duration, reserved *limits.Reservation) (body []byte, err error) {
	err = within(r, timeout, func() (more bool, err error) {
		body, err = readAll(r.http.Body, r.http.ContentLength, limit, reserved)
		return int64(len(body)) == limit, err
	})
	if err != nil {
		return nil, err
	}
	return body, nil
}

// firstRead is for how many bytes of a body room is made before any has come:
// most calls are shorter.
const firstRead = 4 << 10

// readAll reads a body whose length is declared as that, or as -1, and of which
// no more than limit bytes are wanted. What is declared takes no memory: there is
// never room for more than twice of what has come, and that is reserved first.
func readAll(from io.Reader, declared, limit int64, reserved *limits.Reservation) ([]byte, error) {
	most := limit
	if declared >= 0 {
		most = min(limit, declared+1) // One byte more is where the end shows.
	}
	grow := func(body []byte, size int64) ([]byte, error) {
		// The byte beyond what is wanted is not counted: it would not fit into a full share.
		if err := reserved.Reserve(min(size, most-1) - int64(len(body))); err != nil {
			return body, err
		}
		return append(make([]byte, 0, size), body...), nil
	}
	body, err := grow(nil, min(most, firstRead))
	if err != nil {
		return nil, err
	}
	for {
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) || int64(len(body)) == limit {
			return body, nil
		}
		if err != nil {
			return body, err
		}
		if len(body) == cap(body) {
			if body, err = grow(body, min(max(most, int64(len(body))+1), 2*int64(len(body)))); err != nil {
				return body, err
			}
		}
	}
}

// deadlineSet is the timeout of a body whose deadline begin has set.
const deadlineSet time.Duration = 0

// within has read take the body within timeout. read reports whether there may
// be more of it.
func within(r *request, timeout time.Duration, read func() (more bool, err error)) error {
	control := http.NewResponseController(r.w)
	if timeout != deadlineSet {
		if err := control.SetReadDeadline(time.Now().Add(timeout)); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return fmt.Errorf("set read deadline: %w", err)
		}
	}
	more, err := read()
	if err != nil {
		return fmt.Errorf("read body: %w", err)
	}
	if more {
		return nil // Its sender has no more time than before.
	}
	// The deadline must not outlive the body: the connection is read on to
	// notice that the client leaves, for as long as the answer streams.
	if err := control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("clear read deadline: %w", err)
	}
	return nil
}
