// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package activator

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// TestWakesOfManyUsersAreWrittenAFewAtATimeInOrder has each wake begin to wait
// before the next one comes.
func TestWakesOfManyUsersAreWrittenAFewAtATimeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const users = 100
		var mu sync.Mutex
		var busy, busiest int
		var order, want []string
		goOn := make(chan struct{})
		wakes := wakesBy(t, func(_ context.Context, b route.Backend) error {
			mu.Lock()
			order = append(order, b.Name)
			busy++
			busiest = max(busiest, busy)
			mu.Unlock()
			<-goOn
			mu.Lock()
			defer mu.Unlock()
			busy--
			return nil
		})
		var all sync.WaitGroup
		for i := range users {
			name := fmt.Sprintf("user-%03d", i)
			want = append(want, name)
			all.Go(func() { wakes.begin(t.Context(), backendNamed(name), func() bool { return true }) })
			synctest.Wait()
		}
		for range users {
			goOn <- struct{}{}
			synctest.Wait()
		}
		all.Wait()
		if busiest != wakesAtOnce || !slices.Equal(order, want) {
			t.Errorf("%d at once, want %d; in the order %v", busiest, wakesAtOnce, order)
		}
	})
}

func backendNamed(name string) route.Backend {
	return route.Backend{User: v1alpha1.UserID(name), BridgeUID: types.UID(name), Name: name}
}

func TestAWakeThatIsNeedlessWhenItIsItsTurnIsNotWritten(t *testing.T) {
	wakes := wakesBy(t, func(context.Context, route.Backend) error { t.Error("written"); return nil })
	wakes.begin(t.Context(), backendNamed("alice"), func() bool { return false })
	if len(wakes.woken.until) > 0 {
		t.Error("the next one could not try")
	}
}

func TestWakesOfLongAgoAreForgotten(t *testing.T) {
	wakes := wakesBy(t, func(context.Context, route.Backend) error { return nil })
	now := time.Now()
	for i := range maxMarks {
		wakes.claim(types.UID(fmt.Sprint(i)), now)
		wakes.release(types.UID(fmt.Sprint(i)), true, now)
	}
	if wakes.claim("0", now.Add(wakeAgain-time.Millisecond)) {
		t.Error("woken again before the first one can have shown")
	}
	if !wakes.claim("0", now.Add(wakeAgain)) || len(wakes.woken.until) != 1 {
		t.Errorf("%d are remembered, want the one that is claimed", len(wakes.woken.until))
	}
	if wakes.claim("0", now.Add(time.Hour)) {
		t.Error("claimed twice")
	}
}
