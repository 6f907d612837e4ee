// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/oauth2"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
)

// tokens are what a token endpoint answers with.
type tokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	ID      string `json:"id_token"`
}

// request returns what a person's login is asked for with.
func (b base) request(o flow.LoginRequest, scopes []string) url.Values {
	q := url.Values{
		"response_type": {"code"}, "client_id": {b.config.ClientID}, "redirect_uri": {o.RedirectURL}, "state": {o.State},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(o.Verifier)}, "code_challenge_method": {"S256"},
	}
	if len(scopes) > 0 {
		q.Set("scope", strings.Join(scopes, " "))
	}
	return q
}

// withQuery returns a URL with more parameters than those that it has.
func withQuery(to string, more url.Values) string {
	separator := "?"
	if strings.Contains(to, "?") {
		separator = "&"
	}
	return to + separator + more.Encode()
}

// codeForm returns what a code is exchanged with.
func codeForm(o flow.LoginAnswer) url.Values {
	return url.Values{"grant_type": {"authorization_code"}, "code": {o.Code}, "code_verifier": {o.Verifier}, "redirect_uri": {o.RedirectURL}}
}

// exchange exchanges a code or a refresh token, which is what, for tokens. Its error has nothing
// of what the provider says in its own words: some repeat the code.
func (b base) exchange(ctx context.Context, auth clientAuth, to, what string, form url.Values) (tokens, error) {
	var got tokens
	err := b.post(ctx, auth, to, form, &got)
	if err == nil && got.Access == "" {
		err = errors.New("its answer has no access token")
	}
	if refused, ok := errors.AsType[*flow.AnswerError](err); ok {
		refused.Description = ""
		if refused.IsAboutPerson() {
			err = fmt.Errorf("%w: %w", flow.ErrLogin, err)
		}
	}
	if err != nil {
		return tokens{}, fmt.Errorf("exchange %s: %w", what, err)
	}
	return got, nil
}

// post sends a form to an endpoint as the provider's client, and decodes what it answers. What
// the provider refuses is a *flow.AnswerError.
func (b base) post(ctx context.Context, auth clientAuth, to string, form url.Values, answer any) error {
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	proof, err := b.config.prove(auth, header, form)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header = header
	resp, err := b.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var refused struct {
		Code        string `json:"error"`
		Description string `json:"error_description"`
	}
	broken := json.Unmarshal(content, &refused)
	if resp.StatusCode/100 != 2 || refused.Code != "" {
		if repeats(refused.Description, proof, form.Get("state"), form.Get("nonce")) {
			refused.Description = ""
		}
		return flow.NewAnswerError(resp.StatusCode, refused.Code, refused.Description)
	}
	if broken != nil || json.Unmarshal(content, answer) != nil { // Their errors can quote the answer.
		return errors.New("its answer is no JSON object of the form that the endpoint has")
	}
	return nil
}

// repeats reports whether a text has one of the secrets in it.
func repeats(text string, secrets ...string) bool {
	for _, s := range secrets {
		if s != "" && strings.Contains(text, s) {
			return true
		}
	}
	return false
}
