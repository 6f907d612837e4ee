// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scimtoken is the command "ingress scim", which makes the token of a directory.
package scimtoken

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
)

const usage = `Make a token for a directory, which sends people and groups by SCIM.

Usage: ingress scim token [--output=text|json]

The token is on the first line of the output and nowhere else: give it to the
directory. Its hash goes into the chart's value scim.directories[].tokenHashes.
A directory may have two hashes while one token replaces the other.

`

// request is what is asked of "scim token".
type request struct{ output string }

// RegisterFlags adds the flags of "scim token" to fs.
func RegisterFlags(fs *pflag.FlagSet) { new(request).registerFlags(fs) }

func (r *request) registerFlags(fs *pflag.FlagSet) {
	fs.StringVarP(&r.output, "output", "o", "text", "text or json")
}

// Run runs the command with the arguments after "scim".
func Run(args []string, random io.Reader, stdout, stderr io.Writer) error {
	fs := pflag.NewFlagSet("scim token", pflag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() { _, _ = io.WriteString(stderr, usage+fs.FlagUsages()) }
	var r request
	r.registerFlags(fs)
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() != 1 || fs.Arg(0) != "token" {
		fs.Usage()
		return errors.New("scim has one command: token")
	}
	if r.output != "text" && r.output != "json" {
		return fmt.Errorf("--output: %q is neither text nor json", r.output)
	}
	return r.print(random, stdout)
}

// print makes a token and prints it.
func (r *request) print(random io.Reader, stdout io.Writer) error {
	token, id, err := apikey.Mint(random, apikey.KindDirectory)
	if err != nil {
		return err
	}
	hash := apikey.HashOf(token).String()
	if r.output == "json" {
		return jsondoc.Print(stdout, struct {
			Token string `json:"token"`
			ID    string `json:"id"`
			Hash  string `json:"hash"`
		}{token, id, hash})
	}
	_, err = fmt.Fprintf(stdout, `%s

# The id of the token in the audit trail is %s. Its hash, for
# scim.directories[].tokenHashes in the values of the chart:
%s
`, token, id, hash)
	return err
}
