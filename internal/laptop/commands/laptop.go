// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hostedbridge/hostedbridge/internal/bridge/oauth"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/laptop"
)

// machine is a person's own machine, as the commands that run there see it.
type machine struct {
	getenv  func(string) string
	folders laptop.Folders
	store   *laptop.Secrets
	// path is the configuration's.
	path string
}

// newMachine returns the machine that this process runs on. An empty path is the
// configuration's usual one.
func newMachine(getenv func(string) string, path string) (*machine, error) {
	folders, err := laptop.FoldersOf(getenv)
	if err != nil {
		return nil, err
	}
	if path == "" {
		path = folders.ConfigFile()
	}
	store := laptop.OpenSecrets(folders.Config, laptop.SystemKeyring(getenv))
	return &machine{getenv: getenv, folders: folders, store: store, path: path}, nil
}

// withMachine returns what a command runs: f on this machine.
func withMachine(path *string, f func(c *cobra.Command, m *machine, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		m, err := newMachine(os.Getenv, *path)
		if err != nil {
			return err
		}
		return f(c, m, args)
	}
}

// configFlag registers the flag that names the configuration.
func configFlag(c *cobra.Command, path *string) {
	c.Flags().StringVar(path, "config", "", "configuration file, also one of mcp-bridge, VS Code or a client with mcpServers (default ~/.config/hosted-bridge/config.json)")
}

// setup is a configuration with the secrets that it names.
type setup struct {
	laptop.Loaded
	config  bridgeconfig.Config
	secrets map[string][]byte
	// unreadable are the secrets that are there and cannot be read, and fault is
	// why.
	unreadable []string
	fault      error
	// save stores a secret: tokens that were refreshed replace those of before,
	// which the authorization server may not take again.
	save func(ctx context.Context, name string, value []byte) error
	// turn has the processes of this machine refresh a login one after the
	// other.
	turn oauth.TurnFunc
}

// set returns the secrets as a bridge takes them over.
func (s setup) set() *secret.Set {
	values := make(map[string][]byte, len(s.secrets))
	for name, value := range s.secrets {
		values[name] = bytes.Clone(value)
	}
	return secret.NewSet("local", values, s.unreadable)
}

// missing returns the secrets that a server needs and that are not there.
func (s setup) missing(server bridgeconfig.Server) []string {
	var names []string
	for _, name := range server.Required() {
		if _, there := s.secrets[name]; !there && !slices.Contains(s.unreadable, name) {
			names = append(names, name)
		}
	}
	return names
}

// locked returns the secrets that a server needs and that are there, but cannot
// be read.
func (s setup) locked(server bridgeconfig.Server) []string {
	return slices.DeleteFunc(slices.Clone(server.Required()), func(name string) bool { return !slices.Contains(s.unreadable, name) })
}

// remedy is the command that brings a secret of a server.
func remedy(server bridgeconfig.Server, name string) string {
	if o := server.OAuth; o != nil && o.Token == name && o.AuthorizationURL != "" {
		return "bridge login " + server.Name
	}
	return "bridge secret set " + name
}

// remedies are the commands that bring what is missing.
func (s setup) remedies(server bridgeconfig.Server) (all []string) {
	for _, name := range s.missing(server) {
		all = append(all, remedy(server, name))
	}
	return all
}

// server returns the server of this name.
func (s setup) server(name string) (bridgeconfig.Server, error) {
	for _, server := range s.config.Servers {
		if server.Name == name {
			return server, nil
		}
	}
	return bridgeconfig.Server{}, fmt.Errorf("there is no server %q in the configuration", name)
}

// load reads the configuration and the secrets.
func (m *machine) load(ctx context.Context) (setup, error) {
	b, err := os.ReadFile(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return setup{}, fmt.Errorf("there is no configuration at %s; bridge init makes one", m.path)
	}
	if err != nil {
		return setup{}, fmt.Errorf("read the configuration: %w", err)
	}
	loaded, err := laptop.Parse(b)
	if err != nil {
		return setup{}, fmt.Errorf("%s: %w", m.path, err)
	}
	uid, err := m.folders.BridgeUID(m.path)
	if err != nil {
		return setup{}, err
	}
	brought, err := laptop.OpenTrust(m.folders.State).Brought()
	if err != nil {
		return setup{}, err
	}
	resolver := laptop.Resolver{Store: m.store, Getenv: m.getenv, Brought: brought}
	if loaded.Format == laptop.Origin {
		if resolver.DotEnv, err = laptop.ReadDotEnv(m.dotEnv()); err != nil {
			return setup{}, err
		}
	}
	return resolve(ctx, loaded, uid, resolver)
}

// loadServer is load for a command about one server.
func (m *machine) loadServer(ctx context.Context, name string) (setup, bridgeconfig.Server, error) {
	s, err := m.load(ctx)
	if err != nil {
		return setup{}, bridgeconfig.Server{}, err
	}
	server, err := s.server(name)
	return s, server, err
}

// resolve fills a configuration in: what it names is known once it was built
// without any value.
func resolve(ctx context.Context, loaded laptop.Loaded, uid string, resolver laptop.Resolver) (setup, error) {
	s := setup{Loaded: loaded, save: resolver.Store.Save, turn: resolver.Store.Turn}
	first, err := loaded.File.Config(uid, func(string) (string, bool) { return "", false })
	if err != nil {
		return setup{}, err
	}
	s.secrets, s.unreadable, s.fault = resolver.Resolve(ctx, laptop.SecretNames(first))
	if s.secrets == nil {
		return setup{}, s.fault
	}
	s.config, err = loaded.File.Config(uid, func(name string) (string, bool) {
		value, there := s.secrets[name]
		return string(value), there
	})
	return s, err
}

func (m *machine) dotEnv() string { return filepath.Join(filepath.Dir(m.path), ".env") }

// contents returns all that a change of the setup shows in. What is in the
// keyring shows in the store's file, which counts its changes.
func (m *machine) contents() ([]byte, error) {
	all, err := os.ReadFile(m.path)
	if err != nil {
		return nil, err
	}
	for _, path := range []string{m.store.Path(), m.dotEnv()} {
		b, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		all = append(append(all, 0), b...)
	}
	return all, nil
}

// newLog returns the log of a bridge on a person's machine.
func newLog(w io.Writer, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--log-level %.20q must be debug, info, warn or error", level)
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l})), nil
}

// warn tells what other programs' files say and a bridge does not do.
func (s setup) warn(log *slog.Logger) {
	for _, w := range s.Warnings {
		log.Warn("the configuration is " + string(s.Format) + "'s: " + w)
	}
	if s.fault != nil {
		log.Warn("some secrets cannot be read", "error", s.fault)
	}
	for _, server := range s.config.Servers {
		for _, name := range s.missing(server) {
			log.Warn("a secret is missing, its server is out of service", "server", server.Name, "secret", name, "remedy", remedy(server, name))
		}
	}
}

// portOf returns the address of a port, or an address as it is.
func portOf(address string) string {
	if _, err := strconv.ParseUint(address, 10, 16); err == nil {
		return "127.0.0.1:" + address
	}
	return address
}
