// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/laptop"
)

// envCatalog names the catalog where --catalog does not.
const envCatalog = "HOSTED_BRIDGE_CATALOG"

// addOptions are the settings of bridge add.
type addOptions struct {
	config        string
	catalog       string
	name          string
	transport     string
	dir           string
	key           string
	allowUnsigned bool
	newPublisher  bool
	noLogin       bool
	replace       bool
	useSecrets    []string
}

// newAdd returns the command that installs a recipe.
func newAdd() *cobra.Command {
	var o addOptions
	c := &cobra.Command{
		Use:   "add RECIPE",
		Short: "Add a server by its recipe in a catalog",
		Args:  cobra.ExactArgs(1),
		RunE:  withMachine(&o.config, func(c *cobra.Command, m *machine, args []string) error { return o.run(c, m, args[0]) }),
	}
	configFlag(c, &o.config)
	f := c.Flags()
	f.StringVar(&o.catalog, "catalog", "", "URL of the catalog (default: "+envCatalog+")")
	f.StringVar(&o.name, "name", "", "name of the server (default: the recipe's id)")
	f.StringVar(&o.transport, "transport", "", "stdio, streamable-http or sse, if the recipe has several")
	f.BoolVar(&o.noLogin, "no-login", false, "use a transport that takes a token or a key, if the recipe has one beside a login")
	f.StringVar(&o.dir, "dir", "", "folder where you built the program, for a recipe that builds from source")
	f.StringVar(&o.key, "key", "", "publisher's public key, or a file with it; remembered for later recipes")
	f.BoolVar(&o.allowUnsigned, "allow-unsigned", false, "accept a recipe without a signature")
	f.BoolVar(&o.newPublisher, "new-publisher", false, "accept a recipe whose publisher differs from that of the installed recipe")
	f.StringSliceVar(&o.useSecrets, "use-secret", nil, "stored secret that the server may use")
	f.BoolVar(&o.replace, "replace", false, "replace a server of the same name")
	return c
}

func (o addOptions) run(c *cobra.Command, m *machine, id string) error {
	claim, err := o.fetch(c, m, id)
	if err != nil {
		return err
	}
	r := claim.Document.Recipe
	conversion, err := recipe.Convert(r, recipe.Choice{Name: o.name, Transport: recipe.TransportType(o.transport), NoLogin: o.noLogin, Platform: platform(), Dir: o.dir})
	if err != nil {
		return err
	}
	server := conversion.Server.Name
	file, err := m.ourFile()
	if err != nil {
		return err
	}
	if err := o.mayPut(file, server); err != nil {
		return err
	}
	if err := o.consent(c, m, server, conversion.Secrets); err != nil {
		return err
	}
	for _, s := range conversion.Secrets {
		claim.Secrets = append(claim.Secrets, s.Name)
	}
	err = m.programs().Change(c.Context(), m.path, func() error {
		frozen, err := m.freeze(c, conversion.Server)
		if err != nil {
			return err
		}
		return o.install(m, claim, frozen)
	})
	if err != nil {
		return err
	}
	c.PrintErrf("added %s (%s)\n", server, conversion.Server.Kind())
	for _, w := range slices.Concat(claim.Document.Warnings, recipe.Warnings(r, time.Now()), conversion.Warnings) {
		c.PrintErrln("note:", w)
	}
	for _, step := range conversion.Steps {
		c.PrintErrln("next:", step)
	}
	return m.askSecrets(c, conversion.Secrets)
}

// install notes the recipe and writes its server.
func (o addOptions) install(m *machine, claim laptop.Claim, server bridgeconfig.Server) error {
	return m.change(func(file *laptop.File) error {
		if err := o.mayPut(*file, server.Name); err != nil {
			return err
		}
		// What was installed and is not known could be replaced by an older one.
		if err := laptop.OpenTrust(m.folders.State).Remember(claim, server.Name); err != nil {
			return err
		}
		before, _ := file.Servers.Get(server.Name)
		file.Put(server.Name, laptop.FromConfig(server).WithPolicies(before))
		return nil
	})
}

