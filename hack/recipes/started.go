// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/template"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/laptop/programs"
)

// maxRemark is the length of a remark in a table, in characters.
const maxRemark = 140

// startAll installs each program of npm, starts it and ends it, one after the other.
func (o options) startAll(ctx context.Context, recipes []recipe.Recipe, stdout io.Writer) error {
	node, err := exec.CommandContext(ctx, "node", "--version").Output()
	if err != nil {
		return fmt.Errorf("ask node for its version: %w", err)
	}
	where := fmt.Sprintf("\nWith Node.js %s on %s/%s, %s.\n",
		strings.TrimSpace(string(node)), runtime.GOOS, runtime.GOARCH, time.Now().UTC().Format(time.DateOnly))
	if o.start != "" {
		table := started{head: heading("recipe", "package", "packages", "MB", "install scripts, which did not run", "without credentials")}
		err = o.each(ctx, recipes, &table, stdout, func(ctx context.Context, t *trial) string { return t.row(ctx) })
		if err == nil {
			err = o.write(o.start, "started", table.text()+where)
		}
	}
	if o.memory != "" && err == nil {
		recipes = slices.DeleteFunc(recipes, func(r recipe.Recipe) bool { return !slices.Contains(measured, r.ID) })
		table := started{head: heading("recipe", "npx: private", "npx: resident", "node: private", "node: resident", "a second one: private")}
		sum := figures{settle: o.settle}
		if err = o.each(ctx, recipes, &table, stdout, sum.row); err == nil {
			err = o.write(o.memory, "memory", table.text()+sum.line()+where)
		}
	}
	return err
}

// started is a table in a page.
type started struct {
	head string
	rows []string
}

// heading returns the head of a table.
func heading(columns ...string) string {
	return "| " + strings.Join(columns, " | ") + " |\n|" + strings.Repeat(" --- |", len(columns)) + "\n"
}

func (s started) text() string { return s.head + strings.Join(s.rows, "") }

// rowOf returns what a table says of a program.
type rowOf func(context.Context, *trial) string

// each adds a row for each recipe with a program of npm.
func (o options) each(ctx context.Context, recipes []recipe.Recipe, table *started, stdout io.Writer, row rowOf) error {
	for _, r := range recipes {
		if r.Install == nil || r.Install.Method != "npx" {
			continue
		}
		err := try(ctx, r, func(t *trial) { table.rows = append(table.rows, row(ctx, t)) })
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			table.rows = append(table.rows, fmt.Sprintf("| %s | %s | | | | not installed: %s |\n", r.ID, exactly(r), remark(err.Error(), "")))
		}
		if _, err := io.WriteString(stdout, table.rows[len(table.rows)-1]); err != nil {
			return err
		}
	}
	return nil
}

func exactly(r recipe.Recipe) string { return r.Install.Package + "@" + r.Install.Version }

// write puts a text between the comments of a page, if it is of all recipes.
func (o options) write(page, part, text string) error {
	if len(o.only) > 0 {
		return nil
	}
	content, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, begun := strings.Cut(string(content), "<!-- begin "+part+" -->\n")
	_, after, ended := strings.Cut(rest, "<!-- end "+part+" -->")
	if !begun || !ended {
		return fmt.Errorf("%s has no part between <!-- begin %s --> and <!-- end %s -->", page, part, part)
	}
	return os.WriteFile(page, []byte(before+"<!-- begin "+part+" -->\n"+text+"<!-- end "+part+" -->"+after), 0o644) //nolint:gosec // The page is the flag's of a developer.
}

// trial is an installed program.
type trial struct {
	recipe recipe.Recipe
	folder string
	programs.Program
	// env and args are what the recipe gives it, and file is what node starts.
	env, args []string
	file      string
}

