// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

// serverJSON is the part of the official registry's description of a server
// that says how to run it.
type serverJSON struct {
	Schema      string                         `json:"$schema"`
	Name        string                         `json:"name"`
	Title       string                         `json:"title"`
	Description string                         `json:"description"`
	Version     string                         `json:"version"`
	WebsiteURL  string                         `json:"websiteUrl"`
	Repository  *registryRepository            `json:"repository"`
	Packages    []registryPackage              `json:"packages"`
	Remotes     []registryRemote               `json:"remotes"`
	Icons       jsondoc.Value                  `json:"icons"`
	Meta        jsondoc.Ordered[jsondoc.Value] `json:"_meta"`
}

type registryRepository struct {
	URL       string `json:"url"`
	Source    string `json:"source"`
	ID        string `json:"id"`
	Subfolder string `json:"subfolder"`
}

type registryPackage struct {
	RegistryType         string          `json:"registryType"`
	RegistryBaseURL      string          `json:"registryBaseUrl"`
	Identifier           string          `json:"identifier"`
	Version              string          `json:"version"`
	RuntimeHint          string          `json:"runtimeHint"`
	FileSHA256           string          `json:"fileSha256"`
	Transport            registryRemote  `json:"transport"`
	RuntimeArguments     []registryInput `json:"runtimeArguments"`
	PackageArguments     []registryInput `json:"packageArguments"`
	EnvironmentVariables []registryInput `json:"environmentVariables"`
}

type registryRemote struct {
	Type      string                         `json:"type"`
	URL       string                         `json:"url"`
	Headers   []registryInput                `json:"headers"`
	Variables jsondoc.Ordered[registryInput] `json:"variables"`
}

// registryInput is a value that a person may have to provide.
type registryInput struct {
	Type        string                         `json:"type"`
	Name        string                         `json:"name"`
	ValueHint   string                         `json:"valueHint"`
	Description string                         `json:"description"`
	Value       string                         `json:"value"`
	Default     string                         `json:"default"`
	Placeholder string                         `json:"placeholder"`
	Format      string                         `json:"format"`
	Choices     []string                       `json:"choices"`
	IsRequired  bool                           `json:"isRequired"`
	IsSecret    bool                           `json:"isSecret"`
	IsRepeated  bool                           `json:"isRepeated"`
	Variables   jsondoc.Ordered[registryInput] `json:"variables"`
}

// mapServerJSON writes a server.json as a recipe. Its remotes and its packages
// become transports. A package of an unsupported registry is a problem only if
// nothing else is left.
func mapServerJSON(v jsondoc.Value) (Recipe, []jsondoc.Problem) {
	var s serverJSON
	var problems jsondoc.Problems
	for _, p := range jsondoc.Decode(v, &s) {
		problems.Add(p)
	}
	r := Recipe{
		SchemaVersion: 2,
		ID:            idOf(s.Name[strings.LastIndexByte(s.Name, '/')+1:]),
		Name:          s.Name,
		Description:   s.Description,
		RecipeVersion: s.Version,
		Metadata:      Metadata{Homepage: s.WebsiteURL},
	}
	if s.Title != "" {
		r.Name = s.Title
	}
	if s.Repository != nil {
		r.Repository = s.Repository.URL
	}
	addPackages(&r, s.Packages, &problems)
	addRemotes(&r, s.Remotes)
	if r.Repository == "" && r.Metadata.Homepage == "" && len(s.Remotes) > 0 {
		r.Metadata.Homepage = s.Remotes[0].URL // the one place that is known to be theirs
	}
	var names []string
	for _, t := range r.Transports {
		for _, text := range TextsOf(t) {
			names = appendVariables(names, text.Value)
		}
	}
	if len(names) > 0 {
		r.Auth = &Auth{Required: true, Type: "api-key", EnvVars: names}
	}
	return r, problems.List()
}

func addPackages(r *Recipe, packages []registryPackage, problems *jsondoc.Problems) {
	for i, p := range packages {
		t, install, ok := transportOf(p)
		if !ok {
			problems.Add(jsondoc.Problem{Path: fmt.Sprintf("packages[%d]: registry %.40q", i, p.RegistryType), Message: "unknown field", Unknown: true})
			continue
		}
		if r.Install == nil {
			r.Install = install
		}
		r.Transports = append(r.Transports, t)
	}
}

