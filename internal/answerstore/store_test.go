// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package answerstore

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/internal/clock/clocktest"
	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMain(m *testing.M) {
	// The opener of a database ends with its last connection, a moment after Close.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("database/sql.(*DB).connectionOpener"))
}

// serve returns a client of the store in a file.
func serve(t *testing.T, path string, clock *clocktest.Clock) (Client, *Store) {
	t.Helper()
	s := must.Value(Open(t.Context(), path, clock))(t)
	mux := http.NewServeMux()
	s.Register(mux)
	server := httptest.NewServer(mux)
	c := Client{must.Value(jsoncall.New(server.URL, nil))(t)}
	t.Cleanup(func() {
		c.Calls.Close()
		server.Close()
		must.Succeed(t, s.Close())
	})
	return c, s
}

func expect(t *testing.T, c Client, bridge, view, want string) {
	t.Helper()
	if got := must.Value(c.Get(t.Context(), bridge, view))(t); string(got) != want {
		t.Errorf("%s of %s is %q, want %q", view, bridge, got, want)
	}
}

func TestAnAnswerIsItsBridgesAloneAndOutlivesTheProcess(t *testing.T) {
	path, clock := filepath.Join(t.TempDir(), "answers.db"), clocktest.New(0)
	t.Run("before", func(t *testing.T) {
		c, _ := serve(t, path, clock)
		must.Succeed(t, c.Put(t.Context(), "uid-alice", "tools", []byte("first")))
		must.Succeed(t, c.Put(t.Context(), "uid-alice", "tools", []byte("alice's")))
		must.Succeed(t, c.Put(t.Context(), "uid-bob", "tools", []byte("bob's")))
		expect(t, c, "uid-alice", "tools", "alice's")
		expect(t, c, "uid-bob", "tools", "bob's")
		expect(t, c, "uid-carol", "tools", "")
		expect(t, c, "uid-alice", "prompts", "")
	})
	c, _ := serve(t, path, clock)
	expect(t, c, "uid-alice", "tools", "alice's")
	if info := must.Value(os.Stat(path))(t); info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %s", info.Mode())
	}
}

func TestAnswersOfABridgeThatIsGoneAreRemoved(t *testing.T) {
	clock := clocktest.New(0)
	c, _ := serve(t, filepath.Join(t.TempDir(), "answers.db"), clock)
	for _, bridge := range []string{"uid-alice", "uid-bob", "uid-old"} {
		must.Succeed(t, c.Put(t.Context(), bridge, "tools", []byte(bridge)))
	}
	must.Succeed(t, c.Keep(t.Context(), []string{"uid-alice", "uid-old"}))
	expect(t, c, "uid-bob", "tools", "")
	clock.Advance(unusedFor - time.Minute)
	expect(t, c, "uid-alice", "tools", "uid-alice")
	clock.Advance(2 * time.Minute)
	must.Succeed(t, c.Keep(t.Context(), []string{"uid-alice", "uid-old"}))
	expect(t, c, "uid-alice", "tools", "uid-alice")
	expect(t, c, "uid-old", "tools", "")
	if err := c.Calls.Call(t.Context(), pathKeep, map[string]any{}, &jsoncall.Nothing{}); err == nil || !strings.Contains(err.Error(), "the bridges are missing") {
		t.Errorf("a question without bridges: %v", err)
	}
	expect(t, c, "uid-alice", "tools", "uid-alice")
}

func TestOneBridgesAnswersNeitherGrowWithoutEndNorTakeOthersRoom(t *testing.T) {
	clock := clocktest.New(0)
	c, s := serve(t, filepath.Join(t.TempDir(), "answers.db"), clock)
	s.maxOfBridge, s.maxTotal = 100, 250
	put := func(bridge, view string) {
		t.Helper()
		clock.Advance(time.Second)
		must.Succeed(t, c.Put(t.Context(), bridge, view, bytes.Repeat([]byte("x"), 30)))
	}
	kept := func(bridge string) (views []string) {
		for i := range 10 {
			if view := fmt.Sprint(i); must.Value(c.Get(t.Context(), bridge, view))(t) != nil {
				views = append(views, view)
			}
		}
		return views
	}
	put("bob", "0")
	for i := range 10 {
		put("alice", fmt.Sprint(i))
	}
	if got := kept("alice"); !slices.Equal(got, []string{"7", "8", "9"}) {
		t.Errorf("alice has %v", got)
	}
	if len(kept("bob")) != 1 {
		t.Error("another bridge took bob's room")
	}
	for _, bridge := range []string{"carol", "dave"} {
		for i := range 3 {
			put(bridge, fmt.Sprint(i))
		}
	}
	if got := slices.Concat(kept("bob"), kept("alice")); !slices.Equal(got, []string{"9", "8"}) && !slices.Equal(got, []string{"8", "9"}) {
		t.Errorf("what was used longest ago is kept: %v", got)
	}
	if err := c.Put(t.Context(), "alice", "large", make([]byte, MaxAnswer+1)); err == nil {
		t.Error("an answer of any size is kept")
	}
}

func TestAFileThatCannotBeReadIsBegunAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.db")
	must.Succeed(t, os.WriteFile(path, bytes.Repeat([]byte("no database "), 1000), 0o600))
	c, _ := serve(t, path, clocktest.New(0))
	must.Succeed(t, c.Put(t.Context(), "uid-alice", "tools", []byte("alice's")))
	expect(t, c, "uid-alice", "tools", "alice's")
}

func TestAStoreWithoutAFileRefusesCallsAndServesTheRest(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "missing", "answers.db"), clocktest.New(0))
	if err == nil {
		t.Fatal("it says nothing")
	}
	if _, err := s.get(t.Context(), Name{"uid-alice", "tools"}); err == nil {
		t.Error("get succeeds")
	}
	must.Succeed(t, s.Close())
}
