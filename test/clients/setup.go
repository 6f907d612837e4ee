// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/clientconfig"
)

// What the steps of internal/clientconfig ask for.
var (
	stepFile     = regexp.MustCompile(`^Put this into ~/(\S+)[,:]`)
	stepVariable = regexp.MustCompile(`your key into the variable (\w+)`)
	stepReplace  = regexp.MustCompile(`with your key in place of (\w+):`)
	stepCommand  = regexp.MustCompile(`(?i)\brun in a terminal:$`)
)

// steps returns what internal/clientconfig has people do with the client: with the key, or for a
// login if the user has none.
func (c Client) steps(w Window) (clientconfig.Steps, error) {
	all := clientconfig.Hosted(clientconfig.Bridge{URL: w.URL, Keyed: w.Key != ""})
	i := slices.IndexFunc(all, func(s clientconfig.Steps) bool { return s.Client == c.config })
	if i < 0 {
		return clientconfig.Steps{}, fmt.Errorf("internal/clientconfig has no text for %s", c.Name)
	}
	return all[i], nil
}

// prepare returns how the client is started after a person has followed the steps of
// internal/clientconfig word for word. A client without steps is started as it is.
func (c Client) prepare(w Window) (start, error) {
	s := c.start(w)
	if c.config == "" {
		return s, nil
	}
	steps, err := c.steps(w)
	if err != nil {
		return start{}, err
	}
	text, env, files := steps.Text, maps.Clone(s.env), map[string]any{}
	if m := stepReplace.FindStringSubmatch(steps.How); m != nil {
		text = strings.ReplaceAll(text, m[1], w.Key)
	}
	if m := stepVariable.FindStringSubmatch(steps.How); m != nil {
		env[m[1]] = w.Key
	}
	maps.Copy(files, s.files)
	switch m := stepFile.FindStringSubmatch(steps.How); {
	case m != nil:
		files[m[1]] = text
	case stepCommand.MatchString(steps.How):
		// No folder is named, so that it is another one than that in which the client is used.
		s.first = append(slices.Clip(s.first), []string{"env", "--chdir=" + w.Home, "sh", "-c", text})
	default:
		return start{}, fmt.Errorf("the steps for %s name neither a file in the home nor a terminal: %s", c.Name, steps.How)
	}
	s.env, s.files = env, files
	return s, nil
}
