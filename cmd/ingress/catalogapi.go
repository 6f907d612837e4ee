// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log/slog"

	"github.com/hostedbridge/hostedbridge/internal/catalog/httpapi"
)

// catalogAPI returns what serves the catalog. seeder is nil where there is no
// source of recipes.
func (p *parts) catalogAPI(seeder httpapi.Seeder, log *slog.Logger) (*httpapi.API, error) {
	return httpapi.New(httpapi.Options{Store: p.catalog, Seeder: seeder, Log: log})
}
