// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func authorityOf(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

// encrypted is a backup of nothing.
func encrypted(t *testing.T) []byte {
	t.Helper()
	identity := must.Value(age.GenerateX25519Identity())(t)
	var content bytes.Buffer
	_, err := Write(t.Context(), &content, objects{}, noon, identity.Recipient())
	must.Succeed(t, err)
	return content.Bytes()
}

// target is a target, and what holds its files.
type target struct {
	Target

	plant func(name string)
	names func() []string
}

func targets(t *testing.T) map[string]target {
	t.Helper()
	path := t.TempDir()
	folder := must.Value(OpenFolder(path))(t)
	t.Cleanup(func() { _ = folder.Close() })
	service := newS3(t)
	service.pageSize = 2
	return map[string]target{
		"a folder": {folder, func(name string) { must.Succeed(t, os.WriteFile(filepath.Join(path, name), nil, 0o600)) }, func() (names []string) {
			for _, entry := range must.Value(os.ReadDir(path))(t) {
				names = append(names, entry.Name())
			}
			return names
		}},
		"a bucket": {service.bucketOf(t, nil), func(name string) {
			service.mu.Lock()
			defer service.mu.Unlock()
			service.objects["hosted/bridge/"+name] = nil
		}, func() (names []string) {
			for _, name := range service.names() {
				names = append(names, strings.TrimPrefix(name, "hosted/bridge/"))
			}
			return names
		}},
	}
}

const (
	us     = "0b7c9e0e-0c0e-4a3c-9a53-5a6d5e0f7a11"
	others = "5f1d3b1c-8f0a-4b57-a7a0-1b2c3d4e5f60"
)

// some bridges are in a backup after which old ones are deleted.
var someBridges = Contents{Bridges: 1}

func ago(days int) time.Time { return noon.Add(-time.Duration(days) * 24 * time.Hour) }

func TestABackupIsKeptAndOldOnesAreDeleted(t *testing.T) {
	const kept = "hosted-bridge-" + us + "-20260304T120000.000Z.tar.gz.age"
	for name, to := range targets(t) {
		t.Run(name, func(t *testing.T) {
			content := encrypted(t)
			got, err := Keep(t.Context(), to, Name(us, noon.In(time.FixedZone("", 3600))), content)
			if err != nil || got.Name != kept || got.Bytes != len(content) || got.Digest.String() != "sha256:"+sha256Of(content) {
				t.Fatalf("it keeps %+v, %v", got, err)
			}
			old := []string{Name(us, ago(40)), Name(us, ago(30)) + ".part", Name(us, ago(29).Add(-time.Millisecond))}
			stay := []string{
				Name(us, ago(29)), Name(us, ago(3)), Name(others, ago(100)), Name(others, ago(99)), Name("a-"+us, ago(90)),
				"hosted-bridge-20200101.tar.gz.age", "hosted-bridge-notes.txt", "hosted-bridge--20200101T120000.000Z.tar.gz.age", "notes-" + Name(us, ago(90)),
			}
			for _, name := range slices.Concat(old, stay) {
				to.plant(name)
			}
			removed, err := Prune(t.Context(), to, kept, someBridges, ago(29))
			slices.Sort(removed)
			slices.Sort(old)
			if diff := cmp.Diff(old, removed); diff != "" || err != nil {
				t.Errorf("these are removed (-want +got), %v:\n%s", err, diff)
			}
			left := append(stay, kept)
			slices.Sort(left)
			if diff := cmp.Diff(left, to.names()); diff != "" {
				t.Errorf("these are left (-want +got):\n%s", diff)
			}
			if again, err := to.Get(t.Context(), kept, 1<<20); err != nil || !bytes.Equal(again, content) {
				t.Errorf("it is read again as %d bytes, %v", len(again), err)
			}
			if _, err := to.Get(t.Context(), "absent", 1); err == nil {
				t.Error("what is not there is read")
			}
		})
	}
}

