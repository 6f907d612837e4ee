// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// login is what logins need at least; MORE stands for more of the server.
const login = `
baseURL: https://bridges.example.com
ingress: {replicas: 1}
oauth: {server: {enabled: true, providers: [{id: idp, type: oidc, issuer: "https://idp.example", clientID: x, existingSecret: idp}], MORE}}
`

func withLogin(more string) string { return strings.Replace(login, "MORE", more, 1) }

func TestLoginsThatCannotBeAreRefusedWithTheKey(t *testing.T) {
	provider := func(fields string) string {
		return "ingress: {replicas: 1}\noauth: {server: {enabled: true, providers: [" + fields + "]}}"
	}
	const oidc = "{id: a, type: oidc, issuer: 'https://a.example', clientID: x, existingSecret: a, "
	tests := []struct {
		name    string
		cluster secrets
		values  string
		want    []string
	}{
		{"an address with a path", nil, strings.Replace(withLogin(""), "example.com", "example.com/a", 1), []string{"baseURL is", "an origin"}},
		{"an address that others read", nil, "{baseURL: 'http://bridges.example.com', oauth: {issuers: [{issuer: 'https://a.example'}]}}", []string{"baseURL is", "https://"}},
		{"nobody to log in at", nil, "{ingress: {replicas: 1}, oauth: {server: {enabled: true}}}", []string{"set oauth.server.providers"}},
		{"a file for two ingresses", nil, "oauth: {server: {enabled: true, providers: [{id: a, type: github, clientID: x, existingSecret: a}]}}", []string{"oauth.server.store.type", "to postgres", "ingress.replicas to 1"}},
		{"PostgreSQL without its URL", nil, withLogin("store: {type: postgres}"), []string{"set oauth.server.store.postgres.existingSecret"}},
		{"a database beside a file", nil, withLogin("store: {postgres: {existingSecret: a}}"), []string{"oauth.server.store.postgres.existingSecret is set, but oauth.server.store.type is sqlite"}},
		{"a claim beside a database", nil, withLogin("store: {type: postgres, postgres: {existingSecret: a}, sqlite: {existingClaim: b}}"), []string{"oauth.server.store.sqlite.existingClaim is set"}},
		{"a store that is none", nil, withLogin("store: {type: mysql}"), []string{"oauth.server.store.type is mysql", "sqlite and postgres are accepted"}},
		{"two of one id", nil, provider("{id: a, type: github, clientID: x, existingSecret: a}, {id: a, type: github, clientID: z, existingSecret: b}"), []string{"two with the id a"}},
		{"a provider without a Secret", nil, provider("{id: a, type: github, clientID: x}"), []string{"/oauth/server/providers/0", "existingSecret"}},
		{"a secret in the values", nil, provider("{id: a, type: github, clientID: x, existingSecret: a, clientSecret: sesame}"), []string{"/oauth/server/providers/0", "clientSecret"}},
		{"a key of GitHub", nil, provider("{id: a, type: github, clientID: x, existingSecret: a, clientKey: pem}"), []string{"/oauth/server/providers/0/clientKey"}},
		{"the name of no key", nil, provider(oidc + "clientKeyID: k}"), []string{"oauth.server.providers (a) clientKeyID", "set it to the key of the Secret"}},
		{"a method without its key", nil, provider(oidc + "tokenEndpointAuthMethod: private_key_jwt}"), []string{"oauth.server.providers (a)", "set clientKey"}},
		{"a method without its secret", nil, provider(oidc + "clientKey: pem, tokenEndpointAuthMethod: client_secret_post}"), []string{"oauth.server.providers (a)", "set key"}},
		{"a key and a secret without a method", nil, provider(oidc + "key: secret, clientKey: pem}"), []string{"oauth.server.providers (a)", "set tokenEndpointAuthMethod"}},
		{"a method that is none", nil, provider(oidc + "tokenEndpointAuthMethod: tls_client_auth}"), []string{"/oauth/server/providers/0/tokenEndpointAuthMethod"}},
		{"a provider of no type", nil, provider("{id: a, type: saml, clientID: x, existingSecret: a}"), []string{"/oauth/server/providers/0/type"}},
		{"a provider of OpenID that is nowhere", nil, provider("{id: a, type: oidc, clientID: x, existingSecret: a}"), []string{"/oauth/server/providers/0", "issuer"}},
		{"a provider of OpenID with GitHub's pages", nil, provider("{id: a, type: oidc, issuer: 'https://a.example', url: 'https://b.example', clientID: x, existingSecret: a}"), []string{"/oauth/server/providers/0/url"}},
		{"a GitHub with an issuer", nil, provider("{id: a, type: github, issuer: 'https://a.example', clientID: x, existingSecret: a}"), []string{"/oauth/server/providers/0/issuer"}},
		{"groups of GitHub", nil, provider("{id: a, type: github, groups: {claim: groups}, clientID: x, existingSecret: a}"), []string{"/oauth/server/providers/0/groups"}},
		{"groups that are read never", nil, provider("{id: a, type: oidc, issuer: 'https://a.example', groups: {claim: groups, recheck: never}, clientID: x, existingSecret: a}"), []string{"/oauth/server/providers/0/groups/recheck", "refresh"}},
		{"a role that is none", nil, withLogin("roles: [{role: root, groups: [{issuer: 'https://idp.example', value: a}]}]"), []string{"/oauth/server/roles/0/role", "auditor"}},
		{"a role of nobody", nil, withLogin("roles: [{role: admin, groups: []}]"), []string{"/oauth/server/roles/0/groups"}},
		{"an issuer that others can change", nil, "oauth: {issuers: [{issuer: 'http://login.example.com'}]}", []string{"/oauth/issuers/0/issuer"}},
		{"a shared key", nil, "oauth: {issuers: [{issuer: 'https://login.example.com', algorithms: [HS256]}]}", []string{"/oauth/issuers/0/algorithms/0"}},
		{"a lifetime without a unit", nil, withLogin("lifetimes: {accessToken: 15}"), []string{"/oauth/server/lifetimes/accessToken"}},
		{"a mode that is none", nil, withLogin("onboarding: {mode: always}"), []string{"/oauth/server/onboarding/mode", "invite"}},
		{"bridges that are nowhere", nil, withLogin("onboarding: {mode: auto}"), []string{"set oauth.server.onboarding.namespace"}},
		{"a provider's Secret that is not there", secrets{"other"}, withLogin(""), []string{"oauth.server.providers (idp)", "the Secret idp", "namespace elsewhere"}},
		{"a database's Secret that is not there", secrets{"idp"}, withLogin("store: {type: postgres, postgres: {existingSecret: gone}}"), []string{"oauth.server.store.postgres.existingSecret names the Secret gone"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := renderAt(t, tt.cluster, tt.values)
			expectRefusal(t, err, tt.want)
			if strings.Contains(err.Error(), "sesame") {
				t.Error("the message has the secret in it")
			}
		})
	}
}

