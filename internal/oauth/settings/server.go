// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
)

var (
	// idPattern is a segment of a path that needs no escaping.
	idPattern = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)
	// parameterPattern is the name of a parameter of an authorization request.
	parameterPattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	// ownParameters are those by which a login is bound to its browser and client.
	ownParameters = []string{"client_id", "redirect_uri", "response_type", "scope", "state", "nonce", "code_challenge", "code_challenge_method", "request", "request_uri"}
	// schemePattern is that of RFC 3986 in lower case.
	schemePattern = regexp.MustCompile(`^[a-z][a-z0-9+.-]{0,63}$`)
	// notPrivate are schemes that browsers run or open themselves, so that a
	// code sent there does not reach the client, and the two that have rules of
	// their own.
	notPrivate = []string{"http", "https", "javascript", "data", "vbscript", "file", "filesystem", "blob", "about", "view-source", "ws", "wss", "ftp", "mailto", "tel", "intent", "content"}
)

// The limits of lifetimes. Nobody checks an access token for revocation: an
// hour is the most that the keybroker signs.
const (
	minAccessToken = time.Minute
	maxAccessToken = time.Hour
	maxLifetime    = 365 * day
	// A provider is asked every five minutes at most, and the groups that it names count
	// for seven days.
	minGrace = 5 * time.Minute
	maxGrace = 7 * day
	// maxClients is 2 GB of registered clients.
	maxClients = 1_000_000
)

func (p *problems) server(s *Server) {
	p.check(isText(s.Name), "server.name", wantText)
	p.store(s.Store)
	p.providers(s.Providers)
	p.roles(s)
	p.clients(s)
	p.check(s.Registration.MaxClients > 0 && s.Registration.MaxClients <= maxClients, "server.registration.maxClients", "from 1 to 1000000")
	p.within(s.Registration.Lifetime, time.Hour, maxLifetime, "server.registration.lifetime")
	p.check(all(s.Documents.AllowedNetworks, isPrefix), "server.clientIDMetadataDocuments.allowedNetworks", "a list of ranges such as 10.1.0.0/16")
	p.check(all(s.RedirectSchemes, isPrivateScheme), "server.redirectSchemes", "a list of private-use schemes such as cursor, in lower case and without ://")
	for i, o := range s.AccountOrigins {
		field := fmt.Sprintf("server.accountOrigins[%d]", i)
		p.check(isOrigin(o.Authorization), field+".authorization", wantOrigin)
		p.check(isOrigin(o.Token), field+".token", wantOrigin)
	}
	p.within(s.Lifetimes.AccessToken, minAccessToken, maxAccessToken, "server.lifetimes.accessToken")
	p.within(s.Lifetimes.RefreshToken, s.Lifetimes.AccessToken, maxLifetime, "server.lifetimes.refreshToken")
	p.within(s.Lifetimes.RefreshIdle, s.Lifetimes.AccessToken, s.Lifetimes.RefreshToken, "server.lifetimes.refreshIdle")
	p.onboarding(&s.Onboarding)
}

func (p *problems) within(d, least, most time.Duration, field string) {
	p.check(least <= d && d <= most, field, fmt.Sprintf("from %s to %s", least, most))
}

// store does not quote a refused value: a database's URL contains its password.
func (p *problems) store(target string) {
	kind, path, _ := strings.Cut(target, ":")
	if kind == "redis" {
		p.refuse(true, "server.store", "is redis, where logins are no longer kept: set it to postgres:FILE with the database's URL in that file; people log in again")
		return
	}
	known := kind == "sqlite" || kind == "postgres"
	p.check(known && path != "" && !strings.HasPrefix(path, "//"), "server.store",
		"sqlite:PATH, or postgres:FILE with the database's URL in that file")
}

func (p *problems) providers(providers []Provider) {
	p.check(len(providers) > 0, "server.providers", "a list of at least one provider, at which people log in")
	var ids []string
	for i := range providers {
		field := fmt.Sprintf("server.providers[%d]", i)
		p.provider(&providers[i], field)
		p.refuse(slices.Contains(ids, providers[i].ID), field+".id", "is that of another provider")
		ids = append(ids, providers[i].ID)
	}
}

