// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
	"github.com/hostedbridge/hostedbridge/internal/bridge/health"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
)

// timing are the upstreams' intervals; tests shorten them.
type timing struct {
	// interval and timeout are those of the health probe.
	interval, timeout time.Duration
	// connect bounds one attempt to connect.
	connect time.Duration
	// wait is how long a request waits for a server that is not connected.
	wait time.Duration
	// login is how long a call waits for its user to log in.
	login time.Duration
	// grace is how long a call goes on with secrets that have changed.
	grace time.Duration
	// backoffMin and backoffMax bound the pause between attempts.
	backoffMin, backoffMax time.Duration
	// pace is the least time between two changes of one kind that a server's word
	// is taken for.
	pace time.Duration
}

var defaultTiming = timing{
	interval: health.Interval,
	timeout:  health.Timeout,
	// A server that starts on its first request may need a while.
	connect: 15 * time.Second,
	// Less than the 30 s after which common clients give a request up.
	wait: 10 * time.Second,
	// A browser in which somebody is logged in already needs a few; the whole
	// must stay below those 30 s.
	login: 15 * time.Second,
	// Some tools work for minutes, and some ask a person, who needs one or two;
	// a secret that others came to know must not be in use for much longer.
	grace:      5 * time.Minute,
	backoffMin: time.Second,
	// Not longer than the probe interval, so that a server that came back is
	// seen about as fast as one that never left.
	backoffMax: 30 * time.Second,
	// Nobody can follow a list that changes more often, and a server that says so
	// whenever it is asked would be asked without end.
	pace: time.Second,
}

// upstream is one server: its shared connection, its lists and its health.
type upstream struct {
	server config.Server
	timing timing
	// transport is the network below the connections.
	transport http.RoundTripper
	// login is that at a server with OAuth, else nil. Other servers may have it
	// too.
	login *login
	log   *slog.Logger
	owner peer
	// over is closed when the bridge ends.
	over <-chan struct{}
	// closing counts the connections that are being closed, of all servers: this
	// one may leave the configuration before they are gone.
	closing *sync.WaitGroup
	// changed is called after the lists changed.
	changed func(note string)
	// resumed is called after the shared connection was made.
	resumed func()

	changing paced // what a server says of its lists

	kick    chan struct{} // capacity 1: try to connect now
	refresh chan struct{} // capacity 1: a list changed

	mu      sync.Mutex
	grant   *grant
	links   map[*link]bool // the connections of grant
	link    *link
	settled chan struct{} // closed when link or tried changes
	tried   int           // attempts to connect that have ended
	lists   map[string][]item
	// introduction is what the server said of itself when it was last connected
	// to.
	introduction string
	health       health.Server
	watching     map[string]*interest // subscribed resources, by URI
	// followers are the legacy sessions among the subscribers, where these share
	// the connection.
	followers map[*session]map[string]bool
	// pinned is the protocol version that the server turned out to need.
	pinned string
	// reason is why the server cannot be reached, where somebody can do something
	// about it.
	reason string
	// expired says that the reason is that the user has to log in anew.
	expired bool
	// drifted is in what the tools differ from those that were audited, empty for
	// nothing.
	drifted string

	// changes is one more than how often the server said that its tools changed.
	changes atomic.Uint64
}

// item is one entry of a server's list.
type item struct {
	key    string // the name or URI
	raw    json.RawMessage
	hidden bool // whether its server is out of service
}

func newUpstream(s config.Server, network http.RoundTripper, t timing, log *slog.Logger) *upstream {
	if s.Timeouts.Connect > 0 {
		t.connect = time.Duration(s.Timeouts.Connect)
	}
	u := &upstream{
		server:    s,
		timing:    t,
		log:       log.With("server", s.Name),
		kick:      make(chan struct{}, 1),
		refresh:   make(chan struct{}, 1),
		links:     map[*link]bool{},
		settled:   make(chan struct{}),
		lists:     map[string][]item{},
		health:    health.New(time.Now()),
		watching:  map[string]*interest{},
		followers: map[*session]map[string]bool{},
	}
	u.changes.Store(1)
	u.transport = network
	if s.Kind() == config.StreamableHTTP {
		u.transport = &patience{next: network}
	}
	return u
}

// logsIn has what goes to the server carry the token of a login, nil for none.
func (u *upstream) logsIn(g *login) {
	if u.login = g; g != nil {
		u.transport = &only{server: g.transport(u.transport), others: u.transport, origin: originOf(u.server.URL)}
	}
}

