// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/json"
	"github.com/go-jose/go-jose/v4/jwt"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// ClaimUser is where our own server puts the user that a provider's rule
// derived from the person. In tokens of other servers it means nothing.
const ClaimUser = "hb_user"

// ClaimBridge is where our own server puts the UID of the bridge that the person
// agreed to, in tokens for the URL for everyone. In tokens of other servers it
// means nothing.
const ClaimBridge = "hb_bridge"

// ClaimRoles is where our own server puts the roles of a person, in tokens for AdminPath.
// In tokens of other servers it means nothing.
const ClaimRoles = "hb_roles"

// claims are the content of a token whose signature is valid.
type claims struct {
	jwt.Claims

	all map[string]any
}

// readClaims decodes a payload. The decoder refuses duplicate members, since
// another program may read the other one.
func readClaims(payload []byte) (*claims, error) {
	var c claims
	if json.Unmarshal(payload, &c.Claims) != nil || json.Unmarshal(payload, &c.all) != nil {
		return nil, Malformed
	}
	return &c, nil
}

// check says why the token is not valid for that resource now.
func (c *claims) check(i *Issuer, resource string, now time.Time) error {
	late := now.Add(Leeway)
	switch {
	case !c.isFor(i, resource):
		return BadAudience
	case c.Expiry == nil:
		return Malformed
	case !now.Before(c.Expiry.Time().Add(Leeway)):
		return Expired
	case c.NotBefore != nil && late.Before(c.NotBefore.Time()), c.IssuedAt != nil && late.Before(c.IssuedAt.Time()):
		return NotYetValid
	}
	return nil
}

// isFor reports whether the token is for that resource. A token of our own
// server is for one resource only: a token that is valid at two places could
// have leaked from the other.
func (c *claims) isFor(i *Issuer, resource string) bool {
	if resource == "" || i.Own && len(c.Audience) != 1 {
		return false
	}
	return slices.ContainsFunc(c.Audience, func(a string) bool { return a == resource || slices.Contains(i.Audiences, a) })
}

// token returns the token's subject and what it allows.
func (c *claims) token(i *Issuer) (Token, error) {
	t := Token{Issuer: i.URL, Own: i.Own, ClientID: c.client(), ID: c.ID, Expires: c.Expiry.Time()}
	if c.IssuedAt != nil {
		t.Issued = c.IssuedAt.Time()
	}
	var err error
	if i.Own {
		err = c.own(&t)
	} else {
		err = c.foreign(i, &t)
	}
	if err != nil {
		return Token{}, err
	}
	var ok bool
	if t.Scopes, ok = c.scopes(); !ok {
		return Token{}, Malformed
	}
	t.Read, t.Call = hasAll(t.Scopes, i.ReadScopes), hasAll(t.Scopes, i.CallScopes)
	return t, nil
}

// own reads what only tokens of our own server say.
func (c *claims) own(t *Token) (err error) {
	if t.Subject, err = ParseSubjectKey(c.Subject); err != nil {
		return NoSubject
	}
	if c.ID == "" || c.IssuedAt == nil || c.text("client_id") == "" {
		return Malformed
	}
	if _, has := c.all[ClaimUser]; has {
		if t.User, err = v1alpha1.ParseUserID(c.text(ClaimUser)); err != nil {
			return Malformed
		}
	}
	for _, role := range Roles() {
		if list, _ := c.all[ClaimRoles].([]any); slices.Contains(list, any(string(role))) {
			t.Roles = append(t.Roles, role)
		}
	}
	t.Bridge = types.UID(c.text(ClaimBridge))
	if _, has := c.all[ClaimBridge]; has && t.Bridge == "" {
		return Malformed
	}
	return nil
}

// foreign reads whom a token of another server is of. Servers leave the claim of groups out
// of tokens of people who are in none. Groups count only with iat, which tells an older
// token from a newer one.
func (c *claims) foreign(i *Issuer, t *Token) error {
	if !ValidSubject(c.Subject) {
		return NoSubject
	}
	t.Subject = KeyOf(i.URL, c.Subject)
	t.User, _ = i.User.User(c.all)
	if i.Groups == "" || c.IssuedAt == nil {
		return nil
	}
	groups, err := Groups(c.all, i.Groups)
	if errors.Is(err, ErrNoGroups) {
		groups, err = []string{}, nil
	}
	if err == nil {
		t.Groups, t.Person = groups, c.Subject
	}
	return nil
}

// client returns the client: client_id by RFC 9068, azp with Keycloak, Auth0 and
// Entra, cid with Okta.
func (c *claims) client() string {
	for _, name := range []string{"client_id", "azp", "cid"} {
		if id := c.text(name); id != "" {
			return id
		}
	}
	return ""
}

func (c *claims) text(name string) string {
	s, _ := c.all[name].(string)
	return s
}

// scopes returns the scopes of a token: scope, in a string by RFC 9068, or scp, a
// string with Entra and a list with Okta. It returns false if they are neither.
func (c *claims) scopes() ([]string, bool) {
	value := c.all["scope"]
	if value == nil {
		value = c.all["scp"]
	}
	switch v := value.(type) {
	case nil:
		return nil, true
	case string:
		return strings.Fields(v), true
	case []any:
		return textsIn(v)
	}
	return nil, false
}

// textsIn returns the texts of a list. It returns false if it has something else.
func textsIn(list []any) ([]string, bool) {
	var all []string
	for _, item := range list {
		s, ok := item.(string)
		if !ok {
			return nil, false
		}
		all = append(all, s)
	}
	return all, true
}

func hasAll(scopes, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(w string) bool { return !slices.Contains(scopes, w) })
}
