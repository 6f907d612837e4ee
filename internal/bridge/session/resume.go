// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// HeaderLastEventID names the last received event of a broken stream.
	HeaderLastEventID = "Last-Event-Id"
	// lostEvent is the id of the event that reports a lost answer. A client that resumes after
	// this event gets "no stream": a client that does not accept an error as an answer would retry
	// for ever.
	lostEvent = "lost"
	// maxSpelling limits the bytes of a request's id within an event's id.
	maxSpelling = 128
)

// encodeID returns the id of a request in a form for an event's id, empty if there is none.
func encodeID(id json.RawMessage) string {
	if len(id) > maxSpelling {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(id)
}

// resume serves a GET, which may ask for the rest of a broken stream.
func (s *Store) resume(w http.ResponseWriter, r *http.Request, st *streamable) {
	last := r.Header.Get(HeaderLastEventID)
	name, number, mark, request := cutEventID(last)
	to := s.events.find(st, name)
	switch {
	case name == "":
		to = st.own
		// Messages between the client's requests may be lost, but the client can get the remaining and
		// future ones.
		if oldest := s.events.oldest(to); mark != st.mark || number+1 < oldest {
			number = oldest - 1
		}
	case mark != st.mark || to == nil || number < 0:
		answerLost(w, last, request)
		return
	default:
		events, ok := s.events.after(to, number)
		if !ok {
			answerLost(w, last, request)
			return
		}
		if !slices.ContainsFunc(events, func(message []byte) bool { return message != nil }) && to.unanswered() {
			// A client that did not get its answer would ask for the rest of the stream for ever.
			answerLost(w, lostEvent, request)
			return
		}
	}
	streamHeader(w.Header())
	reads := to.open(w, r)
	defer reads.leave()
	if to.resume(reads, number) {
		reads.wait()
	}
}

// cutEventID returns the parts of an event's id: the stream, the number of the event in it, which is -1 for
// none, the epoch and the request's id.
func cutEventID(id string) (stream string, number int, mark, request string) {
	event, rest, _ := strings.Cut(id, ".")
	mark, request, _ = strings.Cut(rest, ".")
	stream, digits, _ := strings.Cut(event, "_")
	number, err := strconv.Atoi(digits)
	if err != nil || number < 0 {
		number = -1
	}
	return stream, number, mark, request
}

// answerLost tells a client that the rest of an answer is lost. Without the request's id it can
// only answer that there is no stream.
func answerLost(w http.ResponseWriter, last, request string) {
	id, err := base64.RawURLEncoding.DecodeString(request)
	if last == lostEvent || err != nil || len(id) == 0 || !json.Valid(id) {
		w.Header().Set("Allow", "POST, DELETE")
		http.Error(w, "the stream is gone", http.StatusMethodNotAllowed)
		return
	}
	answer, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0",
		"id":      json.RawMessage(id),
		"error": map[string]any{
			"code":    jsonrpc.CodeInternalError,
			"message": "the answer is lost: the bridge restarted, or keeps it no more; whether the request was carried out is not known",
			"data":    map[string]string{"code": "answer_lost"},
		},
	})
	if err != nil {
		panic(err) // the id is valid
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	_, _ = fmt.Fprintf(w, "event: message\nid: %s\ndata: %s\n\n", lostEvent, answer)
}
