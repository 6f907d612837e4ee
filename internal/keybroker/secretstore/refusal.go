// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// classify distinguishes what the API server will never do from what it cannot
// do now. It repeats the answer to a request with data only as far as the
// answer cannot contain that data.
func classify(err error) error {
	answer, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	status := answer.Status()
	switch {
	case !refuses(status.Code) && denied.MatchString(status.Message):
		return fmt.Errorf("%w: %s", ErrUnavailable, describe(status))
	case !refuses(status.Code):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case status.Code == http.StatusRequestEntityTooLarge, tooLong(status):
		return fmt.Errorf("%w: %s", ErrTooLarge, describe(status))
	}
	return fmt.Errorf("%w: %s", ErrForbidden, describe(status))
}

// refuses reports whether an answer of that code would be the same in a moment.
func refuses(code int32) bool {
	switch code {
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusConflict:
		return false
	}
	return code >= 400 && code < 500
}

// tooLong reports whether a Secret is not valid for its size.
func tooLong(status metav1.Status) bool {
	return status.Reason == metav1.StatusReasonInvalid && status.Details != nil &&
		slices.ContainsFunc(status.Details.Causes, func(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeTooLong })
}

var (
	// denied matches the beginning of answers of webhooks and policies: the
	// rest of such an answer may quote the Secret.
	denied = regexp.MustCompile(`^(admission webhook "[^"]*" denied the request` +
		`|secrets( "[^"]*")? is forbidden: (Validating|Mutating)AdmissionPolicy '[^']*' with binding '[^']*' denied request)`)

	// ours are messages of the API server itself that contain only names,
	// numbers and rights.
	ours = regexp.MustCompile(`^secrets( "[^"]*")? is forbidden: (exceeded quota: .*|failed quota: .*|User "[^"]*" cannot .*` +
		`|unable to create new content in namespace \S+ because it is being terminated)`)
)

// describe returns the part of a refusal that is safe to repeat: the reason,
// the fields that it is about, and the message if that cannot quote data.
func describe(status metav1.Status) string {
	if who := denied.FindString(status.Message); who != "" {
		return fmt.Sprintf("%s (%d)", who, status.Code)
	}
	if message := ours.FindString(status.Message); message != "" {
		return message
	}
	said := []string{fmt.Sprintf("%s (%d)", status.Reason, status.Code)}
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			said = append(said, strings.TrimSpace(fmt.Sprintf("%s %s", cause.Type, cause.Field)))
		}
	}
	return strings.Join(said, ", ")
}
