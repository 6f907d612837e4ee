// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogapi"
	"github.com/hostedbridge/hostedbridge/internal/catalog/kubestore"
)

// catalogOptions say where the catalog is.
type catalogOptions struct {
	// Namespace is where the recipes are; empty is the installation's.
	Namespace string
	// Registry is what stands before the names of recipes where they are read as
	// those of an MCP registry.
	Registry string
	// URL is the installation's public URL, for its own entry there; empty for none.
	URL string
	// MaxRecipes is how many recipes one publisher may have; 0 is no limit.
	MaxRecipes int
	// SigningKeyFile has the key that signs the installation's own recipes; empty
	// signs none.
	SigningKeyFile string
}

func (o *catalogOptions) registerFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Namespace, "catalog-namespace", o.Namespace, "namespace of the catalog's recipes and publishers (default: the installation's namespace)")
	flags.StringVar(&o.Registry, "catalog-registry-name", o.Registry, "reversed domain in front of recipe names at /v0.1, such as com.example.catalog (default: "+catalogapi.DefaultNamespace+")")
	flags.StringVar(&o.URL, "base-url", o.URL, "public URL of the installation, such as https://bridge.example.com, for its own entry at /v0.1/servers (default: no entry)")
	flags.IntVar(&o.MaxRecipes, "catalog-max-recipes-per-publisher", o.MaxRecipes, "maximum number of names of one publisher in the catalog; 0 means no limit")
	flags.StringVar(&o.SigningKeyFile, "catalog-signing-key-file", o.SigningKeyFile, "file with the key that signs the installation's own recipes, those of the seed and of kubectl, when they are downloaded: 32 bytes in base64, the same for all replicas; bridges on people's own machines verify them by GET /catalog-key (default: they are not signed)")
}

// open returns the catalog, which is followed once it runs. The ingress is ready
// without it: what keeps recipes from being read keeps nobody from their bridge.
func (o *catalogOptions) open(config *rest.Config, installation string, log *slog.Logger) (*kubestore.Store, error) {
	store, err := kubestore.New(config, kubestore.Options{
		Namespace: cmp.Or(o.Namespace, installation), Random: rand.Reader, Now: time.Now, Log: log,
	})
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	return store, nil
}