func TestLoginsAreTakenThatCanBe(t *testing.T) {
	tests := map[string]string{
		"a file of one ingress":              withLogin(""),
		"one on this machine":                strings.Replace(withLogin(""), "https://bridges.example.com", "http://127.0.0.1:8080", 1),
		"a port":                             strings.Replace(withLogin(""), "https://bridges.example.com", "https://bridges.example.com:8443/", 1),
		"tokens of others at many ingresses": "{ingress: {replicas: 5}, oauth: {issuers: [{issuer: 'https://login.example.com/'}]}}",
		"a server that is off says nothing":  "{baseURL: 'http://bridges.example.com/a', oauth: {server: {enabled: false, store: {type: postgres}}}}",
		"a mode that YAML takes for false":   withLogin("onboarding: {mode: off}"),
	}
	for name, values := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := renderAt(t, secrets{"idp"}, values); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAnAddressIsAnOriginWherePeopleLogIn reads the examples that the settings of
// the ingress are tested by: an ingress whose settings are refused is never ready.
func TestAnAddressIsAnOriginWherePeopleLogIn(t *testing.T) {
	text, err := os.ReadFile("testdata/origins.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var origins struct{ Taken, Refused []string }
	if err := yaml.UnmarshalStrict(text, &origins); err != nil || len(origins.Taken) == 0 || len(origins.Refused) == 0 {
		t.Fatalf("the examples are %+v: %v", origins, err)
	}
	at := func(origin string) error {
		_, err := renderAt(t, nil, strings.Replace(withLogin(""), "https://bridges.example.com", "'"+origin+"'", 1))
		return err
	}
	for _, origin := range origins.Taken {
		if err := at(origin); err != nil {
			t.Error(err)
		}
	}
	for _, origin := range origins.Refused {
		expectRefusal(t, at(origin), []string{"baseURL is " + origin})
	}
}

func TestAnIngressIsReplacedWhenLoginsChange(t *testing.T) {
	before, after := render(t, withLogin("")), render(t, withLogin("lifetimes: {accessToken: 5m}"))
	if pod(t, before, "ingress") == pod(t, after, "ingress") {
		t.Error("the pods are the same, and would go on with what they have read")
	}
	for _, component := range []string{"keybroker", "operator"} {
		if pod(t, before, component) != pod(t, after, component) {
			t.Errorf("the pods of the %s are replaced, which does not read it", component)
		}
	}
}

func TestTheNotesSayWhatProvidersMustKnow(t *testing.T) {
	const want = "- idp: https://bridges.example.com/oauth/callback/idp\n"
	if notes := render(t, withLogin(""))["NOTES.txt"]; !strings.Contains(notes, want) {
		t.Errorf("the notes have no %q:\n%s", want, notes)
	}
}

func TestTheNotesWarnOfIssuersThatClientsCannotUse(t *testing.T) {
	for issuer, want := range map[string]bool{"https://login.microsoftonline.com/8f1c/v2.0": true, "https://login.example.com/realms/staff": false} {
		values := "{baseURL: https://bridges.example.com, oauth: {issuers: [{issuer: " + issuer + ", audiences: [https://bridges.example.com]}]}}"
		if got := strings.Contains(render(t, values)["NOTES.txt"], "Clients of MCP cannot log in at "+issuer); got != want {
			t.Errorf("%s: a warning: %t", issuer, got)
		}
	}
}
