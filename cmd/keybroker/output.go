// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
)

// The forms of a command's output.
const (
	formatText = "text"
	formatJSON = "json"
)

// output is the form in which a command prints what it found.
type output string

// outputFlag gives a command the flag for it.
func outputFlag(fs *pflag.FlagSet) *output {
	o := output(formatText)
	fs.VarP(&o, "output", "o", "text or json")
	return &o
}

// String implements pflag.Value.
func (o *output) String() string { return string(*o) }

// Set implements pflag.Value.
func (o *output) Set(s string) error {
	if s != formatText && s != formatJSON {
		return errors.New("it is neither text nor json")
	}
	*o = output(s)
	return nil
}

// Type implements pflag.Value.
func (o *output) Type() string { return "string" }

func (o *output) json() bool { return *o == formatJSON }

// print prints the report as JSON, or as text does.
func (o *output) print(w io.Writer, report any, text func(io.Writer)) error {
	if !o.json() {
		text(w)
		return nil
	}
	if err := jsondoc.Print(w, report); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}
