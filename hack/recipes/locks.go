// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/laptop/programs"
)

// errNoLock is that some lock files could not be made. Which, is on stdout.
var errNoLock = errors.New("some recipes have no lock file")

// lock makes the lock files of recipes that have none for their package's version. To renew one,
// delete it first.
func (o options) lock(ctx context.Context, recipes []recipe.Recipe, stdout io.Writer) error {
	made, failed := 0, 0
	for _, r := range recipes {
		i := r.Install
		if i == nil || i.Method != "npx" {
			continue
		}
		path := filepath.Join(o.locks, programs.LockFileOf(i.Package))
		former, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if programs.LockedVersion(former, i.Package) == i.Version {
			continue
		}
		switch err := writeLock(ctx, path, *i); {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			failed++
			fmt.Fprintf(stdout, "%s  mend  %v\n", r.ID, err)
		default:
			made++
			fmt.Fprintf(stdout, "%s  made  %s\n", r.ID, path)
		}
	}
	fmt.Fprintf(stdout, "%d lock files made, %d could not be made\n", made, failed)
	if failed > 0 {
		return errNoLock
	}
	return nil
}

// writeLock makes the lock file of a package. One without the packages of other systems would
// serve this machine alone.
func writeLock(ctx context.Context, path string, i recipe.Install) error {
	lock, missing, err := programs.Freeze(ctx, i.Package, i.Version)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("the registry does not have %s", strings.Join(missing, ", "))
	}
	return os.WriteFile(path, lock, 0o644)
}
