// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/hostedbridge/hostedbridge/internal/answerstore"
	"github.com/hostedbridge/hostedbridge/internal/ingress/keptanswers"
	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
	"github.com/hostedbridge/hostedbridge/internal/route/snapshot"
)

// openAnswers returns what keeps answers of bridges, nil where nothing does. The key of
// snapshots seals them: all replicas have it, and the store does not.
func (c *core) openAnswers(ctx context.Context, o *options) (*keptanswers.Keeper, error) {
	if o.AnswersURL == "" {
		return nil, nil
	}
	content, err := os.ReadFile(o.Snapshot.KeyFile) //nolint:gosec // A flag names the file.
	if errors.Is(err, fs.ErrNotExist) {
		// An installation without the key is to serve nevertheless.
		c.log.WarnContext(ctx, "answers of bridges are not kept: first requests of a bridge that sleeps wait for it", "error", err)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the snapshot key: %w", err)
	}
	key, err := snapshot.ParseKey(content)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", o.Snapshot.KeyFile, err)
	}
	box, err := key.Box("answers")
	if err != nil {
		return nil, fmt.Errorf("seal answers: %w", err)
	}
	calls, err := jsoncall.New(o.AnswersURL, c.identity.StoreTLS)
	if err != nil {
		return nil, fmt.Errorf("--answers-url: %w", err)
	}
	keeper, err := keptanswers.New(keptanswers.Options{
		Store: answerstore.Client{Calls: calls}, Box: box, Routes: c.routes, Metrics: c.metrics, Log: c.log,
	})
	if err != nil {
		return nil, err
	}
	c.background = append(c.background, keeper.Run)
	return keeper, nil
}