func TestWhatARestoreNeedsIsNotDeleted(t *testing.T) {
	written := Name(us, noon)
	for says, c := range map[string]struct {
		names  []string
		holds  Contents
		before time.Time
		want   []string
	}{
		"the one just written stays, although keep is shorter than it took":  {[]string{written}, someBridges, noon.Add(time.Hour), nil},
		"the newest besides it stays, whatever its age":                      {[]string{Name(us, ago(90)), Name(us, ago(80)), written}, someBridges, ago(30), []string{Name(us, ago(90))}},
		"one that is not complete is not the newest":                         {[]string{Name(us, ago(90)), Name(us, ago(80)) + ".part", written}, someBridges, ago(30), []string{Name(us, ago(80)) + ".part"}},
		"one of another installation is not the newest":                      {[]string{Name(us, ago(90)), Name(others, ago(1)), written}, someBridges, ago(30), nil},
		"all stay after a backup without HostedBridges":                      {[]string{Name(us, ago(90)), Name(us, ago(80)), written}, Contents{SharedServers: 1, Envelopes: 1}, ago(30), nil},
		"all but the newest two go when a clock jumps":                       {[]string{Name(us, ago(3)), Name(us, ago(2)), Name(us, ago(1)), written}, someBridges, noon.Add(time.Hour), []string{Name(us, ago(3)), Name(us, ago(2))}},
		"without the one just written, as its name cannot be read, all stay": {[]string{"hosted-bridge-x.tar.gz.age", Name(us, ago(90)), Name(us, ago(80))}, someBridges, ago(30), nil},
	} {
		for kind, to := range targets(t) {
			for _, name := range c.names {
				to.plant(name)
			}
			just := written
			if !slices.Contains(c.names, written) {
				just = c.names[0]
			}
			removed, err := Prune(t.Context(), to, just, c.holds, c.before)
			slices.Sort(removed)
			slices.Sort(c.want)
			if diff := cmp.Diff(append([]string{}, c.want...), removed); diff != "" || err != nil {
				t.Errorf("%s, in %s: these are removed (-want +got), %v:\n%s", says, kind, err, diff)
			}
			if left := to.names(); len(left) != len(c.names)-len(c.want) {
				t.Errorf("%s, in %s: these are left: %q", says, kind, left)
			}
		}
	}
}

func TestABackupIsNotOverwritten(t *testing.T) {
	for kind, to := range targets(t) {
		content := encrypted(t)
		name := must.Value(Keep(t.Context(), to, Name(us, noon), content))(t).Name
		_, err := Keep(t.Context(), to, name, encrypted(t))
		if err == nil || !strings.Contains(err.Error(), "not overwritten") {
			t.Errorf("%s: %v", kind, err)
		}
		if again := must.Value(to.Get(t.Context(), name, 1<<20))(t); !bytes.Equal(again, content) || len(to.names()) != 1 {
			t.Errorf("%s: it is another one now, of %q", kind, to.names())
		}
	}
}

func TestOfTwoWritersOfOneNameOneIsRefused(t *testing.T) {
	path := t.TempDir()
	folder := must.Value(OpenFolder(path))(t)
	defer folder.Close()
	part := filepath.Join(path, "a.part")
	must.Succeed(t, os.WriteFile(part, []byte("of the other"), 0o600))
	if err := folder.Put(t.Context(), "a", []byte("mine")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a part that another one writes: %v", err)
	}
	if got := must.Value(os.ReadFile(part))(t); string(got) != "of the other" {
		t.Errorf("the part of the other is %q", got)
	}
}

func TestAFolderIsOnTheDiskWithTheName(t *testing.T) {
	path := t.TempDir()
	folder := must.Value(OpenFolder(path))(t)
	defer folder.Close()
	var synced []string
	folder.sync = func(f *os.File) error {
		names := must.Value(os.ReadDir(path))(t)
		synced = append(synced, filepath.Base(f.Name())+" with "+names[0].Name())
		return f.Sync()
	}
	must.Succeed(t, folder.Put(t.Context(), "a", []byte("b")))
	if diff := cmp.Diff([]string{"a.part with a.part", ". with a"}, synced); diff != "" {
		t.Errorf("the disk has (-want +got):\n%s", diff)
	}
	calls := 0
	folder.sync = func(*os.File) error {
		if calls++; calls == 2 {
			return errors.New("the disk is away")
		}
		return nil
	}
	if err := folder.Put(t.Context(), "c", []byte("d")); err == nil || !strings.Contains(err.Error(), "the disk is away") {
		t.Errorf("without the folder on the disk: %v", err)
	}
	if left := must.Value(os.ReadDir(path))(t); len(left) != 1 {
		t.Errorf("what may not be on the disk has a name: %v", left)
	}
}

// damaging is a target that keeps something else.
type damaging struct {
	Target

	damage func([]byte) []byte
}

// Put implements Target.
func (d damaging) Put(ctx context.Context, name string, content []byte) error {
	return d.Target.Put(ctx, name, d.damage(bytes.Clone(content)))
}

func TestWhatIsNotReadBackAsItWasWrittenIsRefused(t *testing.T) {
	for name, to := range targets(t) {
		t.Run(name, func(t *testing.T) {
			content := encrypted(t)
			for says, damage := range map[string]func([]byte) []byte{
				"bytes were written, and":      func(b []byte) []byte { return b[:len(b)-1] },
				"are read back":                func(b []byte) []byte { return append(b, 0) },
				"was written, and sha256:":     func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
				"is not usable: sha256:":       func(b []byte) []byte { b[0] ^= 1; return b },
				"0 are read back":              func([]byte) []byte { return nil },
				fmt.Sprint(len(content) + 1):   func(b []byte) []byte { return append(b, b...) },
				"-20260304T120000.000Z.tar.gz": func(b []byte) []byte { return bytes.ToUpper(b) },
			} {
				if _, err := Keep(t.Context(), damaging{to, damage}, Name(us, noon), content); err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("%v, want %q", err, says)
				}
				if left := to.names(); len(left) > 0 {
					t.Errorf("%q is left under a good name after %q", left, says)
				}
			}
			if _, err := Keep(t.Context(), to, Name(us, noon), []byte("plain text")); err == nil || !strings.Contains(err.Error(), "no age file") {
				t.Errorf("what is not encrypted: %v", err)
			}
		})
	}
}

