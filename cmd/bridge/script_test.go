// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// executables are what the scripts run besides the bridge.
var executables = map[string]func(){
	"bridge":  main,
	"notes":   notesServer,
	"npx":     notesServer, // whatever it is asked to fetch
	"npm":     fakeNPM,
	"node":    notesServer, // whatever it is asked to start
	"catalog": catalogServer,
	"mail":    mailServer,
	"client":  visitor,
	"heavy":   heavyServer,
}

func TestMain(m *testing.M) { testscript.Main(leakless{m}, executables) }

// leakless runs the tests and then looks for goroutines that they left.
type leakless struct {
	*testing.M
}

func (m leakless) Run() int {
	code := m.M.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// TestScripts runs testdata/script: what the commands do on a person's machine,
// to be read as documentation.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			recipes, err := filepath.Abs("../../config/recipes")
			if err != nil {
				return err
			}
			bridge, err := exec.LookPath("bridge")
			if err != nil {
				return err
			}
			for name, value := range map[string]string{
				"BRIDGE": bridge,
				"HOME":   home, "XDG_CONFIG_HOME": filepath.Join(home, ".config"), "XDG_STATE_HOME": filepath.Join(home, ".local", "state"),
				"XDG_DATA_HOME": filepath.Join(home, ".local", "share"), "PROGRAMS": filepath.Join(home, ".local", "share", "hosted-bridge", "programs"),
				// The tests' own machine may have a keyring, which is its person's.
				"HOSTED_BRIDGE_SECRETS": "file",
				// The race detector's exit takes a second without.
				"GORACE":  "atexit_sleep_ms=0",
				"CONFIG":  filepath.Join(home, ".config", "hosted-bridge"),
				"RECIPES": recipes,
			} {
				e.Setenv(name, value)
			}
			return os.MkdirAll(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"await":   await,
			"address": address,
			"load":    load,
			"pack":    pack,
			"serve":   serveRegistry,
			"find":    find,
		},
	})
}

// TestTheQuickStartIsRunToTheLetter compares the commands of docs/laptop.md's
// quick start with those of the script that runs them.
func TestTheQuickStartIsRunToTheLetter(t *testing.T) {
	t.Parallel()
	page := must.Value(os.ReadFile("../../docs/laptop.md"))(t)
	script := must.Value(os.ReadFile("testdata/script/quickstart.txtar"))(t)
	_, start, _ := strings.Cut(string(page), "## Quick start")
	start, _, _ = strings.Cut(start, "\n## ")
	commands := 0
	for line := range strings.Lines(start) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ ")
		if !ok {
			continue
		}
		commands++
		if want := "\nexec " + strings.ReplaceAll(command, "https://catalog.example.com", "$CATALOG") + "\n"; !strings.Contains(string(script), want) {
			t.Errorf("the script does not run %s", command)
		}
	}
	if commands < 5 {
		t.Errorf("the quick start has %d commands", commands)
	}
}

// await waits until a file holds a text: await FILE TEXT.
func await(ts *testscript.TestScript, _ bool, args []string) {
	deadline := time.After(wait.Limit)
	for {
		content, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && strings.Contains(string(content), args[1]) {
			return
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-deadline:
			ts.Fatalf("%s never holds %s: %s", args[0], args[1], content)
		}
	}
}

// load puts a file's text into a variable: load NAME FILE.
func load(ts *testscript.TestScript, _ bool, args []string) {
	await(ts, false, []string{args[1], "\n"})
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}

