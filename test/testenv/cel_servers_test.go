// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package testenv_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// create asks the API server what it says of a HostedBridge with that spec,
// which is YAML. Nothing is stored.
func create(t *testing.T, c client.Client, namespace, spec string) (*unstructured.Unstructured, error) {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte("spec: "+spec), &o.Object); err != nil {
		t.Fatalf("%v: %s", err, spec)
	}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("HostedBridge"))
	o.SetNamespace(namespace)
	o.SetName("alice")
	return o, c.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict"))
}

func stdio(fields string) string {
	return "{servers: [{name: one, transport: {type: Stdio, stdio: {" + fields + "}}}]}"
}

func server(fields string) string {
	return "{servers: [{name: one, transport: {url: 'https://h/mcp'}, " + fields + "}]}"
}

func listOf(n int, one string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = strings.ReplaceAll(one, "#", fmt.Sprint(i))
	}
	return "[" + strings.Join(items, ", ") + "]"
}

const (
	memory   = "install: {method: npx, package: '@modelcontextprotocol/server-memory', version: 2025.8.4}"
	at       = "spec.servers[0]"
	program  = at + ".transport.stdio"
	install  = program + ".install"
	oauth    = at + ".auth.oauth"
	tokenURL = "tokenURL: 'https://login/token', clientID: me"
)

func npx(name, version string) string {
	return stdio(fmt.Sprintf("install: {method: npx, package: %q, version: %q}", name, version))
}

func uvx(name, version string) string {
	return stdio(fmt.Sprintf("install: {method: uvx, package: %q, version: %q}", name, version))
}

