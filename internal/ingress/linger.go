// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
)

// A refused body that is left unread makes the kernel reset the connection when it is closed. The
// reset can overtake the refusal, or discard it at a client that is still writing. So the refusal is
// sent, and the rest of the body is read and dropped, as nginx does with lingering_close.
const (
	// lingerBytes bounds what is read of a body, twice the largest of any tier.
	lingerBytes = 32 << 20
	// lingerIdle is how long a client may send nothing.
	lingerIdle = 2 * time.Second
	// maxLingering bounds the connections on which bodies are dropped. One address may have a
	// sixteenth of them. The others are closed at once.
	maxLingering = 2048
	// dropSize bounds the memory of each, in bytes.
	dropSize = 4 << 10
	// unreadByServer is how many bytes of a body net/http itself reads before it answers.
	unreadByServer = 256 << 10
)

// lingering drops the bodies of requests that were refused before they were read.
type lingering struct {
	places *limits.SourceMemory
	// timeout is how long the rest of a body may take to come.
	timeout time.Duration
}

func newLingering(timeout time.Duration) *lingering {
	return &lingering{places: limits.NewSourceMemory(maxLingering), timeout: timeout}
}

// dropBuffers are what bodies are read into.
var dropBuffers = sync.Pool{New: func() any { return new([dropSize]byte) }}

// drain reads the rest of a refused request's body, if it is more than net/http reads. The request
// holds nothing any more but its connection.
func (l *lingering) drain(w http.ResponseWriter, r *request) {
	place := l.places.For(r.source)
	if !leavesBody(r) || place.Reserve(1) != nil {
		return
	}
	defer place.Release()
	control := http.NewResponseController(w)
	if control.Flush() == nil {
		l.drop(control, io.LimitReader(r.http.Body, lingerBytes))
	}
}

// leavesBody reports whether a request was refused with a body that is on its way.
func leavesBody(r *request) bool {
	if r.code == "" || r.body != nil || r.http.ProtoMajor != 1 {
		return false
	}
	if r.http.Header.Get("Expect") != "" {
		return false // The client waits for a word before it sends a body.
	}
	return r.http.ContentLength < 0 || r.http.ContentLength > unreadByServer
}

// drop reads a body until it ends, or its time is over.
func (l *lingering) drop(control *http.ResponseController, body io.Reader) {
	buffer, _ := dropBuffers.Get().(*[dropSize]byte)
	defer dropBuffers.Put(buffer)
	for end := time.Now().Add(l.timeout); ; {
		wait := min(lingerIdle, time.Until(end))
		if wait <= 0 || control.SetReadDeadline(time.Now().Add(wait)) != nil {
			return
		}
		if _, err := body.Read(buffer[:]); err != nil {
			return
		}
	}
}
