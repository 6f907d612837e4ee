// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package setting declares the settings of a command. One declaration gives a setting its flag, its
// default, its line in the help and in docs/reference/flags.md, and what it accepts.
package setting

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Check returns what is wrong with a value and what is accepted in its place, such as
// `"8080" is not an address; give HOST:PORT`, or nil. The name of the flag is put before it.
type Check[T any] func(T) error

// Set are the settings of one command.
type Set struct {
	*pflag.FlagSet

	checks []func() error
}

// New returns a command without settings. Its help is the usage, and a line for each setting.
func New(name, usage string) *Set {
	s := &Set{FlagSet: pflag.NewFlagSet(name, pflag.ContinueOnError)}
	s.Usage = func() { _, _ = io.WriteString(s.Output(), usage+s.FlagUsages()) }
	return s
}

// String declares a setting with a text.
func (s *Set) String(p *string, name, value, usage string, checks ...Check[string]) {
	s.StringVar(p, name, value, usage)
	add(s, p, name, checks)
}

// Bool declares a setting that is on or off.
func (s *Set) Bool(p *bool, name string, value bool, usage string) {
	s.BoolVar(p, name, value, usage)
}

// Int declares a setting with a number.
func (s *Set) Int(p *int, name string, value int, usage string, checks ...Check[int]) {
	s.IntVar(p, name, value, usage)
	add(s, p, name, checks)
}

// Int64 declares a setting with a large number, such as one of bytes.
func (s *Set) Int64(p *int64, name string, value int64, usage string, checks ...Check[int64]) {
	s.Int64Var(p, name, value, usage)
	add(s, p, name, checks)
}

// Duration declares a setting with a time, such as 30s.
func (s *Set) Duration(p *time.Duration, name string, value time.Duration, usage string, checks ...Check[time.Duration]) {
	s.DurationVar(p, name, value, usage)
	add(s, p, name, checks)
}

// List declares a setting with texts between commas.
func (s *Set) List(p *[]string, name string, usage string, checks ...Check[string]) {
	s.StringSliceVar(p, name, nil, usage)
	addEach(s, p, name, checks)
}

// Each declares a setting whose flag is repeated for each text.
func (s *Set) Each(p *[]string, name string, usage string, checks ...Check[string]) {
	s.StringArrayVar(p, name, nil, usage)
	addEach(s, p, name, checks)
}

// Env declares a setting that the environment has, which it needs.
func (s *Set) Env(p *string, name, what string, getenv func(string) string) {
	s.checks = append(s.checks, func() error {
		if *p = getenv(name); *p == "" {
			return fmt.Errorf("%s: the environment does not have it; set it to %s", name, what)
		}
		return nil
	})
}

// Check adds what several settings must be together. What is wrong with a setting alone is for its
// own checks.
func (s *Set) Check(check func() error) { s.checks = append(s.checks, check) }

// OutputFormat declares in which form a command prints what it found.
func (s *Set) OutputFormat(p *string) {
	s.StringVarP(p, "output", "o", "text", "text or json")
	add(s, p, "output", []Check[string]{OneOf("text", "json")})
}

// Inherit adds those settings of another command that are wanted, with their values and checks. The
// others keep their defaults.
func (s *Set) Inherit(from *Set, wanted func(name string) bool) {
	from.VisitAll(func(f *pflag.Flag) {
		if wanted(f.Name) {
			s.AddFlag(f)
		}
	})
	s.checks = append(s.checks, from.checks...)
}

func add[T any](s *Set, p *T, name string, checks []Check[T]) {
	for _, check := range checks {
		s.checks = append(s.checks, func() error { return s.named(name, check(*p)) })
	}
}

func addEach(s *Set, p *[]string, name string, checks []Check[string]) {
	for _, check := range checks {
		s.checks = append(s.checks, func() error {
			for _, value := range *p {
				if err := check(value); err != nil {
					return s.named(name, err)
				}
			}
			return nil
		})
	}
}

// named says of which setting an error is, and what the setting is without its flag.
func (s *Set) named(name string, err error) error {
	if err == nil {
		return nil
	}
	if f := s.Lookup(name); f.DefValue != "" && f.DefValue != "[]" {
		return fmt.Errorf("--%s: %w; the default is %s", name, err, f.DefValue)
	}
	return fmt.Errorf("--%s: %w", name, err)
}

// Parse reads a command line that has flags alone. It returns everything that is wrong, or
// pflag.ErrHelp if the help was asked for, which is printed then.
func (s *Set) Parse(args []string) error {
	if err := s.ParseWords(args); err != nil {
		return err
	}
	if s.NArg() > 0 {
		return fmt.Errorf("%.80q is not expected; give flags alone, see --help", s.Arg(0))
	}
	return s.Validate()
}

// ParseWords reads a command line with words beside its flags, which are in Args then. Whether the
// settings are right is for Validate.
func (s *Set) ParseWords(args []string) error {
	err := s.FlagSet.Parse(args)
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := wrong.GetFlag()
		return s.named(f.Name, fmt.Errorf("%.80q cannot be read; give %s", wrong.GetValue(), kindOf(f)))
	}
	return err
}

// Validate returns everything that is wrong with the settings as they are now.
func (s *Set) Validate() error {
	errs := make([]error, 0, len(s.checks))
	for _, check := range s.checks {
		errs = append(errs, check())
	}
	return errors.Join(errs...)
}

// kindOf says what the value of a flag looks like.
func kindOf(f *pflag.Flag) string {
	switch kind := f.Value.Type(); {
	case kind == "bool":
		return "true or false"
	case kind == "duration":
		return "a time such as 30s, 5m or 1h"
	case strings.HasPrefix(kind, "int"):
		return "a whole number"
	case kind == "stringToString":
		return "NAME=VALUE, several with commas between them"
	default:
		return "a " + kind
	}
}