// hop returns the bridge's id in the way of a request.
func (u *upstream) hop() string {
	if s, ok := u.owner.(*standIn); ok {
		return s.bridge.hopID()
	}
	return ""
}

// run keeps the shared connection until ctx ends.
func (u *upstream) run(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil {
		g := u.granted()
		if !g.usable() {
			u.idle(ctx, g)
			failures = 0
			continue
		}
		began := time.Now()
		err := u.session(ctx, g)
		if ctx.Err() != nil || g.over() {
			failures = 0
			continue
		}
		if err == nil {
			failures = 0
			continue
		}
		failures++
		u.observe(g, began, 0, err)
		u.pause(ctx, g, failures)
	}
}

// session connects and keeps the connection until it is of no use. It returns
// why there should be a pause before the next one, nil for no reason.
func (u *upstream) session(ctx context.Context, g *grant) error {
	l, err := u.connect(ctx, g)
	if err != nil {
		return err
	}
	began := time.Now()
	asleep := u.serve(ctx, l)
	if asleep {
		u.sleep(ctx, g)
		return nil
	}
	// A program that ends as soon as it has begun would otherwise be started in
	// a loop.
	if u.shares() && closed(l.gone) && time.Since(began) < u.timing.backoffMax {
		return l.end()
	}
	return nil
}

// end returns why the connection is gone.
func (l *link) end() error {
	if l.ended != nil {
		return l.guard(l.ended)
	}
	return errEnded
}

// idle waits for other secrets than those of g.
func (u *upstream) idle(ctx context.Context, g *grant) {
	if g.fault != "" {
		u.settle(nil) // so that nobody waits for this server
	}
	select {
	case <-ctx.Done():
	case <-g.life.Done():
	}
}

// connect makes the shared connection and reads the lists.
func (u *upstream) connect(ctx context.Context, g *grant) (*link, error) {
	ctx, end := follow(ctx, g.life)
	defer end()
	began := time.Now()
	l, err := u.reach(ctx, g)
	if err != nil {
		u.settle(nil)
		return nil, err
	}
	u.observe(g, began, u.count(methodListTools), nil)
	uris := u.settle(l)
	ctx, cancel := context.WithTimeout(ctx, u.timing.connect)
	defer cancel()
	u.resubscribe(ctx, l, uris...)
	u.resumed()
	return l, nil
}

// reach connects. A program that fails at the modern protocol's first question
// is started again and spoken to as all programs were before there was one.
func (u *upstream) reach(ctx context.Context, g *grant) (*link, error) {
	l, err := u.attempt(ctx, g)
	if err == nil || !u.shares() || u.version() != "" || ctx.Err() != nil {
		return l, err
	}
	if errors.Is(err, stdio.ErrNoShim) {
		return nil, err // It was not asked at all.
	}
	u.pin(newestLegacyVersion)
	l, second := u.attempt(ctx, g)
	if second != nil {
		u.pin("") // It was something else.
		return nil, err
	}
	return l, nil
}

// attempt connects once and reads the lists.
func (u *upstream) attempt(ctx context.Context, g *grant) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, u.timing.connect)
	defer cancel()
	who := identity{info: implementation, watch: true}
	if u.shares() {
		who.caps = everything()
	}
	l, err := dial(ctx, u, g, who, u.owner)
	if err != nil {
		return nil, err
	}
	if err := u.list(ctx, l); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// open connects once for other clients than the bridge itself.
func (u *upstream) open(ctx context.Context, who identity, p peer) (*link, error) {
	l, err := dial(ctx, u, u.granted(), who, p)
	if errors.Is(err, errStale) {
		// The secrets changed just now, which does not happen twice in a row.
		l, err = dial(ctx, u, u.granted(), who, p)
	}
	return l, err
}

// version returns the protocol version to begin with, empty for the newest.
func (u *upstream) version() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	legacyOnly := ""
	if u.server.Kind() == config.SSE {
		legacyOnly = newestLegacyVersion // The transport is older than the modern protocol, which has none like it.
	}
	return cmp.Or(u.server.ProtocolVersion, u.pinned, legacyOnly)
}

func (u *upstream) pin(version string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.pinned = version
}

