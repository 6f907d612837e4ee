// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// push uploads an archive as registry/<name> under both of its tags and
// returns the reference by digest. Credentials are those of docker login.
func push(ctx context.Context, registry string, b built) (string, error) {
	image, err := tarball.ImageFromPath(b.path, nil)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", b.path, err)
	}
	target, err := name.NewRepository(strings.TrimSuffix(registry, "/") + "/" + b.name)
	if err != nil {
		return "", fmt.Errorf("--registry: %w", err)
	}
	for _, tag := range []string{uniqueTag(b.digest), movingTag} {
		err := remote.Write(target.Tag(tag), image, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
		if err != nil {
			return "", fmt.Errorf("push %s: %w", target.Tag(tag), err)
		}
	}
	return target.Digest(b.digest.String()).String(), nil
}
