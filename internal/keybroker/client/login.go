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
// the keys that sign access tokens and never gives them away. It is safe for
// concurrent use.
type Login struct {
	base  *url.URL
	fresh func() *http.Client

	mu    sync.Mutex
	http  *http.Client
	until time.Time
}

const (
	// loginIdle is how long a connection waits for the next signature: less
	// than the keybroker keeps one open. A login needs several signatures
	// within seconds, and each handshake costs both sides more than the
	// signature.
	loginIdle = 3 * time.Second
	// loginFor is how long connections are used, however busy they are: a
	// fraction of the lifetime of the certificate that they present.
	loginFor = time.Minute
)

// NewLogin returns the signing keys at the keybroker of broker. This process
// presents the certificate of source there, which is the ingress's.
func NewLogin(broker *Client, source *Source) *Login {
	return &Login{base: broker.base, fresh: func() *http.Client {
		t := transportOf(source.serviceTLS())
		t.IdleConnTimeout, t.MaxIdleConnsPerHost = loginIdle, 16
		return clientBy(t)
	}}
}

// client returns the current client of the keybroker.
func (l *Login) client() *http.Client {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.http == nil || now.After(l.until) {
		l.closeIdle()
		l.http, l.until = l.fresh(), now.Add(loginFor)
	}
	return l.http
}

// Close closes idle connections.
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

// Sign requests the signature of an access token's claims, a JSON object of at
// most 8 KiB, by the current key and returns the token: a compact JWS (RFC
// 7515, 7.1) of the type at+jwt (RFC 9068). The error is a *Refusal when the
// keybroker answered; it quotes neither the claims nor the token.
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

// Keys returns the public keys that verify the tokens of Sign, including those
// of the periods before and after the present one. The error is a *Refusal when
// the keybroker answered.
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

// verifies reports whether a set has keys, and none but public ones: the set is
// handed to anybody who asks for the public keys.
func verifies(set jose.JSONWebKeySet) bool {
	for _, key := range set.Keys {
		if !key.Valid() || !key.IsPublic() || key.KeyID == "" || key.Algorithm != string(jose.ES256) {
			return false
		}
	}
	return len(set.Keys) > 0
}

// do sends one request, and once more when there was no answer: a replica of
// the keybroker that ends closes its connections, and a failed login cannot be
// repeated, since its code is used up.
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
