// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package laptop

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/oauth2"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
)

const (
	// loginTimeout limits the time of the user at the authorization server.
	loginTimeout = 5 * time.Minute
	// tokenTimeout limits the exchange of the code.
	tokenTimeout = 30 * time.Second
)

// Login gets tokens through the user's login: the authorization code grant with PKCE (RFC 7636),
// with a redirect to a local port that is open only during this login (RFC 8252).
type Login struct {
	OAuth bridgeconfig.OAuth
	// ClientSecret is the client's secret, empty for a public client.
	ClientSecret string
	// Show shows the user the URL to open.
	Show func(url string)
	// Port is the local port to which the browser comes back, 0 for any free one.
	Port int
	// Prepare, if it is not nil, returns the OAuth settings and the client's secret once the
	// redirect URI is known: a client is registered for one.
	Prepare func(ctx context.Context, redirectURI string) (o bridgeconfig.OAuth, clientSecret string, err error)
}

// answer is the answer of the authorization server in the redirect.
type answer struct {
	code string
	err  error
}

// Run returns the tokens in the bridge's storage format.
func (l Login) Run(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(l.Port)))
	if err != nil {
		return nil, fmt.Errorf("listen for the end of the login: %w", err)
	}
	c, err := l.client(ctx, "http://"+listener.Addr().String()+"/callback")
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	verifier, state, err := once()
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier)}
	var resource []oauth2.AuthCodeOption
	if c.resource != "" {
		resource = append(resource, oauth2.SetAuthURLParam("resource", c.resource))
	}
	answers := make(chan answer, 1)
	server := &http.Server{Handler: callback(state, answers), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // ends when the server is closed
	}()
	defer func() {
		// The browser must still receive the last page.
		closing, done := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer done()
		_ = server.Shutdown(closing)
		_ = server.Close()
		<-served
	}()
	l.Show(c.AuthCodeURL(state, append(options, resource...)...))
	select {
	case <-ctx.Done():
		return nil, errors.New("the login was not finished in time")
	case a := <-answers:
		if a.err != nil {
			return nil, a.err
		}
		return exchange(ctx, &c.Config, a.code, append(resource, oauth2.VerifierOption(verifier)))
	}
}

// loginClient is the client of one login.
type loginClient struct {
	oauth2.Config

	resource string
}

// client returns the client for a redirect URI.
func (l Login) client(ctx context.Context, redirectURI string) (*loginClient, error) {
	o, secret := l.OAuth, l.ClientSecret
	if l.Prepare != nil {
		var err error
		if o, secret, err = l.Prepare(ctx, redirectURI); err != nil {
			return nil, err
		}
	}
	return &loginClient{resource: o.Resource, Config: oauth2.Config{
		ClientID:     o.ClientID,
		ClientSecret: secret,
		Endpoint:     oauth2.Endpoint{AuthURL: o.AuthorizationURL, TokenURL: o.TokenURL},
		RedirectURL:  redirectURI,
		Scopes:       o.Scopes,
	}}, nil
}

// once returns the random values of one login.
func once() (verifier, state string, err error) {
	var b [32]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", "", fmt.Errorf("begin the login: %w", err)
	}
	return oauth2.GenerateVerifier(), base64.RawURLEncoding.EncodeToString(b[:]), nil
}

// callback handles the redirect. A redirect with another state does not belong to this login and
// is refused.
func callback(state string, answers chan<- answer) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(state)) != 1 {
			http.Error(w, "this is not the login that is waited for", http.StatusBadRequest)
			return
		}
		a := answer{code: q.Get("code")}
		switch {
		case q.Get("error") != "":
			a.err = fmt.Errorf("the authorization server refuses: %.200q", q.Get("error"))
		case a.code == "":
			a.err = errors.New("the authorization server sent no code")
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Referrer-Policy", "no-referrer") // The URL contains the code.
		if a.err != nil {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte("The login did not work. The terminal says why.\n"))
		} else {
			_, _ = w.Write([]byte("The login is done. You can close this page.\n"))
		}
		select {
		case answers <- a:
		default: // the page was reloaded
		}
	})
	return mux
}

// tokens is the storage format of a login's tokens.
type tokens struct {
	AccessToken  string    `json:"access_token"`
	RefreshToken string    `json:"refresh_token,omitempty"`
	TokenType    string    `json:"token_type,omitempty"`
	Expiry       time.Time `json:"expiry,omitzero"`
}

func exchange(ctx context.Context, c *oauth2.Config, code string, options []oauth2.AuthCodeOption) ([]byte, error) {
	client := &http.Client{
		Timeout: tokenTimeout, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
		// A redirect would send the code and the client's secret elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t, err := c.Exchange(context.WithValue(ctx, oauth2.HTTPClient, client), code, options...)
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		// The error's text would contain the server's whole answer.
		return nil, fmt.Errorf("get the tokens: the authorization server answers %d %.80s", refused.Response.StatusCode, refused.ErrorCode)
	}
	if err != nil {
		return nil, fmt.Errorf("get the tokens: %w", err)
	}
	//nolint:gosec // Storing tokens as a secret is the purpose.
	return json.Marshal(tokens{t.AccessToken, t.RefreshToken, t.TokenType, t.Expiry})
}
