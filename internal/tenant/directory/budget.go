// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/scim"
)

const (
	// changesPerSecond is how many people and memberships a directory may add in a second, on
	// average, after it has added all that it may have. An entry of the audit trail follows
	// from each.
	changesPerSecond = 5
	// bytesPerSecond is how many bytes of groups a directory may write in a second, on
	// average, after bytesAtOnce. etcd keeps each version until it is compacted, every five
	// minutes by default: 664 MiB of its 2 GiB.
	bytesPerSecond = 2 << 20
	bytesAtOnce    = 64 << 20
)

// budgets bound what directories write, in each replica of the ingress.
type budgets struct {
	mu sync.Mutex
	of map[string]*budget // by the directory's name
}

type budget struct{ changes, bytes *rate.Limiter }

func (b *budgets) get(d *scim.Directory) *budget {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.of[d.Name]
	if own == nil {
		l := d.Limits
		own = &budget{rate.NewLimiter(changesPerSecond, l.Users+l.Groups+l.Memberships), rate.NewLimiter(bytesPerSecond, bytesAtOnce)}
		b.of[d.Name] = own
	}
	return own
}

// spend counts n changes or bytes. If there are too many, it returns the problem that says how
// long to wait.
func spend(l *rate.Limiter, n int) error {
	now := time.Now()
	r := l.ReserveN(now, n)
	wait := r.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	r.CancelAt(now)
	return scim.ErrTooFast.After(min(wait, time.Hour)) // It is rate.InfDuration for what never passes.
}

// spendGroup counts a write of a group, with so many more members.
func (s *groupStore) spendGroup(d *scim.Directory, o *v1alpha1.BridgeGroup, more int) error {
	b := s.budgets.get(d)
	text, err := json.Marshal(o.Spec)
	if err != nil {
		return fmt.Errorf("measure the group: %w", err)
	}
	if err := spend(b.bytes, len(text)); err != nil || more <= 0 {
		return err
	}
	return spend(b.changes, more)
}

// checkUsers refuses one more user of a directory that has as many as it may, deleted ones
// included, since their records stay.
func (s *userStore) checkUsers(persons []v1alpha1.BridgePerson, d *scim.Directory) error {
	n := 0
	for i := range persons {
		if p := &persons[i]; p.Spec.Directory != nil && p.Spec.Issuer == d.Issuer {
			n++
		}
	}
	if n >= d.Limits.Users {
		return scim.TooMany("users", d.Limits.Users)
	}
	return spend(s.budgets.get(d).changes, 1)
}

// checkGroups refuses a group, one more if its name is empty, with so many members that its
// directory would have more groups or memberships than it may.
func checkGroups(all []v1alpha1.BridgeGroup, d *scim.Directory, name string, members int) error {
	groups, memberships := 1, members
	for i := range all {
		if all[i].Name != name {
			groups, memberships = groups+1, memberships+len(all[i].Spec.Members)
		}
	}
	switch {
	case name == "" && groups > d.Limits.Groups:
		return scim.TooMany("groups", d.Limits.Groups)
	case memberships > d.Limits.Memberships:
		return scim.TooMany("members of groups", d.Limits.Memberships)
	}
	return nil
}
