// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package masterkey

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
)

// errDenied says that the server refused the token, or the operation with it.
var errDenied = errors.New("the server denies it (403): the token is not valid, or its policy does not allow it")

// away marks the error of a server that may be available later: it cannot be
// reached, is sealed, or is overloaded. Every other error is an answer, or our
// own mistake.
type away struct{ error }

// Unwrap returns what is marked.
func (a away) Unwrap() error { return a.error }

func isAway(err error) bool {
	_, ok := errors.AsType[away](err)
	return ok
}

// unavailable marks an error that says nothing of the envelope.
func unavailable(err error) error { return fmt.Errorf("%w: %w", envelope.ErrUnavailable, err) }

// answers are the server's texts with a meaning here, in all versions of Vault
// and OpenBao that know associated data. An unknown text is not repeated: a
// broken server may answer with our token.
type answers []struct {
	status int
	text   string
	err    error
}

var (
	refusals = answers{
		{http.StatusBadRequest, "cipher: message authentication failed", envelope.ErrRefused},
		{http.StatusBadRequest, "invalid ciphertext: unable to decrypt", envelope.ErrRefused},
		{http.StatusBadRequest, "disallowed by policy (too old)", envelope.ErrRetiredKeyVersion},
		{http.StatusBadRequest, "invalid ciphertext: version is too new", envelope.ErrUnknownKeyVersion},
		{http.StatusBadRequest, "no such key version", envelope.ErrUnknownKeyVersion},
		{http.StatusBadRequest, "encryption key not found", envelope.ErrUnknownKeyVersion},
	}
	failures = answers{
		{http.StatusBadRequest, "encryption key not found", errors.New("there is no such key (400)")},
		{http.StatusBadRequest, "higher than the latest key version", errors.New("the key has no such version (400)")},
		{http.StatusBadRequest, "less than the minimum encryption key version", errors.New("the key's min_encryption_version is higher (400)")},
		{http.StatusForbidden, "", errDenied},
		{http.StatusNotFound, "", errors.New("there is no such key, mount or namespace (404)")},
		{http.StatusTooManyRequests, "", errors.New("the server's limit of requests is reached (429)")},
		{http.StatusServiceUnavailable, "is sealed", errors.New("the server is sealed (503)")},
	}
)

func (a answers) find(status int, text string) error {
	for _, known := range a {
		if known.status == status && strings.Contains(text, known.text) {
			return known.err
		}
	}
	return nil
}

// statusError is the error of an answer that is no success.
func statusError(opens bool, status int, content []byte) error {
	if status >= 300 && status < 400 {
		return unavailable(fmt.Errorf("the server redirects (%d), and a token is not sent elsewhere: give the address that answers", status))
	}
	var answer struct {
		Errors []string `json:"errors"`
	}
	if json.Unmarshal(content, &answer) != nil {
		answer.Errors = nil
	}
	text := strings.Join(answer.Errors, "\n")
	if err := refusals.find(status, text); opens && err != nil {
		return err
	}
	err := failures.find(status, text)
	if err == nil {
		err = fmt.Errorf("the server answers %d", status)
	}
	if status >= http.StatusInternalServerError || status == http.StatusTooManyRequests {
		err = away{err}
	}
	return unavailable(err)
}

// connectionError returns the part of a connection's error that is our own
// text: the error of a broken answer quotes the answer.
func connectionError(err error) error {
	var dial *net.OpError
	var certificate *tls.CertificateVerificationError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return away{context.DeadlineExceeded}
	case errors.As(err, &dial) && dial.Op == "dial":
		return away{dial}
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return away{invalid} // An outage of the server, which the options cannot cause.
	case errors.As(err, &certificate):
		return certificate
	}
	return away{errors.New("the connection broke, or the answer is not HTTP")}
}
