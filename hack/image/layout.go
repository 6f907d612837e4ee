// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// writeLayout writes an index of one image over its architectures as the
// archive of an OCI image layout, which skopeo, crane, ctr and oras take, and
// returns the index's digest: the one by which the image is known everywhere.
func writeLayout(archive, reference string, images []v1.Image) (v1.Hash, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, image := range images {
		config, err := image.ConfigFile()
		if err != nil {
			return v1.Hash{}, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: config.OS, Architecture: config.Architecture}},
		})
	}
	digest, err := index.Digest()
	if err != nil {
		return v1.Hash{}, err
	}
	folder, err := os.MkdirTemp(filepath.Dir(archive), ".layout-*")
	if err != nil {
		return v1.Hash{}, err
	}
	defer os.RemoveAll(folder)
	l, err := layout.Write(folder, empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	_, tag, _ := strings.Cut(filepath.Base(reference), ":")
	// By these two names skopeo and containerd find an image in an archive.
	err = l.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": tag, "io.containerd.image.name": reference,
	}))
	if err != nil {
		return v1.Hash{}, fmt.Errorf("write %s: %w", archive, err)
	}
	return digest, packFolder(folder, archive)
}

// packFolder writes a folder's files as a tar that depends on them alone.
func packFolder(folder, archive string) (err error) {
	out, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := tar.NewWriter(out)
	err = eachFile(folder, func(name string, content []byte) error { return addFile(w, name, content) })
	return errors.Join(err, w.Close())
}

// eachFile calls do for each file of a folder, in the order of their names, which
// are relative to it.
func eachFile(folder string, do func(name string, content []byte) error) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // Nothing was written.
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := root.ReadFile(name)
		if err != nil {
			return err
		}
		return do(name, content)
	})
}

func addFile(w *tar.Writer, name string, content []byte) error {
	header := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: epoch, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}

// repack rewrites a .tgz without times and owners, so that equal content gives equal
// bytes: helm records when it packed a chart.
func repack(archive string) error {
	content, err := os.ReadFile(archive)
	if err != nil {
		return err
	}
	files, err := unpack(content)
	if err != nil {
		return fmt.Errorf("read %s: %w", archive, err)
	}
	names := slices.Sorted(maps.Keys(files))
	// Helm reads the file of the chart's own name first.
	later := func(name string) int {
		if strings.Count(name, "/") == 1 && strings.HasSuffix(name, "/Chart.yaml") {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(later(a), later(b)) })
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	w := tar.NewWriter(zipped)
	for _, name := range names {
		if err := addFile(w, name, files[name]); err != nil {
			return err
		}
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		return err
	}
	return os.WriteFile(archive, packed.Bytes(), 0o644)
}

// unpack returns the files of a .tgz.
func unpack(content []byte) (map[string][]byte, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if files[header.Name], err = io.ReadAll(r); err != nil {
			return nil, err
		}
	}
}

// sumsFile lists the checksums, in the form of sha256sum.
const sumsFile = "SHA256SUMS"

// writeSums lists every file of a folder with its checksum.
func writeSums(folder string) error {
	var lines strings.Builder
	err := eachFile(folder, func(name string, content []byte) error {
		if name != sumsFile {
			sum := sha256.Sum256(content)
			fmt.Fprintf(&lines, "%s  %s\n", hex.EncodeToString(sum[:]), name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, sumsFile), []byte(lines.String()), 0o644)
}
