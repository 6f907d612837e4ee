// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/scim"
	"github.com/hostedbridge/hostedbridge/internal/scim/scimapi"
	"github.com/hostedbridge/hostedbridge/internal/tenant/directory"
)

// scimFeature serves SCIM to the directories.
func scimFeature(c *core, o *options) (httpapi.Feature, error) {
	list, err := readConfig("--scim-config", o.SCIMFile, scim.ParseDirectories)
	if err != nil {
		return httpapi.Feature{}, err
	}
	store, err := directory.New(c.cluster.config, o.Namespace, c.routes, c.log)
	if err != nil {
		return httpapi.Feature{}, fmt.Errorf("scim: %w", err)
	}
	metrics, err := scimapi.NewMetrics(c.metrics)
	if err != nil {
		return httpapi.Feature{}, err
	}
	f := scimapi.Feature(scimapi.Options{
		Store: store, Directories: scim.NewDirectories(list), Metrics: metrics, Log: c.log, URL: strings.TrimSuffix(o.Catalog.URL, "/"),
	})
	f.Run = func(ctx context.Context) error { return store.Run(ctx, list) }
	return f, nil
}
