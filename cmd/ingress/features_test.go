// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestAnInstallationWithoutLoginsSaysWhereKeysAre(t *testing.T) {
	for want, change := range map[string]func(*options){
		"Ask an administrator for a key; with one you make others at https://bridges.example.com/keys.": func(*options) {},
		"Ask ann@example.com for a key.": func(o *options) { o.Console.Enabled, o.Console.Contact = false, "ann@example.com" },
	} {
		var o options
		o.declare()
		o.Catalog.URL = "https://bridges.example.com"
		change(&o)
		f := must.Value((&logins{}).feature(nil, &o))(t)
		for _, r := range f.Routes {
			p, ok := errors.AsType[*httpapi.Problem](r.Handle(nil))
			if !ok || !strings.HasSuffix(p.Detail, ". "+want) {
				t.Errorf("%s says %+v, want %q", r.Path, p, want)
			}
		}
		if f.SourceRate == 0 || f.TooManyFromSource == nil {
			t.Error("a source may ask without a limit")
		}
	}
}
