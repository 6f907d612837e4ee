// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/cmd/ingress/auditcheck"
	"github.com/hostedbridge/hostedbridge/cmd/ingress/bundle"
	"github.com/hostedbridge/hostedbridge/cmd/ingress/scimtoken"
	"github.com/hostedbridge/hostedbridge/cmd/ingress/store"
	"github.com/hostedbridge/hostedbridge/test/docs"
)

func TestTheReferenceHasEveryFlag(t *testing.T) {
	o, server := defaults(), pflag.NewFlagSet("ingress", pflag.ContinueOnError)
	o.registerFlags(server)
	keys, verify := pflag.NewFlagSet("keys", pflag.ContinueOnError), pflag.NewFlagSet("verify", pflag.ContinueOnError)
	shared, ofStore := pflag.NewFlagSet("store", pflag.ContinueOnError), store.Defaults()
	ofStore.RegisterFlags(shared)
	new(keyRequest).register(keys)
	packer, ofPacker := pflag.NewFlagSet("bundle", pflag.ContinueOnError), bundle.Defaults()
	ofPacker.RegisterFlags(packer)
	token := pflag.NewFlagSet("token", pflag.ContinueOnError)
	scimtoken.RegisterFlags(token)
	new(auditcheck.Verification).RegisterFlags(verify)
	docs.ExpectFlags(t, "ingress", []docs.Command{
		{Name: "ingress", Summary: "Serves users, administrators and the catalog over HTTP.", Flags: server},
		{Name: "ingress audit verify", Summary: "Checks the chain of an audit trail, in the files that are given.", Flags: verify},
		{Name: "ingress bundle", Summary: "Makes a bundle of what npm installed, and uploads it to the store.", Flags: packer},
		{Name: "ingress keys create", Summary: "Makes an API key, without a cluster.", Flags: keys},
		{Name: "ingress scim token", Summary: "Makes a token for a directory, without a cluster.", Flags: token},
		{Name: "ingress store", Summary: "Keeps the counts of quotas and the index of audit entries for all ingresses, and the bundles of programs.", Flags: shared},
	})
}
