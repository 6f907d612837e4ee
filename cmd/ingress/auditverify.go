// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/audit/sink"
)

const verifyUsage = `Check the chain of an audit trail: that no line was changed, removed or moved.

Usage: ingress audit verify [flags] FILE...

The files of one trail are given together, the oldest first; for FILE alone the
full ones beside it are read before it. - is standard input.

`

// runAudit is the command "ingress audit".
func runAudit(args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	fs := pflag.NewFlagSet("ingress audit verify", pflag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() { _, _ = io.WriteString(stderr, verifyUsage+fs.FlagUsages()) }
	c := check{stdin: stdin, stdout: stdout}
	c.register(fs)
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() < 2 || fs.Arg(0) != "verify" {
		return errors.New("audit has one command, verify, and wants at least one file")
	}
	return c.run(fs.Args()[1:])
}

// errNoLine keeps a trail that is all gone, and a file that is none, from
// passing for one that is as it was written.
var errNoLine = errors.New("no line of an audit trail was found")

// check is one verification.
type check struct {
	stdin  io.Reader
	stdout io.Writer
	only   bool
	// partial takes a beginning that is not there for one that was removed as it
	// should be.
	partial bool
	// stream is set where standard input is read, in which several processes may
	// have written.
	stream bool
	trail  audit.Verifier
	wrong  int
}

// register adds the flags to fs.
func (c *check) register(fs *pflag.FlagSet) {
	fs.BoolVar(&c.trail.Mixed, "mixed", false, "skip lines that do not belong to an audit trail, such as log lines")
	fs.BoolVar(&c.partial, "partial", false, "accept a trail whose beginning is not in the files, such as after --audit-max-files removed it")
	fs.BoolVar(&c.only, "only", false, "read only the given files")
}

func (c *check) run(files []string) error {
	if len(files) == 1 && files[0] != "-" && !c.only {
		all, err := sink.Files(files[0])
		if err != nil {
			return err
		}
		if len(all) > 0 {
			files = all
		}
	}
	c.stream = slices.Contains(files, "-")
	for i, name := range files {
		if err := c.read(name, i == len(files)-1); err != nil {
			return err
		}
	}
	return c.sum()
}

// sum says what there was in all of the files.
func (c *check) sum() error {
	c.beginnings()
	if c.trail.Torn > 0 {
		c.say("%d writes broke off and are marked", c.trail.Torn)
	}
	for _, h := range c.trail.Heads() {
		c.say("the trail of %s ends with line number %d, whose hash is %s", h.Writer, h.Seq, h.Hash)
	}
	if c.wrong > 0 {
		return fmt.Errorf("the audit trail is not whole: %d findings", c.wrong)
	}
	if c.trail.Lines == 0 {
		return errNoLine
	}
	c.say("%d lines, all as they were written", c.trail.Lines)
	return nil
}

// beginnings says which chains have lost their beginning. A chain that stands in
// the place of another one shows by it too, or by being the second in its file.
func (c *check) beginnings() {
	for _, h := range c.trail.Begins {
		c.say("the trail of %s begins with line number %d: those before are not in these files", h.Writer, h.Seq)
		if !c.partial {
			c.wrong++
		}
	}
	if n := len(c.trail.Heads()); n > 1 && !c.stream && !c.trail.Mixed {
		c.wrong++
		c.say("there are %d chains, and the files of a trail have one", n)
	}
}

// read follows one file. For the last one it is known beside it where the chain
// ended.
func (c *check) read(name string, last bool) error {
	f := c.stdin
	// Before the file, which may be written to meanwhile.
	head, ended, err := sink.EndOf(name)
	if err != nil {
		return err
	}
	if name != "-" {
		opened, err := os.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = opened.Close() }() // It was only read.
		f = opened
	}
	if err := c.trail.Read(f); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	c.findings(name, last)
	if !last || !ended {
		return nil
	}
	if err := c.trail.End(head); err != nil {
		c.find(name, err)
	}
	return nil
}

// findings says what is wrong with the file that was read.
func (c *check) findings(name string, last bool) {
	for _, finding := range c.trail.Findings {
		c.find(name, finding)
	}
	switch at := c.trail.Unfinished; {
	case at > 0 && last:
		c.say("%s: line %d: has no end; a process was killed while it wrote, or writes it now", name, at)
	case at > 0:
		c.find(name, audit.Finding{Line: at, Message: "the line has no end"})
	}
}

func (c *check) find(name string, finding any) {
	c.wrong++
	c.say("%s: %v", name, finding)
}

func (c *check) say(format string, args ...any) {
	// Whoever closed the output does not want to know; the exit code tells.
	_, _ = fmt.Fprintf(c.stdout, format+"\n", args...)
}
