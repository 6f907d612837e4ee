// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	_ "embed" // The scripts.
	"errors"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/database/redisdb"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/internal/quota/counter"
)

const (
	// defaultTimeout is how long a request waits for a Redis before its replica
	// goes on alone: hundreds of times what one takes in a cluster.
	defaultTimeout = 50 * time.Millisecond
	// prefix begins every key, so that the store can be shared with other
	// programs.
	prefix = "hostedbridge:quota:"
)

//go:embed take.lua
var takeSource string

//go:embed beat.lua
var beatSource string

//go:embed tell.lua
var tellSource string

var takeScript, beatScript, tellScript = redis.NewScript(takeSource), redis.NewScript(beatSource), redis.NewScript(tellSource)

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

// redisStore is a Redis in which all replicas count together.
type redisStore struct {
	client  *redis.Client
	teller  *redis.Client // with time for more
	replica string
	timeout time.Duration
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

func newRedis(r Redis) (*redisStore, error) {
	if _, err := ParseURL(r.URL); err != nil {
		return nil, err
	}
	if r.Timeout <= 0 {
		r.Timeout = defaultTimeout
	}
	o, err := redisdb.Options(redisdb.Config{URL: r.URL, Password: r.Password, TLS: r.TLS, Timeout: r.Timeout})
	if err != nil {
		return nil, err
	}
	patient := *o
	patient.ReadTimeout, patient.WriteTimeout, patient.PoolTimeout = tellTimeout, tellTimeout, tellTimeout
	patient.PoolSize = 1
	return &redisStore{client: redis.NewClient(o), teller: redis.NewClient(&patient), replica: rand.Text(), timeout: r.Timeout}, nil
}

// args returns the script's arguments, in its order.
func (r *redisStore) args(q counter.Inquiry) []any {
	t, slot := q.Tier, 0
	if q.Want.Slot != quota.None {
		slot = counter.Index(q.Want.Slot) + 1
	}
	args := []any{
		q.Want.Requests, t.PerMinute, t.PerHour, t.PerDay, t.Burst, t.Interval(),
		r.replica, q.InFlight[0], q.InFlight[1], t.ConcurrentCalls, t.Streams, slot, counter.LeaseFor.Microseconds(), q.Marker,
	}
	if q.Alone {
		for i, w := range q.Seen.Windows {
			args = append(args, w.Start, w.Used, q.Debt.Windows[i].Start, q.Debt.Windows[i].Used)
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

// take implements shared.
func (r *redisStore) take(ctx context.Context, q counter.Inquiry) (counter.Reply, error) {
	// A client that leaves is no failure of the store.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	values, err := takeScript.Run(ctx, r.client, append(key(q.Bridge), markerKey), r.args(q)...).Int64Slice()
	if err != nil {
		return counter.Reply{}, err
	}
	return parseReply(values)
}

func parseReply(v []int64) (counter.Reply, error) {
	if len(v) == 1 && v[0] == -1 {
		return counter.Reply{}, counter.ErrForgotten
	}
	// The script counts refusals as Limit does.
	if len(v) != 10 || v[0] < int64(quota.None) || v[0] > int64(quota.Streams) {
		return counter.Reply{}, errors.New("the script's answer has another form than ours")
	}
	r := counter.Reply{Refused: quota.Limit(v[0]), Wait: time.Duration(v[1]) * time.Microsecond, Now: time.UnixMicro(v[2])}
	for i := range r.State.Windows {
		r.State.Windows[i] = quota.Window{Start: v[3+2*i], Used: v[4+2*i]}
	}
	r.State.Next = v[9]
	return r, nil
}

// beat implements shared.
func (r *redisStore) beat(ctx context.Context) (counter.Presence, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	answer, err := beatScript.Run(ctx, r.client, []string{replicasKey, markerKey}, r.replica, int(counter.ReplicaFor.Seconds()), rand.Text()).Slice()
	if err != nil {
		return counter.Presence{}, err
	}
	if len(answer) == 2 {
		n, isNumber := answer[0].(int64)
		marker, isText := answer[1].(string)
		if isNumber && isText {
			return counter.Presence{Replicas: n, Marker: marker}, nil
		}
	}
	return counter.Presence{}, errors.New("the script's answer has another form than ours")
}

// tell implements shared.
func (r *redisStore) tell(ctx context.Context, told map[types.UID]counter.Slots) error {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	err := r.tellBy(ctx, told)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		if err = tellScript.Load(ctx, r.teller).Err(); err == nil {
			err = r.tellBy(ctx, told)
		}
	}
	return err
}

func (r *redisStore) tellBy(ctx context.Context, told map[types.UID]counter.Slots) error {
	pipe := r.teller.Pipeline()
	for bridge, inFlight := range told {
		tellScript.EvalSha(ctx, pipe, key(bridge), r.replica, inFlight[0], inFlight[1], counter.LeaseFor.Microseconds())
	}
	_, err := pipe.Exec(ctx)
	return err
}

// leave implements shared.
func (r *redisStore) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	// If the store is unavailable, its entry expires by itself.
	_ = r.client.ZRem(ctx, replicasKey, r.replica).Err()
	_ = r.client.Close()
	_ = r.teller.Close()
}
