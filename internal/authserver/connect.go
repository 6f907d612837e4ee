// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/oauth2"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/client"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// answerConnect is a person's word that they want to be sent to their account.
const answerConnect = "connect"

var (
	errNoConnection = refusePage(statusForbidden, "There is nothing to connect here", "You have no server of this name that needs an account.")
	errTokensAway   = refusePage(statusForbidden, "The account cannot be connected", "The server logs in at one place and gets its tokens from another, and nobody who runs this installation allowed that. Ask them to allow the two origins:")
	errNoAccount    = refusePage(statusForbidden, "The account was not connected", "The provider refused the login, or its answer was invalid. Nothing was changed.")
)

// connection is a server whose account a person connects.
type connection struct {
	User   v1alpha1.UserID `json:"user"`
	Server string          `json:"server"`
	// Of is how, once it is known that the person may.
	Of *flow.Connection `json:"of,omitempty"`
}

// connectHandler connects the accounts of users' servers.
type connectHandler struct {
	*core
	*loginSessions
	*providerLogin
}

// connect is where a person begins who wants to connect the account with which
// one of their servers is used. They log in first, as with a client.
func (s *connectHandler) connect(c httpapi.Call) error {
	p, err := s.newSession(c)
	if err != nil {
		return err
	}
	p.Connect = &connection{User: v1alpha1.UserID(c.Param("userId")), Server: c.Param("server")}
	return s.chooseProvider(c, p)
}

// askAccount shows who logged in where the account is. A bridge of somebody else, an
// unknown server and a server without an account get the same answer.
func (s *connectHandler) askAccount(c httpapi.Call, p loginSession, who flow.Identity) error {
	ctx := c.Request().Context()
	bridges, err := s.Users.Bridges(ctx, who)
	if err != nil {
		return fmt.Errorf("look up bridges: %w", err)
	}
	bridge, ok := bridgeOf(bridges, p.Connect.User)
	if !ok {
		return errNoConnection // Before anything is asked that takes time where there is a bridge.
	}
	found, err := s.Connections.Find(ctx, p.Connect.User, p.Connect.Server)
	if errors.Is(err, flow.ErrNotFound) {
		return errNoConnection
	}
	if err != nil {
		return fmt.Errorf("find the account of a server: %w", err)
	}
	if err := s.checkOrigins(found); err != nil {
		return err
	}
	p.Connect.Of = &found
	secret, err := s.saveFor(c, p, who, stageConnect)
	if err != nil {
		return err
	}
	data := connectPageOf(found, bridge)
	data.heading, data.Person, data.Action, data.Login = s.pages.Titled("Connect "+found.Server+"?"), who.Name, pathAccount, secret
	return s.pages.Show(c, s.pages.ConnectPage, statusOK, formTargets(found.AuthorizationURL), data)
}

// connectPageOf returns what a page shows of an account of a server of b.
func connectPageOf(of flow.Connection, b flow.Bridge) connectPage {
	page := connectPage{
		Bridge: optionOf(b), Server: of.Server, Scopes: of.Scopes,
		Host: hostOf(of.AuthorizationURL), TokenOrigin: oauth.Origin(of.TokenURL),
	}
	if of.ServerURL != "" {
		page.ServerOrigin = oauth.Origin(of.ServerURL)
		page.ServerForeign = page.ServerOrigin != oauth.Origin(of.AuthorizationURL)
	}
	return page
}

// checkOrigins refuses an account whose tokens are made elsewhere than where its user
// logs in, unless an administrator allowed the two origins. The page at which the
// user logs in says nothing of the other place, and the redirect URI is bound to the
// first alone.
func (s *connectHandler) checkOrigins(of flow.Connection) error {
	pair := AccountOrigins{Authorization: oauth.Origin(of.AuthorizationURL), Token: oauth.Origin(of.TokenURL)}
	if pair.Authorization == pair.Token || slices.Contains(s.AccountOrigins, pair) {
		return nil
	}
	return errTokensAway.withAddresses([]string{pair.Authorization, pair.Token})
}

// goToAccount sends the person to where the account is.
func (s *connectHandler) goToAccount(c httpapi.Call) error {
	body, err := c.Body()
	if err != nil {
		return err
	}
	q, ok := flow.ParseParameters(string(body))
	if !ok || q.Repeated(parameterAnswer, parameterLogin) || q.Get(parameterAnswer) != answerConnect {
		return errOver
	}
	p, err := s.resume(c, q.Get(parameterLogin), stageConnect)
	if err != nil {
		return err
	}
	if p.Connect == nil || p.Connect.Of == nil {
		return errOver // It is of a client.
	}
	if err := s.finish(c, q.Get(parameterLogin), p); err != nil {
		return err
	}
	secrets, err := s.secrets(2)
	if err != nil {
		return err
	}
	p.Stage, p.Verifier = stageAccount, secrets[1]
	if err := s.save(c, p, secrets[0]); err != nil {
		return err
	}
	redirect(c, s.accountURL(*p.Connect.Of, secrets[0], p.Verifier))
	return nil
}

