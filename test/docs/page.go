// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs reads the documentation as its readers do: the commands that it
// has them run, the files that it has them write, and its links. Its tests compare
// the documentation with the repository; with the tag e2e they run it.
//
// A block of sh or console is run, in the order of its page, by one shell for
// each page. Comments, which nobody sees who reads the page, say what a reader
// knows and a program does not:
//
//	<!-- run: COMMANDS -->        run this, too, at this place
//	<!-- file: NAME -->           the next block is the file NAME
//	<!-- not run: REASON; WHY --> the next block cannot be run here
//	<!-- not run: test NAME -->   another test runs it
//
// In a console block the lines after a command are what it prints. There "…"
// stands for any text; times, ages and the spaces between columns may differ.
package docs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// Root is the repository, seen from the packages of its tests.
const Root = "../.."

// Page is a file of the documentation.
type Page struct {
	// Path is relative to the repository.
	Path  string
	Steps []Step
	// Links are what it leads to, and Anchors where it can be led to.
	Links   []Link
	Anchors []string
}

// Link is one link and its line.
type Link struct {
	Target string
	Line   int
}

// Kind is what is done with a step.
type Kind int

// The kinds of steps.
const (
	// Shown is a block that is neither run nor written.
	Shown Kind = iota
	// Run are commands.
	Run
	// Hidden are commands that the page does not show.
	Hidden
	// File is the content of a file.
	File
	// NotRun are commands that cannot be run by a test of the documentation.
	NotRun
)

// Step is a block of a page or a comment that stands for one.
type Step struct {
	Kind     Kind
	Line     int
	Language string
	Text     string
	// Name is that of a File, Reason and Why are of what is NotRun.
	Name, Reason, Why string
}

// Exchange is a command and what it is said to print.
type Exchange struct {
	Command, Output string
}

// Pages returns all pages of the documentation, in the order of their paths.
func Pages(root string) ([]Page, error) {
	paths := []string{"README.md"}
	for _, folder := range []string{"docs", "charts"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ os.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == ".md" {
				relative, _ := filepath.Rel(root, path)
				paths = append(paths, filepath.ToSlash(relative))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	pages := make([]Page, 0, len(paths))
	for _, path := range paths {
		source, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		page, err := Parse(path, source)
		if err != nil {
			return nil, err
		}
		pages = append(pages, page)
	}
	return pages, nil
}

// Parse reads one page.
func Parse(path string, source []byte) (Page, error) {
	p := walker{page: Page{Path: path}, source: source}
	tree := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	err := ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		return ast.WalkContinue, p.node(n)
	})
	if err == nil && p.pending != nil {
		err = fmt.Errorf("%s:%d: no block follows the comment", path, p.pending.Line)
	}
	return p.page, err
}

type walker struct {
	page   Page
	source []byte
	// pending is what a comment says of the next block.
	pending *Step
}

func (p *walker) node(n ast.Node) error {
	switch n := n.(type) {
	case *ast.HTMLBlock:
		return p.comment(n)
	case *ast.FencedCodeBlock:
		return p.block(n)
	case *ast.Heading:
		p.pageAnchor(string(n.Lines().Value(p.source)))
	case *ast.RawHTML:
		p.namedAnchors(n.Segments.Value(p.source))
	case *ast.Link:
		p.page.Links = append(p.page.Links, Link{string(n.Destination), p.lineOf(n)})
	}
	return nil
}

var (
	comments = regexp.MustCompile(`(?s)\A<!--\s*(run|file|not run):(.*)-->\s*\z`)
	// almost is what a comment of ours looks like whose word is mistyped.
	almost = regexp.MustCompile(`\A<!--\s*(run|file|not|skip)`)
	named  = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
)

