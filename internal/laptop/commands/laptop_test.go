// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
)

// TestWhatIsLockedIsNotMissing holds that nobody is told to set a secret again
// that a locked keyring has, and that each missing one has its own command.
func TestWhatIsLockedIsNotMissing(t *testing.T) {
	t.Parallel()
	server := bridgeconfig.Server{Name: "mail", URL: "https://mail.example.com", Secrets: []string{"A", "B", "C", "OAUTH_MAIL"},
		Headers: []bridgeconfig.Header{{Name: "X", Value: "${A}${B}${C}"}},
		OAuth:   &bridgeconfig.OAuth{Grant: bridgeconfig.AuthorizationCode, AuthorizationURL: "https://a", Token: "OAUTH_MAIL"}}
	s := setup{secrets: map[string][]byte{"A": nil}, unreadable: []string{"B"}}
	if diff := cmp.Diff([]string{"bridge secret set C", "bridge login mail"}, s.remedies(server)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"B"}, s.locked(server)); diff != "" {
		t.Error(diff)
	}
}