// accountURL is the authorization request to where the account is.
func (s *connectHandler) accountURL(of flow.Connection, state, verifier string) string {
	q := url.Values{
		parameterType: {responseCode}, parameterClient: {of.ClientID}, parameterRedirect: {s.connectedAt(of)}, parameterState: {state},
		parameterChallenge: {oauth2.S256ChallengeFromVerifier(verifier)}, parameterMethod: {methodS256},
	}
	if len(of.Scopes) > 0 {
		q.Set(parameterScope, strings.Join(of.Scopes, " "))
	}
	if of.Resource != "" {
		q.Set(parameterResource, of.Resource)
	}
	return client.AddQuery(of.AuthorizationURL, q)
}

// connectedAt is where an account's authorization server answers: each has an
// address of its own, which has its host in it. One that sends people on to another
// one, with that one's client, cannot have the answer taken for its own then (RFC
// 9700, section 4.4): the other one sends it to where it is registered.
func (s *connectHandler) connectedAt(of flow.Connection) string {
	return s.Issuer + pathConnected + placeOf(of.AuthorizationURL)
}

// placeOf returns a URL's host and port as a part of a path.
func placeOf(authorization string) string {
	return strings.NewReplacer(":", "_", "[", "", "]", "~").Replace(strings.ToLower(hostOf(authorization)))
}

// connected is where people come back to who let the installation use an account.
// What they bring is the bridge's to make tokens of: it alone has what proves the
// client, and what it gets passes nobody else.
func (s *connectHandler) connected(c httpapi.Call) error {
	q, ok := flow.ParseParameters(c.Request().URL.RawQuery)
	if !ok || q.Repeated(parameterState, parameterCode, parameterError) {
		return errOver
	}
	p, err := s.resume(c, q.Get(parameterState), stageAccount)
	if err != nil {
		return err
	}
	if p.Connect == nil || p.Connect.Of == nil || placeOf(p.Connect.Of.AuthorizationURL) != c.Param("place") {
		return errOver
	}
	if err := s.finish(c, q.Get(parameterState), p); err != nil {
		return err
	}
	if q.Get(parameterError) != "" || q.Get(parameterCode) == "" {
		return errNoAccount
	}
	if err := s.storeConnection(c, p, q.Get(parameterCode)); err != nil {
		return err
	}
	return s.pages.Show(c, s.pages.MessagePage, http.StatusOK, "", messagePage{
		heading: s.pages.Titled("The account is connected"),
		Text:    "The bridge " + string(p.Connect.User) + " uses it for the server " + p.Connect.Server + " from now on. You can close this page and go on in your program.",
	})
}

// storeConnection hands what a person brought back to their bridge, if it is still theirs.
func (s *connectHandler) storeConnection(c httpapi.Call, p loginSession, code string) error {
	ctx := c.Request().Context()
	bridges, err := s.Users.Bridges(ctx, *p.Who)
	if err != nil {
		return fmt.Errorf("look up bridges: %w", err)
	}
	if _, ok := bridgeOf(bridges, p.Connect.User); !ok {
		return errNoConnection
	}
	if err := s.checkUnchanged(ctx, *p.Connect.Of); err != nil {
		return err
	}
	act := httpapi.Act{
		Name: actConnect, Target: p.Connect.Server, User: string(p.Connect.User),
		Login: loginOf(*p.Who),
	}
	if err := c.Audit(act); err != nil {
		return err
	}
	// The code is used up by whoever hangs up, too.
	err = s.Connections.Keep(context.WithoutCancel(ctx), *p.Connect.Of, flow.ConnectionAnswer{
		Code: code, Verifier: p.Verifier, RedirectURL: s.connectedAt(*p.Connect.Of),
	})
	if errors.Is(err, flow.ErrNotFound) {
		return errNoConnection
	}
	if err != nil {
		return fmt.Errorf("connect an account: %w", err)
	}
	return nil
}

// checkUnchanged refuses an account that is no longer connected as the person was
// shown: the bridge is another, or the answer or the tokens would go elsewhere.
func (s *connectHandler) checkUnchanged(ctx context.Context, shown flow.Connection) error {
	found, err := s.Connections.Find(ctx, shown.User, shown.Server)
	if errors.Is(err, flow.ErrNotFound) {
		return errNoConnection
	}
	if err != nil {
		return fmt.Errorf("find the account of a server: %w", err)
	}
	if !bytes.Equal(jsondoc.EncodeExact(found), jsondoc.EncodeExact(shown)) {
		return errOver
	}
	return nil
}