var served = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`)

// address puts the URL at which a bridge serves into a variable, and the address
// in it into another, from its log: address NAME FILE sets NAME and NAME_LISTEN.
func address(ts *testscript.TestScript, _ bool, args []string) {
	await(ts, false, []string{args[1], "/sse"})
	url := served.FindString(ts.ReadFile(args[1]))
	ts.Setenv(args[0], url)
	ts.Setenv(args[0]+"_LISTEN", strings.TrimPrefix(url, "http://"))
}

// notesServer is a server over stdio, whose tools say what they were started
// with.
func notesServer() {
	s := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "environment", Description: "Tells the environment"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Join(os.Environ(), "\n")}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Says it again"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Text string `json:"text"`
	}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "<" + in.Text + ">"}}, IsError: in.Text == "fail"}, nil, nil
	})
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}

// catalogServer serves the recipes of a folder, and writes its URL and its key:
// catalog FOLDER URLFILE KEYFILE. A recipe is signed by its member publisher,
// which is example if it has none and seed for the catalog's own, unless it has
// the member unsigned.
func catalogServer() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize)))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	folder := os.Args[1]
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, answer := range []string{"/recipes", "/catalog-key"} {
			if r.URL.Path == answer {
				// A file has the answer: what a real catalog says is tested there.
				_, _ = fmt.Fprintln(os.Stderr, r.URL)
				http.ServeFile(w, r, filepath.Join(folder, answer+".answer"))
				return
			}
		}
		id := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/api/recipes/"), "/download")
		b, err := os.ReadFile(filepath.Join(folder, filepath.Base(id)+".json"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(signedByItsPublisher(b, key))
	})}
	public, _ := key.Public().(ed25519.PublicKey)
	check(os.WriteFile(os.Args[3], []byte(recipe.FormatKey(public)+"\n"), 0o600))
	check(os.WriteFile(os.Args[2], []byte("http://"+l.Addr().String()+"\n"), 0o600))
	go func() {
		<-ctx.Done()
		_ = s.Close()
	}()
	_ = s.Serve(l)
}

func signedByItsPublisher(b []byte, key ed25519.PrivateKey) []byte {
	doc, err := jsondoc.Parse(b)
	check(err)
	publisher := "example"
	if p, there := doc.Get("publisher"); there {
		publisher = p.Text
	}
	if _, unsigned := doc.Get("unsigned"); !unsigned {
		doc, err = recipe.Sign(doc, key, publisher, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		check(err)
	}
	return doc.Indented()
}

// mailServer is a server that wants a token of its authorization server, which
// is at the same place and lets everybody in: mail URLFILE.
func mailServer() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	s := mcp.NewServer(&mcp.Implementation{Name: "mail", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "whoami"}, func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Extra.Header.Get("Authorization")}}}, nil, nil
	})
	server := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer token-of-") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		server.ServeHTTP(w, r)
	})
	discoverable(mux, "http://"+l.Addr().String())
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if id := q.Get("client_id"); strings.HasPrefix(id, "registered-") && id != "registered-"+q.Get("redirect_uri") {
			http.Error(w, "another redirect URI was registered", http.StatusBadRequest)
			return
		}
		http.Redirect(w, r, q.Get("redirect_uri")+"?code=c&state="+q.Get("state"), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		// The first token has ended already: the bridge must refresh it.
		expiry := map[bool]int{true: 1, false: 3600}[r.PostFormValue("grant_type") == "authorization_code"]
		_, _ = fmt.Fprintf(w, `{"access_token":"token-of-%[1]s","refresh_token":"after-%[1]s","token_type":"Bearer","expires_in":%[2]d}`, r.PostFormValue("grant_type"), expiry)
	})
	check(os.WriteFile(os.Args[1], []byte("http://"+l.Addr().String()+"\n"), 0o600))
	front := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() {
		<-ctx.Done()
		_ = front.Close()
	}()
	_ = front.Serve(l)
}

// discoverable lets clients find the authorization server of a server at a URL,
// and register themselves: a client's id is its redirect URI.
func discoverable(mux *http.ServeMux, url string) {
	say := func(path, document string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, strings.ReplaceAll(document, "URL", url))
		})
	}
	say("/.well-known/oauth-protected-resource/mcp", `{"resource":"URL/mcp","authorization_servers":["URL"]}`)
	say("/.well-known/oauth-authorization-server", `{"issuer":"URL","authorization_endpoint":"URL/authorize","token_endpoint":"URL/token",
		"registration_endpoint":"URL/register","response_types_supported":["code"],"code_challenge_methods_supported":["S256"]}`)
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			RedirectURIs []string `json:"redirect_uris"`
		}
		check(json.NewDecoder(r.Body).Decode(&asked))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		check(json.NewEncoder(w).Encode(map[string]any{"client_id": "registered-" + asked.RedirectURIs[0], "redirect_uris": asked.RedirectURIs}))
	})
}

// visitor connects as a client does and prints the names of the tools, or calls
// one: client http|sse|stdio|modern URL|PROGRAM [TOOL ARGS].
func visitor() {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Limit)
	defer cancel()
	var transport mcp.Transport
	switch os.Args[1] {
	case "sse":
		transport = &mcp.SSEClientTransport{Endpoint: os.Args[2]}
	case "stdio":
		program := strings.Fields(os.Args[2])
		cmd := exec.Command(program[0], program[1:]...)
		cmd.Stderr = os.Stderr
		transport = &mcp.CommandTransport{Command: cmd}
	default:
		transport = &mcp.StreamableClientTransport{Endpoint: os.Args[2], DisableStandaloneSSE: true}
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
	version := map[bool]string{true: "2026-07-28", false: "2025-11-25"}[os.Args[1] == "modern"]
	session, err := c.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	check(err)
	defer session.Close()
	if len(os.Args) > 3 {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: os.Args[3], Arguments: json.RawMessage(os.Args[4])})
		check(err)
		for _, content := range result.Content {
			if text, ok := content.(*mcp.TextContent); ok {
				fmt.Println(text.Text)
			}
		}
		return
	}
	tools, err := session.ListTools(ctx, nil)
	check(err)
	for _, tool := range tools.Tools {
		fmt.Println(tool.Name)
	}
	fmt.Println("version", session.InitializeResult().ProtocolVersion)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
