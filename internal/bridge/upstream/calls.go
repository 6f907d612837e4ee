// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// calls holds the calls in flight on a connection, and finds the call that a message of the server
// belongs to.
type calls struct {
	conn *Conn

	exchanges []*inflight.Call // newest last
	used      time.Time        // when the last call ended
	serials   int
}

// progress passes on progress that did not come with the answer to its request.
func (c *calls) progress(params json.RawMessage) bool {
	x := c.callByProgress(params)
	if x == nil || x.Progress.Alias == "" {
		return false
	}
	x.Notify(methods.Progress, params)
	return true
}

// Origin returns the call that a server's request belongs to: the call in whose answer it came;
// else the newest call in flight, if all calls belong to one client; else nil.
func (c *calls) Origin(params *message.Params) *inflight.Call {
	x, _ := c.Whose(params)
	return x
}

// Whose returns the call like Origin. several says that the call cannot be told, because several clients
// have calls in flight.
func (c *calls) Whose(params *message.Params) (x *inflight.Call, several bool) {
	switch params.Call {
	case inflight.NoExchange:
		return nil, false
	case inflight.SeveralExchanges:
		return nil, true
	}
	if x := c.callBySerial(params.Call); x != nil {
		return x, false
	}
	return c.onlyClientCall()
}

// callBySerial returns the call in flight with this serial.
func (c *calls) callBySerial(serial string) *inflight.Call {
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	for _, x := range c.exchanges {
		if serial == x.Serial {
			return x
		}
	}
	return nil
}

// OnlyCall returns the call in flight if it is the only one, or nil.
func (c *calls) OnlyCall() *inflight.Call {
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	if len(c.exchanges) != 1 {
		return nil
	}
	return c.exchanges[0]
}

// Begin counts x as in flight until the returned function is called. It returns false if the
// connection takes no more calls. On a shared connection, the server sees a progress token that no
// other client chose.
func (c *calls) Begin(x *inflight.Call, params mcp.Params, shared bool) (end func(), ok bool) {
	level := ""
	if c.conn.Shared && x.Client != nil {
		level = x.Client.LogLevel() // Not below: a joining session holds its own lock when it takes l.mu.
	}
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	if inflight.Closed(c.conn.Life.retired) {
		return nil, false
	}
	c.serials++
	x.Serial = strconv.Itoa(c.serials)
	x.Follow(params, shared || c.conn.Shared)
	if c.conn.Shared && x.Client != nil {
		// A client that set no level gets the server's default, not the level of another client.
		x.Log.Level = level
		x.Log.Filter = x.Log.Level != "" || c.conn.Audience.level != ""
	}
	c.exchanges = append(c.exchanges, x)
	return func() {
		c.conn.mu.Lock()
		defer c.conn.mu.Unlock()
		c.exchanges = slices.DeleteFunc(c.exchanges, func(other *inflight.Call) bool { return other == x })
		c.used = time.Now()
		c.conn.Life.settle()
	}, true
}

// Quiet returns the time since the last call.
func (c *calls) Quiet(now time.Time) time.Duration {
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	if len(c.exchanges) > 0 {
		return 0
	}
	return now.Sub(c.used)
}

// touch records that the connection is about to be used.
func (c *calls) touch() {
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	c.used = time.Now()
}

// serialOf returns the serial of the call that a request of the server belongs to, which came in the answer
// to x; empty if the call is found when the request is handled. x is nil for a request that came with no
// answer.
func (c *calls) serialOf(x *inflight.Call) string {
	if x != nil {
		return x.Serial
	}
	if !c.conn.oneStream() {
		return ""
	}
	switch x, several := c.onlyClientCall(); {
	case several:
		return inflight.SeveralExchanges
	case x != nil:
		return x.Serial
	}
	return inflight.NoExchange
}

// onlyClientCall returns the call that a question without a serial belongs to: the newest call in
// flight if all calls belong to one client, else nil. The question of one client's call must not
// reach another client, which would answer for a call that it did not make.
func (c *calls) onlyClientCall() (found *inflight.Call, several bool) {
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	for _, x := range c.exchanges {
		if x.Delivery.Result() != nil || !methods.Of(x.Method).Asks {
			continue // Its server cannot ask it anything.
		}
		if found != nil && (x.Client == nil || x.Client != found.Client) {
			return nil, true // Clients without a session cannot be told apart.
		}
		found = x
	}
	return found, false
}

// notification passes a notification to its call, and reports whether it concerns no other client.
func (c *calls) notification(method string, params json.RawMessage) bool {
	var x *inflight.Call
	switch method {
	case methods.Progress:
		x = c.callByProgress(params)
	case methods.LogMessage:
		x = c.callLikely(func(x *inflight.Call) bool { return !x.Log.Filter || x.Wants(params) })
	case methods.ElicitationComplete:
		x = c.callLikely(func(x *inflight.Call) bool { return x.Ask != nil })
		if x != nil && x.Ask == nil {
			x = nil // Sessions are notified separately.
		}
	}
	if x == nil {
		return false
	}
	x.Outbox.Put(inflight.Notification{Method: method, Raw: params}, func(n inflight.Notification) { x.Notify(n.Method, n.Raw) })
	// It may also concern a session of the shared connection.
	return method != methods.ElicitationComplete || !c.conn.Shared
}

// callByProgress returns the call in flight with the notification's progress token.
func (c *calls) callByProgress(params json.RawMessage) *inflight.Call {
	var p struct {
		Token json.RawMessage `json:"progressToken"`
	}
	if json.Unmarshal(params, &p) != nil || p.Token == nil {
		return nil
	}
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	for _, x := range c.exchanges {
		shown := x.Progress.Token
		if x.Progress.Alias != "" {
			shown = x.Progress.Alias
		}
		if token, err := json.Marshal(shown); shown != nil && err == nil && string(token) == string(p.Token) {
			return x
		}
	}
	return nil
}

// callLikely returns the call that a message without a serial belongs to: the only call in flight,
// else the newest matching call, else nil.
func (c *calls) callLikely(fits func(*inflight.Call) bool) *inflight.Call {
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	var found *inflight.Call
	waiting := 0
	for _, x := range c.exchanges {
		if x.Delivery.Result() != nil {
			continue // It has its answer, after which no message follows.
		}
		waiting++
		if waiting == 1 || fits(x) {
			found = x
		}
	}
	if waiting > 1 && !fits(found) {
		return nil
	}
	return found
}
