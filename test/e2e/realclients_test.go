// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e && clients

package e2e

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/clients"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

const (
	// windowTimeout bounds one run of a client. The longest limit of a client is a minute.
	windowTimeout = 100 * time.Second
	// windowsAtOnce is how many windows people have open.
	windowsAtOnce = 3
	// brokenName is the name of the server that is down. No client has it in its own texts.
	brokenName = "brokenserver"
)

// situation is what a client meets.
type situation struct {
	name string
	// holds reports whether the client must have the tools and their results.
	holds bool
	try   func(*testing.T, clients.Client) clients.Row
}

// situations are in the order of the page.
var situations = []situation{
	{"first connection", true, firstConnection},
	{"the bridge sleeps", true, bridgeSleeps},
	{"the bridge sleeps and was never used", true, bridgeSleepsUnused},
	{"three windows at once in tier free", true, threeWindows},
	{"a wrong key", false, wrongKey},
	{"no key", false, noKey},
	{"one of two servers is down", true, oneServerDown},
	{"a server beside it lists schemas that clients refuse", true, hostileList},
	{"the bridge's pod is deleted between two calls", true, podDeleted},
}

// TestClientsThatPeopleUseHaveTheirTools runs clients of npm as people do, and writes
// docs/clients.md. The situations of a client come one after the other.
func TestClientsThatPeopleUseHaveTheirTools(t *testing.T) {
	tables := make([]clients.Table, len(clients.All()))
	t.Run("client", func(t *testing.T) {
		for i, c := range clients.All() {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				tables[i] = tryAll(t, c)
			})
		}
	})
	if slices.ContainsFunc(tables, func(t clients.Table) bool { return len(t.Rows) < len(situations) }) {
		t.Log("docs/clients.md stays as it is: not all clients ran in all situations")
		return
	}
	intro := must.Value(os.ReadFile("../clients/page.md"))(t)
	must.Succeed(t, os.WriteFile("../../docs/clients.md", clients.Page(string(intro), tables), 0o644))
}

// tryAll has the client meet each situation.
func tryAll(t *testing.T, c clients.Client) clients.Table {
	t.Helper()
	table := clients.Table{Client: c, Version: must.Value(c.Version(clientModules(t)))(t)}
	for _, s := range situations {
		t.Run(s.name, func(t *testing.T) {
			row := s.try(t, c)
			row.Situation = s.name
			table.Rows = append(table.Rows, row)
			t.Logf("%+v", row)
			if s.holds && row.Cannot == "" && (row.Offered != row.Windows || row.Answered != row.Windows) {
				t.Errorf("%s had the tools in %d and their results in %d of %d windows, and says %q",
					c.Name, row.Offered, row.Answered, row.Windows, row.Words)
			}
		})
	}
	return table
}

func clientModules(t *testing.T) string {
	t.Helper()
	return must.Value(filepath.Abs("../clients/node_modules"))(t)
}

// window runs the client once with the URL and the key, and returns what came of it. It asks
// for as many calls, and calls between in the middle.
func window(t *testing.T, c clients.Client, url, key string, between ...func()) (clients.Row, clients.Window, clients.Seen) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), windowTimeout)
	defer cancel()
	reached, proceed := make(chan struct{}), make(chan struct{})
	model := &clients.Model{Tool: tool, Calls: 1 + len(between)}
	model.Between = func(ctx context.Context) {
		select {
		case reached <- struct{}{}:
			<-proceed
		case <-ctx.Done():
		}
	}
	vendor := httptest.NewServer(model)
	defer vendor.Close()
	defer vendor.CloseClientConnections()
	w := clients.Window{Modules: clientModules(t), Node: nodeProgram(t), Home: t.TempDir(), URL: url, Key: key, Model: vendor.URL}
	var row clients.Row
	var run sync.WaitGroup
	ended := make(chan struct{})
	run.Go(func() {
		defer close(ended)
		words, err := c.Run(ctx, w)
		row.Words = words
		if ctx.Err() != nil {
			row.Words += fmt.Sprintf(" (ended after %s)", windowTimeout)
		} else if err != nil {
			row.Words += fmt.Sprintf(" (%v)", err)
		}
	})
	select {
	case <-reached:
		for _, do := range between {
			do()
		}
	case <-ended:
	}
	close(proceed)
	run.Wait()
	seen := model.Seen()
	row.Windows = 1
	if slices.ContainsFunc(seen.Offered, func(name string) bool { return strings.HasSuffix(name, tool) }) {
		row.Offered = 1
	}
	failed := func(text string) bool { return !strings.Contains(text, toolText) }
	if len(seen.Results) == model.Calls && !slices.ContainsFunc(seen.Results, failed) {
		row.Answered = 1
	}
	return row, w, seen
}

// askStatus adds what the client's own command says.
func askStatus(t *testing.T, c clients.Client, w clients.Window, row *clients.Row) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), windowTimeout)
	defer cancel()
	row.Status = c.Status(ctx, w)
}

// newFreeTenant makes a tenant of tier free, whose quota no other window has used.
func newFreeTenant(t *testing.T, change ...func(*v1alpha1.HostedBridgeSpec)) tenant {
	t.Helper()
	n := tenant{name: installed.name("client-" + strings.ToLower(rand.Text()[:6])), key: mint(t)}
	b := bridge(n.name, []credential{n.key}, "good")
	b.Spec.Tier = "free"
	for _, do := range change {
		do(&b.Spec)
	}
	n.uid = create(t, b)
	awaitReady(t, n.name)
	return n
}

