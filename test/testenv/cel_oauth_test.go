// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package testenv_test

import (
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func TestSubjectsAreWhoATokenNames(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	const (
		subjects = "spec.oauth.subjects"
		issuer   = subjects + "[0].issuer"
		subject  = subjects + "[0].subject"
		https    = "absolute https URL"
		form     = "1 to 255 printable characters"
	)
	for _, test := range []struct {
		name            string
		issuer, subject string
		want            []string // None: it is taken.
	}{
		{"a person at a provider", "https://accounts.google.com", "110169484474386276334", nil},
		{"an issuer with a port and a path, as Keycloak's", "https://login.example.com:8443/realms/acme", "f:3e0a:Alice", nil},
		{"an issuer that ends with a slash, as Auth0's", "https://acme.eu.auth0.com/", "auth0|5f7c", nil},
		{"an issuer on this machine", "http://127.0.0.1:8080/oidc", "alice", nil},
		{"an issuer on this machine by name", "http://localhost:8080", "alice", nil},
		{"an issuer on this machine over IPv6", "http://[::1]:8080", "alice", nil},
		{"a subject with spaces in it", "https://login.example.com", "CN=Alice A, O=Example", nil},
		{"a subject of other letters", "https://login.example.com", "Zoë 山田", nil},
		{"a subject as long as one may be", "https://login.example.com", strings.Repeat("s", 255), nil},
		{"an issuer without TLS", "http://login.example.com", "alice", []string{issuer, https}},
		{"an issuer that only begins like this machine", "http://localhost.example.com", "alice", []string{issuer, https}},
		{"an issuer without a scheme", "login.example.com", "alice", []string{issuer, https}},
		{"an issuer without a host", "https:///realms/acme", "alice", []string{issuer, https}},
		{"an issuer with credentials", "https://alice:secret@login.example.com", "alice", []string{issuer, https}},
		{"an issuer with a query", "https://login.example.com/?realm=acme", "alice", []string{issuer, https}},
		{"an issuer with a fragment", "https://login.example.com/#acme", "alice", []string{issuer, https}},
		{"no issuer", "", "alice", []string{issuer}},
		{"an issuer that is too long", "https://login.example.com/" + strings.Repeat("a", 512), "alice", []string{issuer, "512"}},
		{"no subject", "https://login.example.com", "", []string{subject}},
		{"a subject that is too long", "https://login.example.com", strings.Repeat("s", 256), []string{subject, "255"}},
		{"a subject with a line's end after it", "https://login.example.com", `alice\n`, []string{subject, form}},
		{"a subject with what turns text around", "https://login.example.com", `\u202ealice`, []string{subject, form}},
		{"a subject with a space that looks like another", "https://login.example.com", `alice\u00a0a`, []string{subject, form}},
		{"a subject that could not be read", "https://login.example.com", `alice\ue000`, []string{subject, form}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := create(t, c, namespace, `{oauth: {subjects: [{issuer: "`+test.issuer+`", subject: "`+test.subject+`"}]}}`)
			if test.want != nil {
				expectRefused(t, err, test.want...)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	const one = "{issuer: 'https://login.example.com', subject: 'person-#'}"
	if _, err := create(t, c, namespace, "{oauth: {subjects: "+listOf(32, one)+"}}"); err != nil {
		t.Errorf("as many as there may be: %v", err)
	}
	_, err := create(t, c, namespace, "{oauth: {subjects: "+listOf(33, one)+"}}")
	expectRefused(t, err, subjects, "at most 32")
	_, err = create(t, c, namespace, "{oauth: {subjects: [{issuer: 'https://a', subject: x}, {issuer: 'https://b', subject: x}, {issuer: 'https://a', subject: x}]}}")
	expectRefused(t, err, subjects+"[2]", "Duplicate")
}