func TestBadServersAreRefusedWithTheFieldAndTheAcceptedForm(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	const (
		exact = "one exact version, such as 1.2.3"
		only  = "neither url nor headers"
		urlIs = "url is required where type is StreamableHTTP or SSE"
		a129  = "'A123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789'"
	)
	for _, test := range []struct {
		name, spec string
		want       []string
	}{
		{"an unknown mode", "{mode: Fast}", []string{"spec.mode", `"Direct", "Router"`}},
		{"an unknown prefix", "{toolPrefix: Sometimes}", []string{"spec.toolPrefix", `"Always", "Auto", "Never"`}},
		{"names that are too short", "{toolNameLength: 31}", []string{"spec.toolNameLength", "greater than or equal to 32"}},
		{"names that are too long", "{toolNameLength: 65}", []string{"spec.toolNameLength", "less than or equal to 64"}},
		{"an unknown rule for the status tool", "{statusTool: Always}", []string{"spec.statusTool", `"Auto", "Never"`}},
		{"an unknown transport", "{servers: [{name: one, transport: {type: Pigeon}}]}", []string{at + ".transport.type", `"StreamableHTTP", "SSE", "Stdio"`}},
		{"no url", "{servers: [{name: one, transport: {}}]}", []string{at + ".transport", urlIs}},
		{"no url over SSE", "{servers: [{name: one, transport: {type: SSE}}]}", []string{at + ".transport", urlIs}},
		{"a url over stdio", "{servers: [{name: one, transport: {type: Stdio, url: 'https://h', stdio: {" + memory + "}}}]}", []string{at + ".transport", only}},
		{"headers over stdio", "{servers: [{name: one, transport: {type: Stdio, headers: [{name: X, value: v}], stdio: {" + memory + "}}}]}", []string{at + ".transport", only}},
		{"stdio without a program", "{servers: [{name: one, transport: {type: Stdio}}]}", []string{at + ".transport", "stdio is required where type is Stdio"}},
		{"a program over HTTP", "{servers: [{name: one, transport: {url: 'https://h', stdio: {" + memory + "}}}]}", []string{at + ".transport", "belongs to no other type"}},
		{"no listening over SSE", "{servers: [{name: one, transport: {type: SSE, url: 'https://h', disableListening: true}}]}", []string{at + ".transport", "disableListening belongs to the type StreamableHTTP"}},
		{"no listening over stdio", "{servers: [{name: one, transport: {type: Stdio, disableListening: true, stdio: {" + memory + "}}}]}", []string{at + ".transport", "disableListening belongs to the type StreamableHTTP"}},
		{"the modern protocol over SSE", "{servers: [{name: one, transport: {type: SSE, url: 'https://h', protocolVersion: '2026-07-28'}}]}", []string{at + ".transport", "2026-07-28 is not spoken over SSE"}},
		{"an unknown version of MCP", "{servers: [{name: one, transport: {url: 'https://h', protocolVersion: 2024-01-01}}]}", []string{at + ".transport.protocolVersion", "2025-11-25"}},
		{"a description that is too long", server("description: " + strings.Repeat("d", 1025)), []string{at + ".description", "1024"}},

		{"nothing to run", stdio("args: [a]"), []string{program, "needs an image with a command, or an install"}},
		{"an image without a command", stdio("image: team/server"), []string{program, "an image needs a command", "takes the place of the image's entrypoint"}},
		{"a command without an image", stdio("command: [node]"), []string{program, "needs an image with a command, or an install"}},
		{"an empty command", stdio("image: team/server, command: []"), []string{program + ".command", "at least 1"}},
		{"a command that begins with nothing", stdio("image: team/server, command: ['']"), []string{program + ".command[0]", "at least 1"}},
		{"a command that is too long", stdio("image: i, command: " + listOf(17, "c")), []string{program + ".command", "16"}},
		{"an image with a blank", stdio("image: 'a b', command: [c]"), []string{program + ".image", "a container image's reference"}},
		{"an image that is an option", stdio("image: --privileged, command: [c]"), []string{program + ".image", "a container image's reference"}},
		{"too many arguments", stdio(memory + ", args: " + listOf(65, "a")), []string{program + ".args", "64"}},
		{"an argument that is too long", stdio(memory + ", args: [" + strings.Repeat("a", 1025) + "]"), []string{program + ".args[0]", "1024"}},
		{"too many variables", stdio(memory + ", env: " + listOf(65, "{name: V#}")), []string{program + ".env", "64"}},
		{"a variable without a name", stdio(memory + ", env: [{name: ''}]"), []string{program + ".env[0].name", "letters, digits or underscores"}},
		{"a variable with a hyphen", stdio(memory + ", env: [{name: A-B}]"), []string{program + ".env[0].name", "letters, digits or underscores"}},
		{"a variable that begins with a digit", stdio(memory + ", env: [{name: 1A}]"), []string{program + ".env[0].name", "not beginning with a digit"}},
		{"a variable whose name is too long", stdio(memory + ", env: [{name: " + a129 + "}]"), []string{program + ".env[0].name", "128"}},
		{"a variable twice", stdio(memory + ", env: [{name: A}, {name: A}]"), []string{program + ".env[1]", "Duplicate"}},
		{"a variable that is too long", stdio(memory + ", env: [{name: A, value: " + strings.Repeat("v", 4097) + "}]"), []string{program + ".env[0].value", "4096"}},
		{"a file that is a path", stdio(memory + ", files: [{name: a/b}]"), []string{program + ".files[0].name", "letters, digits, dots, hyphens"}},
		{"a file that leads out", stdio(memory + ", files: [{name: ..}]"), []string{program + ".files[0].name", "beginning with a letter"}},
		{"too many files", stdio(memory + ", files: " + listOf(17, "{name: f#}")), []string{program + ".files", "16"}},
		{"a file twice", stdio(memory + ", files: [{name: a}, {name: a}]"), []string{program + ".files[1]", "Duplicate"}},
		{"a file that is too long", stdio(memory + ", files: [{name: a, content: " + strings.Repeat("c", 16385) + "}]"), []string{program + ".files[0].content", "16384"}},

		{"an unknown method", stdio("install: {method: pip, package: a, version: 1.0.0}"), []string{install + ".method", `"npx", "uvx"`}},
		{"no package", stdio("install: {method: npx, version: 1.0.0}"), []string{install + ".package", "Required"}},
		{"no version", stdio("install: {method: npx, package: a}"), []string{install + ".version", "Required"}},
		{"a package with a version", npx("server@1.0.0", "1.0.0"), []string{install, "without a version"}},
		{"a package that is an option", npx("--yes", "1.0.0"), []string{install, "package's name"}},
		{"a package that is a folder", npx("./server", "1.0.0"), []string{install, "package's name"}},
		{"a package of git", npx("github:a/b", "1.0.0"), []string{install, "package's name"}},
		{"a package of npm, with uvx", uvx("@scope/server", "1.0.0"), []string{install, "package's name"}},
		{"a package with extras", uvx("server[cli]", "1.0.0"), []string{install, "package's name"}},
		{"a package that is too long", npx(strings.Repeat("p", 215), "1.0.0"), []string{install + ".package", "214"}},
		{"the latest version", npx("server", "latest"), []string{install, exact, "such as latest"}},
		{"another tag", npx("server", "beta2"), []string{install, exact}},
		{"no version at all", npx("server", ""), []string{install, exact}},
		{"a caret", npx("server", "^1.2.3"), []string{install, exact}},
		{"a tilde", npx("server", "~1.2.3"), []string{install, exact}},
		{"a wildcard", npx("server", "1.2.x"), []string{install, exact}},
		{"a minor version, which npm takes for a range", npx("server", "1.2"), []string{install, exact, "1.2 is a range too"}},
		{"a major version, which npm takes for a range", npx("server", "1"), []string{install, exact}},
		{"an alternative", npx("server", "1.2.3 || 2.0.0"), []string{install, exact}},
		{"the latest version, with uvx", uvx("server", "latest"), []string{install, exact}},
		{"a range, with uvx", uvx("server", ">=1.2"), []string{install, exact}},
		{"a wildcard, with uvx", uvx("server", "1.*"), []string{install, exact}},
		{"a version that is too long", npx("server", "1.2.3-"+strings.Repeat("a", 64)), []string{install + ".version", "64"}},

		{"auth that says nothing", server("auth: {}"), []string{at + ".auth.oauth", "Required"}},
		{"auth over stdio", "{servers: [{name: one, secrets: [A], auth: {oauth: {grant: ClientCredentials, " + tokenURL + ", clientSecret: A}}, transport: {type: Stdio, stdio: {" + memory + "}}}]}", []string{at, "auth belongs to servers that are reached over HTTP"}},
		{"auth and the header that it sets", "{servers: [{name: one, secrets: [A], auth: {oauth: {grant: ClientCredentials, " + tokenURL + ", clientSecret: A}}, transport: {url: 'https://h', headers: [{name: authorization, value: v}]}}]}", []string{at, "exclude each other"}},
		{"an unknown grant", server("auth: {oauth: {grant: Password, " + tokenURL + "}}"), []string{oauth + ".grant", `"ClientCredentials", "AuthorizationCode"`}},
		{"a client without its secret", server("auth: {oauth: {grant: ClientCredentials, " + tokenURL + "}}"), []string{oauth, "needs clientSecret"}},
		{"a login without its tokens", server("auth: {oauth: {grant: AuthorizationCode, " + tokenURL + "}}"), []string{oauth, "needs tokenSecret"}},
		{"a client with the tokens of a login", server("auth: {oauth: {grant: ClientCredentials, " + tokenURL + ", clientSecret: A, tokenSecret: B}}"), []string{oauth, "ClientCredentials has none"}},
		{"a client's secret in place of its name", server("auth: {oauth: {grant: ClientCredentials, " + tokenURL + ", clientSecret: s3cr3t}}"), []string{oauth + ".clientSecret", "such as GITHUB_TOKEN"}},
		{"a token endpoint without a scheme", server("auth: {oauth: {grant: ClientCredentials, tokenURL: login, clientID: me, clientSecret: A}}"), []string{oauth + ".tokenURL", "absolute http or https"}},
		{"a token endpoint with a password", server("auth: {oauth: {grant: ClientCredentials, tokenURL: 'https://a:b@h', clientID: me, clientSecret: A}}"), []string{oauth + ".tokenURL", "without credentials"}},
		{"a page to log in at without a login", server("auth: {oauth: {grant: ClientCredentials, " + tokenURL + ", clientSecret: A, authorizationURL: 'https://h'}}"), []string{oauth, "with ClientCredentials nobody logs in"}},
		{"a page to log in at without a scheme", server("auth: {oauth: {grant: AuthorizationCode, " + tokenURL + ", tokenSecret: A, authorizationURL: login}}"), []string{oauth + ".authorizationURL", "absolute http or https"}},
		{"a page to log in at that is a script", server("auth: {oauth: {grant: AuthorizationCode, " + tokenURL + ", tokenSecret: A, authorizationURL: 'javascript:alert(1)'}}"), []string{oauth + ".authorizationURL", "absolute http or https"}},
		{"a page to log in at with a password", server("auth: {oauth: {grant: AuthorizationCode, " + tokenURL + ", tokenSecret: A, authorizationURL: 'https://a:b@h'}}"), []string{oauth + ".authorizationURL", "without credentials"}},
		{"a page to log in at with a fragment", server("auth: {oauth: {grant: AuthorizationCode, " + tokenURL + ", tokenSecret: A, authorizationURL: 'https://h/#a'}}"), []string{oauth + ".authorizationURL", "without a fragment"}},
		{"a client without a name", server("auth: {oauth: {grant: ClientCredentials, tokenURL: 'https://h', clientID: '', clientSecret: A}}"), []string{oauth + ".clientID", "at least 1"}},
		{"a scope twice", server("auth: {oauth: {grant: ClientCredentials, " + tokenURL + ", clientSecret: A, scopes: [a, a]}}"), []string{oauth + ".scopes[1]", "Duplicate"}},
		{"too many scopes", server("auth: {oauth: {grant: ClientCredentials, " + tokenURL + ", clientSecret: A, scopes: " + listOf(33, "s#") + "}}"), []string{oauth + ".scopes", "32"}},

		{"neither a transport nor a recipe", "{servers: [{name: one}]}", []string{at, "either transport, which says how it is reached, or recipe"}},
		{"a transport and a recipe", server("recipe: {name: notes}"), []string{at, "either transport, which says how it is reached, or recipe"}},
		{"auth and a recipe", "{servers: [{name: one, recipe: {name: notes}, secrets: [A], auth: {oauth: {grant: ClientCredentials, " + tokenURL + ", clientSecret: A}}}]}", []string{at, "auth and recipe exclude each other"}},
		{"a recipe without a name", "{servers: [{name: one, recipe: {version: 1.0.0}}]}", []string{at + ".recipe.name", "Required"}},
		{"a recipe in capitals", "{servers: [{name: one, recipe: {name: Notes}}]}", []string{at + ".recipe.name", "2 to 64 lower-case letters"}},
		{"a range of versions", "{servers: [{name: one, recipe: {name: notes, version: ^1.2.3}}]}", []string{at + ".recipe.version", "leave it out to follow the latest"}},

		{"an unknown level of trust", server("trust: Blind"), []string{at + ".trust", `"Trusted", "Untrusted", "Sanitize"`}},
		{"a tool allowed twice", server("tools: {allow: [a, a]}"), []string{at + ".tools.allow[1]", "Duplicate"}},
		{"too many tools", server("tools: {deny: " + listOf(257, "t#") + "}"), []string{at + ".tools.deny", "256"}},
		{"a tool without a name", server("tools: {deny: ['']}"), []string{at + ".tools.deny[0]", "at least 1"}},
		{"a time to connect without a unit", server("timeouts: {connect: '5'}"), []string{at + ".timeouts.connect", "1s to 10m, such as 30s"}},
		{"too short a time to connect", server("timeouts: {connect: 1ms}"), []string{at + ".timeouts.connect", "1s to 10m"}},
		{"too long a time to connect", server("timeouts: {connect: 11m}"), []string{at + ".timeouts.connect", "1s to 10m"}},
		{"a negative time for a call", server("timeouts: {call: -1s}"), []string{at + ".timeouts.call", "1s to 24h"}},
		{"too long a time for a call", server("timeouts: {call: 25h}"), []string{at + ".timeouts.call", "1s to 24h"}},
		{"too short a time to idle", server("timeouts: {idle: 9s}"), []string{at + ".timeouts.idle", "10s to 24h"}},
		{"a duration that is too long to read", server("timeouts: {idle: " + strings.Repeat("1", 33) + "s}"), []string{at + ".timeouts.idle", "32"}},
		{"no attempt", server("retry: {maxAttempts: 0}"), []string{at + ".retry.maxAttempts", "greater than or equal to 1"}},
		{"too many attempts", server("retry: {maxAttempts: 6}"), []string{at + ".retry.maxAttempts", "less than or equal to 5"}},
		{"too short a delay", server("retry: {delay: 1ms}"), []string{at + ".retry.delay", "10ms to 1m"}},
		{"too long a delay", server("retry: {delay: 2m}"), []string{at + ".retry.delay", "10ms to 1m"}},
		{"a cache that keeps nothing", server("cacheTTL: 0s"), []string{at + ".cacheTTL", "1s to 24h"}},
		{"a cache that keeps too long", server("cacheTTL: 48h"), []string{at + ".cacheTTL", "1s to 24h"}},
		{"results of no size", server("maxResultBytes: 1"), []string{at + ".maxResultBytes", "1024"}},
		{"results of any size", server("maxResultBytes: 67108865"), []string{at + ".maxResultBytes", "67108864"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := create(t, c, namespace, test.spec)
			if err == nil {
				t.Fatal("the API server takes it")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the message does not say %q: %v", want, err)
				}
			}
		})
	}
}

