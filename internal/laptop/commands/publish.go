// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// newKeys returns the commands for the key with which a publisher signs recipes.
func newKeys() *cobra.Command {
	c := &cobra.Command{
		Use:   "keys",
		Short: "Make the key with which a publisher signs recipes",
		Args:  cobra.NoArgs,
	}
	c.AddCommand(&cobra.Command{
		Use:   "create FILE",
		Short: "Write a new private key to a file that does not exist yet, and print its public key",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			key, err := recipe.MakeKey(rand.Reader)
			if err != nil {
				return err
			}
			if err := writeNewKey(args[0], key); err != nil {
				return err
			}
			return printPublicKey(c, args[0])
		},
	}, &cobra.Command{
		Use:   "show FILE",
		Short: "Print the public key of a private key",
		Args:  cobra.ExactArgs(1),
		RunE:  func(c *cobra.Command, args []string) error { return printPublicKey(c, args[0]) },
	})
	return c
}

// writeNewKey writes a file that only its owner can read. It replaces none: what a
// lost key has signed cannot be signed again under the same public key.
func writeNewKey(path string, key []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists, and keys are never replaced: name another file, or print its public key by bridge keys show", path)
	}
	if err != nil {
		return fmt.Errorf("write the private key: %w", err)
	}
	_, err = f.Write(key)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path)
		return fmt.Errorf("write the private key: %w", err)
	}
	return nil
}

func printPublicKey(c *cobra.Command, path string) error {
	signer, err := readSigner(path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.OutOrStdout(), signer.PublicKey())
	return err
}

func readSigner(path string) (*recipe.Signer, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the private key: %w", err)
	}
	signer, err := recipe.ReadPrivateKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return signer, nil
}

// newSign returns the command that signs a recipe.
func newSign() *cobra.Command {
	var key, publisher string
	c := &cobra.Command{
		Use:   "sign RECIPE --key FILE --publisher ID",
		Short: "Print a recipe file with a publisher's signature, in place of an earlier one",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			signer, err := readSigner(key)
			if err != nil {
				return err
			}
			file, err := os.ReadFile(args[0])
			if err != nil {
				return fmt.Errorf("read the recipe: %w", err)
			}
			signed, warnings, err := signer.SignAs(publisher, file, time.Now())
			if err != nil {
				return err
			}
			for _, warning := range warnings {
				c.PrintErrln("warning:", warning)
			}
			_, err = c.OutOrStdout().Write(signed)
			return err
		},
	}
	c.Flags().StringVar(&key, "key", "", "file with the publisher's private key, as bridge keys create writes it")
	c.Flags().StringVar(&publisher, "publisher", "", "id of the publisher in the catalog, such as acme")
	for _, name := range []string{"key", "publisher"} {
		_ = c.MarkFlagRequired(name) // Both flags exist.
	}
	return c
}
