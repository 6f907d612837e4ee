// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hostedbridge/hostedbridge/internal/laptop"
)

// newSecret returns the commands for a person's secrets.
func newSecret() *cobra.Command {
	c := &cobra.Command{
		Use:   "secret",
		Short: "Set, list and delete the secrets that configurations name as ${NAME}",
		Args:  cobra.NoArgs,
	}
	none := ""
	c.AddCommand(&cobra.Command{
		Use:   "set NAME",
		Short: "Store a secret, from a hidden prompt or from stdin",
		Args:  cobra.ExactArgs(1),
		RunE: withMachine(&none, func(c *cobra.Command, m *machine, args []string) error {
			if err := laptop.CheckName(args[0]); err != nil {
				return err
			}
			value, err := readSecret(c, args[0], "")
			if err != nil {
				return err
			}
			return m.setSecret(c, args[0], value)
		}),
	}, &cobra.Command{
		Use:   "list",
		Short: "List the names of the secrets",
		Args:  cobra.NoArgs,
		RunE: withMachine(&none, func(c *cobra.Command, m *machine, _ []string) error {
			names, err := m.store.Names()
			if err != nil {
				return err
			}
			for _, name := range names {
				_, _ = fmt.Fprintln(c.OutOrStdout(), name)
			}
			return nil
		}),
	}, &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a secret",
		Args:  cobra.ExactArgs(1),
		RunE: withMachine(&none, func(c *cobra.Command, m *machine, args []string) error {
			return m.store.Delete(c.Context(), args[0])
		}),
	})
	return c
}

// setSecret stores a secret and says where it is.
func (m *machine) setSecret(c *cobra.Command, name, value string) error {
	inKeyring, err := m.store.Set(c.Context(), name, value)
	if err != nil {
		return err
	}
	where := "in " + m.store.Path()
	if inKeyring {
		where = "in the system's keyring"
	}
	c.PrintErrf("%s is stored %s\n", name, where)
	return nil
}

var errNotInteractive = errors.New("no terminal to ask at")

// interactive reports whether a person can be asked.
func interactive(c *cobra.Command) (*os.File, bool) {
	f, ok := c.InOrStdin().(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// prompt asks for a secret, which is not shown.
func prompt(c *cobra.Command, name, from string) (string, error) {
	f, ok := interactive(c)
	if !ok {
		return "", errNotInteractive
	}
	if from != "" {
		from = " (from " + from + ")"
	}
	c.PrintErrf("%s%s: ", name, from)
	b, err := term.ReadPassword(int(f.Fd()))
	c.PrintErrln()
	if err != nil {
		return "", fmt.Errorf("read the secret: %w", err)
	}
	return string(b), nil
}

// confirm asks a question that is answered by yes or no.
func confirm(c *cobra.Command, question string) (bool, error) {
	f, ok := interactive(c)
	if !ok {
		return false, errNotInteractive
	}
	c.PrintErrf("%s [y/N] ", question)
	answer, err := bufio.NewReader(f).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	return strings.EqualFold(strings.TrimSpace(answer), "y"), nil
}

// readSecret asks for a secret, or reads it from stdin without the line break at
// its end.
func readSecret(c *cobra.Command, name, from string) (string, error) {
	value, err := prompt(c, name, from)
	if !errors.Is(err, errNotInteractive) {
		return value, err
	}
	b, err := io.ReadAll(io.LimitReader(c.InOrStdin(), laptop.MaxSecret+3))
	if err != nil {
		return "", fmt.Errorf("read the secret: %w", err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r"), nil
}