func TestGoodServersAreTaken(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	for name, spec := range map[string]string{
		"the least that there is":          "{servers: [{name: one, transport: {url: 'https://h/mcp'}}]}",
		"the router":                       "{mode: Router, toolPrefix: Never, toolNameLength: 32, statusTool: Never}",
		"SSE":                              "{servers: [{name: one, transport: {type: SSE, url: 'http://h/sse', headers: [{name: X, value: v}], protocolVersion: '2024-11-05'}}]}",
		"no listening":                     "{servers: [{name: one, transport: {url: 'http://h', disableListening: true}}]}",
		"listening over SSE":               "{servers: [{name: one, transport: {type: SSE, url: 'http://h', disableListening: false}}]}",
		"listening over stdio":             "{servers: [{name: one, transport: {type: Stdio, disableListening: false, stdio: {" + memory + "}}}]}",
		"the modern protocol over HTTP":    "{servers: [{name: one, transport: {url: 'http://h', protocolVersion: '2026-07-28'}}]}",
		"npx":                              stdio(memory),
		"npx, before a release":            npx("server-x_y.z", "1.0.0-rc.1+build.5"),
		"a package in capitals":            npx("JSONStream", "1.3.5"),
		"uvx":                              uvx("mcp-server-fetch", "2025.4.7"),
		"uvx, a short version":             uvx("Server.x", "1"),
		"uvx, before and after a release":  uvx("s", "1!1.0rc1.post2.dev3"),
		"an image with a command":          stdio("image: 'registry.example.com:5000/team/server@sha256:0a', command: [node, server.js], args: ['', '${CONFIG_DIR}/x']"),
		"an image that npx runs in":        stdio(memory + ", image: my/node:22"),
		"an image, a command and why":      stdio(memory + ", image: my/node:22, command: [node]"),
		"another program of a package":     stdio(memory + ", command: [npx, -y, '--package=a@1.0.0', b]"),
		"all of a program":                 stdio(memory + ", args: [a], env: [{name: _a, value: '${TOKEN}'}, {name: B}], files: [{name: credentials.json, content: '${a.json}'}, {name: empty}], resources: {limits: {memory: 1Gi}}"),
		"as many programs as there may be": "{servers: " + listOf(64, "{name: s#, transport: {type: Stdio, stdio: {"+memory+", args: "+listOf(64, "a")+", env: "+listOf(64, "{name: V%}")+"}}}") + "}",
		"a client's credentials":           server("secrets: [A], auth: {oauth: {grant: ClientCredentials, " + tokenURL + ", clientSecret: A, scopes: [a, b], resource: 'https://h'}}"),
		"a login":                          server("secrets: [a.json], auth: {oauth: {grant: AuthorizationCode, " + tokenURL + ", tokenSecret: a.json}}"),
		"a login of a client with a name":  server("secrets: [A, B], auth: {oauth: {grant: AuthorizationCode, " + tokenURL + ", clientSecret: A, tokenSecret: B}}"),
		"a login in a browser":             server("secrets: [A], auth: {oauth: {grant: AuthorizationCode, " + tokenURL + ", tokenSecret: A, authorizationURL: 'https://login.example.com/authorize?tenant=a'}}"),
		"a recipe":                         "{servers: [{name: one, recipe: {name: notes}}]}",
		"all of a recipe":                  "{servers: [{name: one, recipe: {name: notes, version: 1.0.0-rc.1+5, resources: {limits: {memory: 1Gi}}}, secrets: [A], tools: {deny: [a]}, trust: Sanitize}]}",
		"as many recipes as there may be":  "{servers: " + listOf(64, "{name: s#, recipe: {name: r#-"+strings.Repeat("r", 60)+"}}") + "}",
		"policies":                         server("description: d, tools: {allow: [a], deny: [b]}, trust: Sanitize, timeouts: {connect: 1s, call: 24h, idle: 1h30m}, retry: {maxAttempts: 5, delay: 10ms}, cacheTTL: 1.5m, maxResultBytes: 67108864"),
	} {
		t.Run(name, func(t *testing.T) {
			for i := 0; strings.Contains(spec, "%"); i++ {
				spec = strings.Replace(spec, "%", fmt.Sprint(i), 1)
			}
			if _, err := create(t, c, namespace, spec); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestServersHaveDefaults(t *testing.T) {
	c := testenv.Client(t)
	o := must.Value(create(t, c, testenv.Namespace(t, c), "{servers: [{name: one, transport: {url: 'https://h'}}]}"))(t)
	for path, want := range map[string]string{"mode": "Direct", "toolPrefix": "Always"} {
		if got, _, _ := unstructured.NestedString(o.Object, "spec", path); got != want {
			t.Errorf("spec.%s is %q, want %q", path, got, want)
		}
	}
	servers, _, _ := unstructured.NestedSlice(o.Object, "spec", "servers")
	if got := servers[0].(map[string]any)["trust"]; got != "Trusted" {
		t.Errorf("trust is %v", got)
	}
}

func TestTheSamplesAreTaken(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	files := must.Value(filepath.Glob("../../config/samples/*.yaml"))(t)
	taken := 0
	for _, file := range files {
		data := must.Value(os.ReadFile(file))(t)
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(data, &o.Object); err != nil || o.GetKind() != "HostedBridge" && o.GetKind() != "BridgeProfile" {
			continue // A file of several objects has none of ours.
		}
		o.SetNamespace(namespace)
		if err := c.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		taken++
	}
	if taken < 5 {
		t.Errorf("%d samples", taken)
	}
}
