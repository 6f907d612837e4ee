// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"
)

const directory = `scim: {directories: [{name: okta, issuer: "https://acme.okta.com", tokenHashes: ["sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"]MORE}]}`

func withDirectory(more string) string { return strings.Replace(directory, "MORE", more, 1) }

func TestDirectoriesThatCannotBeAreRefusedWithTheKey(t *testing.T) {
	token := "hbs_07ELSZgnu18F_MTahov29GNUbipw3AHOVcj0Jc2xT"
	for name, test := range map[string]struct {
		values string
		want   []string
	}{
		"a token for its hash":    {strings.Replace(withDirectory(""), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", token, 1), []string{"tokenHashes", "not the token"}},
		"no token":                {`scim: {directories: [{name: okta, issuer: "https://acme.okta.com", tokenHashes: []}]}`, []string{"/scim/directories/0/tokenHashes"}},
		"an issuer by http":       {strings.Replace(withDirectory(""), "https://", "http://", 1), []string{"/scim/directories/0/issuer"}},
		"a name with spaces":      {strings.Replace(withDirectory(""), "okta,", "my okta,", 1), []string{"/scim/directories/0/name"}},
		"another attribute":       {withDirectory(", groupValue: id"), []string{"/scim/directories/0/groupValue", "externalId"}},
		"two of one issuer":       {strings.Replace(withDirectory(""), "}]}", `}, {name: other, issuer: "https://acme.okta.com", tokenHashes: ["sha256:0000000000000000000000000000000000000000000000000000000000000000"]}]}`, 1), []string{"two with the issuer"}},
		"a field that is unknown": {withDirectory(", token: x"), []string{"/scim/directories/0", "token"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := renderAt(t, nil, test.values)
			expectRefusal(t, err, test.want)
			if strings.Contains(err.Error(), token) {
				t.Error("the message has the token")
			}
		})
	}
}

func TestTheIngressWritesGroupsOnlyForDirectories(t *testing.T) {
	for values, want := range map[string]bool{"": false, withDirectory(""): true, "scim: null": false} {
		rendered, err := renderAt(t, nil, values)
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(rendered["rbac-ingress.yaml"], "bridgegroups"); has != want {
			t.Errorf("with %q the ingress may write groups: %v", values, has)
		}
		if has := strings.Contains(rendered["ingress.yaml"], "--scim-config="); has != want {
			t.Errorf("with %q the ingress reads directories: %v", values, has)
		}
		if has := strings.Contains(rendered["config.yaml"], "hosted-bridge-scim"); has != want {
			t.Errorf("with %q there are directories: %v", values, has)
		}
	}
}
