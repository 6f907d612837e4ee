// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package masterkey

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// tokens provide the caller's credentials.
type tokens interface {
	// get returns a token to send.
	get(ctx context.Context) (string, error)
	// refused is called when the server denied a request with a token, and
	// reports whether a better token may be available now.
	refused(token string) bool
}

// tokenFile reads a file for each request: an agent may replace the token.
type tokenFile string

func (f tokenFile) get(context.Context) (string, error) { return readToken(string(f)) }

func (f tokenFile) refused(string) bool { return false }

// readToken returns the one line that the file has.
func readToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxToken))
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	token := strings.TrimSpace(string(content))
	outside := func(r rune) bool { return r <= ' ' || r > '~' }
	if token == "" || len(content) == maxToken || strings.ContainsFunc(token, outside) {
		return "", fmt.Errorf("read the token: %s has none", path)
	}
	return token, nil
}

const (
	// renewAfter is the part of a token's life after which another is
	// requested, so that none ends during a request.
	renewAfter = 2.0 / 3
	// endless is for how long a token without an end is used. A revoked login
	// is noticed by its refusal.
	endless = time.Hour
	// trusted is for how long a denial is not attributed to a new token:
	// policies deny too, and not every denial should cause a login.
	trusted = 10 * time.Second
)

// login is the Kubernetes method: it exchanges a service account's token for
// one of the server's. Another login renews it, which needs no right and
// notices a changed role.
type login struct {
	client *transitClient
	now    func() time.Time
	// turn guards the fields after it. One goroutine logs in while the others
	// wait, each no longer than its own deadline.
	turn  chan struct{}
	token string
	since time.Time
	until time.Time
}

func newLogin(c *transitClient) *login {
	return &login{client: c, now: time.Now, turn: make(chan struct{}, 1)}
}

func (l *login) get(ctx context.Context) (string, error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { <-l.turn }()
	if l.token != "" && l.now().Before(l.until) {
		return l.token, nil
	}
	token, life, err := l.ask(ctx)
	if err != nil {
		return "", fmt.Errorf("log in: %w", err)
	}
	l.token, l.since = token, l.now()
	l.until = l.since.Add(time.Duration(float64(life) * renewAfter))
	return token, nil
}

func (l *login) refused(token string) bool {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if token != l.token {
		return true // Another call has logged in meanwhile.
	}
	if l.now().Before(l.since.Add(trusted)) {
		return false
	}
	l.token = ""
	return true
}

// ask logs in.
func (l *login) ask(ctx context.Context) (token string, life time.Duration, err error) {
	o := l.client.options
	jwt, err := readToken(o.JWTFile)
	if err != nil {
		return "", 0, err
	}
	var answer struct {
		Auth struct {
			Token    string `json:"client_token"`
			Duration int32  `json:"lease_duration"`
		} `json:"auth"`
	}
	r := request{method: http.MethodPost, path: []string{"auth", o.AuthMount, "login"}, body: map[string]string{"role": o.Role, "jwt": jwt}}
	if err := l.client.send(ctx, r, &answer); err != nil {
		return "", 0, err
	}
	outside := func(r rune) bool { return r <= ' ' || r > '~' }
	if answer.Auth.Token == "" || answer.Auth.Duration < 0 || strings.ContainsFunc(answer.Auth.Token, outside) {
		return "", 0, errors.New("the answer has no token")
	}
	if answer.Auth.Duration == 0 {
		return answer.Auth.Token, endless, nil
	}
	return answer.Auth.Token, time.Duration(answer.Auth.Duration) * time.Second, nil
}
