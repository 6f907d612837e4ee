// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	jose "github.com/go-jose/go-jose/v4"

	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

const (
	// maxText is more than names, client ids and claims have anywhere.
	maxText  = 255
	wantText = "1 to 255 printable characters"
)

// scopePattern is a scope-token of RFC 6749, section 3.3.
var scopePattern = regexp.MustCompile(`^[!#-\[\]-~]{1,255}$`)

const wantScopes = "a list of scopes, each without spaces, quotes and backslashes"

// settings adds everything that is wrong.
func (p *problems) settings(s *Settings) {
	p.check(isOrigin(s.PublicURL), "publicURL", wantOrigin)
	p.check(s.CAFile == "" || isText(s.CAFile), "caFile", "the path of a file with certificates in PEM; leave it out for those of the system alone")
	p.refuse(len(s.Issuers) == 0 && s.Server == nil, "issuers and server", "are both missing: there is nobody whose tokens would be taken")
	var urls []string
	for i := range s.Issuers {
		field := fmt.Sprintf("issuers[%d]", i)
		p.issuer(&s.Issuers[i], field)
		p.refuse(slices.Contains(urls, s.Issuers[i].Issuer), field+".issuer", "is that of another one: each may be there once")
		p.refuse(s.Server != nil && s.Issuers[i].Issuer == s.PublicURL, field+".issuer", "is publicURL, which is the installation's own server; that one needs no entry")
		urls = append(urls, s.Issuers[i].Issuer)
	}
	p.check(all(s.TrustedNamespaces, labelPattern.MatchString), "trustedNamespaces", "a list of namespaces")
	if s.Server != nil {
		p.server(s.Server)
	}
}

func (p *problems) issuer(i *Issuer, field string) {
	p.check(isURL(i.Issuer), field+".issuer", wantURL)
	p.check(i.JWKSURL == "" || isURL(i.JWKSURL), field+".jwksURL", wantURL+"; leave it out for the one of the issuer's metadata")
	known := oauth.Algorithms()
	p.check(all(i.Algorithms, func(a string) bool { return slices.Contains(known, jose.SignatureAlgorithm(a)) }),
		field+".algorithms", fmt.Sprintf("a list of %v", known))
	p.check(all(i.Types, func(t string) bool { return t == "" || isText(t) }), field+".types", `a list of types such as at+jwt; "" is a token without one`)
	p.check(all(i.Audiences, isText), field+".audiences", "a list of audiences, each "+wantText)
	p.check(all(i.Scopes.Read, scopePattern.MatchString), field+".scopes.read", wantScopes)
	p.check(all(i.Scopes.Call, scopePattern.MatchString), field+".scopes.call", wantScopes)
	p.user(i.User, field+".user")
	p.check(i.Groups.Claim == "" || isText(i.Groups.Claim), field+".groups.claim", wantText)
}

func (p *problems) user(u User, field string) {
	p.check(u.Claim == "" || isText(u.Claim), field+".claim", wantText)
	p.check(u.Suffix == "" || isText(u.Suffix), field+".suffix", wantText)
	p.refuse(u.Suffix != "" && u.Claim == "", field+".suffix", "needs "+field+".claim, whose end it is")
	p.refuse(u.Claim == claimEmail && !strings.HasPrefix(u.Suffix, "@"), field+".suffix", "must be the @ of the addresses and what follows, such as @example.com: the rest is the user's id, which has none")
}

func all(list []string, good func(string) bool) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return !good(s) })
}

// isText reports whether s can stand in a page, a log and a header.
func isText(s string) bool {
	if s == "" || len(s) > maxText || strings.TrimSpace(s) != s {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' })
}
