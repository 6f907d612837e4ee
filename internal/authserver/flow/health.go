// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"fmt"
	"regexp"
	"slices"
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
	// if it has not yet, and Trouble is what it answered or why our settings do not fit it,
	// empty for other causes.
	Failed  time.Time
	Trouble string
}

// AnswerError is an error that a provider answered with.
type AnswerError struct {
	// Status is that of HTTP, 0 for an error that a browser brought. Code is that of OAuth,
	// and Description what the provider says of it, as bounded plain text.
	Status            int
	Code, Description string
}

// errorCode is the form of the codes of RFC 6749, sections 4.1.2.1 and 5.2.
var errorCode = regexp.MustCompile(`^[a-z_]{1,64}$`)

// maxDescription is how many characters of a description are kept.
const maxDescription = 200

// NewAnswerError returns the error of an answer. Its code is unknown if it has another form than
// codes of OAuth.
func NewAnswerError(status int, code, description string) *AnswerError {
	if !errorCode.MatchString(code) {
		code = "unknown"
	}
	return &AnswerError{status, code, shownText(description, maxDescription)}
}

// SetupError says why the installation's settings for a provider cannot be used there. It has
// no secret and no address in it.
type SetupError string

// Error implements error.
func (e SetupError) Error() string { return string(e) }

// aboutPerson are the errors by which a provider refuses the person, or the code or token
// that stands for them. All others, such as invalid_client and invalid_request, are about
// us or the provider: some refuse a deleted person with them, and all of them refuse
// everybody with them when a secret has changed.
var aboutPerson = []string{
	"invalid_grant", "bad_verification_code", // The second one is GitHub's.
	"access_denied", "login_required", "interaction_required", "consent_required", "account_selection_required",
}

// IsAboutPerson reports whether the provider refuses the person, and not us.
func (e *AnswerError) IsAboutPerson() bool { return slices.Contains(aboutPerson, e.Code) }

// Error implements error.
func (e *AnswerError) Error() string {
	text := "error " + e.Code
	if e.Status != 0 {
		text = fmt.Sprintf("status %d, %s", e.Status, text)
	}
	if e.Description != "" {
		text += fmt.Sprintf(": %q", e.Description)
	}
	return "it answers with " + text
}
