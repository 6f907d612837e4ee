// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"

	"github.com/hostedbridge/hostedbridge/internal/quota"
)

func TestABatchThatNeverPassesIsNotPutOff(t *testing.T) {
	err := newQuotaError(quota.Verdict{Refused: quota.Batch}, quota.Tier{}, time.Now())
	if p, ok := errors.AsType[*httpapi.Problem](err); !ok || p.Code != "batch_too_large" || p.RetryAfter != 0 {
		t.Errorf("%v", err)
	}
}
