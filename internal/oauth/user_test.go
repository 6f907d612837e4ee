// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

func TestTheUserOfARule(t *testing.T) {
	name := UserRule{Claim: "preferred_username", Suffix: "@example.com"}
	email := UserRule{Claim: "email", Suffix: "@example.com"}
	named := func(s string) object { return object{"preferred_username": s} }
	tests := map[string]struct {
		rule   UserRule
		claims object
		want   v1alpha1.UserID // None if it is empty.
	}{
		"a name in the domain":                  {name, named("alice@example.com"), "alice"},
		"a name in capitals":                    {name, named("Alice@Example.COM"), "alice"},
		"a suffix in capitals":                  {UserRule{"preferred_username", "@EXAMPLE.com"}, named("alice@example.com"), "alice"},
		"a name without a domain":               {UserRule{Claim: "uid"}, object{"uid": "alice"}, "alice"},
		"no rule":                               {UserRule{}, object{"": "alice"}, ""},
		"a suffix alone is no rule":             {UserRule{Suffix: "@example.com"}, object{"": "alice@example.com"}, ""},
		"no such claim":                         {name, object{"email": "alice@example.com"}, ""},
		"a claim of another case":               {name, object{"Preferred_Username": "alice@example.com"}, ""},
		"a claim that is a number":              {UserRule{Claim: "uid"}, object{"uid": 7}, ""},
		"a claim that is a list":                {UserRule{Claim: "uid"}, object{"uid": []any{"alice"}}, ""},
		"another domain":                        {name, named("alice@else.example.com"), ""},
		"a domain that ends alike":              {name, named("alice@badexample.com"), ""},
		"a domain with something after it":      {name, named("alice@example.com.attacker.example"), ""},
		"the suffix twice":                      {name, named("alice@example.com@example.com"), ""},
		"nothing before the suffix":             {name, named("@example.com"), ""},
		"a suffix without its at sign":          {UserRule{"preferred_username", "example.com"}, named("alice@badexample.com"), ""},
		"a name that is no user id":             {name, named("alice.smith@example.com"), ""},
		"a path":                                {name, named("../bob@example.com"), ""},
		"a name of 64 characters":               {name, named(strings.Repeat("a", 64) + "@example.com"), ""},
		"a kelvin for a k":                      {name, named("\u212aate@example.com"), ""},
		"a long s for an s":                     {name, named("\u017fam@example.com"), ""},
		"a dotless i for an i":                  {name, named("al\u0131ce@example.com"), ""},
		"a Cyrillic letter":                     {name, named("\u0430lice@example.com"), ""},
		"a line end":                            {name, named("alice\n@example.com"), ""},
		"a line end after it":                   {name, named("alice@example.com\n"), ""},
		"a space":                               {name, named(" alice@example.com"), ""},
		"an email that was verified":            {email, object{"email": "alice@example.com", "email_verified": true}, "alice"},
		"an email that was verified, as text":   {email, object{"email": "alice@example.com", "email_verified": "true"}, "alice"},
		"an email that was not verified":        {email, object{"email": "alice@example.com", "email_verified": false}, ""},
		"an email of which nothing is said":     {email, object{"email": "alice@example.com"}, ""},
		"an email with a word about it":         {email, object{"email": "alice@example.com", "email_verified": "no"}, ""},
		"an email with a number about it":       {email, object{"email": "alice@example.com", "email_verified": 1.0}, ""},
		"a name that is like an email":          {name, object{"preferred_username": "alice@example.com", "email_verified": false}, "alice"},
		"an address in a claim of the provider": {UserRule{"upn", "@example.com"}, object{"upn": "alice@example.com"}, "alice"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := tt.rule.User(tt.claims)
			if got != tt.want || ok != (tt.want != "") {
				t.Errorf("got %q, %v", got, ok)
			}
		})
	}
}