// mayPut refuses to replace a server that nobody wants replaced.
func (o addOptions) mayPut(file laptop.File, server string) error {
	if _, there := file.Servers.Get(server); there && !o.replace {
		return fmt.Errorf("there is a server %q already; --replace replaces it, --name gives another name", server)
	}
	return nil
}

// consent says where each secret of the server comes from. One that is there
// already was given for something else: that the recipe's author has chosen its
// name is no reason to give it away.
func (o addOptions) consent(c *cobra.Command, m *machine, server string, secrets []recipe.Secret) error {
	stored, err := m.store.Names()
	if err != nil {
		return err
	}
	for _, s := range secrets {
		switch {
		case !slices.Contains(stored, s.Name) && !s.Login && m.getenv(s.Name) != "":
			c.PrintErrf("needs %s; what the environment has is not given to a recipe's server\n", s.Name)
		case !slices.Contains(stored, s.Name):
			c.PrintErrf("needs %s, which is not stored yet\n", s.Name)
		case slices.Contains(o.useSecrets, s.Name):
			c.PrintErrf("needs %s and gets the stored one\n", s.Name)
		default:
			if err := agree(c, server, s.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// agree asks whether a server may have a secret that is stored already.
func agree(c *cobra.Command, server, name string) error {
	agreed, err := confirm(c, fmt.Sprintf("%s needs %s, which is stored already. Give it to this server?", server, name))
	if errors.Is(err, errNotInteractive) || err == nil && !agreed {
		return fmt.Errorf("the recipe asks for %s, which is stored already; --use-secret %s gives it to this server", name, name)
	}
	return err
}

// openCatalog returns the catalog at an address, or at that of the environment.
func (m *machine) openCatalog(address string) (laptop.Catalog, error) {
	if address == "" {
		address = m.getenv(envCatalog)
	}
	if address == "" {
		return laptop.Catalog{}, fmt.Errorf("no catalog is set: use --catalog URL, or set %s", envCatalog)
	}
	return laptop.OpenCatalog(address)
}

// fetch downloads the recipe and checks its signature.
func (o addOptions) fetch(c *cobra.Command, m *machine, id string) (laptop.Claim, error) {
	catalog, err := m.openCatalog(o.catalog)
	if err != nil {
		return laptop.Claim{}, err
	}
	claim := laptop.Claim{Catalog: catalog, AllowUnsigned: o.allowUnsigned, NewPublisher: o.newPublisher}
	if err := o.useKey(&claim); err != nil {
		return laptop.Claim{}, err
	}
	claim.Document, err = catalog.Download(c.Context(), id)
	if err != nil {
		return laptop.Claim{}, err
	}
	trust := laptop.OpenTrust(m.folders.State)
	s := claim.Document.Recipe.Signature
	if s == nil || s.PublisherID != recipe.InstallationPublisher || claim.Key != nil {
		return claim, trust.Check(claim)
	}
	// The catalog is at https, or on this machine: it vouches for its own recipes.
	// A key that is known stays the only one.
	if claim.Key, err = catalog.Key(c.Context()); err != nil {
		return laptop.Claim{}, err
	}
	known, err := trust.Knows(claim)
	if err := errors.Join(err, trust.Check(claim)); err != nil {
		return laptop.Claim{}, err
	}
	if !known {
		c.PrintErrf("note: the key %s verifies the catalog's own recipes from now on\n", recipe.FormatKey(claim.Key))
	}
	return claim, nil
}

// useKey puts the publisher's key that the user gave into the claim, if any.
func (o addOptions) useKey(claim *laptop.Claim) (err error) {
	text := o.publicKey()
	if text == "" {
		return nil
	}
	claim.Key, err = recipe.ParseKey(text)
	if err != nil && text == o.key {
		err = fmt.Errorf("no such file, and not a key: %w", err)
	}
	if err != nil {
		return fmt.Errorf("--key: %w", err)
	}
	return nil
}

// publicKey returns the text of the key that is given, empty for none.
func (o addOptions) publicKey() string {
	if b, err := os.ReadFile(o.key); err == nil {
		return string(b)
	}
	return o.key
}

// platform is the system as recipes name it.
func platform() string {
	if runtime.GOOS == "windows" {
		return "win32"
	}
	return runtime.GOOS
}

// askSecrets asks for the secrets that are not there yet. Where nobody is there
// to ask, it lists them.
func (m *machine) askSecrets(c *cobra.Command, secrets []recipe.Secret) error {
	resolver := laptop.Resolver{Store: m.store, Getenv: func(string) string { return "" }}
	for _, s := range secrets {
		values, unreadable, err := resolver.Resolve(c.Context(), []string{s.Name})
		if values == nil {
			return err
		}
		if len(values)+len(unreadable) > 0 || s.Login || s.Optional {
			continue
		}
		value, err := prompt(c, s.Name, s.URL)
		if errors.Is(err, errNotInteractive) {
			from := ""
			if s.URL != "" {
				from = " (from " + s.URL + ")"
			}
			c.PrintErrf("missing: bridge secret set %s%s\n", s.Name, from)
			continue
		}
		if err != nil {
			return err
		}
		if value == "" {
			c.PrintErrf("skipped; the server is out of service until: bridge secret set %s\n", s.Name)
			continue
		}
		if err := m.setSecret(c, s.Name, value); err != nil {
			return err
		}
	}
	return nil
}

// ourFile reads the configuration in order to change it; without a file it
// is empty. Other programs' files are theirs to change.
func (m *machine) ourFile() (laptop.File, error) {
	b, err := os.ReadFile(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return laptop.NewFile(), nil
	}
	if err != nil {
		return laptop.File{}, fmt.Errorf("read the configuration: %w", err)
	}
	loaded, err := laptop.Parse(b)
	if err != nil {
		return laptop.File{}, fmt.Errorf("%s: %w", m.path, err)
	}
	if loaded.Format != laptop.Ours {
		return laptop.File{}, fmt.Errorf("%s is a file of %s, which the bridge only reads", m.path, loaded.Format)
	}
	return loaded.File, nil
}

// write writes the configuration once it is known to be one.
func (m *machine) write(f laptop.File) error {
	if _, err := f.Config("check", func(string) (string, bool) { return "", false }); err != nil {
		return err
	}
	encoded, err := f.Encode()
	if err != nil {
		return err
	}
	return laptop.WriteFile(m.path, encoded)
}

// change does one change of the configuration while no other process does one.
func (m *machine) change(f func(*laptop.File) error) error {
	unlock, err := laptop.Lock(m.path)
	if err != nil {
		return err
	}
	defer unlock()
	file, err := m.ourFile()
	if err != nil {
		return err
	}
	if err := f(&file); err != nil {
		return err
	}
	return m.write(file)
}

// newRemove returns the command that removes a server.
func newRemove() *cobra.Command {
	var path string
	c := &cobra.Command{
		Use:   "remove SERVER",
		Short: "Remove a server from the configuration, and its program if no other server has it; its secrets stay",
		Args:  cobra.ExactArgs(1),
		RunE: withMachine(&path, func(c *cobra.Command, m *machine, args []string) error {
			err := m.programs().Change(c.Context(), m.path, func() error { return m.change(without(args[0])) })
			if err != nil {
				return err
			}
			return laptop.OpenTrust(m.folders.State).ForgetServer(args[0])
		}),
	}
	configFlag(c, &path)
	return c
}

// without returns the change that removes a server.
func without(server string) func(*laptop.File) error {
	return func(file *laptop.File) error {
		if !file.Remove(server) {
			return fmt.Errorf("there is no server %q in the configuration", server)
		}
		return nil
	}
}

// newForget returns the command that forgets a publisher's key.
func newForget() *cobra.Command {
	none := ""
	return &cobra.Command{
		Use:   "forget-publisher PUBLISHER",
		Short: "Forget the key that verifies a publisher's recipes",
		Args:  cobra.ExactArgs(1),
		RunE: withMachine(&none, func(_ *cobra.Command, m *machine, args []string) error {
			found, err := laptop.OpenTrust(m.folders.State).Forget(args[0])
			if err == nil && !found {
				err = fmt.Errorf("no key of the publisher %q is stored", strings.TrimSpace(args[0]))
			}
			return err
		}),
	}
}
