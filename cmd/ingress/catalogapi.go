// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log/slog"

	"github.com/hostedbridge/hostedbridge/internal/catalog/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/catalog/seed"
)

// catalogAPI returns what serves the catalog. seeder is nil where there is no
// source of recipes.
func (p *parts) catalogAPI(of catalogOptions, seeder *seed.Seeder, log *slog.Logger) (*httpapi.API, error) {
	o := httpapi.Options{Store: p.catalog, Namespace: of.Registry, MaxRecipes: of.MaxRecipes, Log: log}
	if seeder != nil {
		o.Seeder = seeder
	}
	return httpapi.New(o)
}
