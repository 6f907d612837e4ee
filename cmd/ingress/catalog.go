// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/client-go/rest"

	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogapi"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipestore"
	"github.com/hostedbridge/hostedbridge/internal/setting"
)

// catalogOptions say where the catalog is.
type catalogOptions struct {
	Namespace, Registry, URL string
	MaxRecipes               int
	SigningKeyFile           string
}

func (o *catalogOptions) declare(s *setting.Set) {
	s.String(&o.Namespace, "catalog-namespace", "", "namespace of the catalog's recipes and publishers (default: the installation's namespace)")
	s.String(&o.Registry, "catalog-registry-name", "", "reversed domain in front of recipe names at /v0.1, such as com.example.catalog (default: "+catalogapi.DefaultNamespace+")")
	s.String(&o.URL, "base-url", "", "public URL of the installation, such as https://bridge.example.com, for its own entry at /v0.1/servers (default: no entry)", setting.Optional(setting.HTTP))
	// Some times what one organization publishes, and a part of the 10,000 that the catalog is made for.
	s.Int(&o.MaxRecipes, "catalog-max-recipes-per-publisher", 500, "maximum number of names of one publisher in the catalog; 0 means no limit", setting.AtLeast(0))
	s.String(&o.SigningKeyFile, "catalog-signing-key-file", "", "file with the key that signs the installation's own recipes, those of the seed and of kubectl, when they are downloaded: 32 bytes in base64, the same for all replicas; bridges on people's own machines verify them by GET /catalog-key (default: they are not signed)")
}

// open returns the catalog, which is followed once it runs. The ingress is ready
// without it: what keeps recipes from being read keeps nobody from their bridge.
func (o *catalogOptions) open(config *rest.Config, installation string, log *slog.Logger) (*recipestore.Store, error) {
	store, err := recipestore.New(config, recipestore.Options{
		Namespace: cmp.Or(o.Namespace, installation), Random: rand.Reader, Now: time.Now, Log: log,
	})
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	return store, nil
}
