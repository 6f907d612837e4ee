// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeconfig

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// complete has every field of the configuration.
func complete() Config {
	return Config{
		UserID: "alice", BridgeUID: "u-1", Mode: Router, ToolPrefix: PrefixAuto,
		Egress: Egress{Allow: []string{"10.0.0.0/8", "fd00::/8"}, Deny: []string{"10.96.0.1/32"}, Unrestricted: true},
		Servers: []Server{
			{
				Name: "hub", Description: "code", Transport: SSE, URL: "https://mcp.example.com/sse",
				Headers: []Header{{Name: "X-Region", Value: "eu"}},
				OAuth: &OAuth{
					Grant: AuthorizationCode, TokenURL: "https://as.example.com/token", AuthorizationURL: "https://as.example.com/login",
					ClientID: "me", ClientSecret: "CLIENT", Token: "LOGIN", Scopes: []string{"read"}, Resource: "https://mcp.example.com",
				},
				ConnectURL:      "https://bridges.example.com/oauth/connect/alice/hub",
				ToolsHash:       "sha256-" + strings.Repeat("0a", 32),
				ProtocolVersion: "2025-11-25", NoListening: true, Secrets: []string{"CLIENT", "LOGIN"},
				Tools: Tools{Allow: []string{"a", "b"}, Deny: []string{"b"}}, Trust: Sanitize,
				Timeouts: Timeouts{Connect: Duration(5 * time.Second), Call: Duration(time.Minute), Idle: Duration(time.Hour)},
				Retry:    Retry{MaxAttempts: 3, Delay: Duration(250 * time.Millisecond)},
				CacheTTL: Duration(90 * time.Second), MaxResultBytes: 1 << 20,
			},
			{
				Name: "files", Transport: Stdio, Secrets: []string{"TOKEN"},
				Program: &Program{
					Socket: "/run/shim.sock", Command: []string{"node", "${CONFIG_DIR}/x", "${TOKEN}"},
					Env:   []Variable{{Name: "TOKEN", Value: "${TOKEN:-none}"}, {Name: "lower_case", Value: "$$"}},
					Files: []File{{Name: "settings.json", Content: `{"token":"${TOKEN}"}`}}, Dir: "/tmp",
				},
				Pending: &Pending{Reason: "the package is being installed for the first time", Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
			},
		},
	}
}

func TestACompleteConfigurationComesBack(t *testing.T) {
	want := complete()
	encoded := must.Value(want.Encode())(t)
	got := must.Value(Parse(encoded))(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	for _, part := range []string{`"connect":"5s"`, `"call":"1m0s"`, `"delay":"250ms"`, `"cacheTTL":"1m30s"`} {
		if !strings.Contains(string(encoded), part) {
			t.Errorf("%s is not in %s", part, encoded)
		}
	}
}

// TestValidateRefuses changes one thing of a configuration that is valid.
func TestValidateRefuses(t *testing.T) {
	web := func(c *Config) *Server { return &c.Servers[0] }
	program := func(c *Config) *Program { return c.Servers[1].Program }
	tests := map[string]struct {
		change func(c *Config)
		want   string
	}{
		"another mode":                                     {func(c *Config) { c.Mode = "both" }, `mode "both" is neither`},
		"another rule for prefixes":                        {func(c *Config) { c.ToolPrefix = "often" }, `toolPrefix "often"`},
		"names that are too short":                         {func(c *Config) { c.ToolNameLength = 31 }, "toolNameLength 31 is not between 32 and 64"},
		"names that are too long":                          {func(c *Config) { c.ToolNameLength = 65 }, "toolNameLength 65"},
		"another rule for the status tool":                 {func(c *Config) { c.StatusTool = "always" }, `statusTool "always" is neither`},
		"an address that is no range":                      {func(c *Config) { c.Egress.Allow[1] = "10.0.0.1" }, `egress.allow[1] "10.0.0.1"`},
		"a denied address that is no range":                {func(c *Config) { c.Egress.Deny[0] = "10.96.0.1" }, `egress.deny[0] "10.96.0.1"`},
		"a name as a range":                                {func(c *Config) { c.Egress.Allow[0] = "example.com" }, "egress.allow[0]"},
		"a server's name with a slash":                     {func(c *Config) { web(c).Name = "a/b" }, "servers[0].name"},
		"a server's name of 65 letters":                    {func(c *Config) { web(c).Name = strings.Repeat("a", 65) }, "servers[0].name"},
		"a user id of 64 letters":                          {func(c *Config) { c.UserID = strings.Repeat("a", 64) }, "userID"},
		"a shared server of 64 letters":                    {func(c *Config) { web(c).Shared = strings.Repeat("a", 64) }, "shared"},
		"a variable of 129 letters":                        {func(c *Config) { program(c).Env[0].Name = strings.Repeat("A", 129) }, "program.env[0]"},
		"a file's name of 129 letters":                     {func(c *Config) { program(c).Files[0].Name = strings.Repeat("a", 129) }, "program.files[0]"},
		"another transport":                                {func(c *Config) { web(c).Transport = "ws" }, `transport "ws" must be one of`},
		"no transport and a program":                       {func(c *Config) { c.Servers[1].Transport = "" }, "has no program"},
		"a program at a URL":                               {func(c *Config) { web(c).Program = program(c) }, "transport sse has no program"},
		"a server without a URL":                           {func(c *Config) { web(c).URL = "" }, "url is not"},
		"a program with a URL":                             {func(c *Config) { c.Servers[1].URL = "http://h" }, "has no url"},
		"a program with headers":                           {func(c *Config) { c.Servers[1].Headers = []Header{{"X-A", "b"}} }, "has no url, headers or oauth"},
		"a program with OAuth":                             {func(c *Config) { c.Servers[1].OAuth = web(c).OAuth }, "has no url, headers or oauth"},
		"no program":                                       {func(c *Config) { c.Servers[1].Program = nil }, "needs program.command"},
		"an empty command":                                 {func(c *Config) { program(c).Command = nil }, "needs program.command"},
		"a command of nothing":                             {func(c *Config) { program(c).Command[0] = "" }, "needs program.command"},
		"an argument that is no template":                  {func(c *Config) { program(c).Command[1] = "hunter2$" }, "program.command[1]: $ at position 8"},
		"an argument with a NUL":                           {func(c *Config) { program(c).Command[1] = "hunter2\x00" }, "program.command[1]: a NUL"},
		"an argument with a secret that is not granted":    {func(c *Config) { program(c).Command[1] = "${OTHER}" }, "program.command[1]: it uses secret OTHER"},
		"a variable with a secret that is not granted":     {func(c *Config) { program(c).Env[1].Value = "${OTHER:-x}" }, "program.env[1]: it uses secret OTHER"},
		"a file with a secret that is not granted":         {func(c *Config) { program(c).Files[0].Content = "${OTHER}" }, "program.files[0]: it uses secret OTHER"},
		"a file with the name of its folder":               {func(c *Config) { program(c).Files[0].Content = "${CONFIG_DIR}" }, "program.files[0]: CONFIG_DIR stands for a folder only"},
		"a secret with the name of the folder":             {func(c *Config) { c.Servers[1].Secrets = []string{"TOKEN", "CONFIG_DIR"} }, "secrets[1]: CONFIG_DIR"},
		"a variable with a NUL":                            {func(c *Config) { program(c).Env[0].Value = "\x00" }, "program.env[0]: a NUL"},
		"a variable without a name":                        {func(c *Config) { program(c).Env[0].Name = "" }, "program.env[0]"},
		"a variable whose name has an equals sign":         {func(c *Config) { program(c).Env[0].Name = "A=B" }, "program.env[0]"},
		"a variable whose name begins with a digit":        {func(c *Config) { program(c).Env[0].Name = "1A" }, "program.env[0]"},
		"a variable whose name is a file's":                {func(c *Config) { program(c).Env[0].Name = "a.json" }, "program.env[0]"},
		"a variable twice":                                 {func(c *Config) { program(c).Env[1].Name = "TOKEN" }, `program.env[1]: "TOKEN" is there twice`},
		"a file in another folder":                         {func(c *Config) { program(c).Files[0].Name = "../x" }, "program.files[0]"},
		"a file that is a folder":                          {func(c *Config) { program(c).Files[0].Name = ".." }, "program.files[0]"},
		"a file at the root":                               {func(c *Config) { program(c).Files[0].Name = "/etc/x" }, "program.files[0]"},
		"a file twice":                                     {func(c *Config) { program(c).Files = append(program(c).Files, program(c).Files[0]) }, `program.files[1]: "settings.json" is there twice`},
		"OAuth and its header":                             {func(c *Config) { web(c).Headers[0].Name = "authorization" }, "exclude each other"},
		"OAuth with another grant":                         {func(c *Config) { web(c).OAuth.Grant = "password" }, `oauth.grant "password"`},
		"OAuth without a token's URL":                      {func(c *Config) { web(c).OAuth.TokenURL = "" }, "oauth.tokenURL"},
		"OAuth with credentials in a URL":                  {func(c *Config) { web(c).OAuth.TokenURL = "https://a:hunter2@h" }, "oauth.tokenURL"},
		"OAuth with a relative URL for the login":          {func(c *Config) { web(c).OAuth.AuthorizationURL = "/login" }, "oauth.authorizationURL"},
		"a page to connect that is relative":               {func(c *Config) { web(c).ConnectURL = "/oauth/connect" }, "connectURL must be an absolute"},
		"a page to connect without a login":                {func(c *Config) { web(c).OAuth = nil }, "connectURL must be"},
		"a page to connect what is a client by itself":     {func(c *Config) { web(c).OAuth.Grant = ClientCredentials; web(c).OAuth.Token = "" }, "connectURL must be"},
		"a page to connect a program":                      {func(c *Config) { c.Servers[1].ConnectURL = "https://h" }, "connectURL must be"},
		"OAuth without a client":                           {func(c *Config) { web(c).OAuth.ClientID = "" }, "oauth.clientID is empty"},
		"a login without a place for it":                   {func(c *Config) { web(c).OAuth.Token = "" }, "grant authorization_code needs"},
		"a client's credentials that are not there":        {func(c *Config) { web(c).OAuth.Grant, web(c).OAuth.ClientSecret = ClientCredentials, "" }, "grant client_credentials needs"},
		"a client's secret that is not granted":            {func(c *Config) { web(c).Secrets = []string{"LOGIN"} }, "oauth uses secret CLIENT"},
		"a login in a secret that is not granted":          {func(c *Config) { web(c).Secrets = []string{"CLIENT"} }, "oauth uses secret LOGIN"},
		"another trust":                                    {func(c *Config) { web(c).Trust = "blind" }, `trust "blind"`},
		"a fingerprint of another kind":                    {func(c *Config) { web(c).ToolsHash = "md5-00" }, `toolsHash "md5-00"`},
		"a fingerprint in capitals":                        {func(c *Config) { web(c).ToolsHash = "sha256-" + strings.Repeat("A", 64) }, "toolsHash"},
		"a version that is no date":                        {func(c *Config) { web(c).ProtocolVersion = "latest" }, `protocolVersion "latest"`},
		"a negative time to connect":                       {func(c *Config) { web(c).Timeouts.Connect = -1 }, "timeouts.connect is negative"},
		"a negative time to call":                          {func(c *Config) { web(c).Timeouts.Call = -1 }, "timeouts.call is negative"},
		"a negative time to be idle":                       {func(c *Config) { web(c).Timeouts.Idle = -1 }, "timeouts.idle is negative"},
		"a negative pause":                                 {func(c *Config) { web(c).Retry.Delay = -1 }, "retry.delay is negative"},
		"a negative time to keep results":                  {func(c *Config) { web(c).CacheTTL = -1 }, "cacheTTL is negative"},
		"a negative size":                                  {func(c *Config) { web(c).MaxResultBytes = -1 }, "maxResultBytes"},
		"fewer attempts than none":                         {func(c *Config) { web(c).Retry.MaxAttempts = -1 }, "retry.maxAttempts"},
		"more attempts than do any good":                   {func(c *Config) { web(c).Retry.MaxAttempts = 6 }, "retry.maxAttempts"},
		"a header with a secret that is no longer granted": {func(c *Config) { web(c).Headers[0].Value = "${TOKEN}" }, "secret TOKEN, which the server is not granted"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := complete()
			tt.change(&c)
			err := c.Validate()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error = %v, want one with %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error holds a secret: %v", err)
			}
			if _, encoding := c.Encode(); encoding == nil {
				t.Error("it was encoded")
			}
			if b, marshalling := json.Marshal(c); marshalling == nil {
				if _, parsing := Parse(b); parsing == nil {
					t.Error("it was parsed")
				}
			}
		})
	}
}

