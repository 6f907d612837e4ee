// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package laptop

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// lookup knows these values.
func lookup(values map[string]string) LookupFunc {
	return func(name string) (string, bool) { value, there := values[name]; return value, there }
}

// TestEveryFormatBecomesAConfiguration reads the pairs in testdata: a file as a
// program has it, and the bridge's configuration with the warnings.
func TestEveryFormatBecomesAConfiguration(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.in.json")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("%d inputs, %v", len(inputs), err)
	}
	for _, input := range inputs {
		t.Run(strings.TrimSuffix(filepath.Base(input), ".in.json"), func(t *testing.T) {
			b := must.Value(os.ReadFile(input))(t)
			loaded := must.Value(Parse(b))(t)
			c := must.Value(loaded.File.Config("uid", lookup(map[string]string{"TENANT": "acme", "CLIENT_ID": "id-1"})))(t)
			encoded := must.Value(c.Encode())(t)
			got := "// " + string(loaded.Format) + "\n"
			for _, w := range loaded.Warnings {
				got += "// " + w + "\n"
			}
			got += strings.ReplaceAll(string(encoded), `{"name"`, "\n{\"name\"") + "\n"
			golden := strings.Replace(input, ".in.json", ".out.txt", 1)
			if os.Getenv("UPDATE_GOLDEN") != "" {
				must.Succeed(t, os.WriteFile(golden, []byte(got), 0o600))
			}
			want := must.Value(os.ReadFile(golden))(t)
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAFileThatIsNotUnderstoodIsRefused(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"an unknown field":                   {`{"servers":{"a":{"url":"https://a","token":"x"}}}`, "servers.a.token: unknown field"},
		"everything wrong at once":           {`{"Mode":"x","servers":{"a":{"url":1},"b":{"tools":{"allow":"x"}}}}`, "Mode: unknown field; servers.a.url: must be a string, not a number; servers.b.tools.allow: must be an array"},
		"neither a program nor a URL":        {`{"servers":{"a":{}}}`, "servers.a: command or url is required"},
		"both":                               {`{"servers":{"a":{"command":"x","url":"https://a"}}}`, "exclude each other"},
		"a program with headers":             {`{"servers":{"a":{"command":"x","headers":{"A":"b"}}}}`, "a program has no"},
		"a URL with arguments":               {`{"servers":{"a":{"url":"https://a","args":["x"]}}}`, "has no args"},
		"a type that is none":                {`{"servers":{"a":{"url":"https://a","type":"ws"}}}`, "neither http nor sse"},
		"a client's secret in the open":      {`{"servers":{"a":{"url":"https://a","auth":{"grant":"client_credentials","tokenURL":"https://t","clientID":"c","clientSecret":"s3cr3t"}}}}`, "auth.clientSecret must be one secret"},
		"a grant that is none":               {`{"servers":{"a":{"url":"https://a","auth":{"grant":"magic","tokenURL":"https://t","clientID":"c"}}}}`, "oauth.grant"},
		"a dollar sign that begins nothing":  {`{"servers":{"a":{"command":"x","args":["$HOME"]}}}`, "dollar sign"},
		"a template that is broken in a URL": {`{"servers":{"a":{"url":"https://${A"}}}`, "url: $ at position"},
		"a duration that is a number":        {`{"servers":{"a":{"url":"https://a","timeouts":{"call":30}}}}`, "servers.a.timeouts.call: a duration must be a string"},
		"a server twice":                     {`{"servers":{"a":{"url":"https://a"},"a":{"url":"https://b"}}}`, "twice"},
		"VS Code's with a rule of ours":      {`{"inputs":[],"servers":{"a":{"type":"stdio","command":"x","tools":{"deny":["y"]}}}}`, "servers.a.tools would have no effect"},
		"two logins in one secret":           {`{"servers":{"my-app":{"url":"https://a","auth":{"grant":"authorization_code","tokenURL":"https://t","clientID":"c"}},"my_app":{"url":"https://b","auth":{"grant":"authorization_code","tokenURL":"https://t","clientID":"c"}}}}`, "OAUTH_MY_APP, which is that of my-app"},
		"a list":                             {"[]", "not a JSON object"},
		"a comment":                          {"{\n// mine\n}", "line 2"},
		"a client's with a wrong type":       {`{"mcpServers":{"a":{"command":["x"]}}}`, "mcpServers.a.command: must be a string"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			loaded, err := Parse([]byte(tt.in))
			if err == nil {
				_, err = loaded.File.Config("uid", lookup(nil))
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("error = %v", err)
			}
		})
	}
}

// TestAMissingPartOfAURLDisablesItsServerAlone holds that the server asks for a
// secret that is not set, which takes it out of service.
func TestAMissingPartOfAURLDisablesItsServerAlone(t *testing.T) {
	loaded, err := Parse([]byte(`{"servers":{"a":{"url":"https://${TENANT}.example.com/mcp"},"b":{"url":"https://b.example.com"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	c := must.Value(loaded.File.Config("uid", lookup(nil)))(t)
	if diff := cmp.Diff([]string{"TENANT"}, c.Servers[0].Required()); diff != "" || c.Servers[0].URL != unresolved {
		t.Errorf("url %s, %s", c.Servers[0].URL, diff)
	}
	if c.Servers[1].URL != "https://b.example.com" || len(c.Servers[1].Secrets) != 0 {
		t.Errorf("the other server is %+v", c.Servers[1])
	}
	if diff := cmp.Diff([]string{"TENANT"}, SecretNames(c)); diff != "" {
		t.Error(diff)
	}
}

func TestAFileKeepsItsServersWhenItIsWritten(t *testing.T) {
	in := `{"mode":"router","servers":{"z":{"url":"https://z","type":"sse","auth":{"grant":"client_credentials","tokenURL":"https://t","clientID":"c","clientSecret":"${S}"}},"a":{"command":"x","args":["<y>"],"env":{"B":"1","A":"2"},"files":{"f":"c"}}}}`
	first := must.Value(Parse([]byte(in)))(t)
	encoded := must.Value(first.File.Encode())(t)
	second := must.Value(Parse(encoded))(t)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
	c := must.Value(first.File.Config("uid", lookup(nil)))(t)
	for i, s := range c.Servers {
		if diff := cmp.Diff(first.File.Servers[i].Value, FromConfig(s)); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := (File{}).Config("uid", nil); err != nil {
		t.Error(err)
	}
	if got, err := (File{}).Encode(); err != nil || string(got) != "{\n  \"servers\": {}\n}\n" {
		t.Errorf("an empty file is %s, %v", got, err)
	}
	if c, err := (File{Mode: bridgeconfig.Router, Servers: first.File.Servers[:1]}).Config("uid", nil); err != nil || c.Mode != bridgeconfig.Router {
		t.Errorf("%+v, %v", c, err)
	}
}

func FuzzParse(f *testing.F) {
	inputs := must.Value(filepath.Glob("testdata/*.in.json"))(f)
	for _, input := range inputs {
		b := must.Value(os.ReadFile(input))(f)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		loaded, err := Parse(b)
		if err != nil {
			return
		}
		c, err := loaded.File.Config("uid", lookup(nil))
		if err != nil {
			return
		}
		if _, err := c.Encode(); err != nil {
			t.Errorf("a configuration that does not encode: %v", err)
		}
	})
}

// TestATypeDoesNotTakeAFileFromUs holds what was dropped if our own file named
// the type of a program.
func TestATypeDoesNotTakeAFileFromUs(t *testing.T) {
	for in, want := range map[string]Format{
		`{"mode":"router","servers":{"a":{"type":"stdio","command":"x"}}}`:              Ours,
		`{"servers":{"a":{"type":"stdio","command":"x","tools":{"deny":["y"]}}}}`:       Ours,
		`{"servers":{"a":{"type":"stdio","command":"x"}}}`:                              VSCode,
		`{"servers":{"a":{"type":"stdio","command":"x","envFile":".env"}},"inputs":[]}`: VSCode,
	} {
		loaded, err := Parse([]byte(in))
		if err != nil || loaded.Format != want {
			t.Errorf("%s: %s, %v", in, loaded.Format, err)
			continue
		}
		c, err := loaded.File.Config("uid", lookup(nil))
		if err != nil || want == Ours && c.Mode != bridgeconfig.Router && len(c.Servers[0].Tools.Deny) == 0 {
			t.Errorf("%s: %+v, %v", in, c, err)
		}
	}
}

// TestOneEntryOfAnotherProgramsFileDoesNotCostTheOthers holds that each is left
// out or adapted, and said so.
func TestOneEntryOfAnotherProgramsFileDoesNotCostTheOthers(t *testing.T) {
	for name, tt := range map[string]struct{ in, server, warning string }{
		"a name that no server has here":    {`{"mcpServers":{"@acme/x":{"command":"x"},"b":{"command":"y"}}}`, "acme-x", `is called "acme-x" here`},
		"a transport that is not known":     {`{"mcpServers":{"a":{"type":"ws","url":"wss://a"},"b":{"command":"y"}}}`, "b", `"a" is left out`},
		"headers of a program":              {`{"mcpServers":{"a":{"command":"x","headers":{"A":"b"}},"b":{"command":"y"}}}`, "a", "gets no headers"},
		"two URLs":                          {`{"mcpServers":{"a":{"url":"https://a","serverUrl":"https://b"},"b":{"command":"y"}}}`, "a", "several URLs"},
		"two names that become one":         {`{"mcpServers":{"a/b":{"command":"x"},"a-b":{"command":"z"},"b":{"command":"y"}}}`, "a-b", "is left out"},
		"more attempts than a bridge makes": {`{"retry":{"maxAttempts":9},"resultCache":{"maxEntries":5},"servers":{"a":{"transport":"stdio","command":"x"},"b":{"transport":"stdio","command":"y"}}}`, "a", "is 5 here"},
		"entries of a cache":                {`{"resultCache":{"maxEntries":5},"servers":{"b":{"transport":"stdio","command":"y"}}}`, "b", "resultCache.maxEntries"},
		"mcp-bridge's unknown transport":    {`{"servers":{"a":{"transport":"pigeon","command":"x"},"b":{"transport":"stdio","command":"y"}}}`, "b", "must be one of stdio"},
	} {
		t.Run(name, func(t *testing.T) {
			loaded := must.Value(Parse([]byte(tt.in)))(t)
			c, err := loaded.File.Config("uid", lookup(nil))
			if err != nil || c.Servers[0].Name != tt.server || c.Servers[len(c.Servers)-1].Name != "b" || !strings.Contains(strings.Join(loaded.Warnings, "\n"), tt.warning) {
				t.Errorf("%+v, %q, %v", c.Servers, loaded.Warnings, err)
			}
		})
	}
}

func TestServersKeepTheNamesOfTheirToolsInTheFile(t *testing.T) {
	for name, tt := range map[string]struct {
		steps []string
		want  string
	}{
		"one":                               {[]string{"+a"}, "none"},
		"a second one":                      {[]string{"+a", "+b"}, `"a"`},
		"a third one":                       {[]string{"+a", "+b", "+c"}, `"a"`},
		"replaced":                          {[]string{"+a", "+a"}, "none"},
		"the first one goes":                {[]string{"+a", "+b", "-a"}, `"a"`},
		"all go":                            {[]string{"+a", "+b", "-a", "-b", "+c"}, "none"},
		"one that came with others is left": {[]string{"file", "-a"}, `""`},
		"and has company again":             {[]string{"file", "-a", "+c"}, `""`},
		"one of three goes":                 {[]string{"file", "+c", "-a"}, "none"},
		"what is not there is removed":      {[]string{"+a", "-b"}, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			f := NewFile()
			for _, step := range tt.steps {
				switch {
				case step == "file":
					f.Servers = jsondoc.Ordered[Server]{{Name: "a"}, {Name: "b"}}
				case step[0] == '+':
					f.Put(step[1:], Server{})
				default:
					_, there := f.Servers.Get(step[1:])
					if f.Remove(step[1:]) != there {
						t.Errorf("%s: it was there: %v", step, there)
					}
				}
			}
			got := "none"
			if f.Unprefixed != nil {
				got = fmt.Sprintf("%q", *f.Unprefixed)
			}
			if got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}