// comment takes an HTML block, which may say something of the next block.
func (p *walker) comment(n *ast.HTMLBlock) error {
	raw := n.Lines().Value(p.source)
	if n.HasClosure() {
		raw = append(slices.Clone(raw), n.ClosureLine.Value(p.source)...)
	}
	p.namedAnchors(raw)
	line := p.line(n.Lines().At(0).Start)
	found := comments.FindSubmatch(bytes.TrimSpace(raw))
	if found == nil {
		if almost.Match(raw) {
			return fmt.Errorf("%s:%d: a comment must be one of run, file and not run", p.page.Path, line)
		}
		return nil
	}
	if p.pending != nil {
		return fmt.Errorf("%s:%d: no block follows the comment", p.page.Path, p.pending.Line)
	}
	said := strings.TrimSpace(string(found[2]))
	switch string(found[1]) {
	case "run":
		p.page.Steps = append(p.page.Steps, Step{Kind: Hidden, Line: line, Language: "sh", Text: said + "\n"})
	case "file":
		p.pending = &Step{Kind: File, Line: line, Name: said}
	case "not run":
		reason, why, _ := strings.Cut(said, ";")
		if name, named := strings.CutPrefix(said, "test "); named {
			reason, why = "test", name
		}
		p.pending = &Step{Kind: NotRun, Line: line, Reason: strings.TrimSpace(reason), Why: strings.TrimSpace(why)}
	}
	return nil
}

func (p *walker) namedAnchors(raw []byte) {
	for _, anchor := range named.FindAllSubmatch(raw, -1) {
		p.page.Anchors = append(p.page.Anchors, string(anchor[1]))
	}
}

// block takes a fenced block.
func (p *walker) block(n *ast.FencedCodeBlock) error {
	step := Step{Language: string(n.Language(p.source)), Text: string(n.Lines().Value(p.source))}
	if n.Lines().Len() > 0 {
		step.Line = p.line(n.Lines().At(0).Start)
	}
	commands := step.Language == "sh" || step.Language == "console"
	if commands {
		step.Kind = Run
	}
	if p.pending != nil {
		step.Kind, step.Name, step.Reason, step.Why = p.pending.Kind, p.pending.Name, p.pending.Reason, p.pending.Why
		p.pending = nil
	}
	if step.Kind == NotRun && !commands {
		return fmt.Errorf("%s:%d: a block that is not run has no commands: its language is %q", p.page.Path, step.Line, step.Language)
	}
	p.page.Steps = append(p.page.Steps, step)
	return nil
}

var dropped = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)

// pageAnchor adds a heading's anchor as GitHub makes it.
func (p *walker) pageAnchor(heading string) {
	heading = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(heading, "$1")
	base := strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), ""), " ", "-")
	anchor := base
	for n := 1; slices.Contains(p.page.Anchors, anchor); n++ {
		anchor = fmt.Sprintf("%s-%d", base, n)
	}
	p.page.Anchors = append(p.page.Anchors, anchor)
}

// line returns the number of the line at an offset.
func (p *walker) line(offset int) int { return bytes.Count(p.source[:offset], []byte("\n")) + 1 }

// lineOf returns the line of the block in which an inline node is.
func (p *walker) lineOf(n ast.Node) int {
	for ; n != nil; n = n.Parent() {
		if n.Type() == ast.TypeBlock && n.Lines().Len() > 0 {
			return p.line(n.Lines().At(0).Start)
		}
	}
	return 0
}

// Exchanges returns a step's commands, with what they are said to print where
// the step is a console's.
func (s Step) Exchanges() []Exchange {
	if s.Language != "console" {
		return []Exchange{{Command: s.Text}}
	}
	var all []Exchange
	goesOn := false
	for line := range strings.Lines(s.Text) {
		command, begins := strings.CutPrefix(line, "$ ")
		switch {
		case begins:
			all = append(all, Exchange{Command: command})
		case len(all) == 0:
			// What comes before the first command is printed by none.
			all = append(all, Exchange{Command: "false\n", Output: line})
		case goesOn:
			all[len(all)-1].Command += strings.TrimPrefix(line, "> ")
			command = line
		default:
			all[len(all)-1].Output += line
		}
		goesOn = command != "" && strings.HasSuffix(strings.TrimSpace(command), `\`) && (begins || goesOn)
	}
	return all
}

// Commands returns what a step runs, as one script.
func (s Step) Commands() string {
	var b strings.Builder
	for _, e := range s.Exchanges() {
		b.WriteString(e.Command)
	}
	return b.String()
}
