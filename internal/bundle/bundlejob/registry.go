// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundlejob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/bundle/bundleimage"
)

// registryTimeout is how long the registry may take for one bundle: the largest one at some MB a second.
const registryTimeout = 10 * time.Minute

// useRegistry uploads a bundle of the store to the registry, or brings one from there to the store. The
// error is a *bundle.Failure if the registry is at fault.
func useRegistry(ctx context.Context, o *Options, log *slog.Logger) (none bundle.Outcome, err error) {
	repository, err := bundleimage.Open(bundleimage.Config{Name: o.Registry, Credentials: o.RegistryCredentials, Authorities: o.RegistryCA})
	if err != nil {
		return none, registryFailure(err)
	}
	ctx, cancel := context.WithTimeout(ctx, registryTimeout)
	defer cancel()
	if o.Digest != "" {
		return withPeers(ctx, o, log, func(ctx context.Context, p peers) (bundle.Outcome, error) { return push(ctx, o, p, repository) })
	}
	found, err := repository.Find(ctx, o.RegistryTag)
	if errors.Is(err, bundleimage.ErrNotFound) {
		return none, &bundle.Failure{Code: bundle.NotInRegistry, Message: o.Registry + " has no tag " + o.RegistryTag}
	}
	if err != nil {
		return none, registryFailure(err)
	}
	return withPeers(ctx, o, log, func(ctx context.Context, p peers) (bundle.Outcome, error) { return pull(ctx, o, p, repository, found) })
}

func registryFailure(err error) error {
	return &bundle.Failure{Code: bundle.RegistryFailed, Message: err.Error()}
}

// pull brings a bundle of the registry to the store, which verifies its digest.
func pull(ctx context.Context, o *Options, p peers, repository *bundleimage.Repository, found *bundleimage.Found) (outcome bundle.Outcome, err error) {
	record := &found.Record
	if record.Method != o.Method || record.Package != o.Package || record.Version != o.Version || record.Architecture != o.Architecture {
		return outcome, registryFailure(fmt.Errorf("%s:%s is %s@%s for %s, and not %s@%s for %s", o.Registry, o.RegistryTag,
			record.Package, record.Version, record.Architecture, o.Package, o.Version, o.Architecture))
	}
	if record.Size > o.MaxBytes {
		return outcome, &bundle.Failure{Code: bundle.TooLarge, Message: fmt.Sprintf("the bundle in the registry has %d bytes, and the most are %d", record.Size, o.MaxBytes)}
	}
	bin, err := record.Program()
	if err != nil {
		return outcome, err
	}
	content, err := repository.Fetch(ctx, found)
	if err != nil {
		return outcome, registryFailure(err)
	}
	defer content.Close()
	if err := p.put(ctx, record, content); err != nil {
		return outcome, err
	}
	outcome = bundle.OutcomeOf(record, bin)
	outcome.Image = bundle.Digest(found.Image)
	return outcome, nil
}

// push uploads a bundle of the store as an image, which the keybroker signs.
func push(ctx context.Context, o *Options, p peers, repository *bundleimage.Repository) (outcome bundle.Outcome, err error) {
	digest, err := bundle.ParseDigest(o.Digest)
	if err != nil {
		return outcome, err
	}
	record, err := p.store.Record(ctx, digest)
	if err != nil {
		return outcome, fmt.Errorf("read the bundle's record: %w", err)
	}
	file, err := os.CreateTemp(o.Temporary, "bundle-*")
	if err != nil {
		return outcome, fmt.Errorf("make room for the bundle: %w", err)
	}
	defer func() { _ = errors.Join(file.Close(), os.Remove(file.Name())) }()
	if err := fetch(ctx, p, &record, file); err != nil {
		return outcome, err
	}
	image, err := repository.Push(ctx, o.RegistryTag, &record, file)
	if err != nil {
		return outcome, registryFailure(err)
	}
	payload, signature, err := p.broker.SignImage(ctx, repository.Name(), image)
	if err != nil {
		return outcome, err
	}
	if err := repository.Sign(ctx, image, payload, signature); err != nil {
		return outcome, registryFailure(err)
	}
	outcome = bundle.OutcomeOf(&record, "")
	outcome.Image = bundle.Digest(image)
	return outcome, nil
}

// fetch writes a bundle of the store to a file, whose bytes have its digest.
func fetch(ctx context.Context, p peers, record *bundle.Record, file *os.File) error {
	content, err := p.store.Fetch(ctx, record.Digest)
	if err != nil {
		return fmt.Errorf("fetch the bundle: %w", err)
	}
	defer content.Close()
	if _, err := io.Copy(file, io.LimitReader(content, record.CompressedSize+1)); err != nil {
		return fmt.Errorf("fetch the bundle: %w", err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return bundle.Verify(ctx, file, record.Digest, record.Size)
}
