// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// Package is a program to install.
type Package struct {
	RegistryType         string     `json:"registryType"`
	Identifier           string     `json:"identifier"`
	Version              string     `json:"version,omitempty"`
	RuntimeHint          string     `json:"runtimeHint,omitempty"`
	Transport            Transport  `json:"transport"`
	RuntimeArguments     []Argument `json:"runtimeArguments,omitempty"`
	PackageArguments     []Argument `json:"packageArguments,omitempty"`
	EnvironmentVariables []KeyValue `json:"environmentVariables,omitempty"`
}

// Transport is how an installed program is reached.
type Transport struct {
	Type string `json:"type"`
}

// Remote is a server that runs elsewhere.
type Remote struct {
	Type      string           `json:"type"`
	URL       string           `json:"url"`
	Headers   []KeyValue       `json:"headers,omitempty"`
	Variables map[string]Input `json:"variables,omitempty"`
}

// Input is a value that a person may have to provide.
type Input struct {
	IsRequired bool   `json:"isRequired,omitempty"`
	IsSecret   bool   `json:"isSecret,omitempty"`
	Default    string `json:"default,omitempty"`
}

// Argument is one word of a command line. A recipe has a plain list of words,
// so all are positional.
type Argument struct {
	Type      string           `json:"type"`
	Value     string           `json:"value"`
	Variables map[string]Input `json:"variables,omitempty"`
}

// KeyValue is an environment variable or a header.
type KeyValue struct {
	Input

	Name      string           `json:"name"`
	Value     string           `json:"value,omitempty"`
	Variables map[string]Input `json:"variables,omitempty"`
}

// remoteOf returns a transport to a server elsewhere.
func remoteOf(r recipe.Recipe, t recipe.Transport) Remote {
	m := Remote{Type: string(t.Type)}
	m.URL, m.Variables = template(r, t.URL)
	for _, h := range t.Headers {
		m.Headers = append(m.Headers, keyValue(r, h.Name, h.Value))
	}
	if t.Auth == nil {
		return m
	}
	if t.Auth.Type == "bearer" && t.Auth.Token != "" {
		m.Headers = append(m.Headers, keyValue(r, "Authorization", "Bearer "+t.Auth.Token))
	}
	for _, h := range t.Auth.Headers {
		m.Headers = append(m.Headers, keyValue(r, h.Name, h.Value))
	}
	return m
}

// packageOf returns the package that a transport's command runs. There is no
// package if the program is built or downloaded.
func packageOf(r recipe.Recipe, t recipe.Transport) (Package, bool) {
	if r.Install == nil {
		return Package{}, false
	}
	p := Package{Version: r.Install.Version, Transport: Transport{Type: string(recipe.Stdio)}}
	p.Identifier, _ = recipe.Runs(*r.Install, t)
	switch r.Install.Method {
	case "npx", "npm":
		p.RegistryType, p.RuntimeHint = "npm", "npx"
	case "uvx", "pip":
		p.RegistryType, p.RuntimeHint = "pypi", "uvx"
	case "docker":
		// The reference names the version too.
		p.RegistryType, p.RuntimeHint, p.Identifier, p.Version = "oci", "docker", r.Install.Image, ""
	}
	if p.RegistryType == "" || p.Identifier == "" {
		return Package{}, false
	}
	for _, e := range t.Env {
		p.EnvironmentVariables = append(p.EnvironmentVariables, keyValue(r, e.Name, e.Value))
	}
	before, after := around(t, p)
	for _, word := range before {
		p.RuntimeArguments = append(p.RuntimeArguments, argument(r, word))
	}
	for _, word := range after {
		p.PackageArguments = append(p.PackageArguments, argument(r, word))
	}
	return p, true
}

// around returns the words of a command before and after the package. It leaves
// out the words that start each program of the kind: clients add them.
func around(t recipe.Transport, p Package) (before, after []string) {
	at := slices.IndexFunc(t.Args, func(word string) bool {
		_, word = optionOf(word)
		rest, ok := strings.CutPrefix(word, p.Identifier)
		return ok && (rest == "" || rest[0] == '@' || rest[0] == '=' || rest[0] == ':')
	})
	if at < 0 {
		return nil, t.Args // The program has another name than its package.
	}
	before = t.Args[:at]
	if option, _ := optionOf(t.Args[at]); option != "" {
		before = append(slices.Clone(before), option)
	}
	switch p.RegistryType {
	case "npm":
		before = slices.DeleteFunc(slices.Clone(before), func(word string) bool { return word == "-y" || word == "--yes" })
	case "oci":
		before = withoutRun(before, t)
	}
	return before, t.Args[at+1:]
}

// optionOf splits the option that names the package from it, if both are one
// word.
func optionOf(word string) (option, rest string) {
	for _, option = range []string{"--package", "--from"} {
		if rest, ok := strings.CutPrefix(word, option+"="); ok {
			return option, rest
		}
	}
	return "", word
}

// withoutRun leaves out run, its usual options, and the environment.
func withoutRun(words []string, t recipe.Transport) []string {
	var kept []string
	for i := 0; i < len(words); i++ {
		named := i+1 < len(words) && slices.ContainsFunc(t.Env, func(e jsondoc.Entry[string]) bool { return e.Name == words[i+1] })
		switch word := words[i]; {
		case (word == "-e" || word == "--env") && named:
			i++
		case word == "run", word == "-i", word == "--rm", word == "-i --rm":
		default:
			kept = append(kept, word)
		}
	}
	return kept
}

func argument(r recipe.Recipe, word string) Argument {
	a := Argument{Type: "positional"}
	a.Value, a.Variables = template(r, word)
	return a
}

// keyValue returns a variable or a header. If its value is the variable of its
// own name, the person is asked for it under that name.
func keyValue(r recipe.Recipe, name, text string) KeyValue {
	if parts := variable.FindStringSubmatch(text); parts != nil && parts[0] == text && parts[1] == name {
		return KeyValue{Name: name, Input: inputOf(r, parts)}
	}
	kv := KeyValue{Name: name}
	kv.Value, kv.Variables = template(r, text)
	return kv
}

// variable matches a variable in the text of a recipe, with its default.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`)

// template returns a text with its variables in the registry's form.
func template(r recipe.Recipe, text string) (string, map[string]Input) {
	var inputs map[string]Input
	written := variable.ReplaceAllStringFunc(text, func(found string) string {
		parts := variable.FindStringSubmatch(found)
		if inputs == nil {
			inputs = map[string]Input{}
		}
		inputs[parts[1]] = inputOf(r, parts)
		return "{" + parts[1] + "}"
	})
	return written, inputs
}

// inputOf returns what a person has to provide for a variable: a secret if the
// recipe says that it is a credential.
func inputOf(r recipe.Recipe, parts []string) Input {
	secret := r.Auth != nil && slices.Contains(r.Auth.EnvVars, parts[1])
	return Input{IsSecret: secret, Default: parts[3], IsRequired: parts[2] == "" && (!secret || r.Auth.Required)}
}
