// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// built is an image that has its archive.
type built struct {
	name   string
	digest v1.Hash
	size   int64 // bytes of the archive.
	path   string
	fresh  bool // written by this run.
}

// uniqueTag is a tag for this digest alone. 12 hex digits are 48 bits: two of
// 10,000 builds agree with a probability of 2 in 10 million.
func uniqueTag(digest v1.Hash) string { return digest.Hex[:12] }

// reference is the image's name under its unique tag.
func (b built) reference() string {
	return fmt.Sprintf("%s/%s:%s", repository, b.name, uniqueTag(b.digest))
}

// archivePath is where an image's archive is.
func archivePath(folder, image string) string { return filepath.Join(folder, image+".tar") }

// upToDate reports whether the archive holds an image of that fingerprint.
func upToDate(archive, want string) bool {
	image, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		return false
	}
	config, err := image.ConfigFile()
	return err == nil && config.Config.Labels[fingerprintLabel] == want
}

// store writes the image's archive in docker save's form, which docker load,
// ctr images import and kind load image-archive all take.
func store(archive, image string, i v1.Image) (err error) {
	digest, err := i.Digest()
	if err != nil {
		return err
	}
	references := map[name.Reference]v1.Image{}
	for _, tag := range []string{movingTag, uniqueTag(digest)} {
		reference, err := name.NewTag(fmt.Sprintf("%s/%s:%s", repository, image, tag))
		if err != nil {
			return err
		}
		references[reference] = i
	}
	// Renamed when it is whole: an interrupted run leaves no half archive.
	partial, err := os.CreateTemp(filepath.Dir(archive), "."+image+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(partial.Name()))
		}
	}()
	if err := errors.Join(tarball.MultiRefWrite(references, partial), partial.Chmod(0o644), partial.Close()); err != nil {
		return err
	}
	return os.Rename(partial.Name(), archive)
}

// inspect reads an archive back.
func inspect(archive, image string) (built, error) {
	i, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		return built{}, fmt.Errorf("read %s: %w", archive, err)
	}
	digest, err := i.Digest()
	if err != nil {
		return built{}, fmt.Errorf("read %s: %w", archive, err)
	}
	info, err := os.Stat(archive)
	if err != nil {
		return built{}, err
	}
	return built{name: image, digest: digest, size: info.Size(), path: archive}, nil
}
