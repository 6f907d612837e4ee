// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package validate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogtest"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog/validate"
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
		"another package as an option":         {npx("-y", "--package=@evil/x", "@s/p@1.2.3"), append(drift, drift...)},
		"a second package as one word":         {npx("-y", "--package=@s/p@1.2.3", "--package=@evil/x", "evil"), drift},
		"a short option with its package":      {npx("-y", "-p=@s/p@1.2.3", "p"), drift},
		"another index as one word with uvx":   {uvx("--index=https://evil.example", "p==1.2"), drift},
		"another interpreter":                  {uvx("--python", "/tmp/python", "p==1.2"), drift},
		"another interpreter as one word":      {uvx("--python=./python3.12", "p==1.2"), drift},
		"another name with extras":             {uvx("--from", "q[cli]==1.2", "p"), drift},
		"a URL where extras belong":            {uvx("--from", "p[https://evil.example==1.2", "p"), drift},
		"npm's names in other letters":         {npx("-y", "@S/p@1.2.3"), drift},
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
		"the package as one word":            {npx("-y", "--package=@s/p@1.2.3", "p"), []string{}},
		"the package as one word with uvx":   {uvx("--from=p==1.2", "p-server"), []string{}},
		"a quiet one":                        {npx("-y", "--quiet", "@s/p@1.2.3"), []string{}},
		"a quiet one with uvx":               {uvx("-q", "p@1.2"), []string{}},
		"a version of Python":                {uvx("--python", "3.12", "p@1.2"), []string{}},
		"a version of Python as one word":    {uvx("--python=3.12.1", "--from", "p==1.2", "p"), []string{}},
		"extras that install does not name":  {uvx("--from", "P[cli]==1.2", "p"), []string{}},
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
			r := catalogtest.Recipe("notes")
			tt.change(&r)
			if diff := cmp.Diff(tt.want, found(validate.Check(r, validate.Checks{Name: "notes"}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// runsOnly has the recipe install and run the package of this name and version.
func runsOnly(method, name, version string, rest ...string) func(*recipe.Recipe) {
	args := append([]string{name + "@" + version}, rest...)
	if method == "npx" {
		args = append([]string{"-y"}, args...)
	}
	return func(r *recipe.Recipe) {
		installed(r, recipe.Install{Method: method, Package: name, Version: version}, method, args...)
	}
}

// TestAPackageThatRunsWhateverItIsGivenIsNoServer holds for packages whose own
// program is meant, as none is named.
func TestAPackageThatRunsWhateverItIsGivenIsNoServer(t *testing.T) {
	drift := []string{"transports[0].args drift"}
	tests := map[string]struct {
		change func(*recipe.Recipe)
		want   []string
	}{
		"uv":                      {runsOnly("uvx", "uv", "0.5.0", "tool", "run", "evil"), drift},
		"Python":                  {runsOnly("uvx", "python", "3.12", "-c", "x"), drift},
		"Python with its version": {runsOnly("uvx", "Python3.13t", "3.13", "-c", "x"), drift},
		"Python with extras":      {runsOnly("uvx", "python[x]", "3.12", "-c", "x"), drift},
		"CPython":                 {runsOnly("uvx", "cpython", "3.12"), drift},
		"a program beside Python": {func(r *recipe.Recipe) {
			installed(r, recipe.Install{Method: "uvx", Package: "python", Version: "3.12"}, "uvx", "--from", "python@3.12", "notes")
		}, drift},
		"Node.js":                    {runsOnly("npx", "node", "20.0.0", "-e", "x"), drift},
		"Node.js of a scope":         {runsOnly("npx", "@s/node", "20.0.0", "-e", "x"), drift},
		"Bun":                        {runsOnly("npx", "bun", "1.0.0", "x", "evil"), drift},
		"npm":                        {runsOnly("npx", "npm", "10.0.0", "exec", "evil"), drift},
		"pnpm":                       {runsOnly("npx", "pnpm", "9.0.0", "dlx", "evil"), drift},
		"a shell":                    {runsOnly("npx", "bash", "1.0.0", "x"), drift},
		"one that names the package": {runsOnly("npx", "mcp-python-git-node", "1.0.0", "node"), []string{}},
		"a server of Node.js":        {runsOnly("npx", "@node/mcp", "1.0.0"), []string{}},
		"names that begin so":        {runsOnly("uvx", "gopher-mcp", "1.0"), []string{}},
	}
	for name := range strings.FieldsSeq("osascript ssh go php java dotnet cargo gem lua tclsh expect wscript cscript mshta rundll32 socat nc setsid nice stdbuf SSH.EXE python3.12.exe php8.3") {
		tests["beside the package: "+name] = struct {
			change func(*recipe.Recipe)
			want   []string
		}{npx("-y", "-p", "@s/p@1.2.3", name, "x"), drift}
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

// TestARecipeSaysNotWhomInstallersBelieve holds for variables that have a value,
// and for those that the user fills in.
func TestARecipeSaysNotWhomInstallersBelieve(t *testing.T) {
	tests := map[string]struct {
		name, value string
		taken       bool
	}{
		"a proxy":                        {"HTTPS_PROXY", "http://evil.example:443", false},
		"one in lower case":              {"https_proxy", "http://evil.example", false},
		"one for all":                    {"ALL_PROXY", "socks5://evil.example", false},
		"one without a kind":             {"PROXY", "http://evil.example", false},
		"one as a default":               {"HTTPS_PROXY", "${KEY:-http://evil.example}", false},
		"one with a user":                {"HTTPS_PROXY", "http://${KEY}@evil.example", false},
		"one in a second line":           {"HTTPS_PROXY", "${KEY}\nhttp://evil.example", false},
		"the user's":                     {"HTTPS_PROXY", "${KEY}", true},
		"the user's, who may have none":  {"https_proxy", "${KEY:-}", true},
		"a switch":                       {"NOTES_USE_PROXY", "false", true},
		"another word":                   {"PROXY_TIMEOUT", "30", true},
		"authorities of Node.js":         {"NODE_EXTRA_CA_CERTS", "${CONFIG_DIR}/ca.pem", false},
		"none that are checked":          {"NODE_TLS_REJECT_UNAUTHORIZED", "0", false},
		"authorities of uv":              {"SSL_CERT_FILE", "${CONFIG_DIR}/ca.pem", false},
		"a folder of them":               {"SSL_CERT_DIR", "${CONFIG_DIR}", false},
		"authorities of pip":             {"REQUESTS_CA_BUNDLE", "${CONFIG_DIR}/ca.pem", false},
		"authorities of curl":            {"CURL_CA_BUNDLE", "${CONFIG_DIR}/ca.pem", false},
		"what OpenSSL loads":             {"OPENSSL_CONF", "${CONFIG_DIR}/x", false},
		"what Python loads for warnings": {"PYTHONWARNINGS", "all:0:antigravity.x:0:0", false},
		"what Python loads for a halt":   {"PYTHONBREAKPOINT", "os.system", false},
		"the command processor":          {"ComSpec", "x", false},
		"where npm installs":             {"PREFIX", "${CONFIG_DIR}", false},
		"where the configurations are":   {"HOME", "${CONFIG_DIR}", false},
		"where Windows has them":         {"USERPROFILE", "${CONFIG_DIR}", false},
		"where Windows' programs do":     {"APPDATA", "${CONFIG_DIR}", false},
		"where the XDG base is":          {"XDG_CONFIG_HOME", "${CONFIG_DIR}", false},
		"what Python shows":              {"PYTHONUNBUFFERED", "1", true},
		"a home of its own":              {"NOTES_HOME", "/tmp", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := catalogtest.Recipe("notes")
			r.Auth = &recipe.Auth{EnvVars: []string{"KEY"}}
			r.Transports[0].Env = jsondoc.Ordered[string]{{Name: tt.name, Value: tt.value}}
			want := []string{"transports[0].env." + tt.name + " drift"}
			if tt.taken {
				want = []string{}
			}
			if diff := cmp.Diff(want, found(validate.Check(r, validate.Checks{Name: "notes"}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestACommandIsLookedAtInBounds holds for a recipe without a fault but its size,
// and for one whose every command is another than install says.
func TestACommandIsLookedAtInBounds(t *testing.T) {
	with := func(transports, platforms int, name string) recipe.Recipe {
		r := catalogtest.Recipe("notes")
		r.Transports, r.Install.Platforms = nil, map[string]recipe.Platform{}
		for range transports {
			r.Transports = append(r.Transports, stdio("npx", "-y", name))
		}
		for n := range platforms {
			r.Install.Platforms[fmt.Sprint("p", n)] = recipe.Platform{Command: "npx"}
		}
		return r
	}
	for name, tt := range map[string]struct {
		recipe recipe.Recipe
		want   []string
	}{
		"as large as may be":     {with(16, 16, "@example/notes"), []string{}},
		"one transport too many": {with(17, 16, "@evil/x"), []string{"transports invalid"}},
		"one platform too many":  {with(16, 17, "@evil/x"), []string{"install.platforms invalid"}},
		"many of both":           {with(1_600, 1_600, "@evil/x"), []string{"install.platforms invalid", "transports invalid"}},
	} {
		if diff := cmp.Diff(tt.want, found(validate.Check(tt.recipe, validate.Checks{Name: "notes"}))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// oauth has the recipe log in at these places.
func oauth(a recipe.TransportAuth) func(*recipe.Recipe) {
	return func(r *recipe.Recipe) {
		a.Type, a.ClientID, a.ClientSecret = "oauth2", "x", "${SECRET}"
		r.Auth = &recipe.Auth{EnvVars: []string{"SECRET"}}
		r.Transports, r.Install = []recipe.Transport{catalogtest.Remote("https://x.example/mcp")}, nil
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
			r.Transports, r.Install = []recipe.Transport{catalogtest.Remote("HTTP://x.example/mcp")}, nil
		}, []string{"transports[0].url plain_http"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := catalogtest.Recipe("notes")
			tt.change(&r)
			if diff := cmp.Diff(tt.want, found(validate.Check(r, validate.Checks{}))); diff != "" {
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
			r.Transports, r.Install = []recipe.Transport{catalogtest.Remote("https://x.example/mcp")}, nil
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
		"a path of a volume that decides what runs": {func(r *recipe.Recipe) {
			r.Install.Storage = &recipe.Storage{Size: "1Gi", Paths: one("npm_config_cache", "cache")}
		}, []string{"install.storage.paths.npm_config_cache drift"}},
		"a scope": {server(func(t *recipe.Transport) {
			t.Auth = &recipe.TransportAuth{Type: "oauth2", GrantType: "device_code", TokenURL: "https://x.example", Scopes: []string{"a", "b\x00"}}
		}), []string{"transports[0].auth.scopes[1] invalid"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := catalogtest.Recipe("notes")
			tt.change(&r)
			if diff := cmp.Diff(tt.want, found(validate.Check(r, validate.Checks{}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestEverySecretIsDeclared holds that none comes in beside the transports.
func TestEverySecretIsDeclared(t *testing.T) {
	r := catalogtest.Recipe("notes")
	r.Auth = &recipe.Auth{EnvVars: []string{"KEY"}, OAuth2: &recipe.AuthOAuth2{EnvBinding: "TOKEN"}}
	r.Install.Platforms = map[string]recipe.Platform{"linux": {
		Args: []string{"-y", "@example/notes", "${ONE}"},
		Env:  jsondoc.Ordered[string]{{Name: "A", Value: "${KEY}${TWO:-}"}},
	}}
	want := []string{"auth.oauth2.envBinding invalid", "install.platforms.linux.args[2] invalid", "install.platforms.linux.env.A invalid"}
	if diff := cmp.Diff(want, found(validate.Check(r, validate.Checks{}))); diff != "" {
		t.Error(diff)
	}
	r.Auth.EnvVars = []string{"KEY", "TOKEN", "ONE", "TWO"}
	if got := validate.Check(r, validate.Checks{}); len(got) > 0 {
		t.Error(got)
	}
}
