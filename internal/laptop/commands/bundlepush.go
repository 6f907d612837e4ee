// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/bundle/bundleimage"
	"github.com/hostedbridge/hostedbridge/internal/bundling/bundlename"
)

// newBundlePush returns the command that uploads a bundle.
func newBundlePush() *cobra.Command {
	var authorities string
	c := &cobra.Command{
		Use:   "push FILE REPOSITORY",
		Short: "Upload a bundle and its record to a registry, under the tag where installations look for it",
		Args:  cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			config := bundleimage.Config{Name: args[1]}
			if authorities != "" {
				text, err := os.ReadFile(authorities)
				if err != nil {
					return fmt.Errorf("read the registry's certificate authorities: %w", err)
				}
				config.Authorities = string(text)
			}
			reference, err := pushBundle(c.Context(), args[0], config)
			if err == nil {
				_, err = fmt.Fprintln(c.OutOrStdout(), reference)
			}
			return err
		},
	}
	c.Flags().StringVar(&authorities, "authorities", "", "file in PEM of the certificate authorities that sign the registry's certificate, besides those of the system")
	return c
}

// pushBundle uploads a bundle if its bytes are those of its record, and returns its reference.
func pushBundle(ctx context.Context, path string, config bundleimage.Config) (string, error) {
	repository, err := bundleimage.Open(config)
	if err != nil {
		return "", err
	}
	record, err := readRecord(path)
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the bundle: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", fmt.Errorf("read the bundle: %w", err)
	}
	err = bundle.Verify(ctx, file, record.Digest, record.Size)
	if info.Size() != record.CompressedSize || errors.Is(err, bundle.ErrBundle) {
		return "", fmt.Errorf("%s does not have the bytes that %s.json records: make both again by bridge bundle", path, path)
	}
	if err != nil {
		return "", fmt.Errorf("read the bundle: %w", err)
	}
	tag := bundlename.Of(bundlename.Made{
		Method: record.Method, Package: record.Package, Version: record.Version, Architecture: record.Architecture,
	})
	digest, err := repository.Push(ctx, tag, record, file)
	if _, untrusted := errors.AsType[x509.UnknownAuthorityError](err); untrusted {
		return "", fmt.Errorf("%w; if the registry has a certificate authority of its own, name its file by --authorities", err)
	}
	return repository.Name() + ":" + tag + "@" + digest, err
}

// readRecord reads the record beside a bundle.
func readRecord(path string) (*bundle.Record, error) {
	text, err := os.ReadFile(path + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no record %s.json beside the bundle: bridge bundle writes both", path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the record: %w", err)
	}
	record, err := bundle.DecodeRecord(text)
	if err != nil {
		return nil, fmt.Errorf("%s.json: %w", path, err)
	}
	if !bundle.IsMethod(record.Method) || record.Package == "" || record.Version == "" || record.Architecture == "" {
		return nil, fmt.Errorf("%s.json does not say which package the bundle is made of: make both again by bridge bundle", path)
	}
	return &record, nil
}
