// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// self returns the command that copies the program out of an image without a shell.
func (p *program) self() *cobra.Command {
	return &cobra.Command{
		Use: "self", Args: cobra.NoArgs,
		Short: "Write this program to the standard output, to copy it out of the operator's image",
		RunE: func(*cobra.Command, []string) error {
			path, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this program: %w", err)
			}
			file, err := os.Open(path)
			if err != nil {
				return fmt.Errorf("read this program: %w", err)
			}
			defer file.Close()
			_, err = io.Copy(p.Out, file)
			return err
		},
	}
}
