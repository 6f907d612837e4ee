// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package laptop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zalando/go-keyring"

	"github.com/hostedbridge/hostedbridge/internal/bridge/oauth"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const canary = "c4n4ry-s3cr3t"

func TestSecretsAreInAFileThatOnlyItsOwnerReads(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "hosted-bridge")
	s := OpenSecrets(folder, nil)
	if names, err := s.Names(); err != nil || names != nil {
		t.Errorf("names %q, %v", names, err)
	}
	for name, value := range map[string]string{"TOKEN": canary, "credentials.json": "{}"} {
		if inKeyring, err := s.Set(t.Context(), name, value); err != nil || inKeyring {
			t.Fatalf("%v, %v", inKeyring, err)
		}
	}
	for path, want := range map[string]fs.FileMode{folder: 0o700 | fs.ModeDir, s.Path(): 0o600, s.Path() + ".lock": 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	names, err := s.Names()
	if diff := cmp.Diff([]string{"TOKEN", "credentials.json"}, names); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if err := s.Delete(t.Context(), "TOKEN"); err != nil {
		t.Error(err)
	}
	if err := s.Delete(t.Context(), "TOKEN"); !errors.Is(err, ErrNoSecret) {
		t.Errorf("error = %v", err)
	}
	if b, err := os.ReadFile(s.Path()); err != nil || strings.Contains(string(b), canary) {
		t.Errorf("the deleted secret is still there, %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(folder, ".tmp-*")); err != nil || left != nil {
		t.Errorf("left behind %q, %v", left, err)
	}
}

func TestASecretsFileThatOthersReadIsRefused(t *testing.T) {
	s := OpenSecrets(t.TempDir(), nil)
	must.Value(s.Set(t.Context(), "TOKEN", canary))(t)
	must.Succeed(t, os.Chmod(s.Path(), 0o640))
	_, _, err := Resolver{Store: s, Getenv: os.Getenv}.Resolve(t.Context(), []string{"TOKEN"})
	if err == nil || !strings.Contains(err.Error(), "chmod 600 "+s.Path()) {
		t.Errorf("error = %v", err)
	}
	if _, err := s.Set(t.Context(), "OTHER", "x"); err == nil {
		t.Error("a secret was added to it")
	}
}

func TestWhatIsNoSecretIsRefused(t *testing.T) {
	s := OpenSecrets(t.TempDir(), nil)
	for name, tt := range map[string]struct{ name, value string }{
		"a name in small letters": {"token", "x"},
		"a name that is a path":   {"../X.Y", "x"},
		"no value":                {"TOKEN", ""},
		"a value that is too big": {"TOKEN", strings.Repeat("x", MaxSecret+1)},
	} {
		if _, err := s.Set(t.Context(), tt.name, tt.value); err == nil {
			t.Errorf("%s was stored", name)
		}
	}
	for name, content := range map[string]string{"not JSON": "{", "another file": `{"revision":"x"}`, "unknown fields": `{"x":1}`} {
		must.Succeed(t, os.WriteFile(s.Path(), []byte(content), 0o600))
		if _, err := s.Names(); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func TestSecretsAreInTheKeyringWhereThereIsOne(t *testing.T) {
	keyring.MockInit()
	folder := t.TempDir()
	k := systemKeyring{timeout: time.Minute}
	s := OpenSecrets(folder, k)
	if inKeyring, err := s.Set(t.Context(), "TOKEN", canary); err != nil || !inKeyring {
		t.Fatalf("%v, %v", inKeyring, err)
	}
	b, err := os.ReadFile(s.Path())
	if err != nil || strings.Contains(string(b), canary) || !strings.Contains(string(b), "TOKEN") {
		t.Errorf("the file is %s, %v", b, err)
	}
	r := Resolver{Store: s, Getenv: func(string) string { return "" }}
	values, unreadable, err := r.Resolve(t.Context(), []string{"TOKEN", "OTHER"})
	if diff := cmp.Diff(map[string][]byte{"TOKEN": []byte(canary)}, values); diff != "" || unreadable != nil || err != nil {
		t.Error(diff, unreadable, err)
	}
	// A change in the keyring shows in the file, which a running bridge follows.
	must.Value(s.Set(t.Context(), "TOKEN", "another"))(t)
	if after, err := os.ReadFile(s.Path()); err != nil || string(after) == string(b) {
		t.Errorf("the file did not change, %v", err)
	}
	// Without the keyring the secret is there and cannot be read.
	_, unreadable, err = Resolver{Store: OpenSecrets(folder, nil), Getenv: os.Getenv}.Resolve(t.Context(), []string{"TOKEN"})
	if diff := cmp.Diff([]string{"TOKEN"}, unreadable); diff != "" || !errors.Is(err, errNoKeyring) {
		t.Error(diff, err)
	}
	if err := OpenSecrets(folder, nil).Delete(t.Context(), "TOKEN"); !errors.Is(err, errNoKeyring) {
		t.Errorf("error = %v", err)
	}
	if err := s.Delete(t.Context(), "TOKEN"); err != nil {
		t.Error(err)
	}
	if _, err := k.Get(t.Context(), "TOKEN"); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("error = %v", err)
	}
	if err := k.Delete(t.Context(), "TOKEN"); err != nil {
		t.Error(err)
	}
}

func TestAKeyringThatFailsLeavesTheSecretToTheFile(t *testing.T) {
	keyring.MockInitWithError(errors.New("locked"))
	s := OpenSecrets(t.TempDir(), systemKeyring{timeout: time.Minute})
	if inKeyring, err := s.Set(t.Context(), "TOKEN", canary); err != nil || inKeyring {
		t.Fatalf("%v, %v", inKeyring, err)
	}
	values, _, err := Resolver{Store: s, Getenv: os.Getenv}.Resolve(t.Context(), []string{"TOKEN"})
	if string(values["TOKEN"]) != canary || err != nil {
		t.Errorf("%d values, %v", len(values), err)
	}
}

func TestAKeyringThatHangsIsLeftBehind(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	k := systemKeyring{timeout: time.Millisecond}
	if err := k.bounded(t.Context(), func() error { <-release; return nil }); !errors.Is(err, errKeyringTimeout) {
		t.Errorf("error = %v", err)
	}
}

func TestThereIsNoKeyringWithoutASession(t *testing.T) {
	env := map[string]string{"HOSTED_BRIDGE_SECRETS": "file", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/x"}
	if k := SystemKeyring(func(name string) string { return env[name] }); k != nil {
		t.Error("a keyring is used though the file is asked for")
	}
	if !sessionBus(func(name string) string { return env[name] }) {
		t.Error("the session is not seen")
	}
}

// TestWhereASecretComesFrom holds the order: the store, the .env file, the
// environment.
func TestWhereASecretComesFrom(t *testing.T) {
	s := OpenSecrets(t.TempDir(), nil)
	must.Value(s.Set(t.Context(), "A", "store"))(t)
	env := map[string]string{"A": "env", "B": "env", "C": "env", "EMPTY": "", "x.y": "env"}
	r := Resolver{Store: s, DotEnv: map[string]string{"A": "file", "B": "file", "x.y": ""}, Getenv: func(name string) string { return env[name] }}
	values, _, err := r.Resolve(t.Context(), []string{"A", "B", "C", "D", "EMPTY", "x.y"})
	want := map[string][]byte{"A": []byte("store"), "B": []byte("file"), "C": []byte("env")}
	if diff := cmp.Diff(want, values); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestChangesAtTheSameTimeAreAllKept(t *testing.T) {
	folder := t.TempDir()
	var all sync.WaitGroup
	for _, name := range []string{"A", "B", "C", "D", "E", "F", "G", "H"} {
		all.Go(func() {
			if err := OpenSecrets(folder, nil).Save(context.Background(), name, []byte("x")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if names, err := OpenSecrets(folder, nil).Names(); err != nil || len(names) != 8 {
		t.Errorf("%q, %v", names, err)
	}
}

func TestDotEnv(t *testing.T) {
	got := parseDotEnv("# mine\nA=1\n B = two words # note\nexport C=\"x#y \\\"z\\\" \\\\\"\nD='a # b'\n\nbroken\n=x\nE=\nF=a#b\r\n")
	want := map[string]string{"A": "1", "B": "two words", "C": `x#y "z" \`, "D": "a # b", "E": "", "F": "a#b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	path := filepath.Join(t.TempDir(), ".env")
	if values, err := ReadDotEnv(path); err != nil || len(values) != 0 {
		t.Errorf("%v, %v", values, err)
	}
	must.Succeed(t, os.WriteFile(path, []byte("A=1"), 0o644))
	if _, err := ReadDotEnv(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("error = %v", err)
	}
}

func TestFolders(t *testing.T) {
	f, err := FoldersOf(func(name string) string {
		return map[string]string{"HOME": "/home/a", "XDG_STATE_HOME": "relative"}[name]
	})
	want := Folders{
		Config: "/home/a/.config/hosted-bridge", State: "/home/a/.local/state/hosted-bridge", Data: "/home/a/.local/share/hosted-bridge", Home: "/home/a",
	}
	if diff := cmp.Diff(want, f); diff != "" || err != nil {
		t.Error(diff, err)
	}
	f, err = FoldersOf(func(name string) string {
		return map[string]string{"HOME": "/home/a", "XDG_CONFIG_HOME": "/etc/x"}[name]
	})
	if f.ConfigFile() != "/etc/x/hosted-bridge/config.json" || err != nil {
		t.Errorf("%s, %v", f.ConfigFile(), err)
	}
}

func TestABridgeKeepsItsID(t *testing.T) {
	f := Folders{State: t.TempDir()}
	first, err := f.BridgeUID("/a/config.json")
	if err != nil || len(first) != 32 {
		t.Fatalf("%q, %v", first, err)
	}
	if again, err := f.BridgeUID("/a/../a/config.json"); err != nil || again != first {
		t.Errorf("%q and %q, %v", first, again, err)
	}
	if other, err := f.BridgeUID("/b/config.json"); err != nil || other == first {
		t.Errorf("two configurations have the id %q, %v", other, err)
	}
}

func TestWriteFileFollowsALink(t *testing.T) {
	folder := t.TempDir()
	target, link := filepath.Join(folder, "target"), filepath.Join(folder, "link")
	must.Succeed(t, os.WriteFile(target, []byte("old"), 0o600))
	must.Succeed(t, os.Symlink(target, link))
	must.Succeed(t, WriteFile(link, []byte("new")))
	if b, err := os.ReadFile(target); err != nil || string(b) != "new" {
		t.Errorf("%s, %v", b, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone, %v", err)
	}
}

// rotating is an authorization server that rotates refresh tokens, and takes who
// shows a used one for a thief.
type rotating struct {
	*httptest.Server
	mu   sync.Mutex
	good int
	// during is called in each refresh, while it is the caller's turn.
	during func()
}

func newRotating(t *testing.T) *rotating {
	a := &rotating{during: func() {}}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if r.PostFormValue("refresh_token") != fmt.Sprintf("r%d", a.good) {
			t.Errorf("the refresh token %s is shown, and %d is the good one", r.PostFormValue("refresh_token"), a.good)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		a.during()
		a.good++
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"access_token":"a%[1]d","refresh_token":"r%[1]d","token_type":"Bearer","expires_in":60}`, a.good)
	}))
	t.Cleanup(a.Close)
	return a
}

// hurried is a clock by which an hour passes between two looks: each call
// refreshes.
type hurried struct {
	clock.System
	looks atomic.Int64
}

func (h *hurried) Now() time.Time { return time.Now().Add(time.Duration(h.looks.Add(1)) * time.Hour) }

// sharer is one process's share of a login: a store and a source of its own.
func sharer(t *testing.T, folder string, a *rotating) (*oauth.Source, *Secrets) {
	t.Helper()
	s := OpenSecrets(folder, nil)
	first, _ := must.Values(Resolver{Store: s, Getenv: os.Getenv}.Resolve(t.Context(), []string{"LOGIN"}))(t)
	transport := &http.Transport{}
	source := oauth.NewSource(bridgeconfig.OAuth{Grant: bridgeconfig.AuthorizationCode, TokenURL: a.URL, ClientID: "c", Token: "LOGIN"},
		func(string) (string, bool) { return string(first["LOGIN"]), true }, s.Save, &http.Client{Transport: transport}, &hurried{})
	source.TakeTurns(s.Turn)
	t.Cleanup(func() { source.Wipe(); transport.CloseIdleConnections() })
	return source, s
}

// used sends a request with the source's token, and returns that.
func used(t *testing.T, s *oauth.Source) string {
	t.Helper()
	sent := ""
	server := roundTripper(func(r *http.Request) (*http.Response, error) {
		sent = r.Header.Get("Authorization")
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
	})
	r := must.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://server.example", http.NoBody))(t)
	resp, err := s.Transport(server).RoundTrip(r)
	if err != nil {
		t.Error(err)
		return ""
	}
	resp.Body.Close()
	return sent
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestProcessesThatShareALoginRefreshItInTurn would show a used refresh token if
// one went on with what it has read at its start.
func TestProcessesThatShareALoginRefreshItInTurn(t *testing.T) {
	a, folder := newRotating(t), t.TempDir()
	must.Value(OpenSecrets(folder, nil).Set(t.Context(), "LOGIN", "r0"))(t)
	var all sync.WaitGroup
	for range 4 {
		source, _ := sharer(t, folder, a)
		all.Go(func() {
			for range 3 {
				used(t, source)
			}
		})
	}
	all.Wait()
}

// TestALoginThatComesDuringARefreshWins holds that tokens of the login before do
// not replace it.
func TestALoginThatComesDuringARefreshWins(t *testing.T) {
	a, folder := newRotating(t), t.TempDir()
	person := OpenSecrets(folder, nil)
	must.Value(person.Set(t.Context(), "LOGIN", "r0"))(t)
	source, _ := sharer(t, folder, a)
	a.during = func() {
		if _, err := person.Set(t.Context(), "LOGIN", "r7"); err != nil {
			t.Error(err)
		}
		a.during = func() {}
	}
	if got := used(t, source); got != "Bearer a1" {
		t.Errorf("sent %q", got)
	}
	values, _, err := Resolver{Store: person, Getenv: os.Getenv}.Resolve(t.Context(), []string{"LOGIN"})
	if string(values["LOGIN"]) != "r7" || err != nil {
		t.Errorf("the new login is gone, %v", err)
	}
	a.mu.Lock()
	a.good = 7
	a.mu.Unlock()
	if got := used(t, source); got != "Bearer a8" {
		t.Errorf("after the new login %q is sent", got)
	}
}

func TestATurnThatDoesNotComeIsNotWaitedForForEver(t *testing.T) {
	s := OpenSecrets(t.TempDir(), nil)
	_, end, err := s.Turn(t.Context(), "LOGIN")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Turn(ctx, "LOGIN"); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	end()
	if _, end, err = s.Turn(t.Context(), "LOGIN"); err != nil {
		t.Fatal(err)
	}
	end()
	if _, _, err := s.Turn(t.Context(), "../x"); err == nil {
		t.Error("a path was locked")
	}
}
