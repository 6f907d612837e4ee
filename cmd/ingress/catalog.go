// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogapi"
	"github.com/hostedbridge/hostedbridge/internal/catalog/kubestore"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// catalogOptions say where the catalog is.
type catalogOptions struct {
	// Namespace is where the recipes are; empty is the installation's.
	Namespace string
	// Registry is what stands before the names of recipes where they are read as
	// those of an MCP registry.
	Registry string
	// MaxRecipes is how many recipes one publisher may have; 0 is no limit.
	MaxRecipes int
	// SigningKeyFile has the key that signs the installation's own recipes; empty
	// signs none.
	SigningKeyFile string
}

func (o *catalogOptions) registerFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Namespace, "catalog-namespace", o.Namespace, "namespace of the catalog's recipes and publishers (default: the installation's namespace)")
	flags.StringVar(&o.Registry, "catalog-registry-name", o.Registry, "reversed domain in front of recipe names at /v0.1, such as com.example.catalog (default: "+catalogapi.DefaultNamespace+")")
	flags.IntVar(&o.MaxRecipes, "catalog-max-recipes-per-publisher", o.MaxRecipes, "maximum number of names of one publisher in the catalog; 0 means no limit")
	flags.StringVar(&o.SigningKeyFile, "catalog-signing-key-file", o.SigningKeyFile, "file with the key that signs the installation's own recipes, those of the seed and of kubectl, when they are downloaded: 32 bytes in base64, the same for all replicas; bridges on people's own machines verify them by GET /catalog-key (default: they are not signed)")
}

// signer returns what signs the installation's own recipes, nil for nothing.
func (o *catalogOptions) signer(log *slog.Logger) (*recipe.Signer, error) {
	if o.SigningKeyFile == "" {
		return nil, nil
	}
	key, err := os.ReadFile(o.SigningKeyFile) //nolint:gosec // Whoever starts the ingress names the file.
	if errors.Is(err, fs.ErrNotExist) {
		// An installation without the key is to serve nevertheless.
		log.Warn("recipes of the seed are not signed", "error", err)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("--catalog-signing-key-file: %w", err)
	}
	s, err := recipe.ReadSigner(key)
	if err != nil {
		return nil, fmt.Errorf("--catalog-signing-key-file: %w", err)
	}
	return s, nil
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
