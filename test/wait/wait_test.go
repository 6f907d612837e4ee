// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// recorder is a test that fails.
type recorder struct {
	testing.TB
	failure string
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.failure = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestAWaitEndsWithItsStateOrItsLimit(t *testing.T) {
	for name, test := range map[string]struct {
		comes time.Duration
		want  string
	}{
		"a state that is there":       {0, ""},
		"a state that comes soon":     {10 * time.Millisecond, ""},
		"a state that comes late":     {time.Minute, ""},
		"a state that comes too late": {2 * Limit, "the state: not within 5m0s: it is not there"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, start, took := &recorder{TB: t}, time.Now(), time.Duration(0)
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					took = NoError(r, Limit, "the state", func(ctx context.Context) error {
						if ctx.Err() != nil {
							return ctx.Err()
						}
						if time.Since(start) < test.comes {
							return errors.New("it is not there")
						}
						return nil
					})
				}()
				<-ended
				if r.failure != test.want {
					t.Errorf("failure %q, want %q", r.failure, test.want)
				}
				if late := took - test.comes; test.want == "" && (late < 0 || late > test.comes/4+time.Millisecond || late > longestPause) {
					t.Errorf("the state comes after %s, and the wait ends after %s", test.comes, took)
				}
			})
		})
	}
}

func TestAConditionThatStaysFalseFailsTheTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, ended := &recorder{TB: t}, make(chan struct{})
		go func() {
			defer close(ended)
			Until(r, "the state", func() bool { return false })
		}()
		<-ended
		if !strings.HasPrefix(r.failure, "the state: not within 5m0s") {
			t.Errorf("failure %q", r.failure)
		}
	})
}
