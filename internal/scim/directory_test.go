// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func newToken(t *testing.T, kind apikey.Kind) (token, id string) {
	t.Helper()
	return must.Values(apikey.Mint(rand.Reader, kind))(t)
}

func TestATokenIsOneDirectorys(t *testing.T) {
	first, firstID := newToken(t, apikey.KindDirectory)
	second, _ := newToken(t, apikey.KindDirectory)
	others, _ := newToken(t, apikey.KindDirectory)
	unknown, unknownID := newToken(t, apikey.KindDirectory)
	user, _ := newToken(t, apikey.KindUser)
	list, err := ParseDirectories(fmt.Appendf(nil, "directories:\n- {name: okta, issuer: 'https://a.example', tokenHashes: ['%s', '%s']}\n- {name: entra, issuer: 'https://b.example', tokenHashes: ['%s'], groupValue: externalId, dryRun: true, limits: {groups: 7}}\n",
		apikey.HashOf(first), apikey.HashOf(second), apikey.HashOf(others)))
	if err != nil {
		t.Fatal(err)
	}
	d := NewDirectories(list)
	for _, test := range []struct{ presented, name, id string }{{first, "okta", firstID}, {second, "okta", ""}, {others, "entra", ""}, {unknown, "", unknownID}, {user, "", ""}, {"", "", ""}} {
		got, id := d.Of(test.presented)
		if name := ""; got != nil {
			if name = got.Name; name != test.name {
				t.Errorf("the directory is %q, want %q", name, test.name)
			}
		} else if test.name != "" {
			t.Errorf("%s's token opens nothing", test.name)
		}
		if test.id != "" && id != test.id {
			t.Errorf("the id is %q, want %q", id, test.id)
		}
	}
	if want := (Limits{Users: 20_000, Groups: 7, Memberships: 200_000}); list[1].Limits != want || list[0].Limits != DefaultLimits {
		t.Errorf("the limits are %+v and %+v", list[0].Limits, list[1].Limits)
	}
	if list[0].GroupValue != ByDisplayName || list[1].GroupValue != ByExternalID || !list[1].DryRun {
		t.Errorf("the directories are %+v", list)
	}
}

func TestDirectoriesThatAreRefused(t *testing.T) {
	token, _ := newToken(t, apikey.KindDirectory)
	hash, bound := apikey.HashOf(token).String(), apikey.HashFor("alice", token).String()
	one := func(more string) string {
		return "directories: [{name: a, issuer: 'https://a.example', tokenHashes: ['" + hash + "']" + more + "}]"
	}
	for name, test := range map[string]struct{ in, want string }{
		"an unknown field":   {one(", tokenHash: x"), "must be YAML"},
		"no list":            {"directories: " + token, "must be YAML"},
		"no name":            {"directories: [{issuer: 'https://a.example', tokenHashes: ['" + hash + "']}]", "directories[0].name must be"},
		"an issuer by http":  {"directories: [{name: a, issuer: 'http://a.example', tokenHashes: ['" + hash + "']}]", "directories[0].issuer must be"},
		"no hash":            {"directories: [{name: a, issuer: 'https://a.example'}]", "tokenHashes must be 1 or 2"},
		"the token itself":   {"directories: [{name: a, issuer: 'https://a.example', tokenHashes: ['" + token + "']}]", "tokenHashes[0] must be"},
		"a user's hash":      {"directories: [{name: a, issuer: 'https://a.example', tokenHashes: ['" + bound + "']}]", "tokenHashes[0] must be"},
		"another attribute":  {one(", groupValue: id"), "groupValue must be"},
		"no room":            {one(", limits: {users: -1}"), "limits.users must be 1 to 1000000"},
		"too much room":      {one(", limits: {memberships: 1000001}"), "limits.memberships must be 1 to 1000000"},
		"a directory twice":  {strings.Replace(one(""), "}]", "}, {name: a, issuer: 'https://a.example', tokenHashes: ['"+hash+"']}]", 1), "directories[1].issuer is that"},
		"a token of several": {strings.Replace(one(""), "}]", "}, {name: b, issuer: 'https://b.example', tokenHashes: ['"+hash+"']}]", 1), "directories[1].tokenHashes[0] stands twice"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseDirectories([]byte(test.in))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("the error is %v, want %q", err, test.want)
			}
			if strings.Contains(err.Error(), token[len("hbs_"):]) {
				t.Error("the error has the token")
			}
		})
	}
	if list, err := ParseDirectories(nil); err != nil || len(list) != 0 {
		t.Errorf("an empty file: %v, %v", list, err)
	}
}
