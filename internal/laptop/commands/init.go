// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hostedbridge/hostedbridge/internal/clientconfig"
	"github.com/hostedbridge/hostedbridge/internal/laptop"
)

// newInit returns the command by which a person begins.
func newInit() *cobra.Command {
	var path, client, http string
	var write bool
	c := &cobra.Command{
		Use:   "init",
		Short: "Create a configuration, and configure a client to use the bridge",
		Long:  "Create a configuration if it does not exist, and print the entry for a client's configuration file. With --write, add the entry to the file: everything else in the file stays, and the previous file is kept beside it.",
		Args:  cobra.NoArgs,
		RunE: withMachine(&path, func(c *cobra.Command, m *machine, _ []string) error {
			if err := m.begin(c); err != nil {
				return err
			}
			if client == "" {
				c.PrintErrf("add servers with bridge add, or in the file; tell a client with bridge init --client (%s)\n", strings.Join(clientconfig.Names(), ", "))
				return nil
			}
			found, err := clientconfig.Find(client)
			if err != nil {
				return err
			}
			entry, err := entryOf(http, path)
			if err != nil {
				return err
			}
			if write {
				return m.register(c, found, entry)
			}
			snippet, err := laptop.Snippet(found, entry)
			if err != nil {
				return err
			}
			c.PrintErrf("put this into %s, or run the command again with --write:\n", found.File(m.folders.Home, runtime.GOOS))
			_, err = c.OutOrStdout().Write(snippet)
			return err
		}),
	}
	configFlag(c, &path)
	c.Flags().StringVar(&client, "client", "", "client to configure: "+strings.Join(clientconfig.Names(), ", "))
	c.Flags().StringVar(&http, "http", "", "port of a running bridge serve --http PORT; without it, each client starts its own bridge")
	c.Flags().BoolVar(&write, "write", false, "add the entry to the client's configuration file")
	return c
}

// entryOf returns how clients reach the bridge. They may have another PATH, so
// the program is named by its whole path, and so is the configuration: they also
// start it in another folder.
func entryOf(http, config string) (laptop.Entry, error) {
	if http != "" {
		address := portOf(http)
		return laptop.Entry{URL: "http://" + address + "/mcp"}, laptop.CheckListen(address)
	}
	program, err := os.Executable()
	if err != nil {
		return laptop.Entry{}, fmt.Errorf("find this program: %w", err)
	}
	if config != "" {
		if config, err = filepath.Abs(config); err != nil {
			return laptop.Entry{}, fmt.Errorf("find the configuration: %w", err)
		}
	}
	return laptop.Entry{Command: program, Config: config}, nil
}

// begin writes a configuration unless the file exists.
func (m *machine) begin(c *cobra.Command) error {
	_, err := os.Stat(m.path)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	encoded, err := laptop.NewFile().Encode()
	if err != nil {
		return err
	}
	if err := laptop.WriteFile(m.path, encoded); err != nil {
		return err
	}
	c.PrintErrln("made", m.path)
	return nil
}

// register puts the bridge into a client's file.
func (m *machine) register(c *cobra.Command, client clientconfig.Client, e laptop.Entry) error {
	path := client.File(m.folders.Home, runtime.GOOS)
	backup, changed, err := laptop.Write(client, path, e)
	switch {
	case err != nil:
		return err
	case !changed:
		c.PrintErrln(path, "has the entry already")
	case backup != "":
		c.PrintErrln("changed", path+"; the former file is", backup)
	default:
		c.PrintErrln("made", path)
	}
	return nil
}
