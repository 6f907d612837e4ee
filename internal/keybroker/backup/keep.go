// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/opencontainers/go-digest"
)

// Target is where backups are kept.
type Target interface {
	// Put writes all of the content or nothing, and fails if the name exists.
	Put(ctx context.Context, name string, content []byte) error
	// Get returns at most limit bytes.
	Get(ctx context.Context, name string, limit int64) ([]byte, error)
	List(ctx context.Context) ([]string, error)
	Delete(ctx context.Context, name string) error
}

const (
	namePrefix = "hosted-bridge-"
	nameSuffix = ".tar.gz.age"
	// Milliseconds, because a Job and a command by hand can run in the same second.
	nameTime = "20060102T150405.000Z"

	// partSuffix marks what is not written to its end.
	partSuffix = ".part"
)

// Name is the name of the backup of an installation at that time. Several installations
// may use one target, so each has an id of its own.
func Name(installation string, at time.Time) string {
	return namePrefix + installation + "-" + at.UTC().Format(nameTime) + nameSuffix
}

// file is what the name of a backup says.
type file struct {
	name         string
	installation string
	at           time.Time
	complete     bool
}

// parse reads a name. Other names are not of backups.
func parse(name string) (file, bool) {
	whole, part := strings.CutSuffix(name, partSuffix)
	middle, begins := strings.CutPrefix(whole, namePrefix)
	middle, ends := strings.CutSuffix(middle, nameSuffix)
	dash := strings.LastIndexByte(middle, '-')
	if !begins || !ends || dash < 1 {
		return file{}, false
	}
	at, err := time.Parse(nameTime, middle[dash+1:])
	return file{name: name, installation: middle[:dash], at: at, complete: !part}, err == nil
}

// Kept is a backup that is at its target.
type Kept struct {
	Name   string        `json:"name"`
	Bytes  int           `json:"bytes"`
	Digest digest.Digest `json:"digest"`
}

// Keep writes a backup to the target, reads it back, and compares both. What is not read
// back as it was written is deleted: a name is a promise that its content is usable.
func Keep(ctx context.Context, to Target, name string, content []byte) (Kept, error) {
	k := Kept{Name: name, Bytes: len(content), Digest: digest.FromBytes(content)}
	if err := to.Put(ctx, name, content); err != nil {
		return k, fmt.Errorf("write %s: %w", name, err)
	}
	if err := k.readBack(ctx, to); err != nil {
		// The context may have ended, which is one of the reasons to be here.
		if left := to.Delete(context.WithoutCancel(ctx), name); left != nil {
			err = errors.Join(err, fmt.Errorf("delete %s, which is not usable; delete it yourself: %w", name, left))
		}
		return k, err
	}
	return k, nil
}

func (k Kept) readBack(ctx context.Context, from Target) error {
	read, err := from.Get(ctx, k.Name, int64(k.Bytes)+1)
	if err != nil {
		return fmt.Errorf("read %s back: %w", k.Name, err)
	}
	if len(read) != k.Bytes {
		return fmt.Errorf("%s is not usable: %d bytes were written, and %d are read back", k.Name, k.Bytes, len(read))
	}
	if got := digest.FromBytes(read); got != k.Digest {
		return fmt.Errorf("%s is not usable: %s was written, and %s is read back", k.Name, k.Digest, got)
	}
	if _, err := age.ExtractHeader(bytes.NewReader(read)); err != nil {
		return fmt.Errorf("%s is not usable: it is no age file: %w", k.Name, err)
	}
	return nil
}

// Prune deletes backups from before a time, of the same installation as the one that was
// just written, and returns their names. It leaves that one and the newest complete one
// besides it, whatever their age: clocks jump, and schedules stop. If the one just written
// has no HostedBridges, nothing is deleted, because the installation may have lost them.
func Prune(ctx context.Context, at Target, written string, holds Contents, before time.Time) ([]string, error) {
	removed := []string{}
	if holds.Bridges == 0 {
		return removed, nil
	}
	names, err := at.List(ctx)
	if err != nil {
		return removed, fmt.Errorf("list old backups: %w", err)
	}
	var errs []error
	for _, name := range expired(names, written, before) {
		if err := at.Delete(ctx, name); err != nil {
			errs = append(errs, fmt.Errorf("delete the old backup %s: %w", name, err))
			continue
		}
		removed = append(removed, name)
	}
	return removed, errors.Join(errs...)
}

// expired returns which of these names Prune deletes.
func expired(names []string, written string, before time.Time) []string {
	last, _ := parse(written)
	var others []file
	var newest file
	for _, name := range names {
		f, ours := parse(name)
		if !ours || f.installation != last.installation || name == written {
			continue
		}
		if others = append(others, f); f.complete && f.at.After(newest.at) {
			newest = f
		}
	}
	var old []string
	for _, f := range others {
		if f.at.Before(before) && f.name != newest.name {
			old = append(old, f.name)
		}
	}
	return old
}
