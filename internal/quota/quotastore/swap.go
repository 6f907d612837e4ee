// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"context"
	_ "embed" // The script.
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hostedbridge/hostedbridge/internal/quota"
)

//go:embed swap.lua
var swapSource string

var swapScript = redis.NewScript(swapSource)

// errContended says that a request has waited for other requests of its user for as
// long as it may. The store need not be away.
var errContended = errors.New("other requests of the user went first")

// found is what the store has under a key, and the marker, at one time of its
// clock.
type found struct {
	now         time.Time
	marker      string
	text        string
	wasReplaced bool
}

// swap replaces the JSON value of a key by the result of change, if that reports a
// change. It does so again each time that another replica was faster,
// until ctx ends.
func swap[V any](ctx context.Context, client *redis.Client, key string, change func(v *V, at found) bool) error {
	var args []any
	for lost := false; ; {
		f, err := parse(swapScript.Run(ctx, client, []string{key, markerKey}, args...).StringSlice())
		switch {
		case err != nil && lost:
			return fmt.Errorf("%w: %w", errContended, err)
		case err != nil || f.wasReplaced:
			return err
		}
		var v V
		if f.text != "" {
			if err := json.Unmarshal([]byte(f.text), &v); err != nil {
				return fmt.Errorf("read what the quota store keeps: %w", err)
			}
		}
		if !change(&v, f) {
			return nil
		}
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		args, lost = []any{f.text, text, int(quota.KeepFor.Seconds())}, args != nil
	}
}

func parse(values []string, err error) (found, error) {
	if err != nil {
		return found{}, err
	}
	if len(values) == 4 {
		if now, err := strconv.ParseInt(values[0], 10, 64); err == nil {
			return found{time.UnixMicro(now), values[1], values[2], values[3] != ""}, nil
		}
	}
	return found{}, errors.New("the script's answer has another form than ours")
}
