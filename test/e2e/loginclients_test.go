// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"regexp"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// known is how the installation knows a client: as one of its own, by a document,
// or, where both are empty, because the client has registered itself.
type known struct {
	Client   string `json:"client,omitempty"`
	Document string `json:"document,omitempty"`
}

// remote returns mcp-remote's arguments for a client that is known so, or, where
// it is nil, for one with a key.
func (k *known) remote() []string {
	if k == nil {
		return []string{"--header", "Authorization:${HB_AUTHORIZATION}"}
	}
	args := []string{"--host", "127.0.0.1", "--callback-path", "/callback"}
	if k.Document != "" {
		args = append(args, "--client-metadata-url", k.Document)
	}
	if k.Client != "" {
		args = append(args, "--static-oauth-client-info", `{"client_id":"`+k.Client+`"}`)
	}
	return args
}

// kind is a way to be known, by its name in a test's.
type kind struct {
	name  string
	known known
}

var kinds = []kind{
	{"with a document", known{Document: desktop.ClientID}},
	{"that registers itself", known{}},
	{"that is known", known{Client: desk}},
}

// kindsOf returns how a client is known: the first of each program in all ways,
// and the others, which do the same over another transport, in one of them.
func kindsOf(o outsider, i int, families map[string]bool) []kind {
	family := o.program
	if o.remote != nil {
		family = "mcp-remote"
	}
	if !families[family] {
		families[family] = true
		return kinds
	}
	return kinds[i%len(kinds):][:1]
}

// clientsLogIn has clients of others do all of it by themselves but what a person
// does: they find out where to log in, log in, call, and refresh their tokens.
func clientsLogIn(t *testing.T) {
	n := newLoginTenant(t, "logging-in", "carla")
	families := map[string]bool{}
	for i, o := range outsiders {
		if o.program == "" && o.path == "/sse" { // It logs nobody in.
			continue
		}
		for _, kind := range kindsOf(o, i, families) {
			t.Run(o.name+" "+kind.name, func(t *testing.T) {
				t.Parallel()
				asked := task{Login: &kind.known, URL: n.base() + o.path, Steps: []string{"list", "call"}}
				refreshes := o.program != "" && o.remote == nil
				if refreshes {
					asked.Steps = append(asked.Steps, "refresh")
				}
				got := must.Value(o.logIn(t, n, asked, "carla"))(t)
				if got.Call != toolText || refreshes && got.Refresh != "another" {
					t.Errorf("the call answers %q, and the refresh token is then %s", got.Call, got.Refresh)
				}
			})
		}
	}
	t.Run("at the URL for everyone", func(t *testing.T) {
		t.Parallel()
		o := outsiders[0]
		got, err := o.logIn(t, n, task{Login: &known{}, URL: installed.url + "/mcp", Steps: []string{"call"}}, "carla")
		if err != nil || got.Call != toolText {
			t.Errorf("the call answers %q (%v)", got.Call, err)
		}
	})
}

// logIn has a client carry the steps out for somebody who logs in and consents.
func (o outsider) logIn(t *testing.T, n tenant, asked task, who string) (s said, err error) {
	t.Helper()
	p := newVisitor(t)
	if o.program == "" {
		return o.goLogIn(t, n, asked, func(address string) error { return p.letsIn(address, who) })
	}
	return o.follow(t, n, asked, func(address string) error { return p.letsIn(address, who) })
}

// follow has a client carry the steps out for somebody who goes where they are
// sent.
func (o outsider) follow(t *testing.T, n tenant, asked task, goes func(address string) error) (s said, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Limit)
	defer cancel()
	cmd := o.command(ctx, t, n, asked)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return s, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return s, err
	}
	if err := cmd.Start(); err != nil {
		return s, err
	}
	lines := bufio.NewScanner(out)
	for err == nil && lines.Scan() {
		if err = json.Unmarshal(lines.Bytes(), &s); err == nil && s.Go != "" {
			if err = goes(s.Go); err == nil && asked.Connect != "" { // Others wait for nobody.
				_, err = fmt.Fprintln(in, "back")
			}
			s.Go = ""
		}
	}
	if err != nil {
		cancel()
	}
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return s, fmt.Errorf("%s: %w: %.2000s", o.name, err, redact(stderr.String(), n.key.secret))
	}
	return s, nil
}

// letsIn is logsIn and a yes to the client, which is reached then.
func (p *person) letsIn(address, who string) error {
	v, err := p.tryLogIn(atIdentity, address, who)
	if err != nil {
		return err
	}
	if len(v.Violations)+len(v.Complaints) > 0 {
		return fmt.Errorf("the page: %q %q", v.Violations, v.Complaints)
	}
	if v, err = p.allows(v); err != nil {
		return err
	}
	if u, err := url.Parse(v.URL); err != nil || u.Hostname() != "127.0.0.1" || u.Path != "/callback" {
		return fmt.Errorf("the person is at %s and not back at the client: %.500s", v.path(), v.Text)
	}
	return nil
}

// goLogIn is logIn with the Go SDK's client.
func (o outsider) goLogIn(t *testing.T, n tenant, asked task, letsIn func(address string) error) (said, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Limit)
	defer cancel()
	back := make(chan url.Values, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><html lang=en><title>Back</title><h1>Back at the client</h1></html>")
		if r.URL.Path == "/callback" {
			back <- r.URL.Query()
		}
	}))
	defer server.Close()
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: server.URL + "/callback",
		Client:      newHTTPClient(true),
		AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			if err := letsIn(args.URL); err != nil {
				return nil, err
			}
			answer := <-back
			return &auth.AuthorizationResult{Code: answer.Get("code"), State: answer.Get("state"), Iss: answer.Get("iss")}, nil
		},
	}
	switch {
	case asked.Login.Document != "":
		config.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: asked.Login.Document}
	case asked.Login.Client != "":
		config.PreregisteredClient = &oauthex.ClientCredentials{ClientID: asked.Login.Client}
	default:
		config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Outside client", RedirectURIs: []string{config.RedirectURL}, GrantTypes: []string{"authorization_code", "refresh_token"},
		}}
	}
	handler, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		return said{}, err
	}
	return o.goSteps(ctx, n, &goClient{asked: asked, whole: make(chan struct{}, 1), login: handler})
}

// loginAddress is where the suite sends a person.
var loginAddress = regexp.MustCompile(`^https?://\S+/oauth/authorize\?\S+$`)

// loginConforms runs the protocol's conformance suite for authorization servers,
// whose person is a browser.
func loginConforms(t *testing.T) {
	n := newLoginTenant(t, "conforms", "conny")
	ctx, cancel := context.WithTimeout(t.Context(), conformanceTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, nodeProgram(t), module(t, suite), "authorization",
		"--url", installed.url, "--client-id", desk, "--resource", n.url(), "--port", freePort(t))
	cmd.Dir = t.TempDir()
	var out bytes.Buffer
	stdout := must.Value(cmd.StdoutPipe())(t)
	cmd.Stderr = &out
	must.Succeed(t, cmd.Start())
	p, asked := newVisitor(t), 0
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		fmt.Fprintln(&out, lines.Text())
		if loginAddress.MatchString(lines.Text()) {
			asked++
			if err := p.letsIn(lines.Text(), "conny"); err != nil {
				t.Error(err)
				cancel()
			}
		}
	}
	if err := cmd.Wait(); err != nil || asked == 0 {
		t.Errorf("%v, after %d logins:\n%s", err, asked, out.String())
	}
	for _, failed := range failedScenario.FindAllSubmatch(out.Bytes(), -1) {
		t.Errorf("scenario %s failed:\n%s", failed[1], out.String())
	}
}