// unreadable is a target that answers until its first backup is there. A context that ends
// then does not keep what was not read back.
type unreadable struct {
	Target

	end context.CancelFunc
}

// Get implements Target.
func (u unreadable) Get(ctx context.Context, name string, limit int64) ([]byte, error) {
	u.end()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return u.Target.Get(ctx, name, limit)
}

func TestWhatIsNotReadBackIsDeletedAlsoWhenTheTimeIsOver(t *testing.T) {
	for kind, to := range targets(t) {
		ctx, end := context.WithCancel(t.Context())
		if _, err := Keep(ctx, unreadable{to, end}, Name(us, noon), encrypted(t)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", kind, err)
		}
		if left := to.names(); len(left) > 0 {
			t.Errorf("%s: %q is left", kind, left)
		}
	}
}

func TestAFolderThatIsNotThereOrIsFullIsRefused(t *testing.T) {
	path := t.TempDir()
	if _, err := OpenFolder(filepath.Join(path, "absent")); err == nil {
		t.Error("a volume that is not mounted is opened")
	}
	folder := must.Value(OpenFolder(path))(t)
	defer folder.Close()
	must.Succeed(t, os.Mkdir(filepath.Join(path, Name(us, noon)), 0o700))
	must.Succeed(t, os.WriteFile(filepath.Join(path, Name(us, noon), "a"), nil, 0o600))
	if _, err := Keep(t.Context(), folder, Name(us, noon), encrypted(t)); err == nil || !strings.Contains(err.Error(), "write "+Name(us, noon)) {
		t.Errorf("a name that is taken: %v", err)
	}
	if left := must.Value(os.ReadDir(path))(t); len(left) != 1 {
		t.Errorf("a part is left: %v", left)
	}
}

func TestABucketSaysWhyItRefuses(t *testing.T) {
	service := newS3(t)
	moved := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", service.URL)
		w.Header().Set("X-Amz-Bucket-Region", "us-west-2")
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	defer moved.Close()
	for says, change := range map[string]func(*BucketOptions){
		`403 Forbidden "SignatureDoesNotMatch"`:        func(o *BucketOptions) { o.Key.SecretAccessKey += "x" },
		`403 Forbidden "AuthorizationHeaderMalformed"`: func(o *BucketOptions) { o.Region = "us-east-1" },
		`404 Not Found "NoSuchBucket"`:                 func(o *BucketOptions) { o.URL = service.URL + "/other" },
		"certificate":                                  func(o *BucketOptions) { o.Authorities = nil },
		`the bucket is in the region "us-west-2"`:      func(o *BucketOptions) { o.URL = moved.URL + "/backups" },
	} {
		bucket := service.bucketOf(t, change)
		for what, err := range map[string]error{
			"put": bucket.Put(t.Context(), "a", []byte("b")), "delete": bucket.Delete(t.Context(), "a"),
			"get": second(bucket.Get(t.Context(), "a", 9)), "list": second(bucket.List(t.Context())),
		} {
			if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), s3Key.SecretAccessKey) || strings.Contains(err.Error(), "Credential=") {
				t.Errorf("%s: %v, want %q", what, err, says)
			}
		}
	}
	if left := service.names(); len(left) > 0 {
		t.Errorf("the service has %q", left)
	}
}

func second[T any](_ T, err error) error { return err }

func TestWhatIsNoBucketIsRefused(t *testing.T) {
	for _, url := range []string{
		"", "https://s3.example.com", "https://s3.example.com/", "ftp://s3.example.com/a", "https:///a", "https://key:secret@s3.example.com/a",
		"https://s3.example.com/a?b", "https://s3.example.com/a#b", "https://s3.example.com/a b", "https://s3.example.com/a//b",
		"http://s3.example.com/a", "http://10.0.0.1/a", "http://localhost.example.com/a", "http://127.0.0.1.example.com/a", "//s3.example.com/a",
	} {
		if _, err := NewBucket(BucketOptions{URL: url, Key: s3Key}); err == nil {
			t.Errorf("%q is a bucket", url)
		}
	}
	for _, url := range []string{"http://127.0.0.1:9000/a", "http://[::1]/a", "http://localhost:9000/a", "https://s3.example.com/a/"} {
		if _, err := NewBucket(BucketOptions{URL: url, Key: s3Key}); err != nil {
			t.Errorf("%q is no bucket: %v", url, err)
		}
	}
	if _, err := NewBucket(BucketOptions{URL: "https://s3.example.com/a"}); err == nil || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("without a key: %v", err)
	}
	if _, err := NewBucket(BucketOptions{URL: "https://s3.example.com/a", Key: s3Key, Authorities: []byte("x")}); err == nil {
		t.Error("authorities that are none are taken")
	}
}
