// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scimapi

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/scim"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// accepts reports whether a directory with the hash takes the token.
func accepts(t *testing.T, token, hash string) bool {
	t.Helper()
	list, err := scim.ParseDirectories(fmt.Appendf(nil, "directories: [{name: a, issuer: 'https://a.example', tokenHashes: ['%s']}]", hash))
	if err != nil {
		t.Fatal(err)
	}
	d, _ := scim.NewDirectories(list).Of(token)
	return d != nil
}

func TestTheTokenIsTheHashs(t *testing.T) {
	var text, encoded, told bytes.Buffer
	must.Succeed(t, RunToken([]string{"token"}, rand.Reader, &text, &told))
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	if token, hash := lines[0], lines[len(lines)-1]; !accepts(t, token, hash) || strings.Count(text.String(), token[len(token)-28:]) != 1 {
		t.Errorf("the output has the hash of another token, or the token twice")
	}
	var made struct{ Token, ID, Hash string }
	must.Succeed(t, RunToken([]string{"token", "--output=json"}, rand.Reader, &encoded, &told))
	if err := json.Unmarshal(encoded.Bytes(), &made); err != nil || !accepts(t, made.Token, made.Hash) || !strings.Contains(made.Token, made.ID) {
		t.Errorf("the JSON has no token with its hash: %v", err)
	}
	if accepts(t, lines[0], made.Hash) {
		t.Error("two tokens are the same")
	}
	if told.Len() > 0 {
		t.Errorf("more was said: %q", told.String())
	}
}

func TestWhatIsNoCommandIsRefused(t *testing.T) {
	for _, args := range [][]string{nil, {"create"}, {"token", "more"}, {"token", "--output=yaml"}, {"token", "--name=a"}} {
		var out, told bytes.Buffer
		if err := RunToken(args, rand.Reader, &out, &told); err == nil || out.Len() > 0 {
			t.Errorf("%q: %v, %q", args, err, out.String())
		}
	}
}
