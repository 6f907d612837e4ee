// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/users/news"
)

// News returns the feature by which users see what has changed since their last visit.
func News(n *news.News) httpapi.Feature { return ofUsers("news", n.UserRoutes()) }
