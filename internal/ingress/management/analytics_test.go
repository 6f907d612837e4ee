// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

func TestACountThatTakesTooLong(t *testing.T) {
	a := NewAdministration(AdminOptions{AuditIndex: waitingIndex{}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := a.countCalls(ctx, audit.FiguresQuery{}); !errors.Is(err, problems.AnalyticsSlow) {
		t.Error(err)
	}
}

// waitingIndex counts until nobody waits.
type waitingIndex struct{ NoAuditIndex }

// Figures implements AuditIndex.
func (waitingIndex) Figures(ctx context.Context, _ audit.FiguresQuery) (audit.Figures, error) {
	<-ctx.Done()
	return audit.Figures{}, ctx.Err()
}
