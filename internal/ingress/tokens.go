// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// OAuth is by which access tokens are accepted beside API keys.
type OAuth struct {
	// PublicURL is where users reach the installation, such as
	// https://bridges.example.com. Tokens are for a URL below it.
	PublicURL string
	// Name is what users are shown as the name of what a token is for.
	Name string
	// Servers are the issuers of tokens, the one to begin with first.
	Servers []string
	// Scopes are what clients are told to ask them for.
	Scopes []string
	// Tokens checks what they issue.
	Tokens TokenVerifier
}

// TokenVerifier checks an access token for a resource: oauth.Verifier. Its errors
// are oauth.ErrToken and oauth.ErrKeysAway.
type TokenVerifier interface {
	Verify(ctx context.Context, token, resource string, now time.Time) (oauth.Token, error)
}

// cached returns o with a memory of the tokens that were good a moment ago.
func (o *OAuth) cached() *OAuth {
	if o == nil {
		return nil
	}
	c := *o
	c.Tokens = newTokenCache(o.Tokens)
	return &c
}

// publicURL is where users reach the installation, empty where there are no
// logins.
func (s *Server) publicURL() string {
	if s.oauth == nil {
		return ""
	}
	return s.oauth.PublicURL
}

// grant is what an access token proved of who calls.
type grant struct {
	issuer  string
	subject oauth.SubjectKey
	// ruled is the user that the installation's rule makes of the token, if any.
	ruled v1alpha1.UserID
	ends  time.Time
	// calls is whether tools may be run.
	calls bool
}

// opens reports whether the person may use the user's bridge. A token stays as it
// is; what it opens is looked up each time.
func (g *grant) opens(t *route.Table, user v1alpha1.UserID) bool {
	return g.ruled == user || slices.Contains(t.Subjects(g.subject), user)
}

// users returns whose bridges the person may use.
func (g *grant) users(t *route.Table) []v1alpha1.UserID {
	users := t.Subjects(g.subject)
	if _, ok := t.Lookup(g.ruled); ok && !slices.Contains(users, g.ruled) {
		users = append(slices.Clip(users), g.ruled)
	}
	return users
}

// resourceOf is the path of what a request asks for, as the token has to name it:
// what else a user has beside MCP belongs to their MCP URL.
func resourceOf(c *gin.Context) string {
	user := c.Param("userId")
	switch {
	case user == "":
		return anyonePath
	case strings.HasSuffix(c.Request.URL.Path, ssePath):
		return "/u/" + user + ssePath
	default:
		return "/u/" + user + endpointMCP
	}
}

// takesToken reports whether what was presented has the form of a JWT, which no key
// has.
func (s *Server) takesToken(presented string) bool {
	return s.oauth != nil && strings.Count(presented, ".") == 2
}

// authenticateToken is authenticate for an access token. Whatever is wrong with
// one is the same answer: also a token of somebody whose bridge it is not, or
// that is for the URL of a user that there is not.
func (s *Server) authenticateToken(c *gin.Context, t *route.Table, presented string) error {
	now := time.Now()
	token, err := s.oauth.Tokens.Verify(c.Request.Context(), presented, oauth.Resource(s.oauth.PublicURL, resourceOf(c)), now)
	switch {
	case errors.Is(err, oauth.ErrKeysAway):
		return fmt.Errorf("%w: %w", errLoginAway, err)
	case errors.Is(err, oauth.Expired):
		// It was good: that is how clients find out that they need another one, and
		// many people's may come from one address.
		return errUnauthorized
	case err != nil:
		return s.refuseAttempt(c.Request, presented, "")
	}
	g := &grant{issuer: token.Issuer, subject: token.Subject, ruled: token.User, ends: token.Expires.Add(oauth.Leeway), calls: token.Call}
	user, err := chooseUser(g.users(t), v1alpha1.UserID(c.Param("userId")))
	if err != nil {
		return err // No attempt either: nobody guesses a good token.
	}
	s.letIn(c, principal{user: user, grant: g})
	if !token.Read {
		return errInsufficient
	}
	return nil
}

// chooseUser returns whose bridge a request is for: the one of its path, or the
// only one of the URL for everyone.
func chooseUser(may []v1alpha1.UserID, asked v1alpha1.UserID) (v1alpha1.UserID, error) {
	switch {
	case asked != "" && slices.Contains(may, asked):
		return asked, nil
	case asked == "" && len(may) == 1:
		return may[0], nil
	case asked == "" && len(may) > 1:
		return "", errSeveralBridges
	default:
		return "", errUnauthorized
	}
}

// checkScope refuses calls of tools by a token that does not allow them.
func (s *Server) checkScope(c *gin.Context) error {
	g := principalOf(c).grant
	if g == nil || g.calls {
		return nil
	}
	messages := messagesOf(c)
	for i := range messages {
		if messages[i].isCall() {
			return errInsufficient
		}
	}
	return nil
}

// requireKey refuses access tokens.
func (s *Server) requireKey(c *gin.Context) error {
	if principalOf(c).grant != nil {
		return errKeyNeeded
	}
	return nil
}

// challenge has the answer say where and for what a token can be had, if it is a
// refusal that a token would mend.
func (s *Server) challenge(c *gin.Context, p *problem) {
	if s.oauth == nil || p.status != http.StatusUnauthorized && p != errInsufficient {
		return
	}
	if route := recordOf(c.Request.Context()).route; route != routeMCP && route != routeSSE && route != routeHealth {
		return
	}
	code := ""
	switch {
	case p == errInsufficient:
		code = p.code
	case presentedKey(c.Request.Header) != "":
		code = "invalid_token"
	}
	metadata := s.oauth.PublicURL + oauth.MetadataPath(resourceOf(c))
	c.Header("WWW-Authenticate", oauth.Challenge(metadata, code, "", s.oauth.Scopes))
}

// resourceMetadata answers where tokens for a user's URL are to be had. It is the
// same whether or not there is such a user.
func (s *Server) resourceMetadata(c *gin.Context) error {
	resource := oauth.Resource(s.oauth.PublicURL, strings.TrimPrefix(c.Request.URL.Path, oauth.MetadataPath("")))
	h := c.Writer.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "max-age=300")
	_, err := c.Writer.Write(oauth.ProtectedResource(resource, s.oauth.Name, s.oauth.Servers, s.oauth.Scopes))
	return err
}

// oauthRoutes adds the metadata of what tokens are for.
func (s *Server) oauthRoutes(e *gin.Engine) {
	if s.oauth == nil {
		return
	}
	limit := s.limitSource(newRate(s.config.LoginRequests), errTooManyLogins)
	for _, path := range []string{anyonePath, "/u/:userId" + endpointMCP, "/u/:userId" + ssePath} {
		path = oauth.MetadataPath(path)
		e.GET(path, openToPages, s.do(s.checkHost), s.do(limit), s.do(s.refuseBody), s.do(s.resourceMetadata))
		e.OPTIONS(path, openToPages, s.do(s.checkHost), s.do(limit), s.do(s.refuseBody), s.do(preflightPart(http.MethodGet, readHeaders, http.MethodGet)))
	}
}
