// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// The paths of the calls, one for each method of storage.
const (
	pathReady    = "/v1/index/ready"
	pathAdd      = "/v1/index/add"
	pathProgress = "/v1/index/progress"
	pathUsers    = "/v1/index/users"
	pathPurge    = "/v1/index/purge"
	pathSearch   = "/v1/index/search"
	pathFigures  = "/v1/index/figures"
	pathUses     = "/v1/index/uses"
)

// The largest questions. JSON writes a record a little longer than the trail
// does.
const (
	maxAdd      = batch * (audit.MaxLine + 1<<10)
	maxPurge    = purgeUsers << 10
	maxQuestion = 16 << 10
)

// span is the time that is asked about.
type span struct{ From, To time.Time }
