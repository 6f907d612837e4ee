// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Login is the keybroker as the ingress's authorization server uses it: it has
// the keys that sign access tokens and gives none of them away. It is safe for
// concurrent use.
type Login struct {
	base  *url.URL
	fresh func() *http.Client

	mu    sync.Mutex
	http  *http.Client
	until time.Time
}

const (
	// loginIdle is how long a connection waits for the next signature: less than the
	// keybroker lets one wait. A login needs several within seconds, and each
	// handshake takes more of both than the signature does.
	loginIdle = 3 * time.Second
	// loginFor is how long connections are used, however busy they are: a fraction
	// of the lifetime of the certificate that they were made with.
	loginFor = time.Minute
)

// NewLogin returns the signing keys at the keybroker of broker, to which this
// process shows the certificate of source: the ingress's.
func NewLogin(broker *Client, source *Source) *Login {
	return &Login{base: broker.base, fresh: func() *http.Client {
		t := transportOf(source.serviceTLS())
		t.IdleConnTimeout, t.MaxIdleConnsPerHost = loginIdle, 16
		return clientBy(t)
	}}
}

// client returns what asks the keybroker at the moment.
func (l *Login) client() *http.Client {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.http == nil || now.After(l.until) {
		l.closeIdle()
		l.http, l.until = l.fresh(), now.Add(loginFor)
	}
	return l.http
}

// Close closes the connections that nobody uses.
func (l *Login) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeIdle()
}

func (l *Login) closeIdle() {
	if l.http != nil {
		l.http.CloseIdleConnections()
	}
}

// Sign has the claims of an access token, a JSON object of at most 8 KiB, signed
// by the key of the moment and returns the token: a compact JWS (RFC 7515, 7.1)
// of the type at+jwt (RFC 9068). The error is a *Refusal when the keybroker
// answered; it quotes neither the claims nor the token.
func (l *Login) Sign(ctx context.Context, claims []byte) (string, error) {
	answer, err := l.do(ctx, http.MethodPost, "sign", claims)
	if err != nil {
		return "", fmt.Errorf("sign access token: %w", err)
	}
	token := string(answer)
	// The parser's error could quote the token.
	if _, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.ES256}); err != nil {
		return "", fmt.Errorf("sign access token: %w", errAnswer)
	}
	return token, nil
}

// Keys returns the public keys by which the tokens of Sign are verified, those
// of the periods before and after the present one included. The error is a
// *Refusal when the keybroker answered.
func (l *Login) Keys(ctx context.Context) (jose.JSONWebKeySet, error) {
	answer, err := l.do(ctx, http.MethodGet, "keys", nil)
	if err != nil {
		return jose.JSONWebKeySet{}, fmt.Errorf("get the keys of access tokens: %w", err)
	}
	var set jose.JSONWebKeySet
	if json.Unmarshal(answer, &set) != nil || !verifies(set) {
		return jose.JSONWebKeySet{}, fmt.Errorf("get the keys of access tokens: %w", errAnswer)
	}
	return set, nil
}

// verifies reports whether a set has keys, and none that it should not: a
// private one here would go on to whoever asks for the public ones.
func verifies(set jose.JSONWebKeySet) bool {
	for _, key := range set.Keys {
		if !key.Valid() || !key.IsPublic() || key.KeyID == "" || key.Algorithm != string(jose.ES256) {
			return false
		}
	}
	return len(set.Keys) > 0
}

// do sends one request, and once more when nobody answered: a replica of the
// keybroker that ends takes its connections along, and a login that fails for it
// cannot be repeated by the program that logs in, since its code is used up.
func (l *Login) do(ctx context.Context, method, what string, body []byte) ([]byte, error) {
	answer, err := l.once(ctx, method, what, body)
	if _, answered := errors.AsType[*Refusal](err); err == nil || answered || ended(ctx) {
		return answer, err
	}
	return l.once(ctx, method, what, body)
}

func (l *Login) once(ctx context.Context, method, what string, body []byte) ([]byte, error) {
	var reader io.Reader = http.NoBody
	if len(body) > 0 {
		reader = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, l.base.JoinPath("v1", "login", what).String(), reader)
	if err != nil {
		return nil, err
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/json")
	}
	status, answer, err := do(l.client(), request, maxAnswer)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, errAnswer
	}
	return answer, nil
}
