// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	_ "embed" // The scripts.
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/database/redisdb"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

const (
	// defaultTimeout is how long a request waits for the shared store before
	// its replica goes on alone: hundreds of times what one takes in a cluster.
	defaultTimeout = 50 * time.Millisecond
	// prefix begins every key, so that the store can be shared with other
	// programs.
	prefix = "hostedbridge:quota:"
	// leaseFor is how long a replica's calls in flight count after its last
	// report.
	leaseFor = 30 * time.Second
	// tellAtOnce is how many users one report to the store covers. The store
	// needs some milliseconds for it, and answers no other request meanwhile.
	tellAtOnce = 200
	// tellTimeout is how long it has for that. No call waits for it.
	tellTimeout = 2 * time.Second
)

//go:embed take.lua
var takeSource string

//go:embed beat.lua
var beatSource string

//go:embed tell.lua
var tellSource string

var takeScript, beatScript, tellScript = redis.NewScript(takeSource), redis.NewScript(beatSource), redis.NewScript(tellSource)

// errForgotten says that the store has lost what it knew, and has done nothing.
var errForgotten = errors.New("the store has lost what it knew")

// Redis says where the shared store is.
type Redis struct {
	// URL is redis://host:port/database, or rediss:// with TLS. A user's name
	// may be in it, a password not.
	URL string
	// Password returns the password, empty for none. It is called for each new
	// connection.
	Password func() (string, error)
	// TLS is used with rediss://; nil for the system's roots.
	TLS *tls.Config
	// Timeout is how long a request waits for it, 50 ms if zero.
	Timeout time.Duration
}

// link is the connection to the shared store.
type link struct {
	client  *redis.Client
	teller  *redis.Client // with time for more
	replica string
	timeout time.Duration
	// up is whether it is asked, and memory what it is asked for.
	up     atomic.Bool
	memory atomic.Pointer[memory]
	// learning is held by the goroutine that asks whether the store's memory
	// has changed.
	learning sync.Mutex
	// ahead is by how much its clock is ahead of ours, in nanoseconds.
	ahead atomic.Int64
	// replicas is how many replicas were counted when the store last answered.
	replicas atomic.Int64
	// untold are the bridges whose calls must be reported, and telling receives
	// when there is one.
	untold  sync.Map
	telling chan struct{}
}

// memory is one time in which the store has answered and kept what it was told.
type memory struct {
	// epoch counts them.
	epoch int64
	// marker is the store's own name for it.
	marker string
}

// ParseURL reads a store's URL. Its errors do not quote it.
func ParseURL(raw string) (*redis.Options, error) {
	o, err := redisdb.Parse(raw)
	if err != nil {
		return nil, err
	}
	// An empty password too: the URL's author expects that it counts.
	if u, err := url.Parse(raw); err != nil || hasPassword(u) {
		return nil, errors.New("the URL must not have a password in it, which everybody could read in the process list; give it in a file or in the environment")
	}
	return o, nil
}

func hasPassword(u *url.URL) bool {
	_, set := u.User.Password()
	return set
}

func newLink(r Redis) (*link, error) {
	if _, err := ParseURL(r.URL); err != nil {
		return nil, fmt.Errorf("quota store: %w", err)
	}
	if r.Timeout <= 0 {
		r.Timeout = defaultTimeout
	}
	o, err := redisdb.Options(redisdb.Config{URL: r.URL, Password: r.Password, TLS: r.TLS, Timeout: r.Timeout})
	if err != nil {
		return nil, fmt.Errorf("quota store: %w", err)
	}
	patient := *o
	patient.ReadTimeout, patient.WriteTimeout, patient.PoolTimeout = tellTimeout, tellTimeout, tellTimeout
	patient.PoolSize = 1
	l := &link{
		client: redis.NewClient(o), teller: redis.NewClient(&patient),
		replica: rand.Text(), timeout: r.Timeout, telling: make(chan struct{}, 1),
	}
	l.memory.Store(&memory{})
	return l, nil
}

// reply is what the script answers.
type reply struct {
	refused quota.Limit
	wait    time.Duration
	now     time.Time
	state   quota.State
}