func addRemotes(r *Recipe, remotes []registryRemote) {
	for _, remote := range remotes {
		t := Transport{Type: TransportType(remote.Type), URL: braced(remote.URL, remote.Variables)}
		for _, h := range remote.Headers {
			t.Headers = append(t.Headers, jsondoc.Entry[string]{Name: h.Name, Value: valueOf(h)})
		}
		r.Transports = append(r.Transports, t)
	}
}

// transportOf returns how a package is run.
func transportOf(p registryPackage) (Transport, *Install, bool) {
	t := Transport{Type: Stdio}
	var install *Install
	reference := p.Identifier
	switch p.RegistryType {
	case "npm":
		t.Command, t.Args = "npx", []string{"-y"}
		install = &Install{Method: "npx", Package: p.Identifier, Version: p.Version}
		reference = join(p.Identifier, "@", p.Version)
	case "pypi":
		t.Command = "uvx"
		install = &Install{Method: "uvx", Package: p.Identifier, Version: p.Version}
		reference = join(p.Identifier, "@", p.Version)
	case "oci":
		t.Command, t.Args = "docker", []string{"run", "-i", "--rm"}
		install = &Install{Method: "docker"}
		if !strings.ContainsAny(p.Identifier[strings.LastIndexByte(p.Identifier, '/')+1:], ":@") {
			reference = join(p.Identifier, ":", p.Version)
		}
		install.Image = reference
	default:
		return Transport{}, nil, false
	}
	if p.Transport.Type != "" && p.Transport.Type != string(Stdio) {
		return Transport{}, nil, false
	}
	for _, e := range p.EnvironmentVariables {
		t.Env = append(t.Env, jsondoc.Entry[string]{Name: e.Name, Value: valueOf(e)})
		if p.RegistryType == "oci" {
			t.Args = append(t.Args, "-e", e.Name)
		}
	}
	t.Args = append(t.Args, arguments(p.RuntimeArguments)...)
	t.Args = append(t.Args, reference)
	t.Args = append(t.Args, arguments(p.PackageArguments)...)
	return t, install, true
}

func join(a, separator, b string) string {
	if b == "" {
		return a
	}
	return a + separator + b
}

// arguments returns those that have a value or need one.
func arguments(inputs []registryInput) []string {
	var args []string
	for _, in := range inputs {
		value := braced(in.argument(), in.Variables)
		if in.Type == "named" && (value != "" || in.IsRequired || in.Format == "boolean") {
			args = append(args, in.Name)
		}
		if value != "" {
			args = append(args, value)
		}
	}
	return args
}

// argument returns an argument's value, empty for none.
func (r registryInput) argument() string {
	switch {
	case r.Value != "":
		return r.Value
	case r.Default != "":
		return r.Default
	case r.IsRequired && r.Format != "boolean":
		return "${" + variableName(r.ValueHint+r.Name) + "}"
	default:
		return ""
	}
}

// valueOf returns the value of a variable or header: the given one, with the
// names in braces as variables, else a variable of its own name, with a default
// if it may be left out.
func valueOf(in registryInput) string {
	switch {
	case in.Value != "":
		return braced(in.Value, in.Variables)
	case strings.ContainsRune(in.Default, '}'):
		return in.Default // which no default in a text can hold
	case in.IsRequired && in.Default == "":
		return "${" + variableName(in.Name) + "}"
	default:
		return "${" + variableName(in.Name) + ":-" + in.Default + "}"
	}
}

var inBraces = regexp.MustCompile(`\{[^{}]*\}`)

// braced writes {name} as ${NAME} for the known variables, in one pass over the
// text: there may be very many.
func braced(text string, variables jsondoc.Ordered[registryInput]) string {
	known := make(map[string]bool, len(variables))
	for _, v := range variables {
		known["{"+v.Name+"}"] = true
	}
	return inBraces.ReplaceAllStringFunc(text, func(found string) string {
		if !known[found] {
			return found
		}
		return "${" + variableName(found[1:len(found)-1]) + "}"
	})
}

// variableName makes a variable's name from another name.
func variableName(s string) string {
	name := strings.ToUpper(strings.ReplaceAll(idOf(s), "-", "_"))
	if name == "" || name[0] < 'A' {
		return "V_" + name
	}
	return name
}
