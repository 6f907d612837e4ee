// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// checkControlCharacters refuses control characters in texts that become an
// argument, a variable, a header, a URL or a file: they can end one early, or
// begin another.
func (p *collector) checkControlCharacters(r recipe.Recipe) {
	for n, t := range r.Transports {
		field := fmt.Sprintf("transports[%d]", n)
		p.checkTexts(field, recipe.TextsOf(t))
		if a := t.Auth; a != nil {
			texts := jsondoc.Ordered[string]{{Name: "auth.deviceAuthorizationUrl", Value: a.DeviceAuthorizationURL}, {Name: "auth.audience", Value: a.Audience}}
			for i, scope := range a.Scopes {
				texts = append(texts, jsondoc.Entry[string]{Name: fmt.Sprintf("auth.scopes[%d]", i), Value: scope})
			}
			p.checkTexts(field, texts)
		}
	}
	i := r.Install
	if i == nil {
		return
	}
	for _, system := range slices.Sorted(maps.Keys(i.Platforms)) {
		platform := i.Platforms[system]
		t := recipe.Transport{Command: platform.Command, Args: platform.Args, Env: platform.Env}
		p.checkTexts("install.platforms."+system, recipe.TextsOf(t))
	}
	for n, file := range i.ConfigFiles {
		if strings.ContainsFunc(file.Content, isControl) {
			p.add(fmt.Sprintf("install.configFiles[%d].content", n), catalog.CodeInvalid, "must have no control characters but tabs and line breaks")
		}
	}
}

func (p *collector) checkTexts(field string, texts jsondoc.Ordered[string]) {
	for _, text := range texts {
		// A program may be given several lines.
		control := unicode.IsControl
		if strings.HasPrefix(text.Name, "args[") || strings.HasPrefix(text.Name, "env.") {
			control = isControl
		}
		kind, _, _ := strings.Cut(text.Name, ".")
		switch {
		case strings.ContainsFunc(text.Name, unicode.IsControl):
			p.add(field+"."+kind, catalog.CodeInvalid, "must have no control characters in names")
		case strings.ContainsFunc(text.Value, control):
			p.add(field+"."+text.Name, catalog.CodeInvalid, "must have no control characters")
		}
	}
}

// isControl reports whether a character is a control character other than those
// of a text of several lines.
func isControl(c rune) bool { return unicode.IsControl(c) && !strings.ContainsRune("\t\n\r", c) }