// serve probes the connection until it is gone or of no use. It reports whether
// it ended only because nobody used it.
func (u *upstream) serve(ctx context.Context, l *link) (asleep bool) {
	defer func() {
		if l.dead() && l.grant == u.granted() {
			u.log.Info("the connection to the server ended")
		}
		u.settle(nil)
		l.retire()
	}()
	ticker := time.NewTicker(u.timing.interval)
	defer ticker.Stop()
	for failed := 0; failed < health.FailureThreshold; {
		due, asleep := u.await(ctx, l, ticker.C)
		if !due {
			return asleep
		}
		if err := u.probe(ctx, l); err != nil {
			failed++
		} else {
			failed = 0
		}
	}
	return false
}

// await waits until the connection is to be probed. It reports false where it is
// of no more use, and whether that is because nobody used it.
func (u *upstream) await(ctx context.Context, l *link, tick <-chan time.Time) (due, asleep bool) {
	for {
		tired := u.drowse(l)
		if tired == nil {
			return false, true
		}
		select {
		case <-ctx.Done():
			return false, false
		case <-l.gone:
			return false, false
		case <-l.retired:
			return false, false
		case <-tired:
		case <-u.refresh:
			return true, false
		case <-tick:
			return true, false
		}
	}
}

// probe reads the lists again, which also tells whether the server works.
func (u *upstream) probe(ctx context.Context, l *link) error {
	ctx, cancel := context.WithTimeout(ctx, u.timing.timeout)
	defer cancel()
	began := time.Now()
	err := u.list(ctx, l)
	if err == nil && l.capabilities().Tools == nil && l.era == legacy {
		err = l.guard(l.session.Ping(ctx, nil))
	}
	if ctx.Err() != nil && err == nil {
		err = ctx.Err()
	}
	u.observe(l.grant, began, u.count(methodListTools), err)
	return err
}

// observe records the outcome of a probe or of an attempt to connect. With
// secrets that are no longer those of the server it says nothing.
func (u *upstream) observe(g *grant, began time.Time, tools int, err error) {
	now := time.Now()
	p := health.Probe{At: now, Latency: now.Sub(began), Tools: tools}
	if err != nil {
		p.Failure = describe(err)
	}
	u.mu.Lock()
	if g != u.grant {
		u.mu.Unlock()
		return
	}
	before := u.health.Status
	if err != nil || u.drifted == "" {
		u.health = u.health.After(p)
	}
	u.reason, u.expired = reasonOf(err), loginFault(err) != nil
	after := u.health
	u.mu.Unlock()
	if after.Status != before {
		u.log.Info("server health changed", "from", before, "to", after.Status, "tools", after.Tools, "error", p.Failure)
	}
}

// list reads every list that the server offers.
func (u *upstream) list(ctx context.Context, l *link) error {
	caps := l.capabilities()
	offered := map[string]bool{
		methodListTools:     caps.Tools != nil,
		methodListPrompts:   caps.Prompts != nil,
		methodListResources: caps.Resources != nil,
		methodListTemplates: caps.Resources != nil,
	}
	state := u.changes.Load()
	lists := make(map[string][]item, len(offered))
	for method, ok := range offered {
		if !ok {
			continue
		}
		items, err := listAll(ctx, l, method)
		if err != nil && (method != methodListTemplates || !isMethodNotFound(err)) {
			return fmt.Errorf("%s: %w", method, err)
		}
		lists[method] = items
	}
	drifted := u.judge(lists[methodListTools])
	u.mu.Lock()
	if l.grant != u.grant {
		u.mu.Unlock()
		return errStale
	}
	was := u.drifted
	notes := u.accept(l, lists, drifted)
	u.mu.Unlock()
	switch {
	case drifted == "":
		l.vetted.Store(state)
		if was != "" {
			u.log.Info("server is back in service: its tools are those that were audited")
		}
	case drifted != was:
		u.log.Warn("server is out of service", "error", drifted)
	}
	for _, note := range notes {
		u.changed(note)
	}
	return nil
}

// changes returns the notifications of what differs between two states of the
// lists.
func changes(before, after map[string][]item) (notes []string) {
	for note, methods := range changeOf {
		for _, method := range methods {
			if !sameItems(before[method], after[method]) {
				notes = append(notes, note)
				break
			}
		}
	}
	return notes
}

// maxPages bounds a list, so that a server that never stops paging cannot hold
// the bridge.
const maxPages = 100

