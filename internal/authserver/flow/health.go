// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"fmt"
	"time"
)

// ProviderHealth is what this process knows of an identity provider.
type ProviderHealth struct {
	ID, Name string
	// Limits are those of logins at the provider.
	Limits
	// NoToken is whether its last login for a grant gave no refresh token, so that it is not
	// asked again although it should be. Such a grant lasts for Login.
	NoToken bool
	Login   time.Duration
	// Answered is when it last said who a person is, zero if it has not yet.
	Answered time.Time
	// Failed is when it last said nothing of a person who came or was to be confirmed, zero
	// if it has not yet, and Trouble is what it answered, empty if there was no such answer.
	Failed  time.Time
	Trouble string
}

// AnswerError is an error that a provider answered with.
type AnswerError struct {
	// Status is that of HTTP, and Code that of OAuth.
	Status int
	Code   string
}

// Error implements error.
func (e *AnswerError) Error() string {
	return fmt.Sprintf("it answers with status %d, error %s", e.Status, e.Code)
}
