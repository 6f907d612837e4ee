// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package login

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"time"
)

const (
	// clientID is of the program for which people log in, and redirectURI where it
	// waits for its code. Nobody listens there: the browser is the test's, which
	// reads the code off the address.
	clientID    = "bench"
	redirectURI = "http://127.0.0.1:49152/callback"
)

// connections are those of all browsers and programs. They are kept, as those of
// what is in front of an installation are.
var connections = &http.Transport{MaxIdleConnsPerHost: atOnce, DisableCompression: true}

// browser is a person's, with cookies of its own.
type browser struct{ http *http.Client }

func newBrowser() *browser {
	jar, _ := cookiejar.New(nil) // Without options it never fails.
	return &browser{&http.Client{
		Transport: connections, Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// page is what a browser is answered.
type page struct {
	status int
	// from is the address that answered, to where it leads on, empty for nowhere.
	from, to *url.URL
	body     []byte
}

func (b *browser) do(r *http.Request) (page, error) {
	res, err := b.http.Do(r)
	if err != nil {
		return page{}, err
	}
	defer res.Body.Close()
	p := page{status: res.StatusCode, from: r.URL}
	if p.body, err = io.ReadAll(res.Body); err != nil {
		return page{}, err
	}
	switch {
	case p.status == http.StatusOK:
	case p.status == http.StatusSeeOther || p.status == http.StatusFound:
		if p.to, err = res.Location(); err != nil {
			return page{}, err
		}
	default:
		return page{}, fmt.Errorf("%s %s: status %d: %.100q", r.Method, r.URL.Path, p.status, p.body)
	}
	return p, nil
}

// get loads a page.
func (b *browser) get(ctx context.Context, address string) (page, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return page{}, err
	}
	return b.do(r)
}

// follow goes on until a page leads nowhere, or away from the origin it is of.
func (b *browser) follow(ctx context.Context, p page) (page, error) {
	for p.to != nil && p.to.Host == p.from.Host {
		var err error
		if p, err = b.get(ctx, p.to.String()); err != nil {
			return page{}, err
		}
	}
	return p, nil
}

// post sends a form, as a browser does from a page of the same origin.
func (b *browser) post(ctx context.Context, to *url.URL, form url.Values) (page, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return page{}, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", to.Scheme+"://"+to.Host)
	return b.do(r)
}

var (
	formAction = regexp.MustCompile(`<form method="post"(?: action="([^"]*)")?>`)
	formHidden = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)
)

// submit sends the form of a page, with what else a person puts in.
func (b *browser) submit(ctx context.Context, p page, with url.Values) (page, error) {
	action := formAction.FindSubmatch(p.body)
	if action == nil {
		return page{}, fmt.Errorf("%s has no form", p.from.Path)
	}
	to, err := p.from.Parse(html.UnescapeString(string(action[1])))
	if err != nil {
		return page{}, err
	}
	for _, hidden := range formHidden.FindAllSubmatch(p.body, -1) {
		with.Set(string(hidden[1]), html.UnescapeString(string(hidden[2])))
	}
	return b.post(ctx, to, with)
}

// request is what a program asks for, with what it keeps to itself.
type request struct{ state, verifier, resource string }

func newRequest(resource string) request {
	return request{state: rand.Text(), verifier: rand.Text() + rand.Text(), resource: resource}
}

func (r request) query(scope string) string {
	sum := sha256.Sum256([]byte(r.verifier))
	return url.Values{
		"response_type": {"code"}, "client_id": {clientID}, "redirect_uri": {redirectURI}, "scope": {scope}, "resource": {r.resource},
		"state": {r.state}, "code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}.Encode()
}

// code returns the code that a page leads to the program with.
func (r request) code(p page, issuer string) (string, error) {
	if p.to == nil || !strings.HasPrefix(p.to.String(), redirectURI+"?") {
		return "", fmt.Errorf("%s does not lead to the program", p.from.Path)
	}
	q := p.to.Query()
	if q.Get("state") != r.state || q.Get("iss") != issuer || q.Get("code") == "" {
		return "", fmt.Errorf("the program is answered with error %q, or for another login", q.Get("error"))
	}
	return q.Get("code"), nil
}

// tokens are what a program gets.
type tokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
}

var errTokens = errors.New("the token endpoint answers without the tokens")

// ask asks a token endpoint.
func ask(ctx context.Context, endpoint string, form url.Values) (tokens, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return tokens{}, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := connections.RoundTrip(r)
	if err != nil {
		return tokens{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return tokens{}, err
	}
	if res.StatusCode != http.StatusOK {
		return tokens{}, fmt.Errorf("the token endpoint answers with status %d: %.100q", res.StatusCode, body)
	}
	var got tokens
	if err := json.Unmarshal(body, &got); err != nil || got.Access == "" || got.Refresh == "" {
		return tokens{}, errTokens
	}
	return got, nil
}

// redeem has a program get its tokens for a code, and others for its refresh
// token.
func (r request) redeem(ctx context.Context, endpoint, code string, t *took) (tokens, error) {
	watch := stopwatch(time.Now())
	got, err := ask(ctx, endpoint, url.Values{
		"grant_type": {"authorization_code"}, "client_id": {clientID}, "redirect_uri": {redirectURI},
		"code": {code}, "code_verifier": {r.verifier}, "resource": {r.resource},
	})
	if err != nil {
		return tokens{}, fmt.Errorf("token: %w", err)
	}
	t[token] = watch.lap()
	got, err = ask(ctx, endpoint, url.Values{
		"grant_type": {"refresh_token"}, "client_id": {clientID}, "refresh_token": {got.Refresh}, "resource": {r.resource},
	})
	if err != nil {
		return tokens{}, fmt.Errorf("refresh: %w", err)
	}
	t[refresh] = watch.lap()
	return got, nil
}

// stopwatch is since when a step is under way.
type stopwatch time.Time

// lap returns how long the step took, and begins the next.
func (s *stopwatch) lap() time.Duration {
	now := time.Now()
	took := now.Sub(time.Time(*s))
	*s = stopwatch(now)
	return took
}