func listAll(ctx context.Context, l *link, method string) ([]item, error) {
	var items []item
	cursor := ""
	for range maxPages {
		p := &mcp.ListToolsParams{Cursor: cursor} // all four look the same on the wire
		result, err := l.query(ctx, method, p)
		if err != nil {
			return nil, err
		}
		page, err := itemsOf(method, result)
		if err != nil {
			return nil, err
		}
		items = append(items, page...)
		cursor = ""
		if raw, ok := result.fields["nextCursor"]; ok {
			_ = json.Unmarshal(raw, &cursor) // a cursor of another type is none
		}
		if cursor == "" {
			break
		}
	}
	return items, nil
}

// pause waits before the next attempt, or until somebody needs the server or
// its secrets change.
func (u *upstream) pause(ctx context.Context, g *grant, failures int) {
	d := u.timing.backoffMin << min(failures-1, 16)
	if d <= 0 || d > u.timing.backoffMax {
		d = u.timing.backoffMax
	}
	// Jitter, so that many bridges do not meet a returning server at once.
	timer := time.NewTimer(d/2 + rand.N(d/2+1)) //nolint:gosec // Spreading load needs no secret randomness.
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-g.life.Done():
	case <-timer.C:
	case <-u.kick:
		// Somebody waits; but a server that refuses is not asked in a loop.
		select {
		case <-ctx.Done():
		case <-time.After(u.timing.backoffMin / 4):
		}
	}
}

// settle publishes the shared connection, or that an attempt failed. It returns
// the resources to which l is to be subscribed: who comes later does so itself.
func (u *upstream) settle(l *link) (uris []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.link = l
	if l != nil {
		u.calm()
	}
	u.tried++
	close(u.settled)
	u.settled = make(chan struct{})
	return slices.Sorted(maps.Keys(u.watching))
}

// rouse has the server connected to now. The caller holds u.mu and has seen that
// there is no connection.
func (u *upstream) rouse() {
	select {
	case u.kick <- struct{}{}:
	default:
	}
}

// calm takes back what rouse asked for: it would have a connection that ends idle
// be made again for nobody. The caller holds u.mu and has seen a connection.
func (u *upstream) calm() {
	select {
	case <-u.kick:
	default:
	}
}

// shared returns the shared connection to a server that is in service, waiting a
// while for one that is not connected.
func (u *upstream) shared(ctx context.Context) (*link, error) {
	l, err := u.joined(ctx)
	if err == nil {
		err = u.drift()
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// joined is shared also for a server that has other tools than were audited.
func (u *upstream) joined(ctx context.Context) (*link, error) {
	timer := time.NewTimer(u.timing.wait)
	defer timer.Stop()
	first := -1
	for {
		now := u.look(&first)
		if now.link != nil || now.failure != nil {
			return now.link, now.failure
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
			return nil, now.away
		case <-now.settled:
		}
	}
}

// sight is what somebody sees who needs the shared connection.
type sight struct {
	link    *link // nil where there is none that is alive
	failure error // why there is none to wait for
	away    *unavailableError
	settled chan struct{}
}

// look returns how things are, and has the server connected to where there is
// something to wait for. first is the number of attempts that had ended at the
// first look, negative before.
func (u *upstream) look(first *int) sight {
	u.mu.Lock()
	defer u.mu.Unlock()
	if *first < 0 {
		*first = u.tried
	}
	now := sight{away: u.away(), settled: u.settled}
	switch {
	case u.grant.fault != "":
		now.failure = now.away
	case u.link.alive():
		now.link = u.link
		now.link.touch()
	case u.link == nil && u.tried >= *first+2:
		// The first attempt that ends may have begun before the server was
		// there; the second tells.
		now.failure = now.away
	default:
		u.rouse()
	}
	return now
}

// peek returns the shared connection if there is one.
func (u *upstream) peek() *link {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.link
}

func (u *upstream) items(method string) []item {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.lists[method]
}

// find returns the item of a list with that name or URI.
func (u *upstream) find(method, key string) (item, bool) {
	items := u.items(method)
	i := slices.IndexFunc(items, func(it item) bool { return it.key == key })
	if i < 0 {
		return item{}, false
	}
	return items[i], true
}

func (u *upstream) count(method string) int { return len(u.items(method)) }

func (u *upstream) report() health.Server {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.withLogin(u.health)
}

// awaitFirst waits until the first attempt to connect has ended.
func (u *upstream) awaitFirst(ctx context.Context) {
	timer := time.NewTimer(u.timing.wait)
	defer timer.Stop()
	u.mu.Lock()
	tried, settled := u.tried, u.settled
	u.mu.Unlock()
	if tried > 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-settled:
	}
}
