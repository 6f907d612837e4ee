// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package quota says what a tier allows its users, and whether a call fits into
// it. The package is pure.
package quota

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// Tier is what an installation allows the users whose spec.tier names it. A
// limit that is nil does not exist; no limit can be zero, since a tier that
// allows nothing is a mistake rather than an offer.
type Tier struct {
	// PerMinute, PerHour and PerDay are the JSON-RPC requests that a user may
	// make in each window.
	PerMinute int32 `json:"perMinute"`
	PerHour   int32 `json:"perHour"`
	PerDay    int32 `json:"perDay"`
	// Burst is how many requests may come in quick succession.
	Burst int32 `json:"burst"`
	// Servers is how many MCP servers a bridge may have.
	Servers *int32 `json:"servers,omitempty"`
	// Secrets is how many secrets a user may store.
	Secrets *int32 `json:"secrets,omitempty"`
	// Storage is how much storage the servers of a bridge may have together, and
	// StoragePerServer how much one of them may; that is Storage if it is nil. If
	// Storage is nil, servers have no storage: disks cost somebody money, so that a
	// tier that was written before there was storage allows none.
	Storage          *resource.Quantity `json:"storage,omitempty"`
	StoragePerServer *resource.Quantity `json:"storagePerServer,omitempty"`
	// AuditDays is for how many days a user's audit entries are kept.
	AuditDays int32 `json:"auditDays"`
	// ConcurrentCalls and Streams are how many calls and how many open streams
	// a user may have at a time.
	ConcurrentCalls int32 `json:"concurrentCalls"`
	Streams         int32 `json:"streams"`
	// MaxBodyBytes is the largest body of a call, DefaultBody if nil.
	MaxBodyBytes *int32 `json:"maxBodyBytes,omitempty"`
	// RuntimeClassName is the RuntimeClass for pods of the tier whose bridges
	// name none. Empty means the cluster's default.
	RuntimeClassName string `json:"runtimeClassName,omitempty"`
}

// field is where the tier has a limit, in the order of Limit, nil for one that is of
// no tier.
func (t *Tier) field(limit Limit) *int32 {
	return [...]*int32{nil, &t.PerMinute, &t.PerHour, &t.PerDay, &t.Burst, &t.ConcurrentCalls, &t.Streams, nil}[limit]
}

// Most returns the tier's number of a limit, 0 for one that is of no tier.
func (t Tier) Most(limit Limit) int64 {
	if f := t.field(limit); f != nil {
		return int64(*f)
	}
	return 0
}

const (
	// DefaultBody is the limit of the MCP SDKs for a message, 4 MiB, so that
	// the same call passes here and at a server without us.
	DefaultBody = 4 << 20
	// MaxBody is the most that a tier may allow, 16 MiB: bridges read no larger
	// body, and an ingress keeps each in memory while its call runs.
	MaxBody = 16 << 20
)

// Body returns the largest body of a call in bytes.
func (t Tier) Body() int64 { return int64(ptr.Deref(t.MaxBodyBytes, DefaultBody)) }

// ServerStorage returns the largest storage of one server; nil for none.
func (t Tier) ServerStorage() *resource.Quantity {
	if t.StoragePerServer != nil {
		return t.StoragePerServer
	}
	return t.Storage
}

// Tiers are an installation's tiers by name.
type Tiers map[string]Tier

// The bursts that are shipped. An agent that starts makes about 20 calls as fast as they are
// answered; openings, such as lists, do not count. Larger tiers have several agents at once.
const (
	freeBurst     = 25
	proBurst      = 60
	businessBurst = 200
)

// Defaults returns the tiers of an installation that configures none. Requests,
// servers, secrets and audit days are those of the public service that this
// product follows; calls and streams grow with them.
func Defaults() Tiers {
	return Tiers{
		"free": {
			PerMinute: 30, PerHour: 300, PerDay: 3_000, Burst: freeBurst,
			Servers: ptr.To[int32](3), Secrets: ptr.To[int32](5),
			Storage:   new(resource.MustParse("1Gi")),
			AuditDays: 7, ConcurrentCalls: 4, Streams: 10,
		},
		"pro": {
			PerMinute: 120, PerHour: 2_000, PerDay: 20_000, Burst: proBurst,
			Secrets: ptr.To[int32](50), Storage: new(resource.MustParse("10Gi")), StoragePerServer: new(resource.MustParse("5Gi")),
			AuditDays: 30, ConcurrentCalls: 16, Streams: 40,
		},
		"business": {
			PerMinute: 600, PerHour: 10_000, PerDay: 100_000, Burst: businessBurst,
			Storage: new(resource.MustParse("100Gi")), StoragePerServer: new(resource.MustParse("20Gi")),
			AuditDays: 90, ConcurrentCalls: 64, Streams: 160,
		},
	}
}

// Load reads tiers from YAML of the form
//
//	tiers:
//	  free: {perMinute: 30, perHour: 300, ...}
//
// They replace the defaults as a whole. It refuses unknown and repeated
// fields, limits below one, and bodies above MaxBody; its errors name the tier and the field.
func Load(b []byte) (Tiers, error) {
	var file struct {
		Tiers Tiers `json:"tiers"`
	}
	if err := yaml.UnmarshalStrict(b, &file); err != nil {
		return nil, fmt.Errorf("parse tiers: %w", err)
	}
	if len(file.Tiers) == 0 {
		return nil, errors.New("parse tiers: tiers is empty; it must name at least one tier")
	}
	for _, name := range file.Tiers.Names() {
		if err := file.Tiers[name].validate(); err != nil {
			return nil, fmt.Errorf("parse tiers: tiers.%s.%w", name, err)
		}
	}
	return file.Tiers, nil
}

// FromFile returns the tiers of the file at path, which read reads, and the
// defaults without a path.
func FromFile(path string, read func(path string) ([]byte, error)) (Tiers, error) {
	if path == "" {
		return Defaults(), nil
	}
	data, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("read tiers: %w", err)
	}
	tiers, err := Load(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return tiers, nil
}

// Names returns the tiers' names in alphabetical order.
func (t Tiers) Names() []string {
	return slices.Sorted(maps.Keys(t))
}

func (t Tier) validate() error {
	limits := []struct {
		field string
		value int32
	}{
		{"perMinute", t.PerMinute}, {"perHour", t.PerHour}, {"perDay", t.PerDay}, {"burst", t.Burst},
		{"servers", ptr.Deref(t.Servers, 1)}, {"secrets", ptr.Deref(t.Secrets, 1)},
		{"auditDays", t.AuditDays}, {"concurrentCalls", t.ConcurrentCalls}, {"streams", t.Streams},
		{"maxBodyBytes", ptr.Deref(t.MaxBodyBytes, DefaultBody)},
	}
	for _, l := range limits {
		if l.value < 1 {
			return fmt.Errorf("%s is %d or not set; it must be at least 1", l.field, l.value)
		}
	}
	for field, size := range map[string]*resource.Quantity{"storage": t.Storage, "storagePerServer": t.StoragePerServer} {
		if size != nil && size.Sign() <= 0 {
			return fmt.Errorf("%s is %s; it must be greater than 0, or not set", field, size)
		}
	}
	if t.StoragePerServer != nil && t.Storage == nil {
		return errors.New("storagePerServer is set without storage, which is for all servers of a bridge together; set both")
	}
	if t.Body() > MaxBody {
		return fmt.Errorf("maxBodyBytes is %d; it must be at most %d", t.Body(), MaxBody)
	}
	return nil
}
