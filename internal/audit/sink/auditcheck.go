// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/setting"
)

const checkUsage = `Check the chain of an audit trail: that no line was changed, removed or moved.

Usage: ingress audit verify [flags] FILE...

The files of one trail are given together, the oldest first; for FILE alone the
full ones beside it are read before it. - is standard input.

`

// RunCheck runs the command with the arguments after "audit". It returns an error if the
// arguments are wrong, a file cannot be read, or the trail is not whole.
func RunCheck(args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	v := Verification{stdin: stdin, stdout: stdout}
	s := v.Declare()
	s.SetOutput(stderr)
	if err := s.ParseWords(args); err != nil {
		return err
	}
	if s.NArg() < 2 || s.Arg(0) != "verify" {
		return errors.New("audit has one command, verify, and wants at least one file")
	}
	return v.run(s.Args()[1:])
}

// errNoLine keeps an empty trail, and a file that is not a trail, from passing
// for an intact one.
var errNoLine = errors.New("no line of an audit trail was found")

// Verification is one check of the files of a trail.
type Verification struct {
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

// Declare declares the settings.
func (v *Verification) Declare() *setting.Set {
	s := setting.New("ingress audit verify", checkUsage)
	s.Bool(&v.trail.Mixed, "mixed", false, "skip lines that do not belong to an audit trail, such as log lines")
	s.Bool(&v.partial, "partial", false, "accept a trail whose beginning is not in the files, such as after --audit-max-files removed it")
	s.Bool(&v.only, "only", false, "read only the given files")
	return s
}

func (v *Verification) run(files []string) error {
	if len(files) == 1 && files[0] != "-" && !v.only {
		all, err := Files(files[0])
		if err != nil {
			return err
		}
		if len(all) > 0 {
			files = all
		}
	}
	v.stream = slices.Contains(files, "-")
	for i, name := range files {
		if err := v.read(name, i == len(files)-1); err != nil {
			return err
		}
	}
	return v.sum()
}

// sum says what there was in all of the files.
func (v *Verification) sum() error {
	v.beginnings()
	if v.trail.Torn > 0 {
		v.say("%d writes broke off and are marked", v.trail.Torn)
	}
	for _, h := range v.trail.Heads() {
		v.say("the trail of %s ends with line number %d, whose hash is %s", h.Writer, h.Seq, h.Hash)
	}
	if v.wrong > 0 {
		return fmt.Errorf("the audit trail is not whole: %d findings", v.wrong)
	}
	if v.trail.Lines == 0 {
		return errNoLine
	}
	v.say("%d lines, all as they were written", v.trail.Lines)
	return nil
}

// beginnings says which chains have lost their beginning. A chain that stands in
// the place of another one shows by it too, or by being the second in its file.
func (v *Verification) beginnings() {
	for _, h := range v.trail.Begins {
		v.say("the trail of %s begins with line number %d: those before are not in these files", h.Writer, h.Seq)
		if !v.partial {
			v.wrong++
		}
	}
	if n := len(v.trail.Heads()); n > 1 && !v.stream && !v.trail.Mixed {
		v.wrong++
		v.say("there are %d chains, and the files of a trail have one", n)
	}
}

// read follows one file. For the last one it is known beside it where the chain
// ended.
func (v *Verification) read(name string, last bool) error {
	f := v.stdin
	// Before the file, which may be written to meanwhile.
	head, ended, err := EndOf(name)
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
	if err := v.trail.Read(f); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	v.findings(name, last)
	if !last || !ended {
		return nil
	}
	if err := v.trail.End(head); err != nil {
		v.find(name, err)
	}
	return nil
}

// findings says what is wrong with the file that was read.
func (v *Verification) findings(name string, last bool) {
	for _, finding := range v.trail.Findings {
		v.find(name, finding)
	}
	switch at := v.trail.Unfinished; {
	case at > 0 && last:
		v.say("%s: line %d: has no end; a process was killed while it wrote, or writes it now", name, at)
	case at > 0:
		v.find(name, audit.Finding{Line: at, Message: "the line has no end"})
	}
}

func (v *Verification) find(name string, finding any) {
	v.wrong++
	v.say("%s: %v", name, finding)
}

func (v *Verification) say(format string, args ...any) {
	// Whoever closed the output does not want to know; the exit code tells.
	_, _ = fmt.Fprintf(v.stdout, format+"\n", args...)
}
