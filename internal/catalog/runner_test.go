// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
)

func npx(args ...string) func(*recipe.Recipe) {
	return func(r *recipe.Recipe) {
		installed(r, recipe.Install{Method: "npx", Package: "@s/p", Version: "1.2.3"}, "npx", args...)
	}
}

func uvx(args ...string) func(*recipe.Recipe) {
	return func(r *recipe.Recipe) {
		installed(r, recipe.Install{Method: "uvx", Package: "p", Version: "1.2"}, "uvx", args...)
	}
}

// called has the recipe install this package with npx.
func called(name string) func(*recipe.Recipe) {
	return func(r *recipe.Recipe) {
		installed(r, recipe.Install{Method: "npx", Package: name, Version: "1.2.3"}, "npx", "-y", name)
	}
}

func env(names ...string) func(*recipe.Recipe) {
	return func(r *recipe.Recipe) {
		for _, name := range names {
			r.Transports[0].Env = append(r.Transports[0].Env, jsondoc.Entry[string]{Name: name, Value: "x"})
		}
	}
}

func platform(p recipe.Platform) func(*recipe.Recipe) {
	return func(r *recipe.Recipe) { r.Install.Platforms = map[string]recipe.Platform{"linux": p} }
}

func TestWhatRunsIsWhatInstallSays(t *testing.T) {
	drift := []string{"transports[0].args drift"}
	tests := map[string]struct {
		change func(*recipe.Recipe)
		want   []string
	}{
		"another package as an option":         {npx("-y", "--package=@evil/x", "@s/p@1.2.3"), drift},
		"the package as one word":              {npx("-y", "--package=@s/p@1.2.3", "p"), drift},
		"another package as two words":         {npx("-y", "--package", "@evil/x", "@s/p@1.2.3"), append(drift, drift...)},
		"a second package":                     {npx("-y", "-p", "@s/p@1.2.3", "-p", "@evil/x", "evil"), drift},
		"another registry":                     {npx("-y", "--registry=https://evil.example", "@s/p@1.2.3"), drift},
		"another registry as two words":        {npx("--registry", "https://evil.example", "@s/p@1.2.3"), drift},
		"a folder with another package":        {npx("--prefix", "/tmp", "@s/p@1.2.3"), drift},
		"no program":                           {npx("-y"), drift},
		"a package and no program":             {npx("-y", "-p", "@s/p@1.2.3"), drift},
		"an interpreter beside the package":    {npx("-y", "-p", "@s/p@1.2.3", "--", "node", "-e", "x"), drift},
		"a runner beside the package":          {npx("-y", "-p", "@s/p@1.2.3", "npx", "@evil/x"), drift},
		"a shell beside the package":           {npx("-y", "-p", "@s/p@1.2.3", "BASH", "x"), drift},
		"a file beside the package":            {npx("-y", "-p", "@s/p@1.2.3", "/tmp/x"), drift},
		"a package that a variable names":      {npx("-y", "-p", "${P:-evil}", "p"), append(drift, "transports[0].args[2] invalid")},
		"another package with uvx":             {uvx("--with", "evil", "p==1.2"), drift},
		"another index with uvx":               {uvx("--default-index", "https://evil.example", "p==1.2"), drift},
		"Python beside the package":            {uvx("--from", "p==1.2", "python3.12", "-c", "x"), drift},
		"another command than the method":      {func(r *recipe.Recipe) { r.Transports[0].Command = "bunx" }, []string{"transports[0].command drift"}},
		"the method somewhere else":            {func(r *recipe.Recipe) { r.Transports[0].Command = "/tmp/npx" }, []string{"transports[0].command drift"}},
		"another command on one platform":      {platform(recipe.Platform{Command: "node"}), []string{"install.platforms.linux.command drift"}},
		"another registry on one platform":     {platform(recipe.Platform{Args: []string{"--registry=x", "@example/notes"}}), []string{"install.platforms.linux.args drift"}},
		"a registry of npm's as a variable":    {env("NPM_CONFIG_REGISTRY"), []string{"transports[0].env.NPM_CONFIG_REGISTRY drift"}},
		"one in lower case, of a scope":        {env("npm_config_@s:registry"), []string{"transports[0].env.npm_config_@s:registry drift"}},
		"an index of uv's and one of pip's":    {env("UV_INDEX_URL", "PIP_EXTRA_INDEX_URL"), []string{"transports[0].env.PIP_EXTRA_INDEX_URL drift", "transports[0].env.UV_INDEX_URL drift"}},
		"code that the interpreter loads":      {env("NODE_OPTIONS", "LD_PRELOAD", "PYTHONPATH"), []string{"transports[0].env.LD_PRELOAD drift", "transports[0].env.NODE_OPTIONS drift", "transports[0].env.PYTHONPATH drift"}},
		"a registry on one platform":           {platform(recipe.Platform{Env: jsondoc.Ordered[string]{{Name: "UV_INDEX", Value: "x"}}}), []string{"install.platforms.linux.env.UV_INDEX drift"}},
		"a repository instead of a package":    {called("github:evil/x"), []string{"install.package unpinned"}},
		"an archive instead of a package":      {called("https://evil.example/x.tgz"), []string{"install.package unpinned"}},
		"an option instead of a package":       {func(r *recipe.Recipe) { r.Install.Package = "--x" }, []string{"install.package unpinned", "transports[0].args drift"}},
		"one that a variable names everywhere": {called("${P:-evil}"), []string{"install.package unpinned", "transports[0].args[1] invalid"}},

		"a good one":                         {npx("-y", "@s/p@1.2.3", "--registry=its own", "-c"), []string{"transports[0].args shell"}},
		"a good one with options of its own": {npx("-y", "@s/p@1.2.3", "--package=its-own", "--with", "x"), []string{}},
		"the package by an option":           {npx("--yes", "-p", "@s/p@1.2.3", "--", "mcp", "start", "--api-key"), []string{}},
		"the package by an option of uvx's":  {uvx("--from", "p==1.2", "p-server", "--index", "x"), []string{}},
		"a package with extras": {func(r *recipe.Recipe) {
			installed(r, recipe.Install{Method: "uvx", Package: "p[cli,x]", Version: "1.2"}, "uvx", "p[cli,x]@1.2")
		}, []string{}},
		"a command on another system": {platform(recipe.Platform{Command: "npx.cmd"}), []string{}},
		"variables of its own":        {env("UVEX", "NODE_ENV", "MY_PATH"), []string{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := valid("notes")
			tt.change(&r)
			if diff := cmp.Diff(tt.want, found(Check(r, Checks{Name: "notes"}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// oauth has the recipe log in at these places.
func oauth(a recipe.TransportAuth) func(*recipe.Recipe) {
	return func(r *recipe.Recipe) {
		a.Type, a.ClientID, a.ClientSecret = "oauth2", "x", "${SECRET}"
		r.Auth = &recipe.Auth{EnvVars: []string{"SECRET"}}
		r.Transports, r.Install = []recipe.Transport{remote("https://x.example/mcp")}, nil
		r.Transports[0].Auth = &a
	}
}

func TestTokensAreNotSentInTheOpen(t *testing.T) {
	const good = "https://x.example/token"
	tests := map[string]struct {
		change func(*recipe.Recipe)
		want   []string
	}{
		"a good one":             {oauth(recipe.TransportAuth{TokenURL: good, AuthorizationURL: good}), []string{}},
		"where tokens come from": {oauth(recipe.TransportAuth{TokenURL: "http://x.example/token"}), []string{"transports[0].auth.tokenUrl plain_http"}},
		"in capitals":            {oauth(recipe.TransportAuth{TokenURL: "HTTP://x.example/token"}), []string{"transports[0].auth.tokenUrl plain_http"}},
		"where people log in": {oauth(recipe.TransportAuth{TokenURL: good, AuthorizationURL: "http://x.example", DeviceAuthorizationURL: "http://x.example"}),
			[]string{"transports[0].auth.authorizationUrl plain_http", "transports[0].auth.deviceAuthorizationUrl plain_http"}},
		"on the user's own server": {func(r *recipe.Recipe) {
			oauth(recipe.TransportAuth{TokenURL: "http://x.example/token"})(r)
			r.Metadata.SelfHosted = true
		}, []string{}},
		"the server in capitals": {func(r *recipe.Recipe) {
			r.Transports, r.Install = []recipe.Transport{remote("HTTP://x.example/mcp")}, nil
		}, []string{"transports[0].url plain_http"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := valid("notes")
			tt.change(&r)
			if diff := cmp.Diff(tt.want, found(Check(r, Checks{}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestControlCharactersAreRefused(t *testing.T) {
	one := func(name, value string) jsondoc.Ordered[string] {
		return jsondoc.Ordered[string]{{Name: name, Value: value}}
	}
	file := func(content string) func(*recipe.Recipe) {
		return func(r *recipe.Recipe) {
			r.Install.ConfigFiles = []recipe.ConfigFile{{Name: "a.json", Content: content}}
		}
	}
	server := func(change func(*recipe.Transport)) func(*recipe.Recipe) {
		return func(r *recipe.Recipe) {
			r.Transports, r.Install = []recipe.Transport{remote("https://x.example/mcp")}, nil
			change(&r.Transports[0])
		}
	}
	tests := map[string]struct {
		change func(*recipe.Recipe)
		want   []string
	}{
		"NUL in a file":            {file("x\x00y"), []string{"install.configFiles[0].content invalid"}},
		"an escape in a file":      {file("x\x1b[2Jy"), []string{"install.configFiles[0].content invalid"}},
		"lines in a file":          {file("a\tb\r\nc\n"), []string{}},
		"NUL in an argument":       {func(r *recipe.Recipe) { r.Transports[0].Args = append(r.Transports[0].Args, "x\x00") }, []string{"transports[0].args[2] invalid"}},
		"lines in an argument":     {func(r *recipe.Recipe) { r.Transports[0].Args = append(r.Transports[0].Args, "a\nb") }, []string{}},
		"NUL in a variable":        {func(r *recipe.Recipe) { r.Transports[0].Env = one("X", "a\x00b") }, []string{"transports[0].env.X invalid"}},
		"NUL in a variable's name": {func(r *recipe.Recipe) { r.Transports[0].Env = one("X\x00", "a") }, []string{"transports[0].env invalid"}},
		"NUL on one platform":      {platform(recipe.Platform{Env: one("X", "\x00")}), []string{"install.platforms.linux.env.X invalid"}},
		"a second header":          {server(func(t *recipe.Transport) { t.Headers = one("X", "a\r\nY: b") }), []string{"transports[0].headers.X invalid"}},
		"a header's name":          {server(func(t *recipe.Transport) { t.Headers = one("X\n", "a") }), []string{"transports[0].headers invalid"}},
		"a scope": {server(func(t *recipe.Transport) {
			t.Auth = &recipe.TransportAuth{Type: "oauth2", GrantType: "device_code", TokenURL: "https://x.example", Scopes: []string{"a", "b\x00"}}
		}), []string{"transports[0].auth.scopes[1] invalid"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := valid("notes")
			tt.change(&r)
			if diff := cmp.Diff(tt.want, found(Check(r, Checks{}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestEverySecretIsDeclared holds that none comes in beside the transports.
func TestEverySecretIsDeclared(t *testing.T) {
	r := valid("notes")
	r.Auth = &recipe.Auth{EnvVars: []string{"KEY"}, OAuth2: &recipe.AuthOAuth2{EnvBinding: "TOKEN"}}
	r.Install.Platforms = map[string]recipe.Platform{"linux": {
		Args: []string{"-y", "@example/notes", "${ONE}"},
		Env:  jsondoc.Ordered[string]{{Name: "A", Value: "${KEY}${TWO:-}"}},
	}}
	want := []string{"auth.oauth2.envBinding invalid", "install.platforms.linux.args[2] invalid", "install.platforms.linux.env.A invalid"}
	if diff := cmp.Diff(want, found(Check(r, Checks{}))); diff != "" {
		t.Error(diff)
	}
	r.Auth.EnvVars = []string{"KEY", "TOKEN", "ONE", "TWO"}
	if got := Check(r, Checks{}); len(got) > 0 {
		t.Error(got)
	}
}
