// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"errors"
	"net/http"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
)

const (
	// MaxFile is how many bytes a file has that is sent: more than npm's lock file of the largest
	// programs that are known, and less than what one source may have of the ingress's memory.
	MaxFile = 3 << 20
	// maxSPDX is how many packages an SPDX document has, each of some 700 bytes.
	maxSPDX = 3000
)

// ErrTooLarge says that a file would have more than MaxFile bytes.
var ErrTooLarge = errors.New("the file is too large")

// File is a file that an administrator downloads.
type File struct {
	Name, MediaType string
	Content         []byte
}

// LockOf returns the lock file of a program, as npm or uv wrote it.
func LockOf(name string, r *bundle.Record) (File, error) {
	if r.Method == string(v1alpha1.InstallUVX) {
		return fileOf("pylock."+name+".toml", "application/toml", []byte(r.Lock))
	}
	return fileOf(name+"-package-lock.json", "application/json", []byte(r.Lock))
}

// SPDXOf returns the list of a program's packages as a document of SPDX.
func SPDXOf(name string, r *bundle.Record) (File, error) {
	if len(r.Packages) > maxSPDX {
		return File{}, ErrTooLarge
	}
	text, err := bundle.SPDX(r)
	if err != nil {
		return File{}, err
	}
	return fileOf(name+".spdx.json", "application/spdx+json", text)
}

func fileOf(name, mediaType string, content []byte) (File, error) {
	if len(content) > MaxFile {
		return File{}, ErrTooLarge
	}
	return File{name, mediaType, content}, nil
}

// Write answers with the file, which no browser shows as a page.
func (f File) Write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", f.MediaType)
	h.Set("Content-Disposition", `attachment; filename="`+f.Name+`"`)
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(f.Content) // A failed write is the client's leaving.
}
