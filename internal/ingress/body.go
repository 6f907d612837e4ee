// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

const (
	// bodyTimeout is the default of Config.BodyTimeout: 4 MiB in it is 140 KB/s.
	bodyTimeout = 30 * time.Second
	// maxPeek and peekTimeout bound what is read for the id's sake from a
	// caller who is refused anyway.
	maxPeek     = 64 << 10
	peekTimeout = 2 * time.Second
)

// readBody reads the whole body of a POST. It is read before anything is
// dialed, because only a body that we hold can be sent again when the first
// attempt did not reach the bridge.
func (s *Server) readBody(c *gin.Context) error {
	r := c.Request
	if r.Method != http.MethodPost {
		return nil
	}
	if !ofJSON(r.Header.Get("Content-Type")) {
		return errMediaType
	}
	limit := s.bodyLimit(c)
	if r.ContentLength > limit {
		return bodyTooLarge(limit)
	}
	// Set first, so that after a failure nobody takes the rest for a body.
	found := stepsOf(c)
	found.bodyRead = true
	body, err := readWithin(c, limit+1, asBegun)
	if err != nil {
		return fmt.Errorf("%w: %w", errBodyUnreadable, err)
	}
	if int64(len(body)) > limit {
		return bodyTooLarge(limit)
	}
	found.body = body
	return s.checkMessages(c)
}

func ofJSON(contentType string) bool {
	const name = "application/json"
	return contentType == name || isMediaType(contentType, name)
}

// formType is the media type of what a page's form sends.
const formType = "application/x-www-form-urlencoded"

func isMediaType(contentType, name string) bool {
	mediaType, _, err := mime.ParseMediaType(contentType)
	return err == nil && mediaType == name
}

func bodyTooLarge(limit int64) error {
	return errBodyTooLarge.saying(fmt.Sprintf("The body of a request is limited to %d bytes.", limit))
}

// bodyOf returns what readBody read, nil for a request without.
func bodyOf(c *gin.Context) []byte { return stepsOf(c).body }

// peekBody returns the body, or where it has not been read, its beginning.
func peekBody(c *gin.Context) []byte {
	if !isRPC(c.Request) {
		return nil
	}
	if found := stepsOf(c); found.bodyRead {
		return found.body
	}
	if c.Request.Header.Get("Expect") != "" {
		return nil // Its sender waits for our word, and this is not a yes.
	}
	// Without a body there is no id to echo, and that is all it was read for.
	body, _ := readWithin(c, maxPeek, peekTimeout)
	return body
}

func readWithin(c *gin.Context, limit int64, timeout time.Duration) (body []byte, err error) {
	err = within(c, timeout, func() (more bool, err error) {
		body, err = readAll(c.Request.Body, c.Request.ContentLength, limit)
		return int64(len(body)) == limit, err
	})
	if err != nil {
		return nil, err
	}
	return body, nil
}

// readAll reads a body whose length is declared as that, or as -1, and of which
// no more than limit bytes are wanted.
func readAll(from io.Reader, declared, limit int64) ([]byte, error) {
	// Of a long one, not all memory is taken before any of it has come. One byte
	// more than declared is where the end shows.
	body := make([]byte, 0, min(max(declared, maxDeclared/128), maxDeclared, limit-1)+1)
	for {
		n, err := from.Read(body[len(body):min(int64(cap(body)), limit)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) || int64(len(body)) == limit {
			return body, nil
		}
		if err != nil {
			return body, err
		}
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
	}
}

// maxDeclared is up to which length a declared one is believed, in bytes.
const maxDeclared = 64 << 10

// asBegun is the timeout that observe has set, a moment ago.
const asBegun time.Duration = 0

// within has read take the body within timeout. read reports whether there may
// be more of it.
func within(c *gin.Context, timeout time.Duration, read func() (more bool, err error)) error {
	control := http.NewResponseController(c.Writer)
	if timeout != asBegun {
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
