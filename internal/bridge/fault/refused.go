// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Refused is an HTTP status of a server in place of an answer.
type Refused struct {
	Status int
	// Said is the server's text, empty for none.
	Said string
	// RetryAfter is when the server wants to be asked again, 0 if it does not say.
	RetryAfter time.Duration
	Err        error
}

// maxSaid is the length in characters up to which the text of a server's status is shown.
const maxSaid = 500

// Error implements error. It says which part is the server's text.
func (e *Refused) Error() string {
	text := fmt.Sprintf("it answered HTTP %d %s", e.Status, http.StatusText(e.Status))
	if said := []rune(e.Said); len(said) > maxSaid {
		text += fmt.Sprintf(" and says %s…", strconv.Quote(string(said[:maxSaid])))
	} else if len(said) > 0 {
		text += " and says " + strconv.Quote(e.Said)
	}
	if e.RetryAfter > 0 {
		text += fmt.Sprintf(": try again in %d s", e.seconds())
	}
	return text
}

// Unwrap serves errors.Is and errors.As.
func (e *Refused) Unwrap() error { return e.Err }

func (e *Refused) seconds() int { return int(e.RetryAfter / time.Second) }

// describe adds to the data of a client's error what programs can read.
func (e *Refused) describe(details map[string]any) {
	details["status"] = e.Status
	if e.RetryAfter > 0 {
		details["retryAfterSeconds"] = e.seconds()
	}
}
