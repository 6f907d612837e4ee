// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package validate_test

import (
	"crypto/ed25519"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogtest"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog/validate"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// found returns the problems as field and code.
func found(all []catalog.Problem) []string {
	out := []string{}
	for _, p := range all {
		out = append(out, p.Field+" "+string(p.Code))
	}
	slices.Sort(out)
	return out
}

func stdio(command string, args ...string) recipe.Transport {
	return recipe.Transport{Type: recipe.Stdio, Command: command, Args: args}
}

func installed(r *recipe.Recipe, i recipe.Install, command string, args ...string) {
	r.Install, r.Transports = &i, []recipe.Transport{stdio(command, args...)}
}

func TestCheckRefuses(t *testing.T) {
	entry := func(value string) jsondoc.Ordered[string] {
		return jsondoc.Ordered[string]{{Name: "X", Value: value}}
	}
	tests := map[string]struct {
		change func(*recipe.Recipe)
		want   []string
	}{
		"nothing of a good one": {func(*recipe.Recipe) {}, []string{}},
		"a form that is wrong": {func(r *recipe.Recipe) { r.Name, r.SchemaVersion = "", 3 },
			[]string{"name invalid", "schemaVersion invalid"}},
		"a range of npm": {func(r *recipe.Recipe) {
			installed(r, recipe.Install{Method: "npx", Package: "p", Version: "1.2"}, "npx", "p")
		}, []string{"install.version unpinned"}},
		"a caret": {func(r *recipe.Recipe) {
			installed(r, recipe.Install{Method: "npm", Package: "p", Version: "^1.2.3"}, "p")
		}, []string{"install.version unpinned"}},
		"latest": {func(r *recipe.Recipe) {
			installed(r, recipe.Install{Method: "uvx", Package: "p", Version: "latest"}, "uvx", "p")
		}, []string{"install.version unpinned"}},
		"no version": {func(r *recipe.Recipe) { installed(r, recipe.Install{Method: "binary"}, "p") },
			[]string{"install.version unpinned"}},
		"a branch": {func(r *recipe.Recipe) {
			installed(r, recipe.Install{Method: "git", Repository: "https://x.example", Version: "main"}, "p")
		}, []string{"install.version unpinned"}},
		"a tag that moves": {func(r *recipe.Recipe) {
			installed(r, recipe.Install{Method: "docker", Image: "ghcr.io/x/y:latest"}, "docker", "run", "-i", "ghcr.io/x/y:latest")
		}, []string{"install.image unpinned"}},
		"no tag": {func(r *recipe.Recipe) {
			installed(r, recipe.Install{Method: "docker", Image: "localhost:5000/y"}, "docker", "run", "-i", "localhost:5000/y")
		}, []string{"install.image unpinned"}},
		"arguments with another version than install": {func(r *recipe.Recipe) {
			installed(r, recipe.Install{Method: "npx", Package: "p", Version: "1.2.3"}, "npx", "-y", "p@1.2.4")
		}, []string{"transports[0].args drift"}},
		"arguments with latest": {func(r *recipe.Recipe) {
			installed(r, recipe.Install{Method: "npx", Package: "p", Version: "1.2.3"}, "npx", "-y", "p@latest")
		}, []string{"transports[0].args drift"}},
		"arguments with another package": {func(r *recipe.Recipe) {
			installed(r, recipe.Install{Method: "uvx", Package: "p", Version: "1.2"}, "uvx", "--from", "evil==1.2", "p")
		}, []string{"transports[0].args drift"}},
		"a platform with another image": {func(r *recipe.Recipe) {
			image := "x/y:1.0"
			installed(r, recipe.Install{Method: "docker", Image: image, Platforms: map[string]recipe.Platform{"linux": {Args: []string{"run", "x/z:1.0"}}}}, "docker", "run", image)
		}, []string{"install.platforms.linux.args drift"}},
		"commands around the installation": {func(r *recipe.Recipe) { r.Install.PreInstall, r.Install.PostInstall = []string{"a"}, []string{"b"} },
			[]string{"install.postInstall shell_hook", "install.preInstall shell_hook"}},
		"a shell":           {func(r *recipe.Recipe) { r.Transports[0].Command = "/bin/Bash" }, []string{"transports[0].command shell"}},
		"a line of a shell": {func(r *recipe.Recipe) { r.Transports[0].Command = "npx x; curl evil" }, []string{"transports[0].command shell"}},
		"a shell of npx": {func(r *recipe.Recipe) { r.Transports[0].Args = append(r.Transports[0].Args, "-c", "x") },
			[]string{"transports[0].args shell"}},
		"a shell on one platform": {func(r *recipe.Recipe) {
			r.Install.Platforms = map[string]recipe.Platform{"win32": {Command: "cmd.exe"}}
		},
			[]string{"install.platforms.win32.command shell"}},
		"plain HTTP": {func(r *recipe.Recipe) {
			r.Transports, r.Install = []recipe.Transport{catalogtest.Remote("http://x.example/mcp")}, nil
		},
			[]string{"transports[0].url plain_http"}},
		"another scheme": {func(r *recipe.Recipe) {
			r.Transports, r.Install = []recipe.Transport{catalogtest.Remote("ftp://x.example/mcp")}, nil
		},
			[]string{"transports[0].url invalid"}},
		"a GitHub token": {func(r *recipe.Recipe) { r.Transports[0].Env = entry("ghp_" + strings.Repeat("a", 36)) },
			[]string{"transports[0].env.X secret_value"}},
		"a key of this catalog": {func(r *recipe.Recipe) {
			r.Transports[0].Args = append(r.Transports[0].Args, "--key=hb_0123456789ab_"+strings.Repeat("b", 22))
		}, []string{"transports[0].args[2] secret_value"}},
		"a bearer token in a header": {func(r *recipe.Recipe) {
			r.Transports, r.Install = []recipe.Transport{catalogtest.Remote("https://x.example/mcp")}, nil
			r.Transports[0].Headers = entry("Bearer abcdefgh12345678")
		}, []string{"transports[0].headers.X secret_value"}},
		"an authorization without a variable": {func(r *recipe.Recipe) {
			r.Transports, r.Install = []recipe.Transport{catalogtest.Remote("https://x.example/mcp")}, nil
			r.Transports[0].Auth = &recipe.TransportAuth{Type: "header", Token: "t", ClientSecret: "s", Headers: entry("plain")}
		}, []string{"transports[0].auth.clientSecret secret_value", "transports[0].auth.headers.X secret_value", "transports[0].auth.token secret_value"}},
		"a key in a file": {func(r *recipe.Recipe) {
			r.Install.ConfigFiles = []recipe.ConfigFile{{Name: "a.json", Content: "AKIA" + strings.Repeat("A", 16)}}
		}, []string{"install.configFiles[0].content secret_value"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := catalogtest.Recipe("notes")
			tt.change(&r)
			if diff := cmp.Diff(tt.want, found(validate.Check(r, validate.Checks{Name: "notes"}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckTakes(t *testing.T) {
	tests := map[string]func(*recipe.Recipe){
		"a version of Python's": func(r *recipe.Recipe) {
			installed(r, recipe.Install{Method: "uvx", Package: "p", Version: "2026.1.14"}, "uvx", "p@2026.1.14")
		},
		"a preview of npm": func(r *recipe.Recipe) {
			installed(r, recipe.Install{Method: "npx", Package: "@s/p", Version: "1.0.0-rc.1"}, "npx", "-y", "@s/p")
		},
		"a commit": func(r *recipe.Recipe) {
			installed(r, recipe.Install{Method: "git", Repository: "https://x.example", Version: strings.Repeat("0a", 20)}, "node", "index.js")
		},
		"an image by tag and digest": func(r *recipe.Recipe) {
			image := "ghcr.io/x/y:v1.2@sha256:" + strings.Repeat("0a", 32)
			installed(r, recipe.Install{Method: "docker", Image: image}, "docker", "run", "-i", "--rm", image)
		},
		"plain HTTP to a server of one's own": func(r *recipe.Recipe) {
			r.Transports, r.Install = []recipe.Transport{catalogtest.Remote("http://localhost:8123/mcp")}, nil
			r.Metadata.SelfHosted = true
		},
		"a token that is a variable": func(r *recipe.Recipe) {
			r.Transports, r.Install = []recipe.Transport{catalogtest.Remote("https://x.example/mcp")}, nil
			r.Transports[0].Auth = &recipe.TransportAuth{Type: "bearer", Token: "${TOKEN}"}
			r.Auth = &recipe.Auth{EnvVars: []string{"TOKEN"}}
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			r := catalogtest.Recipe("notes")
			change(&r)
			for _, p := range validate.Check(r, validate.Checks{}) {
				t.Error(p)
			}
		})
	}
}

func TestCheckComparesWithTheVersionBefore(t *testing.T) {
	before := catalogtest.Recipe("notes")
	before.RecipeVersion = "1.10.0"
	tests := map[string]struct {
		change func(*recipe.Recipe)
		want   []string
	}{
		"the same once more":               {func(*recipe.Recipe) {}, []string{}},
		"a higher one":                     {func(r *recipe.Recipe) { r.RecipeVersion = "1.11.0" }, []string{}},
		"a lower one":                      {func(r *recipe.Recipe) { r.RecipeVersion = "1.9.0" }, []string{"recipeVersion version_not_newer"}},
		"another content, the same number": {func(r *recipe.Recipe) { r.Description = "Else" }, []string{"recipeVersion version_not_newer"}},
		"a word after numbers":             {func(r *recipe.Recipe) { r.RecipeVersion = "next" }, []string{"recipeVersion invalid"}},
		"a date":                           {func(r *recipe.Recipe) { r.RecipeVersion = "2026-01-02" }, []string{}},
		"no version anymore":               {func(r *recipe.Recipe) { r.RecipeVersion = "" }, []string{"recipeVersion version_not_newer"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := before
			tt.change(&r)
			if diff := cmp.Diff(tt.want, found(validate.Check(r, validate.Checks{Previous: &catalog.Version{Recipe: before}}))); diff != "" {
				t.Error(diff)
			}
		})
	}
	// A word is higher than each number: a recipe that has one can only go on with words.
	words := before
	words.RecipeVersion = "one"
	next := before
	next.RecipeVersion = "two"
	if got := found(validate.Check(next, validate.Checks{Previous: &catalog.Version{Recipe: words}})); len(got) > 0 {
		t.Errorf("a word after a word: %v", got)
	}
	if got := found(validate.Check(words, validate.Checks{})); !cmp.Equal(got, []string{"recipeVersion invalid"}) {
		t.Errorf("a word at first: %v", got)
	}
	if got := found(validate.Check(before, validate.Checks{Name: "other"})); !cmp.Equal(got, []string{"id name_mismatch"}) {
		t.Error(got)
	}
}

// signed returns a recipe that acme signed with the key of this seed, and as
// what.
func signed(t *testing.T, r recipe.Recipe, seed byte, at time.Time) (recipe.Recipe, jsondoc.Value) {
	t.Helper()
	r.Signature = nil
	doc := must.Value(jsondoc.Encode(r))(t)
	_, private := catalogtest.Key(seed)
	doc = must.Value(recipe.Sign(doc, private, "acme", at))(t)
	if problems := jsondoc.Decode(doc, &r); len(problems) > 0 {
		t.Fatal(problems)
	}
	return r, doc
}

func TestCheckVerifiesSignatures(t *testing.T) {
	public, _ := catalogtest.Key(1)
	other, _ := catalogtest.Key(2)
	r, doc := signed(t, catalogtest.Recipe("notes"), 1, catalogtest.Start)
	later := catalogtest.Recipe("notes")
	later.RecipeVersion = "2.0.0"
	replayed, _ := signed(t, later, 1, catalogtest.Start)
	renewed, _ := signed(t, later, 1, catalogtest.Start.Add(time.Hour))
	changed := r
	changed.Description = "Else"
	dateless := r
	dateless.Signature = &recipe.Signature{}
	*dateless.Signature = *r.Signature
	dateless.Signature.SignedAt = "yesterday"
	previous := &catalog.Version{Recipe: r}
	tests := map[string]struct {
		r    recipe.Recipe
		c    validate.Checks
		want []string
	}{
		"a good one":                      {r, validate.Checks{PublicKeys: []ed25519.PublicKey{public}, Now: catalogtest.Start}, []string{}},
		"a good one with an old key":      {r, validate.Checks{PublicKeys: []ed25519.PublicKey{other, public}, Publisher: "acme"}, []string{}},
		"one over the source":             {r, validate.Checks{PublicKeys: []ed25519.PublicKey{public}, Source: &doc}, []string{}},
		"one of a publisher without keys": {r, validate.Checks{}, []string{"signature signature_unknown_key"}},
		"one of another key":              {r, validate.Checks{PublicKeys: []ed25519.PublicKey{other}}, []string{"signature signature_invalid"}},
		"one of another publisher":        {r, validate.Checks{PublicKeys: []ed25519.PublicKey{public}, Publisher: "else"}, []string{"signature.publisherId signature_invalid"}},
		"one over another recipe":         {changed, validate.Checks{PublicKeys: []ed25519.PublicKey{public}}, []string{"signature signature_invalid"}},
		"one of tomorrow":                 {r, validate.Checks{PublicKeys: []ed25519.PublicKey{public}, Now: catalogtest.Start.Add(-time.Hour)}, []string{"signature.signedAt signature_invalid"}},
		"one of no time":                  {dateless, validate.Checks{PublicKeys: []ed25519.PublicKey{public}}, []string{"signature.signedAt signature_invalid"}},
		"one that is as old as before":    {replayed, validate.Checks{PublicKeys: []ed25519.PublicKey{public}, Previous: previous}, []string{"signature.signedAt replayed"}},
		"one that is newer than before":   {renewed, validate.Checks{PublicKeys: []ed25519.PublicKey{public}, Previous: previous}, []string{}},
		"none where there was one":        {later, validate.Checks{Previous: previous}, []string{"signature signature_invalid"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, found(validate.Check(tt.r, tt.c))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseNamesAllProblemsAtOnce(t *testing.T) {
	const text = `{"schemaVersion":2,"id":"notes","name":7,"description":"d","tokne":1,"metadata":{"homepage":"https://x.example","colour":"red"},
		"transports":[{"type":"stdio","command":"bash","args":["${KEY}"]}],"install":{"method":"npx","package":"p","version":"latest","preInstall":["x"]}}`
	_, problems := validate.Parse([]byte(text), validate.Checks{Name: "other"})
	want := []string{
		"id name_mismatch", "install.preInstall shell_hook", "install.version unpinned", "metadata.colour unknown_field", "name invalid",
		"tokne unknown_field", "transports[0].args drift", "transports[0].args[0] invalid", "transports[0].command shell",
	}
	if diff := cmp.Diff(want, found(problems)); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{"[]": " syntax", "{": " syntax", strings.Repeat(" ", recipe.MaxBytes+1): " syntax"} {
		if _, problems := validate.Parse([]byte(text), validate.Checks{}); !cmp.Equal(found(problems), []string{want}) {
			t.Errorf("%.20q: %v", text, problems)
		}
	}
	const registry = `{"name":"io.example/notes","description":"d","version":"1.0.0","websiteUrl":"https://x.example","new":1,
		"remotes":[{"type":"streamable-http","url":"https://x.example/mcp"}]}`
	d, problems := validate.Parse([]byte(registry), validate.Checks{})
	if len(problems) != 0 || len(d.Warnings) != 1 {
		t.Errorf("%v, warnings %q", problems, d.Warnings)
	}
}

// FuzzParse looks for a recipe that passes and is another one after it was kept.
func FuzzParse(f *testing.F) {
	f.Add([]byte(catalog.SourceOf(catalogtest.Recipe("notes"))))
	f.Add([]byte(`{"schemaVersion":2,"id":"ab","name":"n","description":"d","repository":"r","localOnly":["t"],"metadata":{"costPerCall":1e-7},"transports":[{"type":"sse","url":"https://x.example","env":{"b":"1","a":"2"}}],"install":{"method":"npx","package":"p","version":"1.0.0","prerequisites":{"node":[1,{"a":null}]}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, problems := validate.Parse(b, validate.Checks{})
		if len(problems) > 0 {
			return
		}
		kept := catalogtest.Stored(t, d.Recipe)
		if !catalog.Same(kept, d.Recipe) {
			t.Errorf("%s\n%s", catalog.SourceOf(d.Recipe), catalog.SourceOf(kept))
		}
	})
}