func TestDurationsAreTexts(t *testing.T) {
	tests := map[string]struct {
		in   string
		want Duration
		says string
	}{
		"seconds":       {`"30s"`, Duration(30 * time.Second), ""},
		"parts":         {`"1h2m3.5s"`, Duration(time.Hour + 2*time.Minute + 3500*time.Millisecond), ""},
		"none":          {`"0s"`, 0, ""},
		"a number":      {`30`, 0, `a duration must be a string such as "30s"`},
		"no unit":       {`"30"`, 0, `not "30"`},
		"another text":  {`"soon"`, 0, `not "soon"`},
		"an object":     {`{}`, 0, "a duration must be a string"},
		"a long text":   {`"` + strings.Repeat("x", 100) + `"`, 0, `"` + strings.Repeat("x", 40) + `"`},
		"more than can": {`"9999999h"`, 0, "a duration must be"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var d Duration
			err := json.Unmarshal([]byte(tt.in), &d)
			if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
				t.Fatalf("error = %v, want %q", err, tt.says)
			}
			if d != tt.want {
				t.Errorf("duration = %v, want %v", time.Duration(d), time.Duration(tt.want))
			}
		})
	}
}

func TestAllows(t *testing.T) {
	tests := map[string]struct {
		tools Tools
		tool  string
		want  bool
	}{
		"nothing said":             {Tools{}, "a", true},
		"allowed":                  {Tools{Allow: []string{"a"}}, "a", true},
		"not among the allowed":    {Tools{Allow: []string{"a"}}, "b", false},
		"denied":                   {Tools{Deny: []string{"a"}}, "a", false},
		"not among the denied":     {Tools{Deny: []string{"a"}}, "b", true},
		"allowed and denied":       {Tools{Allow: []string{"a"}, Deny: []string{"a"}}, "a", false},
		"in other letters allowed": {Tools{Allow: []string{"a"}}, "A", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.tools.Allows(tt.tool); got != tt.want {
				t.Errorf("allows = %v", got)
			}
		})
	}
}

func TestAServersTextsAndWhatTheyNeed(t *testing.T) {
	c := complete()
	want := []string{"node", "${CONFIG_DIR}/x", "${TOKEN}", "${TOKEN:-none}", "$$", `{"token":"${TOKEN}"}`}
	if diff := cmp.Diff(want, c.Servers[1].Templates()); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"TOKEN"}, c.Servers[1].Required()); diff != "" {
		t.Errorf("required (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"CLIENT", "LOGIN"}, c.Servers[0].Required()); diff != "" {
		t.Errorf("required for OAuth (-want +got):\n%s", diff)
	}
	c.Servers[1].Program.Command[2] = "x"
	c.Servers[1].Program.Files = nil
	if got := c.Servers[1].Required(); got != nil {
		t.Errorf("required where all have a default: %q", got)
	}
	if (Server{}).Kind() != StreamableHTTP || (Server{Transport: SSE}).Kind() != SSE {
		t.Error("the kinds are wrong")
	}
}