// try installs the program of a recipe as bridge add does, into a folder that is gone afterwards.
func try(ctx context.Context, r recipe.Recipe, use func(*trial)) error {
	folder, err := os.MkdirTemp("", "recipes-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	t := &trial{recipe: r, folder: folder}
	at := slices.IndexFunc(r.Transports, func(t recipe.Transport) bool { return t.Type == recipe.Stdio })
	if at < 0 {
		return errors.New("it has no transport over stdio")
	}
	fetched, err := recipe.Fetches(r.Install.Method, r.Transports[at].Args)
	if err != nil {
		return err
	}
	t.give(r.Transports[at], fetched.Args)
	installed := programs.Open(folder)
	return installed.Change(ctx, filepath.Join(folder, "none.json"), func() error {
		if t.Program, err = installed.Install(ctx, r.Install.Package, r.Install.Version, func(string) {}); err != nil {
			return err
		}
		if t.file, err = t.File(r.Install.Package, fetched.Program); err != nil {
			return err
		}
		use(t)
		return nil
	})
}

// give sets what a recipe gives its program without any credential. A variable in an argument is empty,
// or an empty folder where the program is for those of its machine.
func (t *trial) give(transport recipe.Transport, args []string) {
	folder := ""
	if t.recipe.LocalOnly.All {
		folder = t.folder
	}
	for _, a := range args {
		value, _ := fill(a, func(string) (string, bool) { return folder, true })
		t.args = append(t.args, value)
	}
	for _, e := range transport.Env {
		if value, ok := fill(e.Value, func(string) (string, bool) { return "", false }); ok {
			t.env = append(t.env, e.Name+"="+value)
		}
	}
}

// fill returns a text of a recipe with values for variables. Defaults stay as they are.
func fill(text string, lookup func(string) (string, bool)) (string, bool) {
	translated, _ := recipe.Translate(text)
	parsed, err := template.Parse(translated)
	if err != nil {
		return text, true
	}
	if value, missing := parsed.Expand(func(string) (string, bool) { return "", false }); missing == nil {
		return value, true
	}
	value, missing := parsed.Expand(lookup)
	return value, missing == nil
}

// node starts the program of a trial as a bridge does.
func (t *trial) node(options ...string) (*program, error) {
	home, err := os.MkdirTemp(t.folder, "home-*")
	if err != nil {
		return nil, err
	}
	return start(home, t.env, slices.Concat([]string{"node"}, options, []string{t.file}, t.args))
}

// row starts a program and returns what the table says of it.
func (t *trial) row(ctx context.Context) string {
	said := t.listed(ctx)
	size := "?"
	if result, err := bundle.Pack(t.Dir, io.Discard, bundle.Limits{}); err == nil {
		size = fmt.Sprintf("%.1f", float64(result.Size)/1e6)
	} else {
		said += "; no bundle: " + remark(err.Error(), t.folder)
	}
	scripts := bundle.WithScripts(t.Packages)
	slices.Sort(scripts)
	return fmt.Sprintf("| %s | %s | %d | %s | %s | %s |\n", t.recipe.ID, exactly(t.recipe), len(t.Packages), size,
		strings.Join(slices.Compact(scripts), ", "), said)
}

// listed says what a program lists, or how it refuses.
func (t *trial) listed(ctx context.Context) string {
	ctx, cancel := context.WithTimeoutCause(ctx, listTimeout, fmt.Errorf("no list in %v", listTimeout))
	defer cancel()
	p, err := t.node()
	if err != nil {
		return remark(err.Error(), t.folder)
	}
	tools, err := p.list(ctx)
	p.end()
	said := t.named(tools)
	if err != nil {
		said = remark(err.Error(), t.folder)
	}
	if words := lastWords(p.stderr.String()); errors.Is(err, errEnded) {
		said = fmt.Sprintf("exit %d: %s", p.cmd.ProcessState.ExitCode(), remark(cmp.Or(words, lastWords(p.text), err.Error()), t.folder))
	}
	if p.text != "" {
		said += "; stdout has text: " + remark(p.text, t.folder)
	}
	return said
}

// named returns how many tools a program has, and which ones it lacks of those that its recipe names.
func (t *trial) named(tools []string) string {
	said := []string{fmt.Sprintf("%d tools", len(tools))}
	for _, example := range t.recipe.Metadata.ToolExamples {
		if !slices.Contains(tools, example.Name) {
			said = append(said, "without "+remark(example.Name, ""))
		}
	}
	return strings.Join(said, ", ")
}

var (
	// unreadable matches colours and other codes of terminals.
	unreadable = regexp.MustCompile("\x1b\\[[0-9;?]*[a-zA-Z]")
	// place matches lines of a stack trace, of the source that it shows, and what Node.js writes around it.
	place = regexp.MustCompile(`^(at |Node\.js v|node:|file://|\^|[\W\d]*$)|^\w+: \S*$|[;{(,]$`)
	// failure and reason match lines that say what is wrong.
	failure = regexp.MustCompile(`(?i)^\S*error\b`)
	reason  = regexp.MustCompile(`(?i)error|require|missing|not set|must|provide|invalid|fail|cannot|not found|unable`)
	// moment matches a time of day and the number of a process, which are others each time.
	moment = regexp.MustCompile(`\[\d\d:\d\d:\d\d[.\d]*\]( \(\d+\))?:? ?`)
	// path matches a path of the machine.
	path = regexp.MustCompile(`(file://)?/(tmp|home|root|var|usr|work)/[^\s'":,)]*`)
)

// lastWords returns the line of a log that says why a program ended: the first one that begins with an
// error, or else the first one with a reason, or else the last one.
func lastWords(log string) string {
	var lines []string
	for line := range strings.Lines(unreadable.ReplaceAllString(log, "")) {
		if line = message(strings.TrimSpace(line)); line != "" && !place.MatchString(line) {
			lines = append(lines, line)
		}
	}
	for _, form := range []*regexp.Regexp{failure, reason} {
		if at := slices.IndexFunc(lines, form.MatchString); at >= 0 {
			return lines[at]
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}

// message returns the message of a line in JSON, with its level if it is an error, and another line as
// it is.
func message(line string) string {
	var entry struct {
		Level   string `json:"level"`
		Msg     string `json:"msg"`
		Message string `json:"message"`
	}
	if json.Unmarshal([]byte(line), &entry) != nil {
		return line
	}
	text := cmp.Or(entry.Message, entry.Msg, line)
	if level := strings.ToLower(entry.Level); level == "error" || level == "fatal" {
		return "Error: " + text
	}
	return text
}

// remark returns a text for a cell of a table, without the paths of the machine.
func remark(text, folder string) string {
	text = unreadable.ReplaceAllString(text, "")
	if folder != "" {
		text = strings.ReplaceAll(text, folder, "/tmp/…")
	}
	text = moment.ReplaceAllString(path.ReplaceAllString(text, "…"), "")
	text = strings.NewReplacer("|", "/", "<", "‹", ">", "›", "`", "'").Replace(strings.Join(strings.Fields(text), " "))
	if letters := []rune(text); len(letters) > maxRemark {
		text = string(letters[:maxRemark-1]) + "…"
	}
	return text
}