// onDemand has the bridge sleep when it is not used.
func onDemand(spec *v1alpha1.HostedBridgeSpec) {
	spec.DesiredState, spec.IdleTimeout = v1alpha1.StateOnDemand, &metav1.Duration{Duration: idleTimeout}
}

// beside adds a server.
func beside(name string, transport v1alpha1.Transport) func(*v1alpha1.HostedBridgeSpec) {
	return func(spec *v1alpha1.HostedBridgeSpec) {
		spec.Servers = append(spec.Servers, v1alpha1.Server{Name: name, Transport: transport})
	}
}

func firstConnection(t *testing.T, c clients.Client) clients.Row {
	n := newFreeTenant(t)
	row, _, _ := window(t, c, n.url(), n.key.secret)
	return row
}

// bridgeSleeps has a bridge that was used before it fell asleep.
func bridgeSleeps(t *testing.T, c clients.Client) clients.Row {
	n := newFreeTenant(t, onDemand)
	if row, _, _ := window(t, c, n.url(), n.key.secret); row.Answered == 0 {
		return row
	}
	fallAsleep(t, n)
	row, _, _ := window(t, c, n.url(), n.key.secret)
	return row
}

func bridgeSleepsUnused(t *testing.T, c clients.Client) clients.Row {
	n := newFreeTenant(t, onDemand)
	fallAsleep(t, n)
	row, _, _ := window(t, c, n.url(), n.key.secret)
	return row
}

func threeWindows(t *testing.T, c clients.Client) clients.Row {
	n := newFreeTenant(t)
	var rows [windowsAtOnce]clients.Row
	var all sync.WaitGroup
	for i := range rows {
		all.Go(func() { rows[i], _, _ = window(t, c, n.url(), n.key.secret) })
	}
	all.Wait()
	sum := rows[0]
	for _, row := range rows[1:] {
		sum.Windows += row.Windows
		sum.Offered += row.Offered
		sum.Answered += row.Answered
		if row.Answered == 0 {
			sum.Words = row.Words
		}
	}
	return sum
}

func wrongKey(t *testing.T, c clients.Client) clients.Row {
	n := newFreeTenant(t)
	row, w, _ := window(t, c, n.url(), mint(t).secret)
	askStatus(t, c, w, &row)
	return row
}

func noKey(t *testing.T, c clients.Client) clients.Row {
	n := newFreeTenant(t)
	row, w, _ := window(t, c, n.url(), "")
	askStatus(t, c, w, &row)
	return row
}

// oneServerDown also says whether the model is told which server is down.
func oneServerDown(t *testing.T, c clients.Client) clients.Row {
	n := newFreeTenant(t, beside(brokenName, v1alpha1.Transport{Type: v1alpha1.TransportStreamableHTTP, URL: "http://127.0.0.1:9/mcp"}))
	wait.NoError(t, wait.Limit, "the bridge knows that the server is down", func(context.Context) error {
		if report := healthOf(t, n); report.Servers[brokenName].Error == "" {
			return fmt.Errorf("/health says %+v", report.Servers[brokenName])
		}
		return nil
	})
	row, w, seen := window(t, c, n.url(), n.key.secret)
	askStatus(t, c, w, &row)
	switch {
	case c.NoModel:
	case strings.Contains(seen.Question, brokenName):
		row.Told = "the model is told which server is down"
	default:
		row.Told = "the model is not told that a server is down"
	}
	return row
}

// hostileServer lists tools whose schemas are valid, and make some clients refuse the list.
const hostileServer = `
const tools = [
  { name: "boolean_property", inputSchema: { type: "object", properties: { n: true, m: false } } },
  { name: "boolean_items", inputSchema: { type: "object", properties: { n: { type: "array", items: true } } } },
  { name: "no_type", inputSchema: {} },
];
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const serverInfo = { name: "hostile", version: "1" };
  const answers = {
    initialize: () => ({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo }),
    ping: () => ({}),
    "tools/list": () => ({ tools }),
  };
  if (id === undefined) return;
  const answer = answers[method] ? { result: answers[method]() } : { error: { code: -32601, message: "unknown method" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
});
`

func hostileList(t *testing.T, c clients.Client) clients.Row {
	n := newFreeTenant(t, beside("hostile", v1alpha1.Transport{
		Type: v1alpha1.TransportStdio, Stdio: &v1alpha1.Stdio{Image: installed.servers, Command: []string{"node", "-e", hostileServer}},
	}))
	wait.NoError(t, wait.Limit, "the hostile server's tools are listed", func(context.Context) error {
		if report := healthOf(t, n); report.Servers["hostile"].Tools == 0 {
			return fmt.Errorf("/health says %+v", report.Servers["hostile"])
		}
		return nil
	})
	row, _, _ := window(t, c, n.url(), n.key.secret)
	return row
}

func podDeleted(t *testing.T, c clients.Client) clients.Row {
	if c.OneCall != "" {
		return clients.Row{Cannot: c.OneCall}
	}
	n := newFreeTenant(t)
	row, _, _ := window(t, c, n.url(), n.key.secret, func() {
		old := bridgePod(t, n.uid)
		remove(t, old)
		wait.NoError(t, wait.Limit, "the bridge's process is another", func(ctx context.Context) error {
			return startedAgain(ctx, n, old)
		})
	})
	return row
}
