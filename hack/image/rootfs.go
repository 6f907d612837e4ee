// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// epoch is the time of every file and image: a build of the same sources on
// another day is the same image.
var epoch = time.Unix(0, 0).UTC()

// rootsPath is where Go and OpenSSL look for CA roots first.
const rootsPath = "etc/ssl/certs/ca-certificates.crt"

// roots returns Mozilla's CA roots as PEM. The ones that are trusted for
// certificates of before some date only are left out: a PEM file cannot say so.
func roots() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		// Writing to a buffer cannot fail.
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
	}
	return out.Bytes()
}

// users returns /etc/passwd and /etc/group.
func users(user int) (passwd, group []byte) {
	return fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:%d:%[1]d:nonroot:/:/sbin/nologin\n", user),
		fmt.Appendf(nil, "root:x:0:\nnonroot:x:%d:\n", user)
}

// rootfs returns the one layer of an image as a tar: the binary at /<name>,
// the CA roots, the users by name for programs that look themselves up, and the
// files that the program is shipped with.
func rootfs(s spec, binary []byte, shipped ...file) ([]byte, error) {
	passwd, group := users(s.user)
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range append([]file{
		{"etc/", 0o755, nil},
		{"etc/group", 0o644, group},
		{"etc/passwd", 0o644, passwd},
		{"etc/ssl/", 0o755, nil},
		{"etc/ssl/certs/", 0o755, nil},
		{rootsPath, 0o644, roots()},
		{s.name, 0o755, binary},
	}, shipped...) {
		header := &tar.Header{Name: f.path, Mode: f.mode, Size: int64(len(f.content)), ModTime: epoch, Typeflag: tar.TypeReg}
		if f.content == nil {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	// Only Close writes the end.
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
