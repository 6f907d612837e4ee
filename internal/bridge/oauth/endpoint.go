// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
)

// patience limits one request to the authorization server.
const patience = 30 * time.Second

// tokenEndpoint requests tokens from the authorization server of a server.
type tokenEndpoint struct {
	config bridgeconfig.OAuth
	client *http.Client
	// style is how the client authenticates to the authorization server, an oauth2.AuthStyle.
	style atomic.Int64
}

func newTokenEndpoint(c bridgeconfig.OAuth, client *http.Client) *tokenEndpoint {
	own := *client
	// A redirect would send the client's credentials elsewhere.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t := &tokenEndpoint{config: c, client: &own}
	style := oauth2.AuthStyleInHeader
	if c.ClientSecret == "" {
		style = oauth2.AuthStyleInParams
	}
	t.style.Store(int64(style))
	return t
}

// refreshes reports whether the configuration uses a login that can be refreshed.
func (t *tokenEndpoint) refreshes() bool { return t.config.Grant == bridgeconfig.AuthorizationCode }

// tokenRequest is the content of one request to the authorization server.
type tokenRequest struct {
	secretSet           bool
	credential, refresh string
	// code, verifier and redirectURI belong to the exchange of a code. They are empty for other
	// requests.
	code, verifier, redirectURI string
}

// request requests a token. If the client is not recognised, it authenticates in the other style:
// authorization servers support one of the two, and the failed request used nothing up.
func (t *tokenEndpoint) request(ctx context.Context, q tokenRequest) (*oauth2.Token, error) {
	if t.config.ClientSecret != "" && !q.secretSet {
		return nil, unset(t.config.ClientSecret)
	}
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, oauth2.HTTPClient, t.client), patience)
	defer cancel()
	style := oauth2.AuthStyle(t.style.Load())
	got, err := t.send(ctx, q, style)
	if clientRefused(err) && t.config.ClientSecret != "" {
		style = oauth2.AuthStyleInHeader + oauth2.AuthStyleInParams - style
		if got, err = t.send(ctx, q, style); !clientRefused(err) {
			t.style.Store(int64(style))
		}
	}
	if err != nil && ctx.Err() != nil {
		return nil, errSlow
	}
	return got, err
}

// send sends one request. The requests for a refresh and for a code differ only in their grants.
// Both ask for no scopes: they get the scopes of the login.
func (t *tokenEndpoint) send(ctx context.Context, q tokenRequest, style oauth2.AuthStyle) (*oauth2.Token, error) {
	c := clientcredentials.Config{
		ClientID: t.config.ClientID, ClientSecret: q.credential, TokenURL: t.config.TokenURL, AuthStyle: style,
		EndpointParams: url.Values{},
	}
	if t.config.Resource != "" {
		c.EndpointParams.Set("resource", t.config.Resource)
	}
	switch {
	case q.code != "":
		c.EndpointParams.Set("grant_type", "authorization_code")
		c.EndpointParams.Set("code", q.code)
		c.EndpointParams.Set("code_verifier", q.verifier)
		c.EndpointParams.Set("redirect_uri", q.redirectURI)
	case t.refreshes():
		c.EndpointParams.Set("grant_type", "refresh_token")
		c.EndpointParams.Set("refresh_token", q.refresh)
	default:
		c.Scopes = t.config.Scopes
	}
	got, err := c.Token(ctx)
	if err == nil && (!strings.EqualFold(got.Type(), "Bearer") || !sendable(got.AccessToken)) {
		return nil, errNoToken
	}
	return got, err
}

// advice says what to check, by the error codes of RFC 6749, section 5.2, and RFC 8707, section 2.
// Other codes are not repeated, because they are foreign text.
var advice = map[string]string{
	"invalid_request":        "check oauth.tokenURL and oauth.resource",
	"invalid_scope":          "check oauth.scopes",
	"invalid_target":         "check oauth.resource",
	"unauthorized_client":    "the client may not use this grant",
	"unsupported_grant_type": "it does not have this grant",
}

// explain returns the meaning of a failed token request.
func (t *tokenEndpoint) explain(err error) *Error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return t.refusal(refused)
	}
	if timeout, ok := errors.AsType[net.Error](err); errors.Is(err, context.DeadlineExceeded) || ok && timeout.Timeout() {
		return errSlow
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return errAway
	}
	return errNoToken // The server answered.
}

func (t *tokenEndpoint) refusal(e *oauth2.RetrieveError) *Error {
	status := e.Response.StatusCode
	switch {
	case e.ErrorCode == "invalid_grant" && t.refreshes():
		return errRefused
	case clientRefused(e):
		what := "check oauth.clientID"
		if t.config.ClientSecret != "" {
			what += " and secret " + t.config.ClientSecret
		}
		return &Error{text: "the authorization server does not accept the client: " + what, lasting: true}
	case advice[e.ErrorCode] != "":
		return &Error{text: fmt.Sprintf("the authorization server refuses (%s): %s", e.ErrorCode, advice[e.ErrorCode]), lasting: true}
	case status >= http.StatusInternalServerError || status == http.StatusTooManyRequests || e.ErrorCode == "temporarily_unavailable":
		return &Error{text: fmt.Sprintf("the authorization server cannot answer now (status %d)", status)}
	}
	return &Error{text: fmt.Sprintf("the authorization server refuses (status %d): check oauth.tokenURL", status), lasting: true}
}
