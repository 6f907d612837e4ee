// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Leader does some work while this replica holds the lease, and goes on trying
// to get it when it is lost: the server beside it lives on, and so must the
// work.
type Leader struct {
	// Duration is how long a lease lasts that is not renewed, Renew for how long it is tried to renew
	// it, and Retry the time between two tries.
	Duration, Renew, Retry time.Duration

	name string
	lock resourcelock.Interface
	work func(ctx context.Context) error
	log  *slog.Logger

	// working is held while there is work.
	working sync.Mutex
}

// NewLeader returns what does work while this replica holds the Lease.
func NewLeader(config *rest.Config, of types.NamespacedName, work func(ctx context.Context) error, log *slog.Logger) (*Leader, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name this replica: %w", err)
	}
	l := &Leader{
		// Kubernetes' own: a lease that is lost costs 15 seconds, and to hold
		// one is a small write every two.
		Duration: 15 * time.Second, Renew: 10 * time.Second, Retry: 2 * time.Second,
		name: of.Name, work: work, log: log,
	}
	// A name alone is not one process: a container that is restarted keeps it.
	l.lock, err = resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, of.Namespace, of.Name,
		resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())}, config, l.Renew)
	if err != nil {
		return nil, fmt.Errorf("make the lock on Lease %s: %w", of.Name, err)
	}
	return l, nil
}

// Run returns when ctx ends, with no work left.
func (l *Leader) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		failed, err := l.term(ctx)
		if err != nil {
			return err
		}
		if !failed {
			continue
		}
		// The lease is free for another replica to try. This one waits, so that
		// what fails at once does not fail in a loop.
		select {
		case <-ctx.Done():
		case <-time.After(l.Duration):
		}
	}
	return nil
}

// term waits for the lease and works until it is lost, the work fails or ctx
// ends.
func (l *Leader) term(ctx context.Context) (failed bool, err error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: l.lock, Name: l.name,
		LeaseDuration: l.Duration, RenewDeadline: l.Renew, RetryPeriod: l.Retry,
		// Others may begin while the last of the work ends here: each of its
		// writes is conditional on what was read.
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				l.working.Lock()
				defer l.working.Unlock()
				defer end()
				failed = l.lead(ctx)
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return false, fmt.Errorf("prepare to lead: %w", err)
	}
	elector.Run(ctx)
	end() // Work that begins only now finds that its time is over.
	l.working.Lock()
	defer l.working.Unlock()
	return failed, nil
}

// lead works, and reports whether that ended before its time.
func (l *Leader) lead(ctx context.Context) (failed bool) {
	if ctx.Err() != nil {
		return false
	}
	l.log.InfoContext(ctx, "this replica leads")
	err := l.work(ctx)
	if ctx.Err() != nil {
		l.log.InfoContext(ctx, "this replica does not lead any more")
		return false
	}
	if err == nil {
		err = errors.New("it ended by itself")
	}
	l.log.ErrorContext(ctx, "the controllers failed, another replica may lead", "error", err)
	return true
}
