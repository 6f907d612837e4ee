// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// of returns a valid recipe with these transports and this install.
func of(i *Install, envVars []string, transports ...Transport) Recipe {
	return Recipe{
		SchemaVersion: 2, ID: "notes", Name: "Notes", Description: "Keeps notes", Repository: "https://example.com",
		Transports: transports, Install: i, Auth: &Auth{EnvVars: envVars, CredentialsURL: "https://example.com/keys"},
	}
}

func texts(pairs ...string) (o jsondoc.Ordered[string]) {
	for i := 0; i < len(pairs); i += 2 {
		o = append(o, jsondoc.Entry[string]{Name: pairs[i], Value: pairs[i+1]})
	}
	return o
}

func npx(args ...string) Transport { return Transport{Type: Stdio, Command: "npx", Args: args} }

func remote(kind TransportType, a *TransportAuth) Transport {
	return Transport{Type: kind, URL: "https://notes.example.com/" + string(kind), Auth: a}
}

var notesPackage = &Install{Method: "npx", Package: "notes", Version: "1.2.3"}

// TestConversionKeepsAuth holds that how requests are authorized arrives in the
// configuration, whatever the recipe has it in.
func TestConversionKeepsAuth(t *testing.T) {
	tests := map[string]struct {
		auth    TransportAuth
		want    bridgeconfig.Server
		secrets []Secret
		err     string
	}{
		"a bearer token": {auth: TransportAuth{Type: "bearer", Token: "${notes_token}"},
			want:    bridgeconfig.Server{Headers: []bridgeconfig.Header{{Name: "Authorization", Value: "Bearer ${NOTES_TOKEN}"}}, Secrets: []string{"NOTES_TOKEN"}},
			secrets: []Secret{{Name: "NOTES_TOKEN", URL: "https://example.com/keys"}}},
		"headers": {auth: TransportAuth{Type: "header", Headers: texts("X-Key", "${KEY}", "X-Plan", "${PLAN:-free}")},
			want:    bridgeconfig.Server{Headers: []bridgeconfig.Header{{Name: "X-Key", Value: "${KEY}"}, {Name: "X-Plan", Value: "${PLAN:-free}"}}, Secrets: []string{"KEY", "PLAN"}},
			secrets: []Secret{{Name: "KEY", URL: "https://example.com/keys"}, {Name: "PLAN", Optional: true, URL: "https://example.com/keys"}}},
		"client credentials": {auth: TransportAuth{Type: "oauth2", ClientID: "${ID}", ClientSecret: "${SECRET}", TokenURL: "https://example.com/token", Scopes: []string{"read"}},
			want: bridgeconfig.Server{Secrets: []string{"ID", "SECRET"}, OAuth: &bridgeconfig.OAuth{Grant: bridgeconfig.ClientCredentials, TokenURL: "https://example.com/token",
				ClientID: "${ID}", ClientSecret: "SECRET", Scopes: []string{"read"}}},
			secrets: []Secret{{Name: "ID", URL: "https://example.com/keys"}, {Name: "SECRET", URL: "https://example.com/keys"}}},
		"a person's login": {auth: TransportAuth{Type: "oauth2", GrantType: "authorization_code", AuthorizationURL: "https://example.com/authorize", TokenURL: "https://example.com/token"},
			want: bridgeconfig.Server{Secrets: []string{"NOTES_CLIENT_ID", "OAUTH_NOTES"}, OAuth: &bridgeconfig.OAuth{Grant: bridgeconfig.AuthorizationCode, TokenURL: "https://example.com/token",
				AuthorizationURL: "https://example.com/authorize", ClientID: "${NOTES_CLIENT_ID}", Token: "OAUTH_NOTES"}},
			secrets: []Secret{{Name: "NOTES_CLIENT_ID", URL: "https://example.com/keys"}, {Name: "OAUTH_NOTES", Login: true, URL: "https://example.com/keys"}}},
		"a login at a server that is found": {auth: TransportAuth{Type: "oauth2", GrantType: "authorization_code", Scopes: []string{"read"}},
			want:    bridgeconfig.Server{Secrets: []string{"OAUTH_NOTES"}, OAuth: &bridgeconfig.OAuth{Grant: bridgeconfig.AuthorizationCode, Token: "OAUTH_NOTES", Scopes: []string{"read"}}},
			secrets: []Secret{{Name: "OAUTH_NOTES", Login: true, URL: "https://example.com/keys"}}},
		"a device's login":                 {auth: TransportAuth{Type: "oauth2", GrantType: "device_code"}, err: "device_code"},
		"a client's secret in the open":    {auth: TransportAuth{Type: "oauth2", ClientID: "x", ClientSecret: "s3cr3t", TokenURL: "https://x"}, err: "one variable"},
		"a client's secret with something": {auth: TransportAuth{Type: "oauth2", ClientID: "x", ClientSecret: "a${S}", TokenURL: "https://x"}, err: "one variable"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := Convert(of(nil, nil, remote(StreamableHTTP, &tt.auth)), Choice{})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "s3cr3t") {
					t.Fatalf("error = %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Name, tt.want.Description = "notes", "Keeps notes"
			tt.want.Transport, tt.want.URL = bridgeconfig.StreamableHTTP, "https://notes.example.com/streamable-http"
			if diff := cmp.Diff(tt.want, c.Server); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.secrets, c.Secrets); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestConversionChoosesAmongTransports holds that not simply the first one is
// taken.
func TestConversionChoosesAmongTransports(t *testing.T) {
	device := &TransportAuth{Type: "oauth2", GrantType: "device_code"}
	tests := map[string]struct {
		recipe Recipe
		choice Choice
		want   bridgeconfig.Transport // empty for a refusal
	}{
		"stdio before HTTP on a person's own machine":  {of(notesPackage, nil, remote(StreamableHTTP, nil), npx("notes")), Choice{}, bridgeconfig.Stdio},
		"streamable HTTP before SSE":                   {of(nil, nil, remote(SSE, nil), remote(StreamableHTTP, nil)), Choice{}, bridgeconfig.StreamableHTTP},
		"another order, as for a hosted bridge":        {of(notesPackage, nil, npx("notes"), remote(SSE, nil)), Choice{Order: []TransportType{StreamableHTTP, SSE, Stdio}}, bridgeconfig.SSE},
		"the one that is asked for":                    {of(notesPackage, nil, npx("notes"), remote(SSE, nil)), Choice{Transport: SSE}, bridgeconfig.SSE},
		"the next where the better one cannot be":      {of(&Install{Method: "git", Repository: "r"}, nil, Transport{Type: Stdio, Command: "node"}, remote(SSE, nil)), Choice{}, bridgeconfig.SSE},
		"the second of a type where the first cannot":  {of(nil, nil, remote(SSE, device), remote(SSE, nil)), Choice{}, bridgeconfig.SSE},
		"none where the one that is asked for cannot":  {of(nil, nil, remote(StreamableHTTP, nil), remote(SSE, device)), Choice{Transport: SSE}, ""},
		"none where the one that is asked for is none": {of(nil, nil, remote(StreamableHTTP, nil)), Choice{Transport: Stdio}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := Convert(tt.recipe, tt.choice)
			if (err == nil) != (tt.want != "") || c.Server.Transport != tt.want {
				t.Errorf("transport %q, %v", c.Server.Transport, err)
			}
		})
	}
}

func TestConversionOfPrograms(t *testing.T) {
	docker := func(args ...string) Recipe {
		return of(&Install{Method: "docker", Image: "example/notes@sha256:0"}, nil, Transport{Type: Stdio, Command: "docker", Args: append([]string{"run"}, args...)})
	}
	tests := map[string]struct {
		recipe  Recipe
		choice  Choice
		want    string // the command
		says    string // part of a step, a warning or the error
		refused bool
	}{
		"a package is pinned to the installed version":   {recipe: of(notesPackage, nil, npx("-y", "notes", "--all")), want: "npx -y notes@1.2.3 --all"},
		"a version in the arguments counts":              {recipe: of(notesPackage, nil, npx("-y", "notes@1.0.0")), want: "npx -y notes@1.0.0", says: "arguments run 1.0.0"},
		"npx does not ask":                               {recipe: of(notesPackage, nil, npx("notes@1.2.3")), want: "npx -y notes@1.2.3"},
		"a package behind an option":                     {recipe: of(notesPackage, nil, npx("-y", "-p", "notes", "notes-server")), want: "npx -y -p notes@1.2.3 notes-server"},
		"a package and its option as one word":           {recipe: of(notesPackage, nil, npx("--package=notes", "notes-server")), want: "npx -y --package=notes@1.2.3 notes-server"},
		"uvx from a package as one word":                 {recipe: of(&Install{Method: "uvx", Package: "my-notes", Version: "2.0"}, nil, Transport{Type: Stdio, Command: "uvx", Args: []string{"--python", "3.12", "--from=My_Notes[x]", "serve"}}), want: "uvx --python 3.12 --from=My_Notes[x]@2.0 serve"},
		"a version of Python is no package":              {recipe: of(&Install{Method: "uvx", Package: "notes", Version: "2.0"}, nil, Transport{Type: Stdio, Command: "uvx", Args: []string{"-p", "3.12", "notes"}}), want: "uvx -p 3.12 notes@2.0"},
		"a package of a scope":                           {recipe: of(&Install{Method: "npx", Package: "@a/b", Version: "latest"}, nil, npx("-y", "@a/b")), want: "npx -y @a/b", says: "newest"},
		"another package than the installed one":         {recipe: of(notesPackage, nil, npx("-y", "evil@1.2.3")), want: "npx -y evil@1.2.3", says: "install.package is notes"},
		"uvx from a package":                             {recipe: of(&Install{Method: "uvx", Package: "notes", Version: "2.0"}, nil, Transport{Type: Stdio, Command: "uvx", Args: []string{"--from", "notes==2.0", "serve"}}), want: "uvx --from notes==2.0 serve"},
		"another command than the method's":              {recipe: of(notesPackage, nil, Transport{Type: Stdio, Command: "sh"}), want: "sh", says: "command is sh"},
		"npm leaves the installation to a person":        {recipe: of(&Install{Method: "npm", Package: "notes", Version: "1"}, nil, Transport{Type: Stdio, Command: "notes"}), want: "notes", says: "run: npm install --global notes@1"},
		"pip leaves the installation to a person":        {recipe: of(&Install{Method: "pip", Package: "notes", Version: "1"}, nil, Transport{Type: Stdio, Command: "notes"}), want: "notes", says: "run: pip install notes==1"},
		"go leaves the installation to a person":         {recipe: of(&Install{Method: "go", Package: "example.com/notes", Version: "latest"}, nil, Transport{Type: Stdio, Command: "notes"}), want: "notes", says: "go install example.com/notes@latest"},
		"a download is left to a person":                 {recipe: of(&Install{Method: "binary", Binary: "https://example.com/notes"}, nil, Transport{Type: Stdio, Command: "notes"}), want: "notes", says: "download https://example.com/notes"},
		"a program from source is not built":             {recipe: of(&Install{Method: "git", Repository: "https://example.com/r", BuildCommand: "make"}, nil, Transport{Type: Stdio, Command: "node"}), says: "must do: clone https://example.com/r", refused: true},
		"a program from source that was built":           {recipe: of(&Install{Method: "git", Repository: "https://example.com/r"}, nil, Transport{Type: Stdio, Command: "node", Args: []string{"dist/x.js"}}), choice: Choice{Dir: "/src/r"}, want: "node dist/x.js"},
		"a container":                                    {recipe: docker("-i", "--rm", "-e", "KEY", "--tmpfs=/tmp", "example/notes@sha256:0", "-v", "serve"), want: "docker run -i --rm -e KEY --tmpfs=/tmp example/notes@sha256:0 -v serve"},
		"a container by a tag":                           {recipe: docker("-i", "example/notes:1"), want: "docker run -i example/notes:1", says: "by a tag"},
		"a container with a folder of the machine":       {recipe: docker("-i", "-v", "/:/host", "example/notes@sha256:0"), says: "docker run \"-v\"", refused: true},
		"a container with a folder, written closely":     {recipe: docker("-iv/:/host", "example/notes@sha256:0"), says: "its own files", refused: true},
		"a container with a folder, by a long option":    {recipe: docker("--mount=type=bind,source=/", "example/notes@sha256:0"), says: "--mount", refused: true},
		"a container that may do all":                    {recipe: docker("--privileged", "example/notes@sha256:0"), says: "--privileged", refused: true},
		"a container in the machine's network":           {recipe: docker("--network", "host", "example/notes@sha256:0"), says: "--network", refused: true},
		"docker with something else than run":            {recipe: of(&Install{Method: "docker", Image: "i"}, nil, Transport{Type: Stdio, Command: "docker", Args: []string{"exec"}}), says: "not docker run", refused: true},
		"docker without an image":                        {recipe: docker("-i"), says: "no image", refused: true},
		"messages with headers":                          {recipe: of(notesPackage, nil, Transport{Type: Stdio, Command: "npx", Framing: "lsp"}), says: "lsp", refused: true},
		"another command on another system":              {recipe: of(&Install{Method: "npx", Package: "notes", Version: "1", Platforms: map[string]Platform{"win32": {Command: "npx.cmd"}}}, nil, npx("-y", "notes")), choice: Choice{Platform: "win32"}, want: "npx.cmd -y notes@1"},
		"a variable that stands nowhere":                 {recipe: of(notesPackage, []string{"KEY"}, npx("-y", "notes")), want: "npx -y notes@1.2.3", says: "names KEY"},
		"a dollar sign and a folder with files":          {recipe: of(notesPackage, nil, npx("-y", "notes", "$HOME", "${CONFIG_DIR}/x")), want: "npx -y notes@1.2.3 $$HOME ${CONFIG_DIR}/x"},
		"tools that were audited are to be checked":      {recipe: of(&Install{Method: "npx", Package: "notes", Version: "1", ToolsHash: "sha256-x"}, nil, npx("notes")), want: "npx -y notes@1", says: "audited"},
		"an option that takes a word before the package": {recipe: of(notesPackage, nil, npx("-w", "x", "notes")), want: "npx -y -w x notes@1.2.3"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := Convert(tt.recipe, tt.choice)
			if (err != nil) != tt.refused {
				t.Fatalf("error = %v", err)
			}
			said := strings.Join(append(c.Steps, c.Warnings...), "\n")
			if err != nil {
				said = err.Error()
			} else if got := strings.Join(c.Server.Program.Command, " "); got != tt.want || c.Server.Program.Dir != tt.choice.Dir {
				t.Errorf("command %s in %q", got, c.Server.Program.Dir)
			}
			if !strings.Contains(said, tt.says) || tt.says == "" && said != "" {
				t.Errorf("it says %q", said)
			}
		})
	}
}

func TestConversionOfWhatAProgramIsGiven(t *testing.T) {
	r := of(&Install{Method: "npx", Package: "notes", Version: "1",
		Platforms:   map[string]Platform{"linux": {Env: texts("A", "2"), Args: []string{"-y", "notes"}}},
		ConfigFiles: []ConfigFile{{Name: "c.json", Content: "${TOKEN} is the program's to fill in"}}},
		[]string{"TOKEN"}, Transport{Type: Stdio, Command: "npx", Args: []string{"x"}, Env: texts("A", "1", "B", "3")})
	r.Auth.OAuth2 = &AuthOAuth2{EnvBinding: "TOKEN", CredentialsFileType: "google-workspace"}
	c := must.Value(Convert(r, Choice{Platform: "linux"}))(t)
	want := &bridgeconfig.Program{
		Command: []string{"npx", "-y", "notes@1"},
		Env:     []bridgeconfig.Variable{{Name: "B", Value: "3"}, {Name: "A", Value: "2"}, {Name: "TOKEN", Value: "${TOKEN}"}},
		Files:   []bridgeconfig.File{{Name: "c.json", Content: "$${TOKEN} is the program's to fill in"}},
	}
	if diff := cmp.Diff(want, c.Server.Program, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	said := strings.Join(c.Warnings, "\n")
	if !strings.Contains(said, "envBinding") || !strings.Contains(said, "credentialsFileType") {
		t.Errorf("it says %q", said)
	}
	if _, err := (bridgeconfig.Config{UserID: "u", BridgeUID: "b", Servers: []bridgeconfig.Server{c.Server}}).Encode(); err != nil {
		t.Error(err)
	}
}

func TestTranslate(t *testing.T) {
	tests := map[string]struct {
		in, want string
		secrets  []string
	}{
		"nothing":                      {"x", "x", nil},
		"variables":                    {"a${B}${C:-d$}${B}", "a${B}${C:-d$$}${B}", []string{"B", "C"}},
		"a name no secret can have":    {"${api-key} ${key} ${_X}", "${API_KEY} ${KEY} ${X}", []string{"API_KEY", "KEY", "X"}},
		"a file's name":                {"${credentials.json}", "${credentials.json}", []string{"credentials.json"}},
		"dollar signs of another kind": {"$HOME $$ $(x) ${}", "$$HOME $$$$ $$(x) $${}", nil},
		"the folder with files":        {"${CONFIG_DIR}/x", "${CONFIG_DIR}/x", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, secrets := Translate(tt.in)
			if got != tt.want {
				t.Errorf("got %s", got)
			}
			if diff := cmp.Diff(tt.secrets, secrets); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestALoginNamesThePortOfItsClient(t *testing.T) {
	c, err := Convert(of(nil, nil, remote(StreamableHTTP, &TransportAuth{Type: "oauth2", GrantType: "authorization_code", ClientID: "${ID}", CallbackPort: 8765})), Choice{})
	if diff := cmp.Diff([]string{"log in with: bridge login notes --port 8765"}, c.Steps); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
}

func TestATokenCanBeUsedInPlaceOfALogin(t *testing.T) {
	login, token := TransportAuth{Type: "oauth2", GrantType: "authorization_code"}, TransportAuth{Type: "bearer", Token: "${NOTES_TOKEN}"}
	both := of(nil, nil, remote(StreamableHTTP, &login), remote(StreamableHTTP, &token))
	for noLogin, want := range map[bool][]string{false: {"OAUTH_NOTES"}, true: {"NOTES_TOKEN"}} {
		c, err := Convert(both, Choice{NoLogin: noLogin})
		if diff := cmp.Diff(want, c.Server.Secrets); err != nil || diff != "" {
			t.Errorf("no login %t: %v: %s", noLogin, err, diff)
		}
	}
	if _, err := Convert(of(nil, nil, remote(StreamableHTTP, &login)), Choice{NoLogin: true}); err == nil || !strings.Contains(err.Error(), "no transport of the kind") {
		t.Errorf("a recipe with a login alone: %v", err)
	}
}
