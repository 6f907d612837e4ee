// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/audit/sink"
	"github.com/hostedbridge/hostedbridge/internal/bundle/bundlejob"
	"github.com/hostedbridge/hostedbridge/internal/scim/scimapi"
	"github.com/hostedbridge/hostedbridge/internal/sharedstore"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/test/docs"
)

func TestTheReferenceHasEveryFlag(t *testing.T) {
	docs.ExpectFlags(t, "ingress", []docs.Command{
		{Name: "ingress", Summary: "Serves users, administrators and the catalog over HTTP.", Flags: new(options).declare().FlagSet},
		{Name: "ingress audit verify", Summary: "Checks the chain of an audit trail, in the files that are given.", Flags: new(sink.Verification).Declare().FlagSet},
		{Name: "ingress bundle", Summary: "Makes a bundle of what npm installed, and uploads it to the store.", Flags: new(bundlejob.Options).Declare(os.Getenv).FlagSet},
		{Name: "ingress keys create", Summary: "Makes an API key, without a cluster.", Flags: new(keys.Command).Declare().FlagSet},
		{Name: "ingress scim token", Summary: "Makes a token for a directory, without a cluster.", Flags: scimapi.DeclareToken(new(string)).FlagSet},
		{Name: "ingress store", Summary: "Keeps the counts of quotas and the index of audit entries for all ingresses, and the bundles of programs.", Flags: new(sharedstore.Options).Declare(os.Getenv).FlagSet},
	})
}

func TestTheBaseURLOfTheCatalogIsChecked(t *testing.T) {
	for value, want := range map[string]bool{"": true, "https://bridge.example.com/": true, "http://127.0.0.1:8080": true, "bridge.example.com": false, "https://bridge.example.com/?a=b": false} {
		err := new(options).declare().Parse([]string{"--base-url=" + value})
		if refused := err != nil && strings.Contains(err.Error(), "--base-url"); refused == want {
			t.Errorf("%q: %v", value, err)
		}
	}
}