// inquiry is what the script is asked.
type inquiry struct {
	bridge   types.UID
	tier     quota.Tier
	want     quota.Want
	inFlight slots
	// marker is that of the memory that the store should have.
	marker string
	// alone means that this replica counted by itself since it last asked, and
	// seen and debt then are what it knows.
	alone bool
	seen  quota.State
	debt  quota.Debt
}

// args returns the script's arguments, in its order.
func (l *link) args(q inquiry) []any {
	t, slot := q.tier, 0
	if q.want.Slot != quota.None {
		slot = index(q.want.Slot) + 1
	}
	args := []any{
		q.want.Requests, t.PerMinute, t.PerHour, t.PerDay, t.Burst, t.Interval(),
		l.replica, q.inFlight[0], q.inFlight[1], t.ConcurrentCalls, t.Streams, slot, leaseFor.Microseconds(), q.marker,
	}
	if q.alone {
		for i, w := range q.seen.Windows {
			args = append(args, w.Start, w.Used, q.debt.Windows[i].Start, q.debt.Windows[i].Used)
		}
	}
	return args
}

// The keys that all users share.
const (
	replicasKey = prefix + "replicas"
	markerKey   = prefix + "marker"
)

func key(bridge types.UID) []string { return []string{prefix + "user:" + string(bridge)} }

// take runs the script. It returns errForgotten when the store has another
// memory.
func (l *link) take(ctx context.Context, q inquiry) (reply, error) {
	// A client that leaves is no failure of the store.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.timeout)
	defer cancel()
	values, err := takeScript.Run(ctx, l.client, append(key(q.bridge), markerKey), l.args(q)...).Int64Slice()
	if err != nil {
		return reply{}, err
	}
	return parseReply(values)
}

func parseReply(v []int64) (reply, error) {
	if len(v) == 1 && v[0] == -1 {
		return reply{}, errForgotten
	}
	// The script counts refusals as Limit does.
	if len(v) != 10 || v[0] < int64(quota.None) || v[0] > int64(quota.Streams) {
		return reply{}, errors.New("the script's answer has another form than ours")
	}
	r := reply{refused: quota.Limit(v[0]), wait: time.Duration(v[1]) * time.Microsecond, now: time.UnixMicro(v[2])}
	for i := range r.state.Windows {
		r.state.Windows[i] = quota.Window{Start: v[3+2*i], Used: v[4+2*i]}
	}
	r.state.Next = v[9]
	return r, nil
}

// beat tells the store of this replica, notes how many there are, and returns
// the store's marker.
func (l *link) beat(ctx context.Context) (marker string, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	answer, err := beatScript.Run(ctx, l.client, []string{replicasKey, markerKey}, l.replica, int(replicaFor.Seconds()), rand.Text()).Slice()
	if err != nil {
		return "", err
	}
	if len(answer) == 2 {
		n, isNumber := answer[0].(int64)
		marker, isText := answer[1].(string)
		if isNumber && isText {
			l.replicas.Store(n)
			return marker, nil
		}
	}
	return "", errors.New("the script's answer has another form than ours")
}

// tell reports to the store what is in flight of several users, tellAtOnce at
// most.
func (l *link) tell(ctx context.Context, told map[types.UID]slots) error {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	err := l.tellBy(ctx, told)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		if err = tellScript.Load(ctx, l.teller).Err(); err == nil {
			err = l.tellBy(ctx, told)
		}
	}
	return err
}

func (l *link) tellBy(ctx context.Context, told map[types.UID]slots) error {
	pipe := l.teller.Pipeline()
	for bridge, inFlight := range told {
		tellScript.EvalSha(ctx, pipe, key(bridge), l.replica, inFlight[0], inFlight[1], leaseFor.Microseconds())
	}
	_, err := pipe.Exec(ctx)
	return err
}

// leave removes this replica from the store.
func (l *link) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	// If the store is unavailable, its entry expires by itself.
	_ = l.client.ZRem(ctx, replicasKey, l.replica).Err()
	_ = l.client.Close()
	_ = l.teller.Close()
}
