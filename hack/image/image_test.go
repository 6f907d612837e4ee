// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

var program = []byte("\x7fELF and the rest of a program")

func mustAssemble(t *testing.T, s spec, arch string, program []byte) v1.Image {
	t.Helper()
	content, err := rootfs(s, program)
	if err != nil {
		t.Fatal(err)
	}
	l, err := layer(content)
	if err != nil {
		t.Fatal(err)
	}
	image, err := assemble(s, arch, fingerprint(s, arch, content), l)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func mustDigest(t *testing.T, image v1.Image) string {
	t.Helper()
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

func TestDigestDependsOnTheInputsAlone(t *testing.T) {
	s := specs[0]
	want := mustDigest(t, mustAssemble(t, s, "amd64", program))
	other := s
	other.user = 1000
	for _, tt := range []struct {
		name  string
		image v1.Image
		same  bool
	}{
		{"the same inputs again", mustAssemble(t, s, "amd64", bytes.Clone(program)), true},
		{"another program", mustAssemble(t, s, "amd64", append(bytes.Clone(program), 0)), false},
		{"another architecture", mustAssemble(t, s, "arm64", program), false},
		{"another user", mustAssemble(t, other, "amd64", program), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := mustDigest(t, tt.image); (got == want) != tt.same {
				t.Errorf("digest %s, the first was %s", got, want)
			}
		})
	}
}

func TestCompiledProgramDoesNotDependOnTheFolder(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	pause, err := pick([]string{"pause"}, false)
	if err != nil {
		t.Fatal(err)
	}
	var programs [2][]byte
	for i := range programs {
		folder := t.TempDir()
		if err := compile(t.Context(), target{root: root, folder: folder, arch: "amd64"}, pause); err != nil {
			t.Fatal(err)
		}
		if programs[i], _, err = compiled(folder, pause[0]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(programs[0], programs[1]) {
		t.Error("two builds of pause differ")
	}
}

func TestImageRunsItsProgramAsAnOrdinaryUser(t *testing.T) {
	for _, s := range specs {
		t.Run(s.name, func(t *testing.T) {
			got, err := mustAssemble(t, s, "arm64", program).ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			entrypoint, _ := s.command()
			user := "65532:65532"
			if s.name == "pause" {
				user = "65535:65535"
			}
			if got.Config.User != user {
				t.Errorf("user %q, want %q", got.Config.User, user)
			}
			if diff := cmp.Diff(entrypoint, got.Config.Entrypoint); diff != "" {
				t.Errorf("entrypoint (-want +got):\n%s", diff)
			}
			if got.OS != "linux" || got.Architecture != "arm64" || len(got.RootFS.DiffIDs) != 1 {
				t.Errorf("%s/%s with %d layers, want linux/arm64 with 1", got.OS, got.Architecture, len(got.RootFS.DiffIDs))
			}
			if title := got.Config.Labels["org.opencontainers.image.title"]; title != "hosted-bridge/"+s.name {
				t.Errorf("title %q", title)
			}
		})
	}
}

func TestLayerHoldsTheProgramTheRootsAndTheUser(t *testing.T) {
	files := map[string]*tar.Header{}
	content := map[string][]byte{}
	r := tar.NewReader(mutate.Extract(mustAssemble(t, specs[0], "amd64", program)))
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = header
		if content[header.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Mode&0o022 != 0 || !header.ModTime.Equal(epoch) {
			t.Errorf("%s: owner %d, mode %o, time %s", header.Name, header.Uid, header.Mode, header.ModTime)
		}
	}
	if f := files["operator"]; f == nil || f.Mode != 0o755 || !bytes.Equal(content["operator"], program) {
		t.Errorf("no executable operator among %d files", len(files))
	}
	if !strings.Contains(string(content["etc/passwd"]), "nonroot:x:65532:65532:") {
		t.Errorf("etc/passwd: %s", content["etc/passwd"])
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(content[rootsPath])
	// Mozilla's list has had between 120 and 150 roots for a decade.
	if n := len(pool.Subjects()); n < 100 { //nolint:staticcheck // Deprecated for the system's pool, which this is not.
		t.Errorf("%d CA roots", n)
	}
}

func TestArchiveLoadsBack(t *testing.T) {
	image := mustAssemble(t, specs[0], "amd64", program)
	archive := filepath.Join(t.TempDir(), "operator.tar")
	if err := store(archive, "operator", image); err != nil {
		t.Fatal(err)
	}
	want := mustDigest(t, image)
	for _, reference := range []string{"hosted-bridge/operator:dev", "hosted-bridge/operator:" + strings.TrimPrefix(want, "sha256:")[:12]} {
		tag, err := name.NewTag(reference)
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := tarball.ImageFromPath(archive, &tag)
		if err != nil {
			t.Fatalf("%s: %v", reference, err)
		}
		if got := mustDigest(t, loaded); got != want {
			t.Errorf("%s: digest %s, want %s", reference, got, want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(archive), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestUnchangedProgramIsNotPackedAgain(t *testing.T) {
	folder := t.TempDir()
	steps := []struct {
		name    string
		program []byte
		fresh   bool
	}{
		{"first build", program, true},
		{"nothing changed", program, false},
		{"the program changed", append(bytes.Clone(program), 1), true},
		{"nothing changed since", append(bytes.Clone(program), 1), false},
	}
	for _, step := range steps {
		b, err := pack(folder, "amd64", specs[0], step.program)
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if b.fresh != step.fresh {
			t.Errorf("%s: fresh %t, want %t", step.name, b.fresh, step.fresh)
		}
	}
	if err := os.WriteFile(archivePath(folder, "operator"), []byte("half an archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := pack(folder, "amd64", specs[0], program); err != nil || !b.fresh {
		t.Errorf("a broken archive: fresh %t, error %v, want a fresh one", b.fresh, err)
	}
}

func TestPushedImageCanBePulledByItsDigest(t *testing.T) {
	server := httptest.NewServer(registry.New())
	defer server.Close()
	b, err := pack(t.TempDir(), "amd64", specs[0], program)
	if err != nil {
		t.Fatal(err)
	}
	got, err := push(t.Context(), strings.TrimPrefix(server.URL, "http://")+"/team/", b)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%s/team/operator@%s", strings.TrimPrefix(server.URL, "http://"), b.digest)
	if got != want {
		t.Fatalf("reference %s, want %s", got, want)
	}
	reference, err := name.NewDigest(got)
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := remote.Image(reference)
	if err != nil {
		t.Fatal(err)
	}
	if digest := mustDigest(t, pulled); digest != b.digest.String() {
		t.Errorf("pulled %s, want %s", digest, b.digest)
	}
}

func TestCommandBuildsAndListsAnImage(t *testing.T) {
	folder := t.TempDir()
	var stdout, stderr bytes.Buffer
	if err := run(t.Context(), []string{"build", "--only=pause", "--out=" + folder}, &stdout, &stderr); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	b, err := inspect(archivePath(folder, "pause"), "pause")
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(folder, indexFile))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("pause\t%s\t%s\n", b.reference(), b.digest); string(index) != want {
		t.Errorf("index %q, want %q", index, want)
	}
	if !strings.Contains(stdout.String(), b.digest.String()) {
		t.Errorf("the digest is not in %q", stdout.String())
	}
}

func TestCommandLineIsRefusedWithWhatWouldDo(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"no verb", nil, "say build"},
		{"an unknown verb", []string{"bake"}, "say build"},
		{"push without a registry", []string{"push"}, "--registry"},
		{"an unknown image", []string{"build", "--only=frontend"}, "the images are operator, "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := run(t.Context(), tt.args, io.Discard, io.Discard)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}
