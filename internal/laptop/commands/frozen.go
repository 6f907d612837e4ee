// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/laptop/programs"
)

// programs returns what bridge add has installed.
func (m *machine) programs() programs.Folder { return programs.Open(m.folders.Data) }

// fetchedByNPX returns what npx would fetch for a server, and false if that is not one exact version
// of a package.
func fetchedByNPX(server bridgeconfig.Server) (f recipe.Fetched, ok bool) {
	if server.Program == nil || strings.TrimSuffix(server.Program.Command[0], ".cmd") != "npx" {
		return f, false
	}
	f, err := recipe.Fetches("npx", server.Program.Command[1:])
	if err != nil {
		return f, false
	}
	name, version := f.Version()
	return f, programs.IsName(name) && recipe.IsExactVersion(version)
}

// freeze installs the package that npx would fetch at each start of a server, and returns the server
// that is started from there. Others stay as they are.
func (m *machine) freeze(c *cobra.Command, server bridgeconfig.Server) (bridgeconfig.Server, error) {
	f, ok := fetchedByNPX(server)
	if !ok {
		return server, nil
	}
	name, version := f.Version()
	report := func(line string) { c.PrintErrln(line) }
	installed, err := m.programs().Install(c.Context(), name, version, report)
	if err != nil {
		return server, err
	}
	file, err := installed.File(name, f.Program)
	if err != nil {
		return server, err
	}
	if scripts := bundle.WithScripts(installed.Packages); len(scripts) > 0 {
		c.PrintErrf("note: install scripts did not run, those of %s; if the server does not start, run them with: npm rebuild --ignore-scripts=false --prefix %q\n",
			strings.Join(scripts, ", "), installed.Dir)
	}
	program := *server.Program
	// A dollar sign begins a variable in the configuration.
	program.Command = slices.Concat([]string{"node", strings.ReplaceAll(file, "$", "$$")}, f.Args)
	server.Program = &program
	return server, nil
}