func (p *problems) provider(v *Provider, field string) {
	p.check(idPattern.MatchString(v.ID), field+".id", "1 to 32 lower-case letters, digits or hyphens")
	p.check(isText(v.Name), field+".name", wantText)
	p.check(isText(v.ClientID), field+".clientID", "the id that the provider gave to this installation, "+wantText)
	p.check(all(v.Scopes, scopePattern.MatchString), field+".scopes", wantScopes)
	p.user(v.User, field+".user")
	p.groups(v.Groups, field+".groups")
	for _, name := range slices.Sorted(maps.Keys(v.AuthorizationParameters)) {
		p.check(parameterPattern.MatchString(name) && !slices.Contains(ownParameters, name), field+".authorizationParameters",
			fmt.Sprintf("parameters such as access_type or prompt, and none of %s", strings.Join(ownParameters, ", ")))
		value := v.AuthorizationParameters[name]
		p.check(value == "" || isText(value), field+".authorizationParameters."+name, wantText)
		p.check(name != "response_mode" || slices.Contains([]string{"", "query", "form_post"}, value), field+".authorizationParameters."+name, "query or form_post")
	}
	if v.MaxAge != 0 {
		p.within(v.MaxAge, minAccessToken, maxLifetime, field+".maxAge")
	}
	p.check(v.SubjectClaim == "" || isText(v.SubjectClaim), field+".subjectClaim", wantText)
	switch v.Type {
	case OIDC:
		p.check(isURL(v.Issuer), field+".issuer", wantURL)
		p.clientAuth(v, field)
		p.check(slices.Contains(v.Scopes, "openid"), field+".scopes", "a list with openid")
		p.refuse(v.URL != "", field+".url", "is of the type github; one of the type oidc has issuer")
		p.refuse(v.APIURL != "", field+".apiURL", "is of the type github; one of the type oidc has issuer")
	case GitHub:
		p.check(isURL(v.URL), field+".url", wantURL)
		p.check(isURL(v.APIURL), field+".apiURL", wantURL)
		p.refuse(v.User.Claim == claimEmail, field+".user.claim", "is email: GitHub does not say whether an email is the person's. Use another claim, such as login")
		p.refuse(v.Issuer != "", field+".issuer", "is of the type oidc; one of the type github has url")
		p.check(isText(v.ClientSecretFile), field+".clientSecretFile", wantSecret)
		p.refuse(v.ClientKeyFile+v.ClientKeyID != "", field+".clientKeyFile", "is of the type oidc; GitHub takes a secret")
		p.refuse(v.TokenEndpointAuthMethod != "", field+".tokenEndpointAuthMethod", "is of the type oidc")
		p.refuse(v.Groups.Claim != "", field+".groups.claim", "is of the type oidc; GitHub names no groups")
		p.refuse(len(v.AuthorizationParameters) > 0, field+".authorizationParameters", "is of the type oidc")
		p.refuse(v.SubjectClaim != "", field+".subjectClaim", "is of the type oidc; people of GitHub are known by the number of their account")
	default:
		p.check(false, field+".type", "oidc or github")
	}
}

const wantSecret = "the path of a file with the client's secret"

// clientAuth checks by what the client of an OIDC provider proves who it is.
func (p *problems) clientAuth(v *Provider, field string) {
	method, hasKey, hasSecret := v.TokenEndpointAuthMethod, v.ClientKeyFile != "", v.ClientSecretFile != ""
	p.check(isText(v.ClientSecretFile) || !hasSecret && hasKey, field+".clientSecretFile", wantSecret)
	p.check(!hasKey || isText(v.ClientKeyFile), field+".clientKeyFile", "the path of a file with the client's private key")
	p.check(v.ClientKeyID == "" || isText(v.ClientKeyID), field+".clientKeyID", wantText)
	p.refuse(v.ClientKeyID != "" && !hasKey, field+".clientKeyID", "needs "+field+".clientKeyFile, the key that it names")
	switch method {
	case AuthKey:
		p.refuse(!hasKey, field+".tokenEndpointAuthMethod", "is "+AuthKey+", which needs "+field+".clientKeyFile")
	case AuthBasic, AuthPost:
		p.refuse(!hasSecret, field+".tokenEndpointAuthMethod", "is "+method+", which needs "+field+".clientSecretFile")
	default:
		p.check(method == "" && !(hasKey && hasSecret), field+".tokenEndpointAuthMethod", AuthBasic+", "+AuthPost+" or "+AuthKey+", and one of them where the client has a secret and a key")
	}
}

func (p *problems) groups(g Groups, field string) {
	p.check(g.Claim == "" || isText(g.Claim), field+".claim", wantText)
	p.check(g.Recheck == "" || g.Recheck == RecheckLogin || g.Recheck == RecheckRefresh, field+".recheck", RecheckLogin+" or "+RecheckRefresh)
	p.refuse(g.RecheckGrace != 0 && g.Recheck != RecheckRefresh, field+".recheckGrace", "needs "+field+".recheck: "+RecheckRefresh)
	if g.Recheck == RecheckRefresh {
		p.within(g.RecheckGrace, minGrace, maxGrace, field+".recheckGrace")
	}
	p.refuse(g.Recheck != "" && g.Claim == "", field+".recheck", "needs "+field+".claim, which is what is read again")
}

func (p *problems) clients(s *Server) {
	var ids []string
	for i := range s.Clients {
		c, field := &s.Clients[i], fmt.Sprintf("server.clients[%d]", i)
		p.check(isText(c.ID) && !strings.HasPrefix(c.ID, "https://"), field+".id", wantText+"; one that begins with https:// is that of a document")
		p.refuse(slices.Contains(ids, c.ID), field+".id", "is that of another client")
		p.check(isText(c.Name), field+".name", wantText)
		p.check(len(c.RedirectURIs) > 0 && all(c.RedirectURIs, func(uri string) bool { return isRedirect(uri, s.RedirectSchemes) }), field+".redirectURIs",
			"a list of at least one URL without credentials and fragment: https, http at localhost, 127.0.0.1 or [::1], or of server.redirectSchemes")
		ids = append(ids, c.ID)
	}
}

func isPrefix(text string) bool {
	prefix, err := netip.ParsePrefix(text)
	return err == nil && prefix == prefix.Masked() && !prefix.Addr().Is4In6()
}

func isPrivateScheme(s string) bool {
	return schemePattern.MatchString(s) && !slices.Contains(notPrivate, s)
}
