// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scimapi

import (
	"errors"
	"fmt"
	"io"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/setting"
)

const tokenUsage = `Make a token for a directory, which sends people and groups by SCIM.

Usage: ingress scim token [--output=text|json]

The token is on the first line of the output and nowhere else: give it to the
directory. Its hash goes into the chart's value scim.directories[].tokenHashes.
A directory may have two hashes while one token replaces the other.

`

// DeclareToken declares the setting of "scim token".
func DeclareToken(output *string) *setting.Set {
	s := setting.New("ingress scim token", tokenUsage)
	s.OutputFormat(output)
	return s
}

// RunToken runs the command with the arguments after "scim".
func RunToken(args []string, random io.Reader, stdout, stderr io.Writer) error {
	var output string
	s := DeclareToken(&output)
	s.SetOutput(stderr)
	if err := s.ParseWords(args); err != nil {
		return err
	}
	if s.NArg() != 1 || s.Arg(0) != "token" {
		s.Usage()
		return errors.New("scim has one command: token")
	}
	if err := s.Validate(); err != nil {
		return err
	}
	return printToken(random, output, stdout)
}

// printToken makes a token and prints it.
func printToken(random io.Reader, output string, stdout io.Writer) error {
	token, id, err := apikey.Mint(random, apikey.KindDirectory)
	if err != nil {
		return err
	}
	hash := apikey.HashOf(token).String()
	if output == "json" {
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
