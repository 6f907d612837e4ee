// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

// MaxBytes is how long a recipe may be, in bytes: the longest ones published
// have 20 KiB, most of it a skill.
const MaxBytes = 256 << 10

// Format is the format of a document.
type Format string

// The formats.
const (
	V2         Format = "recipe 2"
	V1         Format = "recipe 1"
	ServerJSON Format = "server.json"
)

// Document is a recipe with what it was read from.
type Document struct {
	Recipe Recipe
	Format Format
	// Source is the document as it was written, which is what a signature
	// covers.
	Source jsondoc.Value
	// Warnings are unknown fields, and guesses.
	Warnings []string
}

// Signed returns the document in the words that its author signed, empty without a
// signature.
func (d Document) Signed() string {
	if d.Recipe.Signature == nil || d.Format != V2 {
		return ""
	}
	b, _ := d.Source.MarshalJSON() // What was read can be written.
	return string(b)
}

// InvalidError lists all problems of a recipe.
type InvalidError struct {
	Problems []jsondoc.Problem
}

// Error implements error.
func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return "the recipe is not valid: " + strings.Join(lines, "; ")
}

// Parse reads a recipe in any of the formats and checks it. An InvalidError
// lists all problems.
func Parse(b []byte) (Document, error) {
	d, problems, err := Read(b)
	if err != nil {
		return Document{}, err
	}
	var wrong jsondoc.Problems
	for _, p := range append(problems, Validate(d.Recipe)...) {
		if p.Unknown {
			d.Warnings = append(d.Warnings, p.String()+", ignored")
			continue
		}
		wrong.Add(p)
	}
	if list := wrong.List(); len(list) > 0 {
		return Document{}, &InvalidError{list}
	}
	return d, nil
}

// Read reads a recipe in any of the formats. It returns the part that can be
// read, all values that do not fit the format, and all unknown members. It
// checks no rules. The error means that the document is not a JSON object.
func Read(b []byte) (Document, []jsondoc.Problem, error) {
	if len(b) > MaxBytes {
		return Document{}, nil, fmt.Errorf("the recipe is longer than %d bytes", MaxBytes)
	}
	source, err := jsondoc.Parse(b)
	if err != nil {
		return Document{}, nil, fmt.Errorf("the recipe %w", err)
	}
	if source.Kind != jsondoc.Object {
		return Document{}, nil, errors.New("the recipe is not a JSON object")
	}
	d := Document{Source: source, Format: formatOf(source)}
	var problems []jsondoc.Problem
	switch d.Format {
	case V1:
		d.Recipe, problems = liftV1(source)
	case ServerJSON:
		d.Recipe, problems = mapServerJSON(source)
	default:
		problems = jsondoc.Decode(source, &d.Recipe)
	}
	return d, problems, nil
}

// formatOf detects the format: a server.json has packages or remotes, and a
// recipe of version 1 says so or has one transport by name.
func formatOf(v jsondoc.Value) Format {
	has := func(name string) bool { _, there := v.Get(name); return there }
	version, _ := v.Get("schemaVersion")
	switch {
	case version.Text == "1" || !has("schemaVersion") && has("transport") && !has("transports"):
		return V1
	case !has("schemaVersion") && (has("packages") || has("remotes")):
		return ServerJSON
	default:
		return V2
	}
}

// recipeV1 is version 1 of the format.
type recipeV1 struct {
	SchemaVersion  int                     `json:"schemaVersion"`
	ID             string                  `json:"id"`
	Name           string                  `json:"name"`
	Description    string                  `json:"description"`
	Transport      TransportType           `json:"transport"`
	Command        string                  `json:"command"`
	Args           []string                `json:"args"`
	Env            jsondoc.Ordered[string] `json:"env"`
	URL            string                  `json:"url"`
	Headers        jsondoc.Ordered[string] `json:"headers"`
	AuthRequired   bool                    `json:"authRequired"`
	CredentialsURL string                  `json:"credentialsUrl"`
	Homepage       string                  `json:"homepage"`
}

// liftV1 writes a recipe of version 1 as one of version 2. Its command
// determines how it is installed, and the texts with variables determine what
// it needs.
func liftV1(v jsondoc.Value) (Recipe, []jsondoc.Problem) {
	var old recipeV1
	problems := jsondoc.Decode(v, &old)
	t := Transport{Type: old.Transport, Command: old.Command, Args: old.Args, Env: old.Env, URL: old.URL, Headers: old.Headers}
	r := Recipe{
		SchemaVersion: 2,
		ID:            idOf(old.Name),
		Name:          old.Name,
		Description:   old.Description,
		Transports:    []Transport{t},
		Metadata:      Metadata{Homepage: old.Homepage},
	}
	if old.ID != "" {
		r.ID = old.ID
	}
	if old.Transport == Stdio {
		r.Install = installOf(old.Command, old.Args)
	}
	names := variablesOf(t)
	if old.AuthRequired || len(names) > 0 {
		r.Auth = &Auth{Required: old.AuthRequired, Type: "api-key", EnvVars: names, CredentialsURL: old.CredentialsURL}
	}
	return r, problems
}

// installOf returns the method of installation that a command implies.
func installOf(command string, args []string) *Install {
	switch command {
	case "npx", "uvx":
		at, from := packageAt(command, args)
		if at < 0 {
			return &Install{Method: "binary"}
		}
		i := &Install{Method: command}
		i.Package, i.Version = splitPackage(args[at][from:])
		return i
	case "docker":
		image := ""
		if len(args) > 0 {
			image, _ = runOf(args[1:])
		}
		return &Install{Method: "docker", Image: image}
	default:
		return &Install{Method: "binary", Binary: command}
	}
}

var notInID = regexp.MustCompile("[^a-z0-9]+")

// idOf makes an id from a name.
func idOf(name string) string {
	id := strings.Trim(notInID.ReplaceAllString(strings.ToLower(name), "-"), "-")
	return strings.TrimRight(id[:min(len(id), 64)], "-")
}

// variablePattern finds the variables in a text.
var variablePattern = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_.-]*)(:-[^}]*)?\}`)

// configDir stands for the folder with a recipe's configuration files.
const configDir = "CONFIG_DIR"

// TextsOf returns all texts of a transport that may contain variables, with
// their paths.
func TextsOf(t Transport) jsondoc.Ordered[string] {
	texts := jsondoc.Ordered[string]{{Name: "command", Value: t.Command}, {Name: "url", Value: t.URL}}
	for i, arg := range t.Args {
		texts = append(texts, jsondoc.Entry[string]{Name: fmt.Sprintf("args[%d]", i), Value: arg})
	}
	add := func(path string, entries jsondoc.Ordered[string]) {
		for _, e := range entries {
			texts = append(texts, jsondoc.Entry[string]{Name: path + "." + e.Name, Value: e.Value})
		}
	}
	add("env", t.Env)
	add("headers", t.Headers)
	if a := t.Auth; a != nil {
		add("auth", jsondoc.Ordered[string]{{Name: "token", Value: a.Token}, {Name: "clientId", Value: a.ClientID},
			{Name: "clientSecret", Value: a.ClientSecret}, {Name: "tokenUrl", Value: a.TokenURL}, {Name: "authorizationUrl", Value: a.AuthorizationURL}})
		add("auth.headers", a.Headers)
	}
	return texts
}

// variablesOf returns the variables of a transport, in the order in which they
// first appear.
func variablesOf(t Transport) []string {
	var names []string
	for _, text := range TextsOf(t) {
		names = appendVariables(names, text.Value)
	}
	return names
}
